package replay

import (
	"cmp"
	"math"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/sim/replay/format"
)

// messageFeed feeds order messages; the file has the best levels of the book after each. It enters an execution
// as an immediate-or-cancel order on the other side, so that the engine decides which order is filled; or, when it is
// passive, it fills the order that the file names. A trade with an order that was not displayed is made apart from the
// book (method apart).
type messageFeed struct {
	*feeder
	passive  bool
	started  bool
	prev     [2][]format.Level // the visible levels after the message before, by side
	hidden   [2]map[int64]bool // prices of our orders that are no longer visible, by side
	notShown int               // trades with orders that were not displayed
	missing  int               // messages that name an order at a price where we have none
}

func newMessageFeed(f *feeder, passive bool) *messageFeed {
	return &messageFeed{feeder: f, passive: passive, hidden: [2]map[int64]bool{{}, {}}}
}

func (m *messageFeed) notes() []string {
	notes := noted(nil, m.notShown, "%d trades with an order that was not displayed: made apart from the book")
	return noted(notes, m.missing, "%d messages name an order that the book does not have, or not with that amount")
}

func (m *messageFeed) feed(r *format.Record) error {
	defer m.keep(r)
	if !m.started {
		m.started = true
		return m.seed(r)
	}
	if r.Kind == format.Place && m.hidden[r.Side][r.Price] {
		// The file omits new orders outside the visible levels. A new order at a hidden price shows that the
		// price is visible again, and empty.
		m.forget(r.Side, r.Price)
		delete(m.hidden[r.Side], r.Price)
		if _, err := m.entry.send(); err != nil {
			return err
		}
	}
	if err := m.enter(r); err != nil {
		return err
	}
	for side := range r.Levels {
		m.window(r, engine.Side(side))
	}
	return m.sendAnonymous()
}

// keep stores the levels for the next message.
func (m *messageFeed) keep(r *format.Record) {
	for side := range r.Levels {
		m.prev[side] = append(m.prev[side][:0], r.Levels[side]...)
	}
}

// seed enters the opening book: one unnamed order per level. When the first message is a new order, it is
// entered behind the unnamed order of its level.
func (m *messageFeed) seed(r *format.Record) error {
	for side, levels := range r.Levels {
		for _, l := range levels {
			if isNew(r, engine.Side(side), l.Price) {
				if l.Amount -= r.Amount; l.Amount <= 0 {
					continue
				}
			}
			m.entry.place(engine.Side(side), l.Price, l.Amount, 0)
		}
	}
	if err := m.sendAnonymous(); err != nil {
		return err
	}
	if r.Kind == format.Place || r.Kind == format.Trade {
		return m.enter(r)
	}
	return nil
}

// isNew reports whether the message is a new order at this price.
func isNew(r *format.Record, side engine.Side, price int64) bool {
	return r.Kind == format.Place && r.Side == side && r.Price == price
}

// findLevel returns the amount at a price, 0 when the levels do not have it.
func findLevel(levels []format.Level, price int64) int64 {
	for _, l := range levels {
		if l.Price == price {
			return l.Amount
		}
	}
	return 0
}

// enter applies the message to our orders.
func (m *messageFeed) enter(r *format.Record) error {
	switch r.Kind {
	case format.Place:
		err := m.place(r.ID, r.Side, r.Price, r.Amount, 0)
		m.prune(r.ID)
		return err
	case format.Execute:
		return m.execute(r)
	case format.Trade:
		m.notShown++
		m.check.printed(marketdata.Trade{TimeNs: m.entry.now, Price: r.Price, Amount: r.Amount, TakerSide: r.Side})
		_, err := m.apart(r.Side, r.Price, r.Amount, nil)
		return err
	case format.Reduce, format.Cancel:
	default:
		return nil
	}
	o := m.open(r.ID)
	whole := o != nil && r.Kind == format.Cancel
	if o == nil {
		o = m.unnamed(r.Side, r.Price)
	}
	switch {
	case o == nil:
		m.missing++
		return nil
	case whole:
		m.entry.cancel(o.id)
	default:
		m.entry.lower(o, o.open-r.Amount)
	}
	_, err := m.entry.send()
	m.prune(r.ID)
	return err
}

