// Package durable makes a pure state durable with a write-ahead log: the pattern encode,
// append, sync, apply, publish, reply that accounts, launchpad and hive share.
//
// It holds Store, a goroutine that owns a State and its log.
//
// Owner: a Store owns its state and its log with one goroutine. Any goroutine may call Do,
// Fold, Tick and Close.
//
// Invariants:
//
//  1. A Store's state is the result of exactly the records in its log: the store writes a
//     record before it applies it.
//  2. What it publishes and answers shows only durable records.
//  3. A snapshot never reflects records that are not durable (internal/wal, invariant 5).
//
// How a store is used. Write the pure part (type State) with the methods of State
// and a codec, then:
//
//	store, err := durable.Open(durable.Options[Command, Record, Result]{
//		Config: durable.Config{
//			FS: vfs.OS{}, Dir: "data/hive",          // FS nil: nothing is stored
//			Log: wal.Options{Writer: version, NoLock: true}, // one lock for the data directory
//			Clock: clk,
//		},
//		New: NewState, AppendRecord: AppendRecord, DecodeRecord: DecodeRecord,
//		DecodeSnapshot: DecodeSnapshot,
//	})
//	res, err := store.Do(cmd)    // durable and published; err: a refusal of the state,
//	                             // or ErrUnavailable, ErrStopped, ErrBusy, ErrClosed
//	store.Tick(nowNs)            // virtual clock; on a real one it wakes by itself
//	store.Fold(func() { ... })   // input from elsewhere, without a record
//	store.Close()                // snapshot, close
//
// A package wraps its Store in a type with two methods: View returns what
// State.Publish stored last (one atomic load), and Fold passes the state to its argument.
//
// Open reads the whole log at once. A state that folds another log as well is recovered record by
// record (type Recovery):
//
//	r, err := durable.Recover(options) // newest usable snapshot
//	for rec, err := r.Next(); err == nil; rec, err = r.Next() {
//		replay(rec.EnginePos) // the other log, up to the position that the record reflects
//		r.Apply(rec)
//	}
//	store, err := r.Begin()
//
// Why the record is written (page cache) before it is applied, one write per command and
// one sync per group: a full disk then refuses the command and leaves log and state
// unchanged, so there is nothing to undo or to read again. A failed sync leaves the state
// ahead of the records known to be durable; the store then stops and publishes nothing more.
//
// Reading order: store, run, open, snapshot, seal.
//
// It does not know what a record means, and it does not retry.
package durable
