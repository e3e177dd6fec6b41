// Package wal is a write-ahead log with snapshots.
//
// It holds Log (segments of checksummed records, drawn in FORMAT.md), Reader (recovery,
// verification, dumps), Check (every file of a log) and snapshot files, also outside of a log (SnapshotFile, Adopt).
// The loop of engine/sequencer writes a Log.
//
// Owner: one goroutine appends to a Log; any goroutine may sync, drop old segments, read
// and close.
//
// Invariants:
//
//  1. Sequences go 1, 2, 3 ... without a gap, over segments, failures and restarts.
//  2. After Write has returned, the record survives the end of the process; after Sync has
//     returned, a power cut. No record of a batch whose Write failed ever reappears.
//  3. A start reads a prefix of the written records that includes every synced record, or
//     it is refused with file, offset and sequence.
//  4. After a failed sync the log accepts no writes until the next start.
//  5. A snapshot is never ahead of its durable log, and the log reaches back to the older of
//     the two retained snapshots.
//
// It does not know the content of a record or of a head, compresses no record, and does not retry.
package wal
