// Package vfstest has Mem, a file system in memory that separates written data from synced data. It cuts the power
// (Crash), ends the process (Kill), and injects every class of storage fault. Only tests and the simulator import it.
//
// A fault is a description, which a simulator can draw from a seed:
//
//	m := vfstest.NewMem()
//	m.KeepVersions(4) // what stale files come from
//	m.Inject(vfstest.Injection{Class: vfstest.SyncError, Path: "d/engine/*.wal", After: 7})
//	m.Inject(vfstest.Injection{Class: vfstest.LyingSync, Path: "d/*", Count: -1, Seed: 3})
//	m.Inject(vfstest.Injection{Class: vfstest.TornSector, Seed: 4}) // at the next Crash
//	...                                // the program runs on m
//	after := m.Crash(seed)             // the disk that the next process finds; arm the next faults on it
//	after.Injected(vfstest.TornSector) // faults that happened, in m and after together
//
// Owner: any goroutine may use a Mem. The ranges of one file do not overlap, as package vfs says.
//
// Invariants:
//
//  1. Without an injected fault, a cut keeps what package vfs promises and nothing more.
//  2. A fault of a cut (OfCut) waits for Crash, a fault of operations for an operation that it can hit. A fault at rest
//     (AtRest) happens at once, after some operations, or with AtCut. A fault without a target is not counted.
//  3. Nothing here sleeps or reads a clock; a slow disk is a hook that waits.
//  4. The same operations, injections and seeds give the same bytes. Concurrent operations have to
//     have an order for that.
package vfstest
