package replay

import (
	"cmp"
	"slices"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/marketdata"
	"tickhive/sim/replay/format"
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
	model   map[uint64]recordedOrder // open orders of the recording, by its ids
	levels  [2]map[int64]int64       // their lots, by side and price
	names   map[engine.OrderID]uint64
	placed  int64 // number of orders that took a place in the model
	live    bool  // the orders of the model are in the engine's book
	changed []uint64
	fills   []format.Record // without levels
	trades  []format.Record // without levels
	side    engine.Side     // of the last trade, for the tick rule
	last    int64           // ticks of the last trade
	best    [2][]format.Level

	unknown, twice, hidden int
}

// recordedOrder is an open order of the recording. Of two orders at a price, the one with the lower place is first.
type recordedOrder struct {
	side          engine.Side
	price, amount int64
	place         int64
}

func newOrderFeed(f *feeder) *orderFeed {
	return &orderFeed{
		feeder: f, model: map[uint64]recordedOrder{}, levels: [2]map[int64]int64{{}, {}},
		names: map[engine.OrderID]uint64{},
	}
}

func (o *orderFeed) notes() []string {
	notes := noted(nil, o.hidden, "%d trades without a fill of a displayed order: their makers are not in the book")
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
		o.fills = append(o.fills, format.Record{ID: r.ID, Side: r.Side, Price: r.Price, Amount: r.Amount})
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
		for k := range o.trades {
			if t := &o.trades[k]; t.Price == f.Price {
				part := min(t.Amount, f.Amount)
				t.Amount, f.Amount = t.Amount-part, f.Amount-part
			}
		}
	}
	for i := range o.trades {
		if t := &o.trades[i]; t.Amount > 0 {
			o.hidden++
			if err := o.printHidden(t); err != nil {
				return err
			}
		}
	}
	o.fills, o.trades = o.fills[:0], o.trades[:0]
	return nil
}

// fill enters the taker of a fill and checks which order the engine filled.
func (o *orderFeed) fill(f *format.Record) error {
	want, taker := o.orders[f.ID], f.Side.Opposite()
	o.last, o.side = f.Price, taker
	o.check.printed(marketdata.Trade{TimeNs: o.entry.now, Price: f.Price, Amount: f.Amount, TakerSide: taker})
	o.entry.hit(taker, f.Price, f.Amount)
	results, err := o.entry.send()
	if err != nil {
		return err
	}
	got := results[0].fills
	one := len(got) == 1 && got[0].price == f.Price && got[0].amount == f.Amount
	o.check.executed(one, one && got[0].maker == want)
	for _, g := range got {
		o.changed = append(o.changed, o.names[g.maker]) // 0, another account's order: no order of the model
	}
	return nil
}

// printHidden makes a trade whose maker was not displayed. It cancels our orders that would trade first; the end of the
// event enters them again, in their order.
func (o *orderFeed) printHidden(t *format.Record) error {
	e, side := o.entry, t.Side
	switch {
	case t.Sided:
	case t.Price > o.last:
		side = engine.Buy
	case t.Price < o.last:
		side = engine.Sell
	default:
		side = o.side
	}
	o.last, o.side = t.Price, side
	for s := range e.levels {
		for _, price := range sortedKeys(e.levels[s]) {
			if format.Worse(engine.Side(s), price, t.Price) {
				continue
			}
			for _, r := range e.levels[s][price].orders {
				o.changed = append(o.changed, o.names[r.id])
				e.cancel(r.id)
			}
		}
	}
	m := e.place(side.Opposite(), t.Price, t.Amount, 0)
	e.hit(side, t.Price, t.Amount)
	o.check.printed(marketdata.Trade{TimeNs: e.now, Price: t.Price, Amount: t.Amount, TakerSide: side})
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
