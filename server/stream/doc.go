// Package stream serves WebSockets: Sockets owns the connections of any protocol, and the Hub is the native protocol of
// /ws, which turns published views into streams (docs/internals/streams.md). server/binance has the other protocol.
//
// A socket, in Sockets (frames in conn.go, backlog.go, writer.go):
//
//	handshake --Serve--> joined --client ends, 60 s of silence,--> closing --written, or 20 s--> gone
//	                     |    ^   flood, slow, Shutdown            (close frame queued last)     (Session.Leave)
//	       no room in    v    | the client has read:
//	       the backlog  waits-+ Session.Render
//
// A subscription of the Hub (stream.go, deliver.go):
//
//	subscribe --> pending --room: snapshot or resume queued--> live
//	                 ^                                          |
//	                 +-- resync; new options; an update did not fit: backlog dropped (twice in 10 s: 1013)
//
// An event of an account reaches the private channels through package private, which draws its states.
//
// Owner: one goroutine (Sockets.Run, or the scheduler that calls Step) owns connections, streams and subscriptions. The
// reader of a connection parses its messages, and a writer owns its socket while it writes.
//
// Invariants:
//
//  1. A stream never makes the publisher wait, and a slow client no other one: its backlog is bounded in bytes.
//  2. A message is the difference between two views, so a delay joins changes and loses none.
//  3. A message is encoded once for all subscribers of a stream.
//  4. A private stream ends with the key that opened it.
package stream
