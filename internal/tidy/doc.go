// Package tidy checks what no known linter can: import arrows, where floats, goroutines, locks and HTTP may be, package
// comments, links, anchors and references to files, and the notices of third parties.
//
// It owns nothing. Its tests read the tree and report file, line and rule. Every rule is a function over parsed files
// or pages, and its test plants a violation.
//
// It limits neither packages nor files: a package has one idea, and a file reads from top to bottom (CONTRIBUTING.md).
package tidy
