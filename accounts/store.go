package accounts

import (
	"fmt"

	"tickhive/internal/clock"
	"tickhive/internal/durable"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// How the pieces of a running exchange use a State.
//
//	handler ── Reserve ──> engine queue ── events ──> Fold ── balances ──> View
//	handler <── refusal ── Release
//	handler ── Store.Do ──> Plan ── record durable ── Apply ──> answer
//
// After OpenStore the rest of the engine's journal is folded, then ReleaseUnknown ends
// holds that the engine does not know, and Reconfigure (through Store.Do) brings the
// referral rates to the configured ones. From then on the engine's goroutine folds each
// batch of events. Store.Fold is not used: BeginFold takes the state's own lock, so
// that a sync of this log never holds up the engine.

// Store is the durable shell around a State.
type Store = durable.Store[*State, Command, Record, Result, *View]

// StoreOptions opens a Store.
type StoreOptions struct {
	State Options
	// FS and Dir hold the log and its snapshots; FS nil: nothing is kept.
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
	// EngineDurable waits until the engine's journal is durable up to pos. A record and a
	// snapshot name positions of that journal, so neither may outlive a power cut that it
	// does not: then other commands would take those positions, and the next recovery
	// would fold them before the record, or take their events for known ones. Any goroutine;
	// it must not wait for the one that folds. nil: it always is.
	EngineDurable func(pos uint64) error
	// EngineLast is the last position of the engine's journal at the start. nil: unbounded.
	EngineLast func() uint64
	// FoldTo folds the engine's events after EnginePos of s up to pos, or to the end of the
	// journal, and no further: recovery applies each record where it was planned. nil:
	// there are none.
	FoldTo func(s *State, pos uint64) error
}

// OpenStore recovers the state and starts the store's goroutine. The State is the one
// that the store owns: Reserve, Release, BeginFold and View are the caller's, Plan and
// Apply are not. When the rest of the engine's journal is folded, Anchor comes next.
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
		// Not in BeforeRecord: a group of deposits shares one sync of the journal, and no
		// gate is closed here, so the loop, which folds behind it, never waits for a disk.
		opts.BeforeSync = func(s *State) error { return o.EngineDurable(s.EnginePos()) }
		opts.BeforeSnapshot = o.EngineDurable
	}
	store, err := durable.Open(opts)
	if err != nil {
		return nil, nil, err
	}
	return store, store.View().s, nil
}

// decodeSnapshot refuses a snapshot that reflects more than the journal has: the one
// before, and the records after it, give the balances of the commands that there are. This
// program writes none; a journal that was put back from a copy makes one.
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

// Beyond is how many records the recovery found that had seen more of the engine's journal
// than there is. Their answers were never given, since those wait for that journal; but the
// system may write what nobody has synced yet, and a power cut keep one log's and not
// the other's. They were applied at the end of the journal.
func (s *State) Beyond() int { return s.beyond }

// Anchor makes the place of records Beyond the journal that of this recovery, before new
// commands take the positions that they name. It takes two snapshots, with a record
// between them: a damaged newest one falls back to the one before, and that has to be past
// these records too. Call it once, after ReleaseUnknown and before anybody is let in.
func Anchor(store *Store, s *State) error {
	for n := 0; s.beyond > 0 && n < wal.SnapshotsKept; n++ {
		s.mu.RLock()
		same := Command{Kind: Configure, Config: s.config}
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
