// Package datadir holds the data directory of an exchange, apart from the log in it:
//
//	LOCK        lock; names the process that holds it
//	meta.json   Meta as JSON
//	CLOCK       last time set on a virtual clock (clock.go)
//	engine/     log and snapshots of the exchange
//
// Owner: the exchange opens and closes a Dir. In between any goroutine may call its methods.
//
// Invariants:
//
//  1. One process holds a directory. A format that this program does not know is refused.
//  2. The origin (seed, kind of clock, start) never changes. A start whose settings contradict it
//     is refused before anything is changed (cmdline.UsageError).
//  3. A directory whose initial data are incomplete is begun over, so no client ever sees it.
//  4. meta.json is replaced whole, with fsync and rename (files.go).
//  5. Every file has checksums. One that is not what the program wrote is refused before anything
//     is changed (DamagedError).
//  6. meta.json knows the place that the log has reached, at the latest start or clean stop.
//
// It does not read or write the log.
package datadir
