package sim

import (
	"tickhive/engine"
)

// Observe folds the events of a command right after it was applied, as a sequencer.Observer: a loop
// that answers only durable commands folds later, and the agents' decisions must not depend on
// the speed of a disk.
func (m *Market) Observe(events []engine.Event) {
	for i := range events {
		ev := &events[i]
		if ev.Pair == engine.ControlPair {
			continue
		}
		if a := m.agents(ev.Pair); a != nil && ev.Seq > a.seq {
			a.seq = ev.Seq
			a.see(ev)
		} else if a == nil && ev.Kind == engine.EventAccepted && ev.Flags&FlagAgent != 0 {
			m.adopt(ev)
		}
	}
}

func (m *Market) agents(id engine.PairID) *agents {
	if uint64(id) >= uint64(len(m.byID)) {
		return nil
	}
	return m.byID[id]
}

// adopt sets up a pair from its events: after a restart they arrive before the first step.
func (m *Market) adopt(ev *engine.Event) {
	for _, a := range m.pairs {
		if a.found {
			continue
		}
		if ins, ok := m.core.Pair(ev.Pair); ok && ins.Code == a.Code {
			m.setUp(a)
			a.seq = ev.Seq
			a.see(ev)
		}
	}
}

// Fold runs Observe for the events of a journal that is being recovered; it skips events that the
// market has seen before.
func (m *Market) Fold(events []engine.Event, _ uint64) { m.Observe(events) }

func (a *agents) see(ev *engine.Event) {
	switch ev.Kind {
	case engine.EventAccepted:
		if ev.Flags&FlagAgent != 0 && ev.TIF == engine.GTC {
			a.ladders[ev.Side].insert(ev.Side, quote{ev.Order, ev.Price, ev.Amount})
		}
	case engine.EventTrade:
		a.trade(ev)
	case engine.EventCanceled:
		a.setOpen(ev.Side, ev.Order, 0)
	case engine.EventReduced:
		a.setOpen(engine.Buy, ev.Order, ev.OpenAmount)
		a.setOpen(engine.Sell, ev.Order, ev.OpenAmount)
	case engine.EventReplaced:
		// Agents do not replace orders: another authorized client did. Quotes are identified by
		// their price, so the ladder drops this one and leaves the order alone.
		a.setOpen(ev.Side, ev.Order, 0)
	default: // levels, refusals and the pair's own changes do not affect quotes
	}
}

// trade books the makers' fills.
func (a *agents) trade(ev *engine.Event) {
	a.last = ev.Price
	if a.setOpen(ev.Side.Opposite(), ev.Maker, ev.MakerOpen) {
		a.stock += signed(ev.Side.Opposite(), ev.Amount)
	}
	// A quote that matched on arrival was a taker.
	if a.setOpen(ev.Side, ev.Order, ev.OpenAmount) {
		a.stock += signed(ev.Side, ev.Amount)
	}
}

func signed(side engine.Side, lots int64) int64 {
	if side == engine.Sell {
		return -lots
	}
	return lots
}

// setOpen sets the open amount of a quote; 0 removes it from the ladder. It reports whether the
// order was a quote.
func (a *agents) setOpen(side engine.Side, id engine.OrderID, open int64) bool {
	l := &a.ladders[side]
	i := l.find(id)
	if i < 0 {
		return false
	}
	if open > 0 {
		l.at(i).open = open
	} else {
		l.remove(i)
	}
	return true
}
