// Package replica rebuilds the market from its log: a core and a feed, made of a snapshot and
// the records after it.
//
// Uses: recovery (the replica becomes the live market); snapshots and state hashes beside a
// running loop (a follower reads the journal up to a position, so the loop never stops for
// them); and offline proof (journal verify).
//
// Owner: a Replica belongs to one goroutine. Any goroutine may call a Keeper, which makes one
// snapshot or hash at a time. Keeper.Step is its stepper.
//
// Invariants:
//
//  1. A replica at position P equals the loop's core and feed after command P, byte for byte of
//     their canonical encodings.
//  2. A snapshot is never ahead of the durable part of the log.
//  3. The package publishes nothing and decides nothing: records go in, state comes out.
//
// A follower pauses the loop only for the instant in which it reads the position and the state
// of the sources. While it works, it costs the memory of a second market and the time of the
// replay. Stopping the loop to copy a million orders took 11 to 17 ms (245 ms the first time),
// above the 5 ms that a snapshot may cost.
//
// The package does not know accounts, launchpad and hive: they have their own stores.
package replica
