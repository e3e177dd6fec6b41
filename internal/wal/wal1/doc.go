// Package wal1 converts the logs of format 1 to the current format of package wal.
//
// Format 1 had no identities, no slots and no checksum chain. A record said with its lag class up to
// where the log was durable when it was written; these classes, and the sectors that read as zeros,
// distinguish a torn tail from damage (judge.go).
//
// Owner: the goroutine that calls Convert.
//
// Invariants:
//
//  1. Convert does not change the old files.
//  2. The new log has the old one's records with their sequences.
//  3. A snapshot is converted when the log has its record and its body verifies.
//
// Reading order: convert, reader, judge, chain, format.
//
// It does not know the content of a record.
package wal1
