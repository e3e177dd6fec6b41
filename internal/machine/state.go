package machine

import (
	"fmt"
	"runtime/debug"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/hive"
	"tickhive/launchpad"
	"tickhive/marketdata"
)

// Part is a part of the exchange, whose records one log has.
type Part uint8

// The parts.
const (
	Market Part = iota
	Accounts
	Launchpad
	Hive
	Parts // their number
)

// String returns the name of a part.
func (p Part) String() string {
	return [Parts]string{"market", "accounts", "launchpad", "hive"}[p]
}

// Record is a record of a part's log, with its place for error messages.
type Record struct {
	Part    Part
	Pos     uint64 // its position in the log
	Payload []byte // not sealed
	File    string
	Offset  int64
}

// Extra is a further fold whose state belongs to the market's snapshots: the simulated traders.
type Extra interface {
	// Name identifies its part of a snapshot.
	Name() string
	// Fold folds the events of the replayed records.
	Fold(events []engine.Event, pos uint64)
	// AppendState appends its state; DecodeState restores it.
	AppendState(dst []byte) []byte
	DecodeState(state []byte) error
}

// Options holds the constants of the market that wrote the log, and what else follows its records. The limits in Engine
// have no effect: they are settings (Settings).
type Options struct {
	Engine engine.Options
	Market marketdata.Options
	// Extras are folded and restored with the market. A snapshot's part without an extra of its name is skipped.
	Extras []Extra
	// Sinks receive the events but have no part in the snapshot.
	Sinks []func(events []engine.Event, pos uint64)
	// Skips holds the records of the market that must not be applied; nil: none.
	Skips Skips
	// Core and Feed, when not nil, must be empty. The state fills them instead of making new ones, because the
	// starting server already reads from them.
	Core *engine.Core
	Feed *marketdata.Feed
	// Money, Ledger and Hive are the states of the other parts; nil: the records of that part are not applied.
	Money  *accounts.State
	Ledger *launchpad.State
	Hive   *hive.State
}

// State is the state of the exchange: the market after its record at Pos, and each other part after the last of its
// records that was applied.
type State struct {
	Core   *engine.Core
	Feed   *marketdata.Feed
	Money  *accounts.State  // nil: not kept
	Ledger *launchpad.State // nil: not kept
	Hive   *hive.State      // nil: not kept

	Settings Settings // in force

	Pos    uint64 // position of the market's last record
	LastNs int64  // the time of the market's last command

	opts   Options
	events []engine.Event
	cmd    engine.Command
	part   int // size in bytes of the largest part read; a hint for the buffer of Write
}

// New returns a state with an empty market.
func New(o Options) *State {
	s := &State{Core: o.Core, Feed: o.Feed, Money: o.Money, Ledger: o.Ledger, Hive: o.Hive, opts: o}
	if s.Core == nil {
		s.Core = engine.NewCore(o.Engine)
	}
	if s.Feed == nil {
		s.Feed = marketdata.NewFeed(o.Market)
	}
	s.set(FirstSettings())
	return s
}

// set makes settings the ones in force.
func (s *State) set(settings Settings) {
	s.Settings = settings
	s.Core.SetLimits(settings.Engine)
}

// Apply applies the next record of a part. The market's come without a gap; a record of the accounts comes behind the
// market's record that it names. Apply converts a panic to a *PoisonError: the record was journaled before its fault
// was known, and the start must report which record it is.
func (s *State) Apply(rec *Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PoisonError{File: rec.File, Offset: rec.Offset, Seq: rec.Pos, Cause: p, Stack: debug.Stack()}
		}
	}()
	switch rec.Part {
	case Market:
		return s.market(rec)
	case Accounts:
		return s.money(rec)
	case Launchpad:
		return s.ledger(rec)
	case Hive:
		return s.agents(rec)
	}
	panic(fmt.Sprintf("BUG: machine: a record of part %d", rec.Part))
}

