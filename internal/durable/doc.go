// Package durable makes a pure state durable with a write-ahead log: the pattern encode,
// append, sync, apply, publish, reply that accounts, launchpad and hive share.
//
// What it is: Store, a goroutine that owns a State and its log.
//
// Owner: a Store owns its state and its log with one goroutine. Any goroutine may call Do,
// View, Fold, Tick and Close.
//
// Invariants:
//
//  1. A Store's state is exactly the records in its log: a record is written before it is
//     applied.
//  2. Its view and its answers show only what is durable.
//  3. A snapshot never reflects records that are not durable (internal/wal, invariant 5).
//
// How a store is used. Write the pure part (type State) with the methods of State
// and a codec, then:
//
//	store, err := durable.Open(durable.Options[*State, Command, Record, Result, *View]{
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
// Reading order: store, run, open, snapshot.
//
// It does not know what a record means, and it does not retry.
package durable
