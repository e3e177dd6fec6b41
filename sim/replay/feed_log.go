package replay

import (
	"time"

	"tickhive/engine"
	"tickhive/sim/replay/format"
)

// logLate limits the delay between an event and its line in the log. Recorded books are compared with our
// states up to logLate earlier and later. When the log reports a fill that our engine did not make, the fill is
// enforced logLate later.
const logLate = int64(time.Second)

// logFeed feeds an order log. It enters created orders as limit orders, which the engine matches, and cancels
// the orders whose deletion the log reports. It enforces a fill of the log only where the engine did not make
// it.
type logFeed struct {
	*feeder
	logStart
	n       int  // number of records read
	started bool // the opening book has been entered

	gone   goneIDs
	odd    oddLines
	seen   [2]map[int64]bool // prices that a recorded book has had, by side
	due    []dueAmount
	newest map[uint64]int64 // time in ns of the newest entry in due, by order id
}

// dueAmount is the open amount that an order must have at ns, unless the log reports another one before.
type dueAmount struct {
	ns     int64
	id     uint64
	amount int64 // open lots
}

func newLogFeed(f *feeder, start logStart) *logFeed {
	return &logFeed{
		feeder: f, logStart: start, gone: newGoneIDs(start.most),
		seen: [2]map[int64]bool{{}, {}}, newest: map[uint64]int64{},
	}
}

func (l *logFeed) skip(r *format.Record) bool {
	if l.n++; l.n >= l.first {
		return false
	}
	if r.Kind == format.Cancel {
		l.gone.add(r.ID, r.Amount == 0)
	}
	return true
}

func (l *logFeed) feed(r *format.Record) error {
	if !l.started {
		l.started = true
		return l.seed(r)
	}
	if err := l.enforce(); err != nil {
		return err
	}
	switch r.Kind {
	case format.Place:
		return l.create(r)
	case format.Change:
		return l.change(r)
	case format.Cancel:
		return l.end(r)
	case format.Book:
		return l.conform(r)
	default:
		return nil
	}
}

// create enters an order, unless the log has already reported its deletion. A canceled order is then never
// entered. A filled order is entered and closed logLate later, so that it can trade.
func (l *logFeed) create(r *format.Record) error {
	if r.Amount == 0 {
		return nil // the order was filled on arrival, before its line
	}
	filled, late := l.gone.filled[r.ID]
	if late {
		l.odd.createdLate++
	}
	_, open := l.orders[r.ID]
	if open && !late {
		l.odd.createdTwice++
		return nil
	}
	if late && (!filled || open) {
		return nil
	}
	if err := l.place(r.ID, r.Side, r.Price, r.Amount, 0); err != nil || !late {
		return err
	}
	l.later(r.ID, 0)
	return nil
}

// change applies a line with a new price or amount. For a new price it moves the order: this exchange moves
// market orders from level to level. A lower amount at the same price is a fill, which the engine makes itself;
// enforce checks it when the log can be late no more.
func (l *logFeed) change(r *format.Record) error {
	_, known := l.orders[r.ID]
	switch o := l.open(r.ID); {
	case l.gone.has(r.ID):
		l.odd.changedLate++
	case !known:
		l.odd.changedUnknown++
	case o == nil: // our engine has already filled the order
	case o.price == r.Price || r.Amount == 0:
		l.later(r.ID, r.Amount)
	default:
		l.entry.move(o, r.Price, r.Amount)
		_, err := l.entry.send()
		return err
	}
	return nil
}

// later schedules a comparison of the order's open amount in logLate ns.
func (l *logFeed) later(id uint64, amount int64) {
	at := l.entry.now + logLate
	l.due = append(l.due, dueAmount{at, id, amount})
	l.newest[id] = at
}

// end applies the deletion of an order. It cancels an order that was canceled. It leaves a filled order to the
// engine until enforce checks it. A canceled order without an earlier line is subtracted from the unnamed order
// of its level, unless the log creates it later (early).
func (l *logFeed) end(r *format.Record) error {
	id, known := l.orders[r.ID]
	filled := r.Amount == 0
	if !l.gone.add(r.ID, filled) {
		l.odd.deletedTwice++
		return nil
	}
	o := l.entry.orders[id]
	switch {
	case filled && known:
		l.later(r.ID, 0)
		return nil
	case filled || l.early[r.ID]:
		return nil
	case known:
		delete(l.orders, r.ID)
		if o != nil {
			l.entry.cancel(id)
		}
	default:
		if o = l.unnamed(r.Side, r.Price); o != nil {
			l.entry.lower(o, o.open-r.Amount)
		}
	}
	_, err := l.entry.send()
	return err
}

// enforce applies the amounts that are due: when the log reported logLate ago that an order was filled or has
// another open amount, and the engine did not do the same, enforce lowers or ends the order.
func (l *logFeed) enforce() error {
	n := 0
	for ; n < len(l.due) && l.due[n].ns <= l.entry.now; n++ {
		due := &l.due[n]
		if l.newest[due.id] != due.ns {
			continue
		}
		delete(l.newest, due.id)
		o := l.open(due.id)
		if o == nil || o.open == due.amount {
			continue
		}
		l.entry.lower(o, due.amount)
		l.check.given.Good++
		if _, err := l.entry.send(); err != nil {
			return err
		}
	}
	l.due = l.due[n:]
	return nil
}

// conform corrects our book by a recorded book where the log has no information: at levels with an unnamed
// order, and at prices that no recorded book has had before.
func (l *logFeed) conform(r *format.Record) error {
	for side, levels := range r.Levels {
		if err := l.conformSide(engine.Side(side), levels); err != nil {
			return err
		}
	}
	return l.sendAnonymous()
}

func (l *logFeed) conformSide(side engine.Side, levels []format.Level) error {
	recorded := make(map[int64]bool, len(levels))
	for _, want := range levels {
		recorded[want.Price] = true
		l.check.given.All++
		o := l.unnamed(side, want.Price)
		if o == nil && l.seen[side][want.Price] {
			continue
		}
		l.seen[side][want.Price] = true
		have := int64(0)
		if at := l.entry.at(side, want.Price); at != nil {
			have = at.amount
		}
		if have == want.Amount {
			continue
		}
		l.check.given.Good++
		switch {
		case o != nil:
			l.entry.lower(o, o.open+want.Amount-have)
		case want.Amount > have:
			if err := l.prepend(side, want.Price, want.Amount-have); err != nil {
				return err
			}
		}
	}
	if len(levels) == 0 {
		return nil
	}
	worst := levels[len(levels)-1].Price
	for _, price := range sortedKeys(l.anonymous[side]) {
		o := l.unnamed(side, price)
		if o == nil {
			delete(l.anonymous[side], price)
		} else if !recorded[price] && format.Worse(side, worst, price) {
			l.entry.cancel(o.id)
			l.check.given.Good++
		}
	}
	return nil
}

// prepend enters an unnamed order in front of all our orders at a price: an order that the log does not name
// rested there before every named one.
func (l *logFeed) prepend(side engine.Side, price, amount int64) error {
	var behind []resting
	if at := l.entry.at(side, price); at != nil {
		for _, o := range at.orders {
			behind = append(behind, *o)
			l.entry.cancel(o.id)
		}
	}
	// post-only, because an order that the log does not name must not trade
	l.entry.place(side, price, amount, engine.FlagPostOnly)
	if err := l.sendAnonymous(); err != nil {
		return err
	}
	for _, o := range behind {
		if err := l.place(o.name, side, price, o.open, engine.FlagPostOnly); err != nil {
			return err
		}
	}
	return nil
}
