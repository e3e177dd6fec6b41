// Package vfs abstracts the file operations that a log needs, so that tests can reproduce
// every failure of a disk.
//
// Parts: FS and File, the real one (OS), and Mem, a file system in memory that separates
// written data from synced data. Mem cuts the power (Crash), ends the process (Kill), and injects
// every class of storage fault.
//
// A fault is a description, which a simulator can draw from a seed:
//
//	m := vfs.NewMem()
//	m.KeepVersions(4) // what stale files come from
//	m.Inject(vfs.Injection{Class: vfs.SyncError, Path: "d/engine/*.wal", After: 7})
//	m.Inject(vfs.Injection{Class: vfs.LyingSync, Path: "d/*", Count: -1, Seed: 3})
//	m.Inject(vfs.Injection{Class: vfs.TornSector, Seed: 4})                              // at the next Crash
//	m.Inject(vfs.Injection{Class: vfs.BitRot, Path: "d/meta.json", AtCut: true, Seed: 5}) // with it
//	...                            // the program runs on m
//	after := m.Crash(seed)         // the disk that the next process finds; arm the next faults on it
//	after.Injected(vfs.TornSector) // faults that happened, in m and after together
//
// Classes of a cut wait for Crash, classes of operations for the operations that they can hit,
// classes of rest happen at once, after some operations, or with AtCut. A class without a target
// does nothing and is not counted. The hook Before is for a test that needs one certain operation.
//
// Owner: an FS may be used by any goroutine. A File may be written, read and synced by
// several goroutines at once; callers ensure that their ranges do not overlap.
//
// Invariants:
//
//  1. Data that Sync or SyncDir has confirmed survives Crash, whole, unless an injected fault says
//     otherwise.
//  2. Data that they have not confirmed survives in any subset of 512-byte sectors: data in
//     no order at all, names in the order in which they changed (a journaling file
//     system orders its metadata; ReorderedNames lifts that).
//  3. Files are 0600, directories 0700 (docs/contract/storage.md#data-directory).
//  4. Nothing here sleeps or reads a clock; a slow disk is a hook that waits.
//  5. The same operations, injections and seeds give the same bytes. Concurrent operations have to
//     have an order for that.
//
// Reading order: vfs, sector, os, lock, mem, mem_file, fault, inject, crash, cut, bulk, rest.
//
// It does not retry, buffer or cache: the caller handles the errors of operations.
package vfs
