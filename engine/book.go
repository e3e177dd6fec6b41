package engine

import (
	"math"

	"github.com/tickhive/tickhive/engine/owners"
	"github.com/tickhive/tickhive/internal/fixed"
)

// book is one pair: its ladders, open orders, client ids and waiting stops, and the events that
// it emits. Each part is a type; book holds the operations that need several of them.
type book struct {
	inst   *Instrument
	id     PairID
	opts   *Options
	ledger *ledger
	stream stream

	lastN uint64 // number of the newest order (OrderID.N)
	trade TradeID
	last  int64 // price of the last trade, 0: never traded

	prevented TradeID // number of the newest prevented match

	sides   ladders
	orders  openOrders
	clients owners.Clients
	stops   stops
	lists   lists
	slices  int64 // slices in the reserves of all icebergs, waiting stops included

	unfinished *continuation // nil: no command is unfinished
	scan       scan          // a walk between two parts
}

func newBook(inst *Instrument, opts *Options, l *ledger) *book {
	return &book{
		inst: inst, id: inst.ID, opts: opts, ledger: l, stream: stream{pair: inst.ID},
		sides:   ladders{newLadder(Buy), newLadder(Sell)},
		orders:  openOrders{owners: owners.NewSet()},
		stops:   newStops(),
		clients: owners.NewClients(opts.ClientIDs, int32(opts.AccountClientIDs)),
	}
}

// roomFor reports whether lots more can rest on a side: the sum of a side's lots must fit into int64.
func (b *book) roomFor(side Side, lots int64) bool {
	return lots <= math.MaxInt64-b.sides[side].open-b.stops.lots[side]
}

// append puts a detached order at the back of the queue at price, with the given shown and hidden lots.
func (b *book) append(s int32, o *order, price, hidden int64) *level {
	l := &b.sides[o.side]
	var lv *level
	ls := l.find(&b.orders.levels, price)
	if ls == 0 {
		ls, lv = l.add(&b.orders.levels, price)
	} else {
		lv = b.orders.levels.At(ls)
	}
	b.orders.enqueue(s, o, ls, lv)
	lv.shown += o.shown
	lv.hidden += hidden
	b.slices += b.orders.slicesOf(s, o)
	l.open += o.shown + hidden
	return lv
}

// detach removes an order from its level and emits the level's new amount, unless the order
// returns to the level at once (quiet). It removes an empty level.
func (b *book) detach(s int32, o *order, quiet bool) {
	ls := o.level
	lv := b.orders.levels.At(ls)
	hidden := b.orders.hidden(s, o)
	lv.shown -= o.shown
	lv.hidden -= hidden
	b.slices -= b.orders.slicesOf(s, o)
	l := &b.sides[o.side]
	l.open -= o.shown + hidden
	b.orders.dequeue(o, lv)
	if !quiet {
		b.stream.level(lv)
	}
	if lv.count == 0 {
		l.remove(&b.orders.levels, ls)
	}
}

// pieces returns the number of slices of display lots in which a reserve is shown.
func pieces(hidden, display int64) int64 {
	if hidden <= 0 {
		return 0
	}
	return (hidden-1)/display + 1
}

// slices returns the number of slices that the reserve of a waiting stop will have if it rests without a trade.
func (st *stopOrder) slices(open int64) int64 {
	if st.display == 0 {
		return 0
	}
	return pieces(open-st.display, st.display)
}

// causeFilled is, in the place of a cause, the end of an order by its last trade.
const causeFilled CancelCause = 1<<8 - 1

// forget removes a detached order that has ended: its number, its place in the owner's list, the link from its
// client id, its place in its order list, and its slot.
func (b *book) forget(s int32, o *order, cause CancelCause) {
	q := &b.orders
	n, list := o.n, int32(0)
	q.ids.Delete(n)
	if o.owner != owners.Builtin {
		q.unlink(o)
	}
	if o.marks&(markClient|markList) != 0 {
		list = b.listOf(s, o)
		if o.marks&markClient != 0 {
			b.clients.Close(q.cold.At(s).client)
		}
	}
	q.owners.DropOrder(o.owner)
	q.count--
	q.hot.Release(s)
	if list != 0 {
		b.leave(list, n, cause)
	}
}

func finalStatus(filled int64) Status {
	if filled > 0 {
		return PartiallyExecutedAndCanceled
	}
	return Canceled
}

// total returns price x amount in product units.
func total(price, amount int64) fixed.U128 { return fixed.Mul64(uint64(price), uint64(amount)) }