// prune removes the id of an order that is no longer open.
func (m *messageFeed) prune(id uint64) {
	if m.open(id) == nil {
		delete(m.orders, id)
	}
}

// execute enters the taker of an execution and checks which order the engine filled.
func (m *messageFeed) execute(r *format.Record) error {
	want := m.orders[r.ID]
	if m.open(r.ID) == nil { // the file never named the order, or its level was hidden meanwhile
		want = m.anonymous[r.Side][r.Price]
	}
	taker := r.Side.Opposite()
	m.check.printed(marketdata.Trade{TimeNs: m.entry.now, Price: r.Price, Amount: r.Amount, TakerSide: taker})
	f, err := m.fill(taker, r, m.entry.orders[want])
	if err != nil {
		return err
	}
	one := len(f) == 1 && f[0].price == r.Price && f[0].amount == r.Amount
	m.check.executed(one, one && f[0].maker == want)
	m.prune(r.ID)
	return nil
}

// fill enters the taker of an execution, whose maker is the recorded one when the feed is passive. It returns the
// trades.
func (m *messageFeed) fill(taker engine.Side, r *format.Record, maker *resting) ([]fill, error) {
	if m.passive {
		if maker == nil || maker.open < r.Amount {
			m.missing++
		}
		return m.apart(taker, r.Price, r.Amount, maker)
	}
	m.entry.hit(taker, r.Price, r.Amount)
	results, err := m.entry.send()
	if err != nil {
		return nil, err
	}
	return results[0].fills, nil
}

// window updates the book at prices that enter or leave the visible levels. When a level becomes hidden, its
// orders stay, but later changes of it are invisible. When a price becomes visible again, one unnamed order
// replaces its orders. The check counts this level as given by the file only if its amount differs from ours.
func (m *messageFeed) window(r *format.Record, side engine.Side) {
	row, prev := r.Levels[side], m.prev[side]
	if slices.Equal(row, prev) {
		return
	}
	given, known := false, false
	for _, l := range row {
		delete(m.hidden[side], l.Price)
		if findLevel(prev, l.Price) != 0 || isNew(r, side, l.Price) {
			continue
		}
		if at := m.entry.at(side, l.Price); at != nil && at.amount == l.Amount {
			known = true
		} else {
			given = true
		}
		m.forget(side, l.Price)
		m.entry.place(side, l.Price, l.Amount, 0)
	}
	m.check.sideChanged(given, known)
	worst := worstInView(r, side)
	for _, price := range sortedKeys(m.hidden[side]) {
		if !format.Worse(side, price, worst) { // visible again, but without a level
			m.forget(side, price)
			delete(m.hidden[side], price)
		}
	}
	for _, l := range prev {
		if findLevel(row, l.Price) == 0 && format.Worse(side, l.Price, worst) && m.entry.at(side, l.Price) != nil {
			m.hidden[side][l.Price] = true
		}
	}
}

// worstInView returns the worst visible price of a side. When the file shows fewer levels than it has room for,
// every price is visible.
func worstInView(r *format.Record, side engine.Side) int64 {
	levels := r.Levels[side]
	switch {
	case len(levels) == r.Depth:
		return levels[len(levels)-1].Price
	case side == engine.Buy:
		return math.MinInt64
	}
	return math.MaxInt64
}

// forget cancels all our orders at a price.
func (m *messageFeed) forget(side engine.Side, price int64) {
	if l := m.entry.at(side, price); l != nil {
		for _, o := range l.orders {
			m.entry.cancel(o.id)
		}
	}
	delete(m.anonymous[side], price)
}

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
