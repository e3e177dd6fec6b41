package machine

import (
	"fmt"
	"runtime/debug"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/mix"
	"github.com/tickhive/tickhive/internal/seal"
	"github.com/tickhive/tickhive/launchpad"
	"github.com/tickhive/tickhive/marketdata"
)

// Part is a part of the exchange.
type Part uint8

// The parts. A record of another part than the market has the number of its part (engine.ControlRecord).
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

// Record is a record of the log, with its place for error messages.
type Record struct {
	Pos     uint64 // its position in the log
	Payload []byte
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
	// Secrets opens the sealed fields of the accounts for readers (Shown); the state opens none. An empty key, or nil,
	// opens none, either.
	Secrets *seal.Key
	// Unlimited: the accounts spend what they like and book nothing. Only tests and benchmarks, which have no users,
	// set it.
	Unlimited bool
}

// State is the state of the exchange after the record at Pos of the log.
type State struct {
	Core   *engine.Core
	Feed   *marketdata.Feed
	Money  *accounts.State
	Ledger *launchpad.State
	Hive   *hive.State

	Settings Settings // in force

	Pos    uint64 // position of the journal's last record
	LastNs int64  // its time

	agents      uint64 // records of launchpad and hive that were applied
	settingsMix uint64 // of Settings, for the digest
	summed      bool   // Read has compared the digest
	opts        Options
	events      []engine.Event
	cmd         engine.Command
	part        int // size in bytes of the largest part read; a hint for the buffer of Write
}

// New returns an empty state.
func New(o Options) *State {
	first := FirstSettings()
	if o.Secrets == nil {
		o.Secrets = new(seal.Key)
	}
	s := &State{
		Core: o.Core, Feed: o.Feed, Ledger: launchpad.New(first.Launchpad), Hive: hive.New(first.Hive), opts: o,
	}
	if s.Core == nil {
		s.Core = engine.NewCore(o.Engine)
	}
	s.Core.KeepDigest()
	if s.Feed == nil {
		s.Feed = marketdata.NewFeed(o.Market)
	}
	s.setMoney(accounts.New(first.Accounts))
	s.Set(first)
	return s
}

// setMoney makes accounts the ones that the core asks and that book its events.
func (s *State) setMoney(money *accounts.State) {
	if s.Money = money; !s.opts.Unlimited {
		s.Core.SetFunds(money)
	}
}

// Set makes settings the ones in force, without a record: where nothing is stored, and for Apply and Read.
func (s *State) Set(settings Settings) {
	s.Settings = settings
	s.settingsMix = mix.Bytes(settingsFormat, settings.Append(nil))
	s.Core.SetLimits(settings.Engine)
	s.Feed.SetRetention(settings.Market)
	s.Money.SetSettings(settings.Accounts)
	s.Ledger.SetOptions(settings.Launchpad)
	s.Hive.SetOptions(settings.Hive)
}

// Apply applies the next record of the log. It reads the record and the state alone. Apply converts a panic to a
// *PoisonError: the record was journaled before its fault was known, and the start must report which record it is.
func (s *State) Apply(rec *Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PoisonError{File: rec.File, Offset: rec.Offset, Seq: rec.Pos, Cause: p, Stack: debug.Stack()}
		}
	}()
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
		settings, err := DecodeSettings(s.cmd.Control.Settings)
		if err != nil {
			return rec.wrong(err)
		}
		s.Set(settings)
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
		if _, err := s.ApplyOther(&s.cmd); err != nil {
			return rec.wrong(err)
		}
	}
	s.Pos, s.LastNs = rec.Pos, max(s.LastNs, s.cmd.TimeNs)
	s.fold()
	return nil
}

// wrong says which record cannot be decoded.
func (r *Record) wrong(err error) error {
	return fmt.Errorf("%s: record %d at offset %d: %w", r.File, r.Pos, r.Offset, err)
}

// fold hands the events of the record at Pos to every fold. The core has handed them to the accounts.
func (s *State) fold() {
	s.Feed.Fold(s.events)
	s.Money.Advance(s.Pos)
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
	s.Money.Advance(pos)
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
		Control: &engine.ControlRecord{Settings: settings.Append(nil)},
	}
	if err := write(&cmd); err != nil {
		return err
	}
	s.Set(settings)
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
