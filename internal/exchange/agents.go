package exchange

import (
	"fmt"
	"math"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/launchpad"
	"github.com/tickhive/tickhive/sim/residents"
)

// historySpan is the length of the launchpad's history before the current time, if there is a backfill. Workers
// become idle and proposals close after seven days, so a demo has some of each.
const historySpan = int64(9 * 24 * time.Hour)

// agentSide carries out the commands of launchpad and hive on the loop. Any goroutine may call the methods of
// agents.Exchange.
type agentSide struct {
	gate  *sequencer.Gate
	clock clock.Clock
	wait  sequencer.Mark // of an answer
	state *machine.State // the loop's goroutine owns it
	shown *machine.Shown
	fresh bool // this process begins the ledger

	residents *residentSource // nil: nothing is simulated
}

// openAgents lets the handlers reach launchpad and hive.
func (r *restored) openAgents() error {
	a := &agentSide{
		gate: &r.front.gate, clock: r.clock, wait: r.o.waits(), state: r.state, shown: r.shown,
		fresh: !r.state.Ledger.Begun(),
	}
	if r.sim != nil {
		if err := r.simulateResidents(a); err != nil {
			return err
		}
	}
	r.agents = a
	r.front.agents.Open(a)
	return nil
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

// Views returns the state that readers see.
func (a *agentSide) Views() (*launchpad.View, *hive.View) {
	v := a.shown.Views()
	return v.Ledger, v.Hive
}

// DoLaunchpad carries out a command of the launchpad. A recorded refusal (an injected fault) is the error.
func (a *agentSide) DoLaunchpad(cmd launchpad.Command) (res launchpad.Result, err error) {
	done, err := submit(a.gate, sequencer.OtherBatch(machine.OfLaunchpad(cmd), a.wait))
	if err != nil {
		return res, err
	}
	if res = done.Ledger; res.Refused != nil {
		err = res.Refused
	}
	return res, err
}

// DoHive carries out a command of the hive.
func (a *agentSide) DoHive(cmd hive.Command) (res hive.Result, err error) {
	done, err := submit(a.gate, sequencer.OtherBatch(machine.OfHive(cmd), a.wait))
	if err != nil {
		return res, err
	}
	return done.Hive, nil
}

// begin begins launchpad and hive in a new exchange, where their genesis is the time of the first record, and carries
// out what has become due while no loop ran.
func (a *agentSide) begin(loop *sequencer.Loop, seed uint64) error {
	for {
		var next *engine.ControlRecord
		if err := loop.Query(func() {
			switch due := a.state.NextNs(); {
			case !a.state.Ledger.Begun():
				next = machine.OfLaunchpad(launchpad.Begin{Seed: seed})
			case !a.state.Hive.Begun():
				v := a.state.Ledger.View()
				next = machine.OfHive(hive.Begin{Seed: v.Seed(), GenesisNs: v.GenesisNs()})
			case due != 0 && due <= a.clock.NowNs():
				next = a.state.DueRecord()
			}
		}); err != nil || next == nil {
			return err
		}
		if err := loop.Submit(sequencer.OtherBatch(next, sequencer.Written)); err != nil {
			return fmt.Errorf("launchpad and hive: %w", err)
		}
	}
}

// retryDue is the pause after which what is due is tried again, when it could not be written.
const retryDue = 250 * time.Millisecond

// dueSource carries out what time alone makes due in launchpad and hive.
type dueSource struct {
	a       *agentSide
	tried   uint64 // records of launchpad and hive that were applied when it acted last
	retryNs int64  // when it acts again if the disk has refused that record
}

// NextNs returns when the next change is due.
func (s *dueSource) NextNs() int64 {
	next := s.a.state.NextNs()
	switch {
	case next == 0:
		return step.Never
	case s.retryNs != 0 && s.tried == s.a.state.Agents() && !s.a.clock.Virtual():
		return max(next, s.retryNs)
	}
	return next
}

// Act carries out what is due at nowNs.
func (s *dueSource) Act(_ int64, dst []engine.Command) []engine.Command {
	s.tried, s.retryNs = s.a.state.Agents(), s.a.clock.NowNs()+int64(retryDue)
	return append(dst, sequencer.OtherCommand(s.a.state.DueRecord()))
}

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

// Act carries out a step. Refusals are expected and ignored.
func (s *residentSource) Act(nowNs int64, dst []engine.Command) []engine.Command {
	s.lastNs, s.nextNs = nowNs, 0
	ledger, swarm := s.a.state.Ledger.View(), s.a.state.Hive.View()
	for _, one := range s.sim.Act(nowNs, ledger, swarm) {
		if one.Ledger == nil {
			dst = append(dst, sequencer.OtherCommand(machine.OfHive(one.Hive)))
		} else {
			dst = append(dst, sequencer.OtherCommand(machine.OfLaunchpad(one.Ledger)))
		}
	}
	return dst
}

// Skip leaves the steps out up to nowNs.
func (s *residentSource) Skip(nowNs int64) { s.lastNs, s.nextNs = max(s.lastNs, nowNs), 0 }

// sources returns the sources of launchpad and hive.
func (a *agentSide) sources() []sequencer.Source {
	all := []sequencer.Source{&dueSource{a: a}}
	if a.residents != nil {
		all = append(all, a.residents)
	}
	return all
}
