package accounts

import (
	"tickhive/internal/clock"
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
type Store = wal.Store[*State, Command, Record, Result, *View]

// StoreOptions opens a Store.
type StoreOptions struct {
	State Options
	// FS and Dir hold the log and its snapshots; FS nil: nothing is kept.
	FS    vfs.FS
	Dir   string
	Log   wal.Options
	Clock clock.Clock
	// SnapshotBytes, KeepAll, Queue, Progress and Logf as in wal.StoreOptions.
	SnapshotBytes int64
	KeepAll       bool
	Queue         int
	Progress      func(done, total int64)
	Logf          func(format string, args ...any)
	// EngineDurable waits until the engine's journal is durable up to pos: a withdrawal
	// spends what fills brought (Decisions section 9.4). nil: it always is.
	EngineDurable func(pos uint64) error
	// FoldTo folds the engine's events after EnginePos of s up to pos and no further:
	// recovery applies each record where it was planned. nil: there are none.
	FoldTo func(s *State, pos uint64) error
}

// OpenStore recovers the state and starts the store's goroutine. The State is the one
// that the store owns: Reserve, Release, BeginFold and View are the caller's, Plan and
// Apply are not.
func OpenStore(o StoreOptions) (*Store, *State, error) {
	if err := o.State.Validate(); err != nil {
		return nil, nil, err
	}
	o.Log.RecordVersion = RecordVersion
	opts := wal.StoreOptions[*State, Command, Record, Result, *View]{
		FS: o.FS, Dir: o.Dir, Log: o.Log, Clock: o.Clock, SnapshotBytes: o.SnapshotBytes, KeepAll: o.KeepAll,
		Queue: o.Queue, Progress: o.Progress, Logf: o.Logf,
		New:          func() *State { return New(o.State) },
		AppendRecord: AppendRecord, DecodeRecord: DecodeRecord,
		DecodeSnapshot: func(b []byte) (*State, error) { return DecodeSnapshot(b, o.State) },
	}
	if o.EngineDurable != nil {
		opts.BeforeRecord = func(_ *State, rec *Record) error {
			if rec.RestsOnEngine() {
				return o.EngineDurable(rec.EnginePos)
			}
			return nil
		}
	}
	if o.FoldTo != nil {
		opts.BeforeReplay = func(s *State, rec *Record) error {
			if s.NeedsFold(rec) {
				return o.FoldTo(s, rec.EnginePos)
			}
			return nil
		}
	}
	store, err := wal.OpenStore(opts)
	if err != nil {
		return nil, nil, err
	}
	return store, store.View().s, nil
}

// NeedsFold reports whether engine events up to rec.EnginePos are missing in the state:
// during recovery they have to be folded before rec is applied.
func (s *State) NeedsFold(rec *Record) bool { return s.EnginePos() < rec.EnginePos }
