package replay

import (
	"cmp"
	"slices"

	"tickhive/engine"
	"tickhive/sim/replay/format"
)

// apart makes a trade that price-time priority would not make: with our order maker, which may be behind others, or
// with an order that was not displayed (nil). In one batch it cancels our orders that would trade first, makes the
// trade, and places them again in their order, so that no reader sees them missing. What maker does not have is the
// amount of an order of the account for hidden makers. apart returns the trades of the taker.
func (m *messageFeed) apart(taker engine.Side, price, amount int64, maker *resting) ([]fill, error) {
	e := m.entry
	hidden := amount
	if maker != nil {
		hidden -= min(amount, maker.open)
	}
	var back []resting // orders to place again
	for _, l := range m.inTheWay(taker.Opposite(), price, hidden > 0) {
		if hidden == 0 && l.orders[0] == maker {
			continue // the first of its price trades first
		}
		for _, o := range l.orders {
			if o != maker {
				e.cancel(o.id)
				back = append(back, *o)
			} else if rest := *o; rest.open > amount {
				rest.open -= amount
				back = append(back, rest)
			}
		}
	}
	placed := len(e.batch.Commands)
	if hidden > 0 {
		e.place(taker.Opposite(), price, hidden, 0)
		e.batch.Commands[placed].Account = e.hidden
	}
	made := len(e.batch.Commands)
	e.hit(taker, price, amount)
	if maker != nil && slices.ContainsFunc(back, func(o resting) bool { return o.id == maker.id }) {
		e.cancel(maker.id)
	}
	first := len(e.batch.Commands)
	for i := range back {
		e.place(back[i].side, back[i].price, back[i].open, 0)
	}
	results, err := e.send()
	if err != nil {
		return nil, err
	}
	for i := range back {
		m.rename(&back[i], results[first+i].order)
	}
	fills, rest := slices.Clone(results[made].fills), results[placed].order
	if hidden == 0 || e.orders[rest] == nil {
		return fills, nil
	}
	// The taker traded with another account's order first.
	e.add(engine.Command{Kind: engine.Cancel, Order: rest, Account: e.hidden})
	_, err = e.send()
	return fills, err
}

// inTheWay returns our levels that would trade before an order of a side at a price, best first: of its own side, and
// with cross of the other one.
func (m *messageFeed) inTheWay(maker engine.Side, price int64, cross bool) (out []*level) {
	for _, side := range [2]engine.Side{maker, maker.Opposite()} {
		if side != maker && !cross {
			continue
		}
		var prices []int64
		for p := range m.entry.levels[side] {
			if !format.Worse(side, p, price) {
				prices = append(prices, p)
			}
		}
		slices.SortFunc(prices, func(a, b int64) int {
			if side == engine.Buy {
				a, b = b, a
			}
			return cmp.Compare(a, b)
		})
		for _, p := range prices {
			out = append(out, m.entry.levels[side][p])
		}
	}
	return out
}

// rename stores the new id of an order that was placed again.
func (m *messageFeed) rename(was *resting, id engine.OrderID) {
	o := m.entry.orders[id]
	switch {
	case o == nil: // it traded with another account's order
	case was.name == 0:
		m.anonymous[was.side][was.price] = id
	default:
		o.name, m.orders[was.name] = was.name, id
	}
}
