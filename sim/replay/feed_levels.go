package replay

import (
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/sim/replay/format"
)

// levelFeed feeds a stream of level updates and trades. Its book has one order per level, with the amount that
// the updates state. A trade does not change that book; the next update does.
type levelFeed struct {
	*feeder
	update uint64 // id of the last applied update
	synced bool   // a complete book was applied
	live   bool   // the orders of the model are in the engine's book
	gaps   int    // missing updates since the last complete book
	lost   int    // missing updates in all
	stale  int    // levels that newer ones of the other side crossed
	early  []earlyUpdate
	model  [2]map[int64]int64 // recorded amounts in lots, by side and price
	prices [2][]int64         // prices that the record changed, by side
	touch  [2]int64           // the best recorded price by side; 0: not known
}

// earlyUpdate is an update that arrived before the first complete book.
type earlyUpdate struct {
	first, last uint64
	levels      [2][]format.Level
}

func newLevelFeed(f *feeder) *levelFeed {
	return &levelFeed{feeder: f, model: [2]map[int64]int64{{}, {}}}
}

func (l *levelFeed) notes() []string {
	notes := noted(nil, l.lost, "%d gaps in the update ids: the book is unsure from there to the next snapshot")
	return noted(notes, l.stale, "%d levels that newer ones of the other side crossed: removed")
}

// skip applies a record before the start to the model, without entering orders.
func (l *levelFeed) skip(r *format.Record) bool {
	if !l.feeder.skip(r) {
		return false
	}
	l.follow(r)
	return true
}

func (l *levelFeed) feed(r *format.Record) error {
	switch r.Kind {
	case format.Trade:
		return l.print(l.taker(r), r.Price, r.Amount)
	case format.Update, format.Book:
		l.follow(r)
		return l.enter()
	default:
		return nil
	}
}

// follow applies the record to the model and stores the changed prices.
func (l *levelFeed) follow(r *format.Record) {
	l.prices[0], l.prices[1] = l.prices[0][:0], l.prices[1][:0]
	l.check.changed = false
	switch {
	case r.Kind == format.Book && (!l.synced || l.gaps > 0 || r.Replaces):
		l.book(r)
	case r.Kind != format.Update: // a further complete book, while no update is missing, adds nothing
	case l.synced:
		l.apply(r.First, r.Last, &r.Levels)
	default:
		l.early = append(l.early, earlyUpdate{
			r.First, r.Last, [2][]format.Level{slices.Clone(r.Levels[0]), slices.Clone(r.Levels[1])},
		})
	}
}

// book replaces the model by a complete book, then applies the updates that arrived earlier but are newer.
func (l *levelFeed) book(r *format.Record) {
	for side := range l.model {
		for price := range l.model[side] {
			l.prices[side] = append(l.prices[side], price)
		}
		clear(l.model[side])
		l.touch[side] = 0
	}
	l.synced, l.update, l.gaps = true, r.Last, 0
	l.set(r.Last, &r.Levels)
	for i := range l.early {
		u := &l.early[i]
		l.apply(u.first, u.last, &u.levels)
	}
	l.early = nil
}

// apply applies an update unless the model already contains it.
func (l *levelFeed) apply(first, last uint64, levels *[2][]format.Level) {
	if last <= l.update {
		return
	}
	if first > l.update+1 {
		l.gaps++
		l.lost++
	}
	l.set(last, levels)
}

// set sets the amounts of levels in the model.
func (l *levelFeed) set(last uint64, levels *[2][]format.Level) {
	l.update = last
	l.check.bookIs(last)
	for side := range levels {
		for _, level := range levels[side] {
			l.prices[side] = append(l.prices[side], level.Price)
			l.put(engine.Side(side), level)
		}
	}
	for side := range levels { // when the message is applied: what it removes crosses nothing
		for _, level := range levels[side] {
			if l.model[side][level.Price] != 0 {
				l.uncross(engine.Side(side), level.Price)
			}
		}
	}
}

// put sets or removes a level of the model.
func (l *levelFeed) put(side engine.Side, level format.Level) {
	if level.Amount == 0 {
		l.remove(side, level.Price)
		return
	}
	l.model[side][level.Price] = level.Amount
	if best := l.touch[side]; best != 0 && format.Worse(side, best, level.Price) {
		l.touch[side] = level.Price
	}
}

// remove removes a level from the model.
func (l *levelFeed) remove(side engine.Side, price int64) {
	delete(l.model[side], price)
	if l.touch[side] == price {
		l.touch[side] = 0
	}
}

// best returns the best recorded price of a side, 0 when the side is empty.
func (l *levelFeed) best(side engine.Side) int64 {
	if l.touch[side] == 0 {
		for p := range l.model[side] {
			if best := l.touch[side]; best == 0 || format.Worse(side, best, p) {
				l.touch[side] = p
			}
		}
	}
	return l.touch[side]
}

// uncross removes the levels that a new one crosses, because orders in both would trade with each other. The exchange
// removed them in a missing update, or says so only in its next message.
func (l *levelFeed) uncross(side engine.Side, price int64) {
	other := side.Opposite()
	for p := l.best(other); p != 0 && (p == price || format.Worse(side, p, price)); p = l.best(other) {
		l.remove(other, p)
		l.prices[other] = append(l.prices[other], p)
		l.stale++
	}
}

// taker returns the side of a trade's taker: the file's, or the side whose best price is nearer.
func (l *levelFeed) taker(r *format.Record) engine.Side {
	if r.Sided {
		return r.Side
	}
	bid, ask := l.best(engine.Buy), l.best(engine.Sell)
	if bid != 0 && (ask == 0 || r.Price-bid < ask-r.Price) {
		return engine.Sell
	}
	return engine.Buy
}

// enter changes our orders to equal the model at the changed prices. It first cancels and lowers, then places
// and raises, so that the book is never crossed in between.
func (l *levelFeed) enter() error {
	if !l.live { // the first time every price is new
		l.live = true
		for side := range l.model {
			l.prices[side] = l.prices[side][:0]
			for price := range l.model[side] {
				l.prices[side] = append(l.prices[side], price)
			}
		}
	}
	for side := range l.prices {
		slices.Sort(l.prices[side])
		l.prices[side] = slices.Compact(l.prices[side])
	}
	for _, grow := range []bool{false, true} {
		for side, prices := range l.prices {
			for _, price := range prices {
				if err := l.level(engine.Side(side), price, grow); err != nil {
					return err
				}
			}
		}
		if err := l.sendAnonymous(); err != nil {
			return err
		}
	}
	return nil
}

// level changes the order of one level to the model's amount. It does nothing when the change has the other
// direction: grow selects increases, otherwise decreases.
func (l *levelFeed) level(side engine.Side, price int64, grow bool) error {
	want, have := l.model[side][price], int64(0)
	o := l.unnamed(side, price)
	if o != nil {
		have = o.open
	}
	if want == have || (want > have) != grow {
		return nil
	}
	switch {
	case want == 0:
		l.entry.cancel(o.id)
		delete(l.anonymous[side], price)
	case o == nil:
		l.entry.place(side, price, want, 0)
	default:
		l.entry.setOpen(o, want)
	}
	if len(l.entry.batch.Commands) >= sequencer.SliceCommands {
		return l.sendAnonymous()
	}
	return nil
}
