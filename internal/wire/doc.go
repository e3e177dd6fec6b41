// Package wire is a binary codec for both directions: one function per structure names its
// fields once, and a Coder either writes or reads them, so that encoder and decoder cannot
// disagree. Snapshots, state hashes and most log records use it.
//
// Owner: a Coder belongs to the call that made it.
//
// Invariants:
//
//  1. What was written reads back equal; the first wrong byte sets Err and everything
//     after it is a zero value.
//  2. A read never allocates more than the bytes that are left could hold.
//  3. A number has one encoding: a read refuses a longer one.
//
// It does not know versions or checksums: internal/wal has both.
package wire
