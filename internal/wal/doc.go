// Package wal is the write-ahead log of every store, and the shell that makes a pure
// state durable with it.
//
// What it is: Log (segments of checksummed records, drawn in FORMAT.md), Committer
// (group commit for many goroutines), Reader (recovery, verification, dumps), snapshot
// files, and Store: the pattern encode, append, sync, apply, publish, reply that
// accounts, launchpad and hive share. The engine's loop uses Log directly.
//
// Owner: one goroutine appends to a Log; any goroutine may sync, drop old segments, read
// and close. A Store owns its state and its log with one goroutine of its own.
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
//  6. A Store's state is exactly the records in its log: a record is written before it
//     is applied. Its view and its answers show only what is durable.
//
// How a store is used. Write the pure part (type State) with the methods of wal.State
// and a codec, then:
//
//	store, err := wal.OpenStore(wal.StoreOptions[*State, Command, Record, Result, *View]{
//		FS: vfs.OS{}, Dir: "data/hive",          // FS nil: nothing is kept
//		Log: wal.Options{Writer: version, NoLock: true}, // one lock for the data directory
//		New: NewState, AppendRecord: AppendRecord, DecodeRecord: DecodeRecord,
//		DecodeSnapshot: DecodeSnapshot, Clock: clk,
//	})
//	res, err := store.Do(cmd)    // durable and published; err: a refusal of the state,
//	                             // or ErrUnavailable, ErrStopped, ErrBusy, ErrClosed
//	view := store.View()         // one atomic load
//	store.Tick(nowNs)            // virtual clock; on a real one it wakes by itself
//	store.Fold(func(s *State) { ... }) // what comes from elsewhere, without a record
//	store.Close()                // snapshot, close
//
// Why the record is written (page cache) before it is applied, one write per command and
// one sync per group: a full disk then refuses the command with log and state as they
// were, so there is nothing to undo or to read again. A failed sync leaves the state
// ahead of what is known to be durable; the store ends there, with the view as it was.
//
// Reading order: errors, options, format, log, sync, rotate, open, reader, chain, judge,
// committer, snapshot, snapshot_load, store, store_run, store_open, store_snapshot.
//
// It does not know what is in a record, does not compress, and does not retry.
package wal
