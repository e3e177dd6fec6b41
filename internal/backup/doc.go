// Package backup is the form of a backup: a tar file of a data directory at one point in time.
//
//	meta.json                    meta.json of the directory, as after a clean stop at that point, without an epoch
//	CLOCK                        with a virtual clock
//	engine/                      segments and snapshots (internal/wal, Copy)
//	SHA256                       SHA-256 of every byte of the tar file in front of this entry
//
// Owner: every function is used by one goroutine.
//
// Invariants:
//
//  1. The bytes of a backup follow from its files: no time, no owner, no padding but zeros. Open refuses a file
//     that differs from it in one bit, or ends early or late.
//  2. Open takes only the names of the picture, once each, and regular files.
//  3. Memory does not grow with the files' sizes.
//
// It does not know what is in the files.
package backup
