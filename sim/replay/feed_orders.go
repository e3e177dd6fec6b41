package replay

import (
	"cmp"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/sim/replay/format"
)

// comparedLevels is the number of levels a side that are compared after an event: the file has no book of its own, so
// the book that its messages give is summed up.
const comparedLevels = 5

// maxEvent bounds the messages of an event: a complete book is one.
const maxEvent = 1 << 20

// orderFeed feeds the order messages of a venue that names every order. It collects the messages of an event. At its
// end it enters the fills as takers, so that the engine decides which orders are filled, then makes our orders equal to
// the recorded ones: no reader sees the book within an event, where it may be crossed.
type orderFeed struct {
	*feeder
	passive bool                     // fill the orders that the file names
	model   map[uint64]recordedOrder // open orders of the recording, by its ids
	levels  [2]map[int64]int64       // their lots, by side and price
	names   map[engine.OrderID]uint64
	placed  int64 // number of orders that took a place in the model
	live    bool  // the orders of the model are in the engine's book
	changed []uint64
	fills   []namedFill
	trades  []format.Record // without levels
	side    engine.Side     // of the last trade, for the tick rule
	last    int64           // ticks of the last trade
	best    [2][]format.Level

	unknown, twice, hidden  int
	auction, takers, beyond int
}

// namedFill is a fill whose resting order the file names.
type namedFill struct {
	format.Record     // without levels
	of            int // index of its trade in the event; -1: no trade comes before it
}

// recordedOrder is an open order of the recording. Of two orders at a price, the one with the lower place is first.
type recordedOrder struct {
	side          engine.Side
	price, amount int64
	place         int64
}

func newOrderFeed(f *feeder, passive bool) *orderFeed {
	return &orderFeed{
		feeder: f, passive: passive, model: map[uint64]recordedOrder{}, levels: [2]map[int64]int64{{}, {}},
		names: map[engine.OrderID]uint64{},
	}
}

func (o *orderFeed) notes() []string {
	notes := noted(nil, o.hidden, "%d trades without a fill of a displayed order: their makers are not in the book")
	notes = noted(notes, o.beyond, "%d fills of more than was displayed: the rest has a maker that is not in the book")
	notes = noted(notes, o.auction,
		"%d fills of auctions, whose trades have no side: left out, the trades are on the tape")
	notes = noted(notes, o.takers, "%d fills that name the taker's own order: left out")
	notes = noted(notes, o.unknown, "%d messages name an order that is not open in the file: left out")
	return noted(notes, o.twice, "%d orders added while they are open: taken as changes")
}

// skip applies a record before the start to the model, without entering orders.
func (o *orderFeed) skip(r *format.Record) bool {
	if !o.feeder.skip(r) {
		return false
	}
	o.follow(r)
	o.changed = o.changed[:0]
	return true
}

func (o *orderFeed) feed(r *format.Record) error {
	r.Depth = 0
	switch r.Kind {
	case format.Execute:
		o.collect(r)
	case format.Trade:
		o.trades = append(o.trades, format.Record{Side: r.Side, Sided: r.Sided, Price: r.Price, Amount: r.Amount})
	default:
		o.follow(r)
	}
	if r.More && len(o.changed)+len(o.fills)+len(o.trades) < maxEvent {
		return nil
	}
	if err := o.settle(); err != nil || o.check.pub == nil {
		return err
	}
	r.Depth = comparedLevels
	for side := range r.Levels {
		r.Levels[side] = append(r.Levels[side][:0], o.top(engine.Side(side))...)
	}
	return nil
}

// collect takes a fill of the event. It belongs to the trade before it. Of a trade without a side, an auction, the file
// may name the orders of both sides; and it may name the order of the taker, which rests nowhere.
func (o *orderFeed) collect(r *format.Record) {
	of := len(o.trades) - 1
	switch {
	case !r.Sided || of >= 0 && !o.trades[of].Sided:
		o.auction++
	case of >= 0 && o.trades[of].Side == r.Side:
		o.takers++
	default:
		fill := format.Record{ID: r.ID, Side: r.Side, Price: r.Price, Amount: r.Amount}
		o.fills = append(o.fills, namedFill{fill, of})
	}
}

// flush ends an event that the file does not end.
func (o *orderFeed) flush() error { return o.settle() }

