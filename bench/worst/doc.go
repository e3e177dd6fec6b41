// Package worst measures O2 (docs/internals/performance.md#o2): the longest step of the loop during the worst single
// request.
//
// Owner: one goroutine calls Measure. The exchange runs in a child process of the bench's binary.
//
// Invariants:
//
//  1. Each round measures a new exchange, so that no round profits from the one before.
//
// Reading order: worst.
//
// It sends no request: the child process does (cmd/tickhive-bench).
package worst
