package exchange

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/hive"
	"tickhive/internal/clock"
	"tickhive/internal/machine"
	"tickhive/internal/step"
	"tickhive/launchpad"
	"tickhive/sim/residents"
)

// historySpan is the length of the launchpad's history before the current time, if there is a backfill. Workers
// become idle and proposals close after seven days, so a demo has some of each.
const historySpan = int64(9 * 24 * time.Hour)

// agentSide carries out the commands of launchpad and hive on the loop, and shows their states. The loop's goroutine
// owns the states; any goroutine may call the methods of agents.Exchange.
type agentSide struct {
	gate  *sequencer.Gate
	clock clock.Clock
	state *machine.State
	shown atomic.Pointer[agentViews]
	fresh bool // this process begins the ledger

	residents *residentSource // nil: nothing is simulated
}

// agentViews is what readers see, at one record.
type agentViews struct {
	ledger *launchpad.View
	hive   *hive.View
}

// openAgents shows the recovered states of launchpad and hive.
func (r *restored) openAgents(state *machine.State) (*agentSide, error) {
	a := &agentSide{gate: &r.front.gate, clock: r.clock, state: state, fresh: !state.Ledger.Begun()}
	a.publish()
	if r.sim != nil {
		if err := r.simulateResidents(a); err != nil {
			return nil, err
		}
	}
	r.front.agents.Open(a)
	return a, nil
}

// simulateResidents makes the residents of a simulated market. In a new directory with a backfill they have lived for
// nine days.
func (r *restored) simulateResidents(a *agentSide) (err error) {
	o := residents.Options{Seed: r.data.Seed()}
	if r.clock.Virtual() {
		o.FullNs = math.MaxInt64 // while a virtual clock is moved, no client watches
	}
	if span := int64(r.data.Backfill()); a.fresh && span > 0 {
		_, end := r.backfillSpan()
		o.BusyNs, o.FullNs = end-span, max(end, o.FullNs)
	}
	o.Residents = residents.Builtin(o.Seed)
	a.residents = &residentSource{a: a}
	a.residents.sim, err = residents.New(o)
	return err
}

// publish shows the present states. No loop runs, or its goroutine calls it.
func (a *agentSide) publish() { a.shown.Store(a.views()) }

func (a *agentSide) views() *agentViews {
	return &agentViews{a.state.Ledger.View(), a.state.Hive.View()}
}

// Views returns the state that readers see.
func (a *agentSide) Views() (*launchpad.View, *hive.View) {
	v := a.shown.Load()
	return v.ledger, v.hive
}

// DoLaunchpad carries out a command of the launchpad. A recorded refusal (an injected fault) is the error.
func (a *agentSide) DoLaunchpad(cmd launchpad.Command) (res launchpad.Result, err error) {
	c := &agentCommand{a: a, ledger: cmd}
	if err = a.gate.Submit(sequencer.OtherBatch(c, sequencer.Synced)); err != nil {
		return res, err
	}
	if res = *c.done.Ledger; res.Refused != nil {
		err = res.Refused
	}
	return res, err
}

// DoHive carries out a command of the hive.
func (a *agentSide) DoHive(cmd hive.Command) (res hive.Result, err error) {
	c := &agentCommand{a: a, hive: cmd}
	if err = a.gate.Submit(sequencer.OtherBatch(c, sequencer.Synced)); err != nil {
		return res, err
	}
	return *c.done.Hive, nil
}

// begin begins launchpad and hive in a new exchange, where their genesis is the time of the first record, and carries
// out what has become due while no loop ran.
func (a *agentSide) begin(loop *sequencer.Loop, seed uint64) error {
	for {
		var next *agentCommand
		if err := loop.Query(func() {
			switch {
			case !a.state.Ledger.Begun():
				next = &agentCommand{a: a, ledger: launchpad.Begin{Seed: seed}}
			case !a.state.Hive.Begun():
				v := a.state.Ledger.View()
				next = &agentCommand{a: a, hive: hive.Begin{Seed: v.Seed(), GenesisNs: v.GenesisNs()}}
			default:
				next = a.due(a.clock.NowNs())
			}
		}); err != nil || next == nil {
			return err
		}
		if err := loop.Submit(sequencer.OtherBatch(next, sequencer.Written)); err != nil {
			return fmt.Errorf("launchpad and hive: %w", err)
		}
	}
}

// agentCommand is a command of launchpad or hive in the loop; the other one is nil.
type agentCommand struct {
	a      *agentSide
	ledger launchpad.Command
	hive   hive.Command
	dueNs  int64 // of what time alone makes due; 0: a command of a client

	done  machine.Outcome
	after *agentViews
}

// Due returns what is due by nowNs.
func (c *agentCommand) Due(nowNs int64) sequencer.Other {
	if c.dueNs != 0 {
		return nil
	}
	if due := c.a.due(nowNs); due != nil {
		return due
	}
	return nil
}

