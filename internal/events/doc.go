// Package events turns the events of the engine into JSON messages for programs outside, and appends them to a stream
// (docs/contract/events.md).
//
// Owner: one goroutine calls a Writer, or Fold and Take of an Exporter. Another one runs the Exporter.
//
// Invariants:
//
//  1. The same batches give the same messages, so any replica can go on where another one has ended.
//  2. An event is appended only behind the one before it, so the stream has no gap.
//
// It does not decide what happens on the market, and no client waits for it.
package events
