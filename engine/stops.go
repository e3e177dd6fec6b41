package engine

import (
	"cmp"
	"slices"
)

// stops holds the waiting stops of a pair. They queue in levels of openOrders by stop price.
type stops struct {
	sides  [2]keys // maps stopKey to a stop level, by side of the order
	parked slab[stopOrder]
	lots   [2]int64 // lots of the waiting stop_limit orders, by side
	queue  []int32  // stops that this command has triggered, in order
}

// through reports whether the last trade has reached a stop price: it is at or above a buy stop, or at or below
// a sell stop. It is false before the first trade.
func through(last int64, side Side, stop int64) bool {
	if last == 0 {
		return false
	}
	if side == Buy {
		return last >= stop
	}
	return last <= stop
}

// stopKey returns the key of a stop price. The market reaches the stop with the highest key first: the lowest
// buy stop, the highest sell stop.
func stopKey(side Side, stop int64) int64 {
	if side == Buy {
		return -stop
	}
	return stop
}

// park stores a stop until the last trade reaches it.
func (b *book) park(t *taker, cmd *Command) {
	st := b.stops.parked.alloc()
	*b.stops.parked.at(st) = stopOrder{
		stop: cmd.Stop, price: t.limit, display: t.display, quote: t.money,
		typ: cmd.Type, tif: t.tif, flags: t.flags,
	}
	if t.bounded {
		b.stops.parked.at(st).earn = t.earn
	}
	s, o := b.orders.add(t.n, t.owner, t.side)
	o.total, o.shown = t.left, t.left
	o.stp, o.marks = t.stp, markStop
	o.makerFee, o.takerFee, o.discount = t.makerFee, t.takerFee, t.discount
	if cmd.Type == StopMarket {
		b.stops.parked.at(st).price = 0
		if t.byQuote() {
			o.total, o.shown = 0, 0
		}
	} else {
		b.stops.lots[t.side] += t.left
		b.slices += b.stops.parked.at(st).slices(t.left)
	}
	if t.bounded {
		o.marks |= markEarn
	}
	if t.client != 0 {
		o.marks |= markClient
	}
	*b.orders.cold.at(s) = coldOrder{client: t.client, stop: st}
	b.orders.owners.slots.at(o.owner).stops++
	b.stops.add(&b.orders, s, o, cmd.Stop)
}

// add puts a stop at the end of the queue of its stop price.
func (w *stops) add(q *openOrders, s int32, o *order, stop int64) {
	key := stopKey(o.side, stop)
	ls := w.sides[o.side].get(key)
	if ls == 0 {
		ls = q.levels.alloc()
		*q.levels.at(ls) = level{price: stop, side: o.side}
		w.sides[o.side].set(key, ls)
	}
	q.enqueue(s, o, ls, q.levels.at(ls))
}

// remove removes a waiting stop from its queue.
func (w *stops) remove(q *openOrders, o *order) {
	ls := o.level
	lv := q.levels.at(ls)
	q.dequeue(o, lv)
	if lv.count == 0 {
		w.sides[o.side].del(stopKey(o.side, lv.price))
		q.levels.release(ls)
	}
}

// collect queues the stops whose price the last trade has reached, by acceptance.
func (w *stops) collect(q *openOrders, last int64) {
	from := len(w.queue)
	for side := range w.sides {
		for w.sides[side].count() > 0 {
			_, ls := w.sides[side].max()
			if !through(last, Side(side), q.levels.at(ls).price) {
				break
			}
			w.queueLevel(q, ls)
		}
	}
	if len(w.queue)-from > 1 {
		slices.SortFunc(w.queue[from:], func(x, y int32) int {
			return cmp.Compare(q.at(x).n, q.at(y).n)
		})
	}
}

func (w *stops) queueLevel(q *openOrders, ls int32) {
	lv := q.levels.at(ls)
	for s := lv.head; s != 0; {
		o := q.at(s)
		o.level = 0
		w.queue = append(w.queue, s)
		s = o.next
	}
	w.sides[lv.side].del(stopKey(lv.side, lv.price))
	q.levels.release(ls)
}

// unpark ends the wait of a stop that has been removed from its queue.
func (b *book) unpark(s int32, o *order) stopOrder {
	c := b.orders.cold.at(s)
	st := *b.stops.parked.at(c.stop)
	b.stops.parked.release(c.stop)
	b.orders.owners.slots.at(o.owner).stops--
	c.stop = 0
	o.marks &^= markStop | markEarn
	if st.typ == StopLimit {
		b.stops.lots[o.side] -= o.shown
		b.slices -= st.slices(o.shown)
	}
	return st
}

// cascade triggers the queued stops one by one, in order of acceptance. Stops that their trades reach are
// queued behind them (docs/contract/matching.md#stops).
func (b *book) cascade() {
	if b.stops.parked.live() == 0 {
		return
	}
	b.stops.collect(&b.orders, b.last)
	for i := 0; i < len(b.stops.queue); i++ {
		b.trigger(b.stops.queue[i])
		b.stops.collect(&b.orders, b.last)
	}
	b.stops.queue = b.stops.queue[:0]
}

// trigger makes a stop that has left its queue a taker and lets it enter the book.
func (b *book) trigger(s int32) {
	o := b.orders.at(s)
	client := b.orders.clientOf(s, o)
	st := b.unpark(s, o)
	w := b.orders.owners.slots.at(o.owner)
	t := taker{
		n: o.n, id: MakeOrderID(b.id, o.n), slot: s, owner: o.owner, client: client, account: w.id,
		side: o.side, tif: st.tif, stp: o.stp, flags: st.flags,
		cause: CauseRemainder, limit: st.price, left: o.shown, display: st.display,
		makerFee: o.makerFee, takerFee: o.takerFee, discount: o.discount,
	}
	if st.typ == StopMarket {
		t.capped = st.flags&FlagQuote != 0 || st.flags&FlagFunded != 0 && o.side == Buy
		t.money = st.quote
		t.setMarket()
	}
	t.setEarn(st.earn)
	b.tape.triggered(&t, st.typ, st.stop, st.price)
	b.enterTriggered(&t)
}

// enterTriggered lets a triggered stop enter the book. Its order was accepted when it was placed, so a failed
// check cancels the order instead of refusing it.
func (b *book) enterTriggered(t *taker) {
	if b.mayEnter(t) != NotRejected {
		t.cause = CauseUnfillable
		b.cancelTaker(t)
		return
	}
	b.enter(t)
}
