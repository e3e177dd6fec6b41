// Package floor is the reference to which the benchmarks compare the matching core: a book that does the least work
// with which orders can be matched (package limit), and three order streams (package wl) that the book and the core
// match, generated in memory from fixed seeds. The book validates nothing, looks nothing up and emits nothing.
//
// limit.go, wl.go and the generator in gen.go are unchanged copies of the anchor, a measuring tool of this project, so
// that a ratio to the floor is also a ratio to the anchor.
//
// Owner: the caller; nothing is shared.
//
// Invariants:
//
//  1. The same name gives the same operations, fills and hash, on every machine.
//  2. Order ids are dense from 1, as the core gives them.
//
// It is no part of the product and trades nothing.
package floor