func (s *State) market(rec *Record) error {
	if rec.Pos != s.Pos+1 {
		return fmt.Errorf("machine: record %d comes after %d", rec.Pos, s.Pos)
	}
	if engine.IsSkip(rec.Payload) || s.opts.Skips[rec.Pos] {
		s.skip(rec)
		return nil
	}
	if err := engine.DecodeCommand(rec.Payload, &s.cmd); err != nil {
		return rec.wrong(err)
	}
	if s.cmd.Kind == engine.SetSettings {
		settings, err := DecodeSettings(s.cmd.Settings.Encoded)
		if err != nil {
			return rec.wrong(err)
		}
		s.set(settings)
		s.LastNs = max(s.LastNs, s.cmd.TimeNs)
		s.pass(rec.Pos)
		return nil
	}
	if s.Core.Void(&s.cmd) { // its command has a later record
		s.pass(rec.Pos)
		return nil
	}
	s.events = s.Core.Apply(&s.cmd, s.events[:0])
	s.Pos, s.LastNs = rec.Pos, s.cmd.TimeNs
	s.fold()
	return nil
}

func (s *State) money(rec *Record) error {
	if s.Money == nil {
		return nil
	}
	r, err := accounts.DecodeRecord(rec.Payload)
	if err != nil {
		return rec.wrong(err)
	}
	s.Money.Apply(&r)
	return nil
}

// ledger applies a record of the launchpad, and hands what it says about a token to the hive.
func (s *State) ledger(rec *Record) error {
	if s.Ledger == nil {
		return nil
	}
	r, err := launchpad.DecodeRecord(rec.Payload)
	if err != nil {
		return rec.wrong(err)
	}
	if res := s.Ledger.Apply(&r); res.Fact != nil && s.Hive != nil {
		s.Hive.Fold(hive.Fact(*res.Fact))
	}
	return nil
}

func (s *State) agents(rec *Record) error {
	if s.Hive == nil {
		return nil
	}
	r, err := hive.DecodeRecord(rec.Payload)
	if err != nil {
		return rec.wrong(err)
	}
	s.Hive.Apply(&r)
	return nil
}

// wrong says which record cannot be decoded.
func (r *Record) wrong(err error) error {
	return fmt.Errorf("%s: record %d at offset %d: %w", r.File, r.Pos, r.Offset, err)
}

// fold hands the events of the market's record at Pos to every fold.
func (s *State) fold() {
	s.Feed.Fold(s.events)
	if s.Money != nil {
		s.Money.FoldEvents(s.events, s.Pos)
	}
	for _, x := range s.opts.Extras {
		x.Fold(s.events, s.Pos)
	}
	for _, fold := range s.opts.Sinks {
		fold(s.events, s.Pos)
	}
}

// pass moves the market's position beyond a record that is not applied.
func (s *State) pass(pos uint64) {
	s.Pos = pos
	if s.Money != nil {
		s.Money.FoldEvents(nil, pos)
	}
	for _, fold := range s.opts.Sinks {
		fold(nil, pos)
	}
}

// Configure makes settings the ones in force, unless they are: write appends their record to the market's log before.
// The record's time is the time of the last command. It changes nothing when write fails.
func (s *State) Configure(settings Settings, write func(cmd *engine.Command) error) error {
	if s.Settings.Equal(&settings) {
		return nil
	}
	cmd := engine.Command{
		Kind: engine.SetSettings, Pair: engine.ControlPair, TimeNs: s.LastNs, First: true,
		Settings: &engine.Settings{Encoded: settings.Append(nil)},
	}
	if err := write(&cmd); err != nil {
		return err
	}
	s.set(settings)
	s.pass(s.Pos + 1)
	return nil
}

// Finish carries out what is left of the commands that the market's log ends in the middle of: write appends
// each Continue to the log before it is applied. The time is the time of the last command, so every
// start that finds this log makes the same records.
func (s *State) Finish(write func(cmd *engine.Command) error) error {
	for _, p := range s.Core.AppendUnfinished(nil) {
		for s.Core.Unfinished(p) {
			cmd := engine.Command{Kind: engine.Continue, Pair: p, TimeNs: s.LastNs, First: true}
			if err := write(&cmd); err != nil {
				return err
			}
			s.events = s.Core.Apply(&cmd, s.events[:0])
			s.Pos++
			s.fold()
		}
	}
	return nil
}
