// Package wal is a write-ahead log with snapshots.
//
// What it is: Log (segments of checksummed records, drawn in FORMAT.md), Committer (group
// commit for many goroutines), Reader (recovery, verification, dumps) and snapshot files.
// The loop of engine/sequencer uses Log directly; the stores of accounts, launchpad and
// hive use it through internal/durable.
//
// Owner: one goroutine appends to a Log; any goroutine may sync, drop old segments, read
// and close.
//
// Invariants:
//
//  1. Sequences go 1, 2, 3 ... without a gap, over segments, failures and restarts.
//  2. When Write has returned, the record survives the end of the process; when Sync
//     has, a power cut. Nothing of a batch whose Write failed ever comes back.
//  3. What a start reads is a prefix of what was written that holds everything synced,
//     or the start is refused with file, offset and sequence.
//  4. After a failed sync nothing is written any more until the next start.
//  5. A snapshot is never ahead of its durable log, nor of another log that it reflects;
//     the log reaches back to the older of the two kept snapshots, and to what other
//     stores retain.
//
// Reading order: errors, options, format, log, sync, rotate, open, reader, chain, judge,
// committer, snapshot, snapshot_load.
//
// It does not know what is in a record, does not compress, and does not retry.
package wal
