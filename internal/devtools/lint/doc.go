// Command lint runs the linters that go vet and staticcheck leave out.
//
// It is a vet tool with errorlint and exhaustive (go vet -vettool, which keeps the results
// of unchanged packages), and two subcommands that read the whole tree at once: unparam
// (unused parameters and results) and misspell (the English of every text file).
//
// Owner: stateless. It changes nothing; it prints findings and exits 1 when there are any.
//
// Reading order: main, vet, tree.
//
// It does not format (gofumpt does) and does not know the style of this repository
// (internal/tidy does).
package main
