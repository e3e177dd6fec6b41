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

// Part is a part of the exchange.
type Part uint8

// The parts. The journal has the records of all but the accounts, which have a log of their own. A record of launchpad
// or hive has the number of its part (engine.OtherRecord).
const (
	Market Part = iota
	Accounts
	Launchpad
	Hive
	Parts // their number
)

// String returns the name of a part.
func (p Part) String() string {
	if p >= Parts {
		return fmt.Sprint("part ", uint8(p))
	}
	return [Parts]string{"market", "accounts", "launchpad", "hive"}[p]
}

// Log is a log of the exchange.
type Log uint8

// The logs.
const (
	Journal Log = iota
	OfAccounts
)

// Record is a record of a log, with its place for error messages.
type Record struct {
	Log     Log
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
	// Launchpad and Hive are the options of their parts. Records have every decision, so what is stored does not depend
	// on them.
	Launchpad launchpad.Options
	Hive      hive.Options
	// Money is the state of the accounts, which have a log of their own; nil: their records are not applied.
	Money *accounts.State
}

// State is the state of the exchange: market, launchpad and hive after the record at Pos of the journal, and the
// accounts after the last of their records that was applied.
type State struct {
	Core   *engine.Core
	Feed   *marketdata.Feed
	Money  *accounts.State // nil: not kept
	Ledger *launchpad.State
	Hive   *hive.State

	Settings Settings // in force

	Pos    uint64 // position of the journal's last record
	LastNs int64  // its time

	opts   Options
	events []engine.Event
	cmd    engine.Command
	part   int // size in bytes of the largest part read; a hint for the buffer of Write
}

// New returns an empty state.
func New(o Options) *State {
	s := &State{
		Core: o.Core, Feed: o.Feed, Money: o.Money, Ledger: launchpad.New(o.Launchpad), Hive: hive.New(o.Hive), opts: o,
	}
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

// Apply applies the next record of a log. The journal's come without a gap; a record of the accounts comes behind the
// journal's record that it names. Apply converts a panic to a *PoisonError: the record was journaled before its fault
// was known, and the start must report which record it is.
func (s *State) Apply(rec *Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PoisonError{File: rec.File, Offset: rec.Offset, Seq: rec.Pos, Cause: p, Stack: debug.Stack()}
		}
	}()
	if rec.Log == OfAccounts {
		return s.money(rec)
	}
	return s.journal(rec)
}

func (s *State) journal(rec *Record) error {
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
	if s.cmd.Kind == engine.Other {
		if _, err := s.ApplyOther(s.cmd.Other); err != nil {
			return rec.wrong(err)
		}
	}
	s.Pos, s.LastNs = rec.Pos, max(s.LastNs, s.cmd.TimeNs)
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

// Outcome is the result of a record of launchpad or hive; the other one is nil.
type Outcome struct {
	Ledger *launchpad.Result
	Hive   *hive.Result
}

// ApplyOther applies a record of launchpad or hive. What the launchpad says about a token is handed to the hive. The
// loop calls it for a record that it has written; Apply does for all others.
func (s *State) ApplyOther(rec *engine.OtherRecord) (out Outcome, err error) {
	switch Part(rec.Part) {
	case Launchpad:
		r, err := launchpad.DecodeRecord(rec.Record)
		if err != nil {
			return out, err
		}
		res := s.Ledger.Apply(&r)
		if res.Fact != nil {
			s.Hive.Fold(hive.Fact(*res.Fact))
		}
		return Outcome{Ledger: &res}, nil
	case Hive:
		r, err := hive.DecodeRecord(rec.Record)
		if err != nil {
			return out, err
		}
		res := s.Hive.Apply(&r)
		return Outcome{Hive: &res}, nil
	default:
		return out, fmt.Errorf("a record of part %d, which this program does not know", rec.Part)
	}
}

// NextNs returns when launchpad or hive next change by time alone, 0: never.
func (s *State) NextNs() int64 {
	next := s.Ledger.NextNs()
	if at := s.Hive.NextNs(); next == 0 || at != 0 && at < next {
		next = at
	}
	return next
}

// wrong says which record cannot be decoded.
func (r *Record) wrong(err error) error {
	return fmt.Errorf("%s: record %d at offset %d: %w", r.File, r.Pos, r.Offset, err)
}

// fold hands the events of the record at Pos to every fold.
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

// pass moves the position beyond a record that is not applied.
func (s *State) pass(pos uint64) {
	s.Pos = pos
	if s.Money != nil {
		s.Money.FoldEvents(nil, pos)
	}
	for _, fold := range s.opts.Sinks {
		fold(nil, pos)
	}
}

// Configure makes settings the ones in force, unless they are: write appends their record to the journal before.
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

// Finish carries out what is left of the commands that the journal ends in the middle of: write appends
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
