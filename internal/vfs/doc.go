// Package vfs abstracts the file operations that a log needs, so that tests can reproduce
// every failure of a disk.
//
// Parts: FS and File, the real one (OS), and Mem, a file system in memory that separates
// written data from synced data. Mem fails, shortens or tears the n-th operation, cuts the
// power, fills up, and flips bits.
//
// Owner: an FS may be used by any goroutine. A File may be written, read and synced by
// several goroutines at once; callers ensure that their ranges do not overlap.
//
// Invariants:
//
//  1. Data that Sync or SyncDir has confirmed survives Crash, whole.
//  2. Data that they have not confirmed survives in any subset of 512-byte sectors: data in
//     no order at all, names in the order in which they changed (a journaling file
//     system orders its metadata).
//  3. Files are 0600, directories 0700 (docs/contract/storage.md#data-directory).
//  4. Nothing here sleeps or reads a clock; a slow disk is a hook that waits.
//
// Reading order: vfs, sector, os, lock, mem, mem_file, fault, crash.
//
// It does not retry, buffer or cache: the caller handles the errors of operations.
package vfs
