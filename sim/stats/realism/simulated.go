package realism

import (
	"context"
	"fmt"
	"time"

	"tickhive/engine"
	"tickhive/sim"
	"tickhive/sim/replay/format"
)

// levelsMost bounds the levels of a side that are looked at.
const levelsMost = 100_000

// Simulate runs a market without a server and returns the samples of all its pairs, by code. The instruments are
// those of the pairs in o; o.Core must be nil.
func Simulate(ctx context.Context, o sim.Options, instruments []*engine.Instrument, length time.Duration) (
	map[string]Samples, error,
) {
	s := simulation{core: engine.NewCore(engine.Options{}), tapes: map[engine.PairID]*tape{}}
	o.Core = s.core
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("realism: %w", err)
	}
	out := map[string]Samples{}
	for _, ins := range instruments {
		cmd := engine.Command{Kind: engine.AddPair, Instrument: ins, TimeNs: o.StartNs, Rules: engine.RulesVersion}
		s.events = s.core.Apply(&cmd, s.events[:0])
		id, ok := s.core.PairByCode(ins.Code)
		if !ok {
			return nil, fmt.Errorf("realism: the engine refuses the pair %s", ins.Code)
		}
		t := newTape(windowLong)
		t.complete, t.tick = true, 1
		s.tapes[id] = t
		out[ins.Code] = t.out
	}
	s.market = sim.New(o)
	end := o.StartNs + int64(length)
	for n := 0; s.market.NextNs() <= end; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("realism: %w", ctx.Err())
		}
		s.step(s.market.NextNs())
	}
	return out, nil
}

// simulation runs a market on a core. Owner: Simulate.
type simulation struct {
	core   *engine.Core
	market *sim.Market
	tapes  map[engine.PairID]*tape
	cmds   []engine.Command
	events []engine.Event
	depth  []engine.DepthLevel
}

// step carries out one step of the market's agents.
func (s *simulation) step(ns int64) {
	s.cmds = s.market.Act(ns, s.cmds[:0])
	if len(s.cmds) == 0 {
		return
	}
	id := s.cmds[0].Pair
	t := s.tapes[id]
	s.look(t, id, t.sampleAt <= ns)
	t.advance(ns)
	for i := range s.cmds {
		c := &s.cmds[i]
		c.TimeNs, c.Rules, c.First = ns, engine.RulesVersion, true
		s.events = s.core.Apply(c, s.events[:0])
		s.market.Observe(s.events)
		for j := range s.events {
			t.see(&s.events[j])
		}
	}
}

// look copies the book of a pair to its tape: the touch, and the levels when a sample is due.
func (s *simulation) look(t *tape, id engine.PairID, sampled bool) {
	depth := 1
	if sampled {
		depth = levelsMost
	}
	for side := range t.levels {
		s.depth = s.core.AppendDepth(s.depth[:0], id, engine.Side(side), depth)
		t.levels[side] = t.levels[side][:0]
		for _, l := range s.depth {
			t.levels[side] = append(t.levels[side], format.Level{Price: l.Price, Amount: l.Shown})
		}
	}
	t.setTouch()
}

// see enters an event on the tape.
func (t *tape) see(ev *engine.Event) {
	switch {
	case ev.Kind == engine.EventAccepted && ev.TIF == engine.GTC:
		t.place(ev.Amount)
	case ev.Kind == engine.EventCanceled && ev.Cause == engine.CauseRequest:
		t.cancel()
	case ev.Kind == engine.EventTrade:
		t.trade(ev.TimeNs, ev.Side, ev.Price, ev.Amount)
	}
}
