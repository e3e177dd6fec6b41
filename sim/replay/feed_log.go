package replay

import (
	"time"

	"tickhive/engine"
	"tickhive/sim/replay/format"
)

// logLate limits how far a line of the log may be from the moment it reports: recorded books
// are compared with our states within it, and a fill that the log reports but our engine did
// not make is enforced after it.
const logLate = int64(time.Second)

// logFeed feeds an order log. Created orders enter as limit orders and the engine matches
// them; what was cancelled is cancelled. The log's own fills are only enforced where ours
// differ.
type logFeed struct {
	*feeder
	logStart
	n       int  // records so far
	started bool // the opening book is in

	gone   goneIDs
	odd    oddLines
	seen   [2]map[int64]bool // prices that were in a recorded book
	due    []dueAmount
	newest map[uint64]int64 // ns of an order's newest entry in due
}

// dueAmount is an order whose open amount must be amount at ns, unless the log reports something
// newer of it before.
type dueAmount struct {
	ns     int64
	id     uint64
	amount int64 // lots
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

// create enters an order. One whose deletion the log reported before must not stay: when it was
// cancelled it never enters, and when it was filled it trades and ends as after any fill.
func (l *logFeed) create(r *format.Record) error {
	if r.Amount == 0 {
		return nil // it was filled before the log named it
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

// change follows an order that was given another price: the exchange moves a market order
// from level to level in this way. A lower amount at the same price is a fill, which the
// engine finds by itself, up to the time that the log may be late.
func (l *logFeed) change(r *format.Record) error {
	_, known := l.orders[r.ID]
	switch o := l.open(r.ID); {
	case l.gone.has(r.ID):
		l.odd.changedLate++
	case !known:
		l.odd.changedUnknown++
	case o == nil: // our engine filled it
	case o.price == r.Price || r.Amount == 0:
		l.later(r.ID, r.Amount)
	default:
		l.entry.move(o, r.Price, r.Amount)
		_, err := l.entry.send()
		return err
	}
	return nil
}

// later schedules the comparison of the order's open amount for when the log cannot be late any more.
func (l *logFeed) later(id uint64, amount int64) {
	at := l.entry.now + logLate
	l.due = append(l.due, dueAmount{at, id, amount})
	l.newest[id] = at
}

// end cancels what was cancelled. An order that was filled is left to the engine, up to the
// time that the log may be late; one that no line names was part of its level, unless the log
// creates it later.
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

// enforce makes true what the log said logLate ago and the engine did not find by itself: an
// order was filled, or has another amount open than ours.
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

// conform takes from a recorded book what the log does not contain: the size of levels that hold an
// order without a name, and of prices that no recorded book had before.
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

// prepend puts an order without a name before everything at a price: what the log never named
// of rested there before anything that it did.
func (l *logFeed) prepend(side engine.Side, price, amount int64) error {
	var behind []resting
	if at := l.entry.at(side, price); at != nil {
		for _, o := range at.orders {
			behind = append(behind, *o)
			l.entry.cancel(o.id)
		}
	}
	l.entry.place(side, price, amount, engine.FlagPostOnly) // an order that the log did not name must not trade
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
