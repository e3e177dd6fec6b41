// Package events turns the events of the engine into JSON messages for programs outside, and appends
// them to a stream (docs/contract/events.md).
//
// Owner: one goroutine calls a Writer, or Fold and Take of an Exporter. Another one runs the Exporter.
package events
