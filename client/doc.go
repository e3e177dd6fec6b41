// Package client talks to a TickHive exchange: REST with signing, and streams that verify
// the messages they receive.
//
// It imports none of the exchange's code, so that it can be copied and so that its checks
// (chain, checksum, rebuilt book) verify the server independently.
//
// Owner: a Client may be used by any number of goroutines; a Stream, a Book and a PrivateStream
// belong to the goroutine that reads them.
//
// Invariants:
//
//  1. A Book never shows a state that failed its chain or its checksum: it asks for a
//     new snapshot first.
//  2. A Follower repeats every request that the server did not fulfil, within the server's
//     limits.
//  3. A PrivateStream returns each fill behind its cursor once, those of a pair in the order of
//     their trade ids, through lost lines and restarts.
//  4. Prices and amounts are the server's text, never a float.
//
// It does not retry orders: only the caller knows whether a repeat is safe (a
// clientOrderId makes it so).
package client
