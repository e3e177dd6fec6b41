// Command sbom prints a software bill of materials of a built program as CycloneDX 1.6: the Go modules that the
// program's own build information names, with the sums that go.sum has, the toolchain, and the vendored front-end
// files.
//
//	go run ./internal/tidy/sbom bin/tickhive > bin/sbom.cdx.json
//
// Equal programs give equal bytes: the document has no time and no serial number.
package main
