// Package replica is the market as its log tells it: a core and a feed made of a snapshot
// and the records after it.
//
// What it is for: recovery (the replica becomes the live market), snapshots and state
// hashes beside a running loop (a follower reads the journal up to a position, so that
// the loop never stops for them), and the proof offline (journal verify).
//
// Owner: a Replica belongs to one goroutine. A Keeper is used by any; one snapshot or
// hash is made at a time.
//
// Invariants:
//
//  1. A replica at position P is what the loop's core and feed were after command P,
//     byte for byte of their canonical encodings.
//  2. A snapshot is never ahead of what is durable in the log.
//  3. Nothing is published and nothing is decided here: records go in, state comes out.
//
// A follower costs no pause of the loop but the instant in which it is told the position
// and the state of the sources; it costs the memory of a second market and the time of
// the replay while it works. Stopping the loop to copy a million orders took 11 to 17 ms
// (245 ms the first time), beyond the 5 ms that a snapshot may cost.
//
// Reading order: replica.go, skips.go, body.go, hash.go, keeper.go.
//
// It does not know accounts, launchpad and hive: they have stores of their own.
package replica
