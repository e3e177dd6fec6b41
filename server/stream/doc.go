// Package stream serves /ws: the hub turns published views into streams, and a few writers send
// them to the connections (docs/internals/streams.md).
//
// Owner: the hub's goroutine (Hub.Run, or the scheduler that calls Hub.Step) owns streams and
// subscriptions. The reader of a connection parses its operations, and a writer owns its socket while
// it writes.
//
// Invariants:
//
//  1. A stream never makes the publisher wait.
//  2. A message is the difference between two views, so a delay joins changes and loses none.
//  3. A message is encoded once for all subscribers of a stream.
//  4. The backlog of a connection is bounded; a client that does not read is resynced or closed.
//  5. A private stream ends with the key that opened it.
//
// A subscription is pending or live. The hub's goroutine owns its fields:
//
//	subscribe --> pending --startPending: room in the backlog--> live
//	                 ^                                             |
//	                 +---- resync; slow client; new options -------+
//
//	pending  it is in conn.hub.pending and receives no message. startLive queues its first
//	         message: a snapshot, an update (hasFromSeq) or trades (nextTrade). tradesStarted is set
//	         from the first part of a resume of trades to the last one.
//	live     deliver queues every message of its stream.
//
// A connection is attached to the hub until it is slow twice or its reader ends:
//
//	attached --update does not fit--> resyncing --all subscriptions live--> attached
//	    |                                 |
//	    |                                 +-- does not fit again within 10 s, or not
//	    |                                     live after 10 s: close with 1013 --+
//	    +-- reader ends, or too many answers queued ----------------------------+--> detached
//
//	resyncing  conn.hub.resyncing; resyncSlow dropped the backlog at conn.hub.fullNs.
//	detached   conn.hub.detached: it has no subscriptions, and its operations are ignored.
//
// A writer sees the backlog of a connection in one of these states (fields under backlog.mu):
//
//	idle --schedule--> scheduled --socket accepts all--> idle
//	                       |
//	                       +--socket accepts a part--> blocked --all written--> idle
//
//	scheduled   the connection is in the list of its writer.
//	blocked     the connection's own goroutine (writeBlocked) writes; scheduled stays set.
//	awaitsRoom  the hub wants to queue a snapshot: the writer notifies it once the backlog is
//	            drained, that is below lowMarkBytes (Hub.drained).
//	closing     the close frame is queued last; nothing is queued behind it.
//	readerEnded the reader ended without a close frame: the writer discards the backlog.
//	finished    nothing more is written, and done is closed.
//
// Reading order: routes, hub, run, conn, inbound, request, operation, stream, deliver, advance, diff, messages, slow,
// resume, private, keys, faults, kinds, backlog, frame, writer, write_unix, write_other, memory and stats.
//
// It knows no account: it asks the private.Feed of its options.
package stream
