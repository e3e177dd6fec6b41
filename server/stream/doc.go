// Package stream serves /ws: the hub turns published views into streams, and a few writers send them to the connections
// (docs/internals/streams.md).
//
// Owner: the hub's goroutine (Hub.Run, or the scheduler that calls Hub.Step) owns streams and subscriptions. The reader
// of a connection parses its operations, and a writer owns its socket while it writes.
//
// Invariants:
//
//  1. A stream never makes the publisher wait.
//  2. A message is the difference between two views, so a delay joins changes and loses none.
//  3. A message is encoded once for all subscribers of a stream.
//  4. The backlog of a connection is bounded; a client that does not read is resynced or closed.
//  5. A private stream ends with the key that opened it.
//
// It knows no account: it asks the PrivateFeed of its options.
package stream