// due returns the next change that time alone makes up to nowNs, nil if there is none.
func (a *agentSide) due(nowNs int64) *agentCommand {
	switch next := a.state.NextNs(); {
	case next == 0 || next > nowNs:
		return nil
	case next == a.state.Ledger.NextNs():
		return &agentCommand{a: a, ledger: launchpad.Tick{}, dueNs: next}
	default:
		return &agentCommand{a: a, hive: hive.Tick{}, dueNs: next}
	}
}

// Plan plans the command. What is due is planned at the time when it is due.
func (c *agentCommand) Plan(nowNs int64) (*engine.OtherRecord, error) {
	if c.dueNs != 0 {
		nowNs = c.dueNs
	}
	if c.ledger != nil {
		rec, err := c.a.state.Ledger.Plan(nowNs, c.ledger)
		if err != nil {
			return nil, err
		}
		return &engine.OtherRecord{Part: uint8(machine.Launchpad), Record: launchpad.AppendRecord(nil, &rec)}, nil
	}
	rec, err := c.a.state.Hive.Plan(nowNs, c.hive)
	if err != nil {
		return nil, err
	}
	return &engine.OtherRecord{Part: uint8(machine.Hive), Record: hive.AppendRecord(nil, &rec)}, nil
}

// Apply applies the record.
func (c *agentCommand) Apply(rec *engine.OtherRecord) {
	var err error
	if c.done, err = c.a.state.ApplyOther(rec); err != nil {
		panic("BUG: exchange: a record that was just planned: " + err.Error())
	}
	c.after = c.a.views()
}

// Show shows the state after the command.
func (c *agentCommand) Show() { c.a.shown.Store(c.after) }

// retryDue is the pause after which what is due is tried again, when it could not be written.
const retryDue = 250 * time.Millisecond

// dueSource carries out what time alone makes due in launchpad and hive.
type dueSource struct {
	a       *agentSide
	retryNs int64 // not before; 0: at any time
}

// NextNs returns when the next change is due.
func (s *dueSource) NextNs() int64 {
	next := s.a.state.NextNs()
	if next == 0 {
		return step.Never
	}
	return max(next, s.retryNs)
}

// Do carries out what is due at nowNs.
func (s *dueSource) Do(nowNs int64, do func(sequencer.Other)) {
	s.retryNs = 0
	c := s.a.due(nowNs)
	if c == nil {
		return
	}
	if do(c); c.after == nil && !s.a.clock.Virtual() { // refused: the disk is full
		s.retryNs = s.a.clock.NowNs() + int64(retryDue)
	}
}

// Act is not called.
func (s *dueSource) Act(int64, []engine.Command) []engine.Command { return nil }

// Skip does nothing: what is due stays due.
func (s *dueSource) Skip(int64) {}

// residentSource simulates the residents of launchpad and hive.
type residentSource struct {
	a      *agentSide
	sim    *residents.Simulation
	lastNs int64 // of the last step; 0: none yet
	nextNs int64 // of the next one; 0: not known
}

// NextNs returns the time of the next step.
func (s *residentSource) NextNs() int64 {
	if !s.a.state.Hive.Begun() {
		return step.Never
	}
	if s.nextNs == 0 {
		if s.lastNs == 0 {
			s.lastNs = max(s.a.state.Ledger.LastNs(), s.a.state.Hive.LastNs())
		}
		s.nextNs = s.sim.NextNs(s.a.state.Ledger.View().GenesisNs(), s.lastNs)
	}
	return s.nextNs
}

// Do carries out a step. Refusals are expected and ignored.
func (s *residentSource) Do(nowNs int64, do func(sequencer.Other)) {
	s.lastNs, s.nextNs = nowNs, 0
	v := s.a.views()
	for _, one := range s.sim.Act(nowNs, v.ledger, v.hive) {
		if one.Ledger == nil {
			do(&agentCommand{a: s.a, hive: s.counted(one.Hive, do)})
		} else {
			do(&agentCommand{a: s.a, ledger: one.Ledger})
		}
	}
}

// counted gives a proposal the ledger's checkpoint, as the service of the routes does.
func (s *residentSource) counted(cmd hive.Command, do func(sequencer.Other)) hive.Command {
	p, ok := cmd.(hive.Propose)
	t, known := s.a.state.Ledger.View().ByNFT(p.TokenID)
	if !ok || !known {
		return cmd
	}
	c := &agentCommand{a: s.a, ledger: launchpad.Checkpoint{Token: t.No}}
	if do(c); c.done.Ledger != nil {
		p.Checkpoint, p.CheckpointEndSec = c.done.Ledger.Checkpoint, c.done.Ledger.EndSec
	}
	return p
}

// Act is not called.
func (s *residentSource) Act(int64, []engine.Command) []engine.Command { return nil }

// Skip leaves the steps out up to nowNs.
func (s *residentSource) Skip(nowNs int64) { s.lastNs, s.nextNs = max(s.lastNs, nowNs), 0 }

// agentSources returns the sources of launchpad and hive.
func (a *agentSide) sources() []sequencer.Source {
	all := []sequencer.Source{&dueSource{a: a}}
	if a.residents != nil {
		all = append(all, a.residents)
	}
	return all
}
