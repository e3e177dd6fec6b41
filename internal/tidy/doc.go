// Package tidy is the style of this repository as a test: import arrows, package docs,
// documented exports, where clocks, goroutines, locks, floats and HTTP may be, sizes of
// functions, files, types and packages, and words that do not belong into the tree.
//
// It owns nothing; its test reads the tree and reports file, line and rule. Every rule is
// a function over parsed files, and its test plants a violation.
//
// A rule that the tree does not meet yet has a table of exceptions by name beside it. The
// table only shrinks: an exception that is not needed any more is a finding, too.
//
// Reading order: source (what is read), rules_imports, rules_code, rules_size, rules_line,
// rules_domain, rules_docs, rules_text, rules_words, rules_wording, rules_refs, links, notices,
// tidy_test.
//
// It does not format and does not look for bugs: gofumpt, vet and staticcheck do (make
// lint).
package tidy
