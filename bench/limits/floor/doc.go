// Package floor is the reference for the matching core: the flat array book of package limit, which
// validates nothing, looks nothing up and emits nothing, and the three order streams of package wl,
// generated in memory from fixed seeds.
//
// What it is: measuring equipment of this project, copied unchanged (limit.go, wl.go and
// the generator in gen.go) so that a ratio measured here is a ratio to the anchor.
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