// follow applies a message to the model.
func (o *orderFeed) follow(r *format.Record) {
	was, open := o.model[r.ID]
	switch r.Kind {
	case format.Book:
		for id := range o.model {
			o.changed = append(o.changed, id)
		}
		clear(o.model)
		clear(o.levels[0])
		clear(o.levels[1])
		return
	case format.Place, format.Change: // a venue may change an order that the file has not named: it is new
		if open && r.Kind == format.Place {
			o.twice++
		}
		is := recordedOrder{r.Side, r.Price, r.Amount, was.place}
		if !open || is.side != was.side || is.price != was.price || is.amount > was.amount {
			o.placed++
			is.place = o.placed
		}
		o.put(r.ID, is)
	case format.Reduce:
		if !open {
			o.unknown++
			return
		}
		was.amount -= min(r.Amount, was.amount)
		o.put(r.ID, was)
	default:
		return
	}
	o.changed = append(o.changed, r.ID)
}

// put sets an order of the model. An amount of 0 ends it.
func (o *orderFeed) put(id uint64, is recordedOrder) {
	if was, ok := o.model[id]; ok {
		l := o.levels[was.side]
		if l[was.price] -= was.amount; l[was.price] == 0 {
			delete(l, was.price)
		}
	}
	if is.amount == 0 {
		delete(o.model, id)
		return
	}
	o.model[id] = is
	o.levels[is.side][is.price] += is.amount
}

// top returns the best levels of a side of the model.
func (o *orderFeed) top(side engine.Side) []format.Level {
	best := o.best[side][:0]
	for price, amount := range o.levels[side] {
		l := format.Level{Price: price, Amount: amount}
		at, _ := slices.BinarySearchFunc(best, l, func(a, b format.Level) int {
			if side == engine.Buy {
				a, b = b, a
			}
			return cmp.Compare(a.Price, b.Price)
		})
		if at == comparedLevels {
			continue
		}
		best = slices.Insert(best, at, l)
		best = best[:min(len(best), comparedLevels)]
	}
	o.best[side] = best
	return best
}

// settle enters the event that was collected.
func (o *orderFeed) settle() error {
	if !o.live {
		o.live = true
		o.changed = o.changed[:0]
		for id := range o.model {
			o.changed = append(o.changed, id)
		}
	}
	if err := o.trade(); err != nil {
		return err
	}
	slices.Sort(o.changed)
	o.changed = slices.Compact(o.changed)
	slices.SortStableFunc(o.changed, func(a, b uint64) int { return cmp.Compare(o.model[a].place, o.model[b].place) })
	for _, id := range o.changed {
		if err := o.lower(id); err != nil {
			return err
		}
	}
	if err := o.enter(nil); err != nil {
		return err
	}
	err := o.raise()
	o.changed = o.changed[:0]
	return err
}

// trade enters the trades of the event: the fills that the file names, then what the fills do not explain.
func (o *orderFeed) trade() error {
	for i := range o.fills {
		f := &o.fills[i]
		if err := o.fill(f); err != nil {
			return err
		}
		left := f.Amount
		for k := range o.trades {
			if t := &o.trades[k]; t.Price == f.Price && (f.of < 0 || f.of == k) {
				part := min(t.Amount, left)
				t.Amount, left = t.Amount-part, left-part
			}
		}
	}
	for i := range o.trades {
		t := &o.trades[i]
		if t.Amount == 0 {
			continue
		}
		o.hidden++
		if err := o.printHidden(o.takerOf(t), t.Price, t.Amount); err != nil {
			return err
		}
	}
	o.fills, o.trades = o.fills[:0], o.trades[:0]
	return nil
}

// fill enters the taker of a fill and checks which order the engine filled. What our orders do not have was not
// displayed: it is a trade with a hidden maker, so that the tape has every lot of the file.
func (o *orderFeed) fill(f *namedFill) error {
	want, taker := o.orders[f.ID], f.Side.Opposite()
	o.last, o.side = f.Price, taker
	got, err := o.hit(f, taker)
	if err != nil {
		return err
	}
	one := len(got) == 1 && got[0].price == f.Price
	o.check.executed(one, one && got[0].maker == want)
	rest := f.Amount
	for _, g := range got {
		rest -= g.amount
		o.changed = append(o.changed, o.names[g.maker]) // 0, another account's order: no order of the model
	}
	if shown := f.Amount - rest; shown > 0 {
		o.check.printed(marketdata.Trade{TimeNs: o.entry.now, Price: f.Price, Amount: shown, TakerSide: taker})
	}
	if rest == 0 {
		return nil
	}
	o.beyond++
	return o.printHidden(taker, f.Price, rest)
}

