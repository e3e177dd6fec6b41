// Package tidy is the style of this repository as a test: import arrows, package docs,
// documented exports, where clocks, goroutines, locks and floats may be, sizes of files
// and functions, and words that do not belong into the tree.
//
// It owns nothing; its test reads the tree and reports file, line and rule. Every rule is
// a function over parsed files, and has a planted violation in the test of its own.
//
// Reading order: source (what is read), rules_imports, rules_code, rules_docs,
// rules_text, tidy_test.
//
// It does not format and does not look for bugs: gofumpt, vet and staticcheck do (make
// lint).
package tidy
