// Package examples reads the files of deploy/ for tests: the image's recipe, the compose files and the manifests of
// Kubernetes.
//
// Owner: the goroutine of the test that calls it.
//
// Invariant: a file that the package cannot read fails the test.
package examples
