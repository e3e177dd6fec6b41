package accounts

import (
	"errors"
	"fmt"

	"tickhive/internal/durable"
	"tickhive/internal/fixed"
)

// The parts of a running exchange use a State in this way:
//
//	handler ── Reserve ──> engine queue ── events ──> FoldEvents ── Sink.Publish ──> Shown
//	handler <── refusal ── Release
//	handler ── Store.Do ──> Plan ── Apply ── record durable ── Publish ──> Shown ──> answer
//
// After a Recovery ReleaseUnknown ends holds that the engine does not know, and RatesCommand (through
// Store.Do) sets the configured referral rates. Then the engine's goroutine folds each batch of
// events, by FoldEvents and not by Store.Fold: a sync of this log never delays the engine.

// Store is the durable shell around a State.
type Store = durable.Store[Command, Record, Result]

// machine is the interface through which durable.Store uses State.
type machine = durable.State[Command, Record, Result]

// StoreOptions configures a Store.
type StoreOptions struct {
	durable.Config
	State Options
	// EngineDurable waits until the engine's journal is durable up to pos. A record and a snapshot
	// name positions of that journal, so neither may survive a power cut that those positions do
	// not survive. Otherwise other commands would take the positions, and the next recovery would
	// fold them before the record, or ignore their events as known. Any goroutine; it must not wait
	// for the goroutine that folds. nil: the journal is always durable.
	EngineDurable func(pos uint64) error
	// EngineLast is the last position of the engine's journal at the start.
	EngineLast uint64
}

// Recovery merges the records with the events of the engine's journal, in their original order:
//
//	for rec, err := r.Next(); err == nil; rec, err = r.Next() {
//		foldEngine(r.State(), rec.EnginePos) // or to the end of the journal, and no further
//		r.Apply(rec)
//	}
//
// At io.EOF the caller folds the rest of the journal and calls Begin, later Recheckpoint. From Begin on
// the store owns the State: the caller may use Reserve, Release, FoldEvents and Shown.
type Recovery struct {
	*durable.Recovery[Command, Record, Result]
	engineLast uint64
}

// Recover opens the log and restores the newest snapshot that can be used.
func Recover(o StoreOptions) (*Recovery, error) {
	if err := o.State.Validate(); err != nil {
		return nil, err
	}
	o.Log.RecordVersion = RecordVersion
	r := &Recovery{engineLast: o.EngineLast}
	opts := durable.Options[Command, Record, Result]{
		Config:       o.Config,
		New:          func() machine { return New(o.State) },
		AppendRecord: AppendRecord, DecodeRecord: DecodeRecord,
		DecodeSnapshot: func(b []byte) (machine, error) { return o.decodeSnapshot(b) },
	}
	if o.EngineDurable != nil {
		opts.BeforeRecord = func(rec *Record) error {
			if rec.RestsOnEngine() {
				return o.EngineDurable(rec.EnginePos)
			}
			return nil
		}
		// BeforeSync instead of BeforeRecord: a group of deposits then shares one sync of the engine's journal.
		// Also, foldLock is not held here, so the loop, whose fold needs it, never waits for a disk.
		opts.BeforeSync = func() error { return o.EngineDurable(r.State().EnginePos()) }
		opts.BeforeSnapshot = o.EngineDurable
	}
	var err error
	if r.Recovery, err = durable.Recover(opts); err != nil {
		return nil, err
	}
	if err := r.findAhead(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// findAhead notes the last record of the snapshot that was ahead of the journal: it names a later
// position than the snapshot reflects, because Recheckpoint takes its snapshots before new commands
// come.
func (r *Recovery) findAhead() error {
	s := r.State()
	return r.Covered(func(seq uint64, rec *Record) {
		if rec.EnginePos > s.snapshotPos {
			s.lastAhead = seq
		}
	})
}

// Begin starts the store. From then on money from outside counts once its record is durable.
func (r *Recovery) Begin() (*Store, error) {
	r.State().balances.arriving = map[balanceKey]fixed.I192{}
	return r.Recovery.Begin()
}

// State returns the state after the records that were applied.
func (r *Recovery) State() *State { return r.Recovery.State().(*State) }

// decodeSnapshot refuses a snapshot that reflects positions beyond the end of the journal: the
// previous snapshot and the records after it give the balances of the existing commands. This
// program writes no snapshot beyond the journal; restoring the journal from a copy causes one.
func (o *StoreOptions) decodeSnapshot(b []byte) (*State, error) {
	s, err := DecodeSnapshot(b, o.State)
	if err == nil && s.enginePos > o.EngineLast {
		return nil, fmt.Errorf("accounts: it reflects command %d, the engine's journal ends at %d", s.enginePos,
			o.EngineLast)
	}
	return s, err
}

// Apply carries out the record that Next returned last.
func (r *Recovery) Apply(rec *Record) {
	r.Recovery.Apply(rec)
	if s := r.State(); rec.EnginePos > r.engineLast {
		s.aheadOfJournal++
		s.lastAhead = r.Seq()
	}
}

// AheadOfJournal returns the number of records, found by recovery, whose engine position is beyond
// the end of the engine's journal. Their commands were never answered, because answers wait for
// that journal. But the system may write unsynced bytes, and after a power cut one log may have them
// and the other not. Recovery applied these records at the end of the journal.
func (s *State) AheadOfJournal() int { return s.aheadOfJournal }

// Recheckpoint fixes the place of the records ahead of the journal where this recovery, or the one of a
// start that ended too early, applied them, before new commands take the positions that these
// records name. It takes snapshots, each after a record, until the older retained one contains
// these records: recovery falls back to it from a damaged newest snapshot. Call Recheckpoint once,
// after ReleaseUnknown and before the server admits requests.
func Recheckpoint(store *Store, s *State) error {
	for store.FallbackSeq() < s.lastAhead {
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