// hit enters the taker of a fill and returns its trades: with the order that the file names when the feed is passive.
// Orders before that one are canceled, and so is the rest of it, which would now be before them: the end of the event
// enters them again, in their order.
func (o *orderFeed) hit(f *namedFill, taker engine.Side) ([]fill, error) {
	e, amount, maker := o.entry, f.Amount, o.open(f.ID)
	if o.passive {
		if maker == nil || maker.side != f.Side || maker.price != f.Price {
			return nil, nil // it does not rest there, so it was not displayed
		}
		amount = min(amount, maker.open)
		o.aside(f.Side, f.Price, maker)
	}
	behind := o.passive && maker.open > amount && e.at(f.Side, f.Price).orders[0] != maker
	made := len(e.batch.Commands)
	if e.hit(taker, f.Price, amount); behind {
		e.cancel(maker.id)
		o.changed = append(o.changed, f.ID)
	}
	results, err := e.send()
	if err != nil {
		return nil, err
	}
	return results[made].fills, nil
}

// aside cancels our orders of a side that would trade at a price: before maker, or all of them when it is nil. The end
// of the event enters them again, in their order.
func (o *orderFeed) aside(side engine.Side, price int64, maker *resting) {
	for _, p := range sortedKeys(o.entry.levels[side]) {
		orders := o.entry.levels[side][p].orders
		if format.Worse(side, p, price) || orders[0] == maker {
			continue
		}
		for _, r := range orders {
			if r != maker {
				o.changed = append(o.changed, o.names[r.id])
				o.entry.cancel(r.id)
			}
		}
	}
}

// takerOf returns the taker's side of a trade: the recorded one, or the one of the tick rule.
func (o *orderFeed) takerOf(t *format.Record) engine.Side {
	switch {
	case t.Sided:
		return t.Side
	case t.Price > o.last:
		return engine.Buy
	case t.Price < o.last:
		return engine.Sell
	}
	return o.side
}

// printHidden makes a trade whose maker was not displayed. It cancels our orders that would trade first; the end of the
// event enters them again, in their order.
func (o *orderFeed) printHidden(side engine.Side, price, amount int64) error {
	e := o.entry
	o.last, o.side = price, side
	for s := range e.levels {
		o.aside(engine.Side(s), price, nil)
	}
	m := e.place(side.Opposite(), price, amount, 0)
	e.hit(side, price, amount)
	o.check.printed(marketdata.Trade{TimeNs: e.now, Price: price, Amount: amount, TakerSide: side})
	results, err := e.send()
	if err != nil {
		return err
	}
	return e.cancelRemainder(results[m].order)
}

// lower cancels our order where the recorded one is gone or elsewhere, and lowers it where it has less.
func (o *orderFeed) lower(id uint64) error {
	have := o.open(id)
	if have == nil {
		o.forget(id)
		return nil
	}
	switch want, ok := o.model[id]; {
	case !ok || want.side != have.side || want.price != have.price || want.amount > have.open:
		o.entry.cancel(have.id) // an order that grows loses its place
		o.forget(id)
	case want.amount < have.open:
		o.entry.setOpen(have, want.amount)
	default:
		return nil
	}
	if len(o.entry.batch.Commands) < sequencer.SliceCommands {
		return nil
	}
	return o.enter(nil)
}

// forget removes the id of our order, which is gone.
func (o *orderFeed) forget(id uint64) {
	delete(o.names, o.orders[id])
	delete(o.orders, id)
}

// raise enters the recorded orders that we do not have. They are post-only: an order that would trade, because the
// recorded book is crossed, is refused.
func (o *orderFeed) raise() error {
	var ids []uint64
	for _, id := range o.changed {
		want, ok := o.model[id]
		if !ok || o.open(id) != nil {
			continue
		}
		o.entry.place(want.side, want.price, want.amount, engine.FlagPostOnly)
		if ids = append(ids, id); len(ids) == sequencer.SliceCommands {
			if err := o.enter(ids); err != nil {
				return err
			}
			ids = ids[:0]
		}
	}
	return o.enter(ids)
}

// enter sends the batch. Its commands place the orders of ids, or none.
func (o *orderFeed) enter(ids []uint64) error {
	results, err := o.entry.send()
	if err != nil {
		return err
	}
	for i, id := range ids {
		if r := o.entry.orders[results[i].order]; r != nil {
			r.name = id
			o.orders[id], o.names[r.id] = r.id, id
		}
	}
	return nil
}
