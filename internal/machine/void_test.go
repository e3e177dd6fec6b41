package machine_test

import (
	"errors"
	"fmt"
	"io"
	"math/big"
	"sync/atomic"
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/audit"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/internal/seal"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/launchpad"
)

// standing is a clock that stands, which the loop takes for a real one.
type standing struct{ ns atomic.Int64 }

func (c *standing) NowNs() int64  { return c.ns.Load() }
func (c *standing) Virtual() bool { return false }

// stepped is a state behind a loop that the test steps, with small parts.
type stepped struct {
	t     *testing.T
	disk  *vfstest.Mem
	log   *wal.Log
	state *machine.State
	loop  *sequencer.Loop
}

func smallParts() machine.Options {
	return machine.Options{Engine: engine.Options{PartEvents: engine.MinPartEvents}, Secrets: &seal.Key{}}
}

func newStepped(t *testing.T) *stepped {
	s := &stepped{t: t, disk: vfstest.NewMem(), state: machine.New(smallParts())}
	var err error
	if s.log, err = wal.Open(s.disk, "engine", wal.Options{NoLock: true}); err != nil {
		t.Fatal(err)
	}
	clk := &standing{}
	clk.ns.Store(markettest.StartNs)
	s.loop = sequencer.NewLoop(sequencer.LoopOptions{
		Core: s.state.Core, Clock: clk, Journal: sequencer.NewSteppedWALJournal(s.log, sequencer.SyncOff, clk),
		Sinks: []sequencer.Sink{s.state.Feed.Sink()}, Parts: machine.NewShown(s.state),
	})
	return s
}

func (s *stepped) offer(cmds ...engine.Command) *sequencer.Batch {
	s.t.Helper()
	b := &sequencer.Batch{Commands: cmds}
	if err := s.loop.Offer(b); err != nil {
		s.t.Fatal(err)
	}
	return b
}

// await steps the loop until a batch is answered, and returns what the last command of another part has led to.
func (s *stepped) await(b *sequencer.Batch) *machine.Result {
	s.t.Helper()
	for {
		if answered, err := b.Outcome(); err != nil {
			s.t.Fatal(err)
		} else if answered {
			break
		}
		if !s.loop.Step().Worked {
			s.t.Fatal("the loop has nothing to do, and a batch has no answer")
		}
	}
	res, _ := b.Result.(*machine.Result)
	if res != nil && res.Refused != nil {
		s.t.Fatal(res.Refused)
	}
	return res
}

func (s *stepped) do(rec *engine.ControlRecord) *machine.Result {
	s.t.Helper()
	return s.await(s.offer(sequencer.OtherCommand(rec)))
}

// replay applies the journal to a new state, whose money it checks after each record, and counts the void records of
// each part.
func (s *stepped) replay() (state *machine.State, void [machine.Parts]int) {
	s.t.Helper()
	state = machine.New(smallParts())
	audits := audit.Auditor{State: state}
	rd, err := s.log.Reader(1)
	for err == nil {
		var rec wal.Record
		if rec, err = rd.Next(); err != nil {
			break
		}
		var cmd engine.Command
		err = engine.DecodeCommand(rec.Payload, &cmd)
		if cmd.Kind == engine.Other && state.Core.Void(&cmd) {
			void[cmd.Control.Part]++
		}
		next := keeper.Record(&rec)
		err = errors.Join(err, state.Apply(&next), audits.After())
	}
	if !errors.Is(err, io.EOF) {
		s.t.Fatal(err)
	}
	return state, void
}

// A record of any part behind a slice that is over is void: the loop passes it over and writes its command again, and a
// replay passes it over, too.
func TestAVoidRecordIsAppliedByNeitherLoopNorReplay(t *testing.T) {
	s := newStepped(t)
	s.await(s.offer(engine.Command{
		Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: markettest.Instrument("AA_BB", 2, 2),
	}))
	owner := launchpad.Address{0xaa}
	s.do(machine.OfLaunchpad(launchpad.Begin{Seed: 1}))
	s.do(machine.OfHive(hive.Begin{Seed: 1, GenesisNs: markettest.StartNs}))
	s.do(machine.OfLaunchpad(launchpad.Deposit{To: owner, Amount: launchpad.AmountOf(1000)}))
	s.do(machine.OfLaunchpad(launchpad.Spawn{Owner: owner, Name: "N", Symbol: "ABC"}))
	open := s.do(machine.OfHive(hive.Propose{
		TokenID: 10001, Topic: hive.SlippageCap, Payload: `{"slippageCapBps":70}`, Proposer: "p",
	})).Hive.Proposal
	user := s.do(machine.OfAccounts(&accounts.Command{Kind: accounts.CreateUser}, nil)).Accounts.User.Number
	for part, rec := range map[machine.Part]*engine.ControlRecord{
		machine.Accounts: machine.OfAccounts(&accounts.Command{
			Kind: accounts.Deposit, User: user, Currency: "BB", Amount: fixed.FromI64(5e10),
		}, nil),
		machine.Launchpad: machine.OfLaunchpad(launchpad.Deposit{To: owner, Amount: launchpad.AmountOf(5)}),
		machine.Hive: machine.OfHive(hive.CastVote{
			TokenID: 10001, ProposalID: open.ID(), Checkpoint: open.Checkpoint, Vote: hive.Yes, User: [16]byte{1},
			Level: 20, Holdings: new(big.Int).Exp(big.NewInt(10), big.NewInt(20), nil),
		}),
	} {
		var rest []engine.Command
		for i := range int64(100) {
			rest = append(rest, engine.Command{Kind: engine.Place, Side: engine.Sell, Price: 100 + i, Amount: 100})
		}
		s.await(s.offer(rest...))
		before, written := s.state.Hash().Others[part], s.log.LastSeq()
		all := s.offer(engine.Command{Kind: engine.CancelAll})
		behind := s.offer(sequencer.OtherCommand(rec))
		s.loop.Step()
		if s.log.LastSeq() != written+2 || !s.state.Core.Unfinished(0) || s.state.Hash().Others[part] != before {
			t.Fatalf("%s: %d records; the loop has applied a void one", part, s.log.LastSeq()-written)
		}
		s.await(all)
		s.await(behind)
		if s.state.Hash().Others[part] == before {
			t.Errorf("%s: the command is lost", part)
		}
	}
	again, void := s.replay()
	if got, want := fmt.Sprintf("%+v", again.Hash()), fmt.Sprintf("%+v", s.state.Hash()); got != want {
		t.Errorf("a replay has\n%s\nthe loop\n%s", got, want)
	}
	if parts := again.Digest().Diff(s.state.Digest()); parts != "" {
		t.Errorf("a replay has another digest of %s", parts)
	}
	if void != [machine.Parts]int{machine.Accounts: 1, machine.Launchpad: 1, machine.Hive: 1} {
		t.Errorf("void records: %v", void)
	}
	if got := again.Money.Shown().Balance(user, "BB").Total; got != fixed.FromI64(5e10).Wide() {
		t.Errorf("the deposit counts as %v", got)
	}
}
