package sim

import (
	"math"

	"tickhive/engine"
)

// Observe folds the events of a command immediately after it was applied (sequencer.Observer). A sink would be
// later when the loop waits for durability, and the agents' decisions must not depend on the speed of a disk.
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

// adopt sets up a pair's agents from the pair's events: after a restart these arrive before the first step.
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

// Fold runs Observe for the events of a recovered journal. It skips events that the market has already folded.
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
		a.setOpen(ev.Side, ev.Order, anyPrice[ev.Side], 0)
	case engine.EventReduced:
		a.setOpen(engine.Buy, ev.Order, anyPrice[engine.Buy], ev.OpenAmount)
		a.setOpen(engine.Sell, ev.Order, anyPrice[engine.Sell], ev.OpenAmount)
	case engine.EventReplaced:
		// Agents do not replace orders, so another authorized client did. The ladder identifies quotes by price;
		// it drops this one and leaves the order in the book.
		a.setOpen(ev.Side, ev.Order, anyPrice[ev.Side], 0)
	default: // levels, refusals and changes of the pair do not affect quotes
	}
}

// trade updates the makers' stock and quotes after a trade.
func (a *agents) trade(ev *engine.Event) {
	a.last = ev.Price
	if a.setOpen(ev.Side.Opposite(), ev.Maker, ev.Price, ev.MakerOpen) {
		a.stock += signed(ev.Side.Opposite(), ev.Amount)
	}
	// A quote that matched on arrival was the taker of the trade.
	if a.setOpen(ev.Side, ev.Order, ev.Price, ev.OpenAmount) {
		a.stock += signed(ev.Side, ev.Amount)
	}
}

func signed(side engine.Side, lots int64) int64 {
	if side == engine.Sell {
		return -lots
	}
	return lots
}

// anyPrice holds, by side, a price that no order of the side is worse than.
var anyPrice = [2]int64{engine.Buy: 0, engine.Sell: math.MaxInt64}

// setOpen sets the open amount of a quote; 0 removes the quote from the ladder. It returns false when the order
// is not a quote.
func (a *agents) setOpen(side engine.Side, id engine.OrderID, price, open int64) bool {
	l := &a.ladders[side]
	i := l.find(side, id, price)
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
