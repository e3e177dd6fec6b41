// Package client talks to a TickHive exchange: REST with signing, and streams that check
// what they are told.
//
// It stands on nothing of the exchange's own code, so that it can be copied and so that
// its checks (chain, checksum, rebuilt book) prove the server instead of repeating it.
//
// Owner: a Client may be used by any number of goroutines; a Stream and a Book belong to
// the goroutine that reads them.
//
// Invariants:
//
//  1. A Book never shows a state that failed its chain or its checksum: it asks for a
//     new snapshot first.
//  2. A Follower asks again for whatever the server did not do, within the server's limits.
//  3. Prices and amounts are the server's text, never a float.
//
// Reading order: client.go, sign.go, rest.go, stream.go, book.go, follow.go,
// mend.go.
//
// It does not retry orders: only the caller knows whether a repeat is safe (a
// clientOrderId makes it so).
package client
