// Package vfs abstracts the file operations that a log needs, so that tests can reproduce
// every failure of a disk: FS and File, and OS, the machine's file system.
// Package vfstest has the file system in memory that fails.
//
// Owner: an FS may be used by any goroutine. A File may be written, read and synced by
// several goroutines at once; callers ensure that their ranges do not overlap.
//
// Invariants, also of what vfstest simulates:
//
//  1. Data that Sync or SyncDir has confirmed survives a power cut, whole.
//  2. Data that they have not confirmed survives in any subset of 512-byte sectors: data in
//     no order at all, names in the order in which they changed (a journaling file
//     system orders its metadata).
//  3. Files are 0600, directories 0700 (docs/contract/storage.md#data-directory).
//
// It does not retry, buffer or cache: the caller handles the errors of operations.
package vfs
