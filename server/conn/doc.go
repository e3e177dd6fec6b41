// Package conn is a listener that bounds who is connected: it limits connections in total, per address and per network,
// makes room when it is full, and keeps a connection cheap while it waits for a request.
//
// Owner: a connection belongs to the goroutine that serves it, which reads and writes. Table, Accepts, Pieces and
// Certificate may be used by any goroutine; so may Close and SetSpare of a connection.
//
// The states of a connection, by Conn.use:
//
//	accept ---> waiting, unserved ----\
//	   |            | BeginRequest     \  the table is full: the unserved connection that was accepted first
//	   | a limit    v                   \ closes, else the one that has waited longest
//	   |          busy <----------.      v
//	   |            | answer sent  \   evicted: closed at once, and BeginRequest returns false
//	   |            v               \    ^
//	   |        waiting, served -----+--/
//	   |            BeginRequest        |
//	   v                                |
//	refused: Limits.Answer is all    upgraded (PassThrough): busy, or spare by SetSpare
//	that the client reads
//
// Invariants:
//
//  1. A connection counts until its descriptor is closed, also while it lingers after a request that was refused
//     unread.
//  2. No connection is closed for another one while it has an answer that is not sent.
//  3. A connection that waits holds no buffer: one is taken with the first byte and given back with the last.
//  4. A shortage of descriptors or memory does not end a listener.
//  5. An answer in pieces ends when its client reads below a rate, and the kernel holds little of it.
//
// It knows no route: what a refused client reads is given to it (Limits.Answer).
package conn
