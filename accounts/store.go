package accounts

import (
	"fmt"

	"tickhive/internal/clock"
	"tickhive/internal/durable"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// The parts of a running exchange use a State in this way:
//
//	handler ── Reserve ──> engine queue ── events ──> FoldEvents ── balances ──> View
//	handler <── refusal ── Release
//	handler ── Store.Do ──> Plan ── record durable ── Apply ──> answer
//
// After OpenStore the caller folds the rest of the engine's journal. Then ReleaseUnknown ends holds
// that the engine does not know, and Reconfigure (through Store.Do) sets the referral rates to the
// configured ones. From then on the engine's goroutine folds each batch of events. Store.Fold is
// not used: FoldEvents takes the state's own lock, so a sync of this log never delays the engine.

// Store is the durable shell around a State.
type Store = durable.Store[*State, Command, Record, Result, *View]

// StoreOptions opens a Store.
type StoreOptions struct {
	State Options
	// FS and Dir hold the log and its snapshots; FS nil: nothing is stored.
	FS    vfs.FS
	Dir   string
	Log   wal.Options
	Clock clock.Clock
	// SnapshotBytes, KeepAll, Queue, Progress and Logf as in durable.Options.
	SnapshotBytes int64
	KeepAll       bool
	Queue         int
	Progress      func(done, total int64)
	Logf          func(format string, args ...any)
	// EngineDurable waits until the engine's journal is durable up to pos. A record and a snapshot
	// name positions of that journal, so neither may survive a power cut that those positions do
	// not survive. Otherwise other commands would take the positions, and the next recovery would
	// fold them before the record, or ignore their events as known. Any goroutine; it must not wait
	// for the goroutine that folds. nil: the journal is always durable.
	EngineDurable func(pos uint64) error
	// EngineLast is the last position of the engine's journal at the start. nil: unbounded.
	EngineLast func() uint64
	// FoldTo folds the engine's events after EnginePos of s up to pos, or to the end of the
	// journal, and no further, because recovery applies each record where it was planned. nil:
	// there are no engine events.
	FoldTo func(s *State, pos uint64) error
}

// OpenStore recovers the state and starts the store's goroutine. The store owns the returned
// State: the caller may use Reserve, Release, FoldEvents and View, but not Plan and Apply. The
// caller folds the rest of the engine's journal and then calls Anchor.
func OpenStore(o StoreOptions) (*Store, *State, error) {
	if err := o.State.Validate(); err != nil {
		return nil, nil, err
	}
	o.Log.RecordVersion = RecordVersion
	opts := durable.Options[*State, Command, Record, Result, *View]{
		FS: o.FS, Dir: o.Dir, Log: o.Log, Clock: o.Clock, SnapshotBytes: o.SnapshotBytes, KeepAll: o.KeepAll,
		Queue: o.Queue, Progress: o.Progress, Logf: o.Logf,
		New:          func() *State { return New(o.State) },
		AppendRecord: AppendRecord, DecodeRecord: DecodeRecord,
		DecodeSnapshot: o.decodeSnapshot, BeforeReplay: o.beforeReplay,
	}
	if o.EngineDurable != nil {
		opts.BeforeRecord = func(_ *State, rec *Record) error {
			if rec.RestsOnEngine() {
				return o.EngineDurable(rec.EnginePos)
			}
			return nil
		}
		// Not in BeforeRecord: a group of deposits shares one sync of the journal, and the
		// gate is not locked here, so the loop, whose fold needs it, never waits for a disk.
		opts.BeforeSync = func(s *State) error { return o.EngineDurable(s.EnginePos()) }
		opts.BeforeSnapshot = o.EngineDurable
	}
	store, err := durable.Open(opts)
	if err != nil {
		return nil, nil, err
	}
	return store, store.View().s, nil
}

// decodeSnapshot refuses a snapshot that reflects positions beyond the end of the journal: the
// previous snapshot and the records after it give the balances of the existing commands. This
// program writes no snapshot beyond the journal; restoring the journal from a copy causes one.
func (o *StoreOptions) decodeSnapshot(b []byte) (*State, error) {
	s, err := DecodeSnapshot(b, o.State)
	if err == nil && o.EngineLast != nil && s.enginePos > o.EngineLast() {
		return nil, fmt.Errorf("accounts: it reflects command %d, the engine's journal ends at %d", s.enginePos, o.EngineLast())
	}
	return s, err
}

func (o *StoreOptions) beforeReplay(s *State, rec *Record) error {
	if o.EngineLast != nil && rec.EnginePos > o.EngineLast() {
		s.beyond++
	}
	if o.FoldTo != nil && s.NeedsFold(rec) {
		return o.FoldTo(s, rec.EnginePos)
	}
	return nil
}

// Beyond returns the number of records whose engine position is beyond the end of the engine's
// journal, found by recovery. Their commands were never answered, because answers wait for that
// journal. But the system may write unsynced bytes, and after a power cut one log may have them
// and the other not. Recovery applied these records at the end of the journal.
func (s *State) Beyond() int { return s.beyond }

// Anchor fixes the place of the records Beyond the journal where this recovery applied them,
// before new commands take the positions that these records name. It takes two snapshots, with
// a record between them: recovery falls back from a damaged newest snapshot to the previous
// one, which must be past these records too. Call Anchor once, after ReleaseUnknown and before
// the server admits requests.
func Anchor(store *Store, s *State) error {
	for n := 0; s.beyond > 0 && n < wal.SnapshotsKept; n++ {
		s.mu.RLock()
		same := Command{Kind: Configure, Config: s.referral.config}
		s.mu.RUnlock()
		if _, err := store.Do(same); err != nil {
			return err
		}
		if err := store.Snapshot(); err != nil {
			return err
		}
	}
	return nil
}

// NeedsFold reports whether engine events up to rec.EnginePos are missing in the state:
// during recovery they have to be folded before rec is applied.
func (s *State) NeedsFold(rec *Record) bool { return s.EnginePos() < rec.EnginePos }
