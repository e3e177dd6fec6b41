package engine

import (
	"cmp"
	"slices"
)

// through reports whether the last trade has reached a stop price: a buy stop at or
// above it, a sell stop at or below it. Before the first trade it reports false.
func (b *book) through(side Side, stop int64) bool {
	if b.last == 0 {
		return false
	}
	if side == Buy {
		return b.last >= stop
	}
	return b.last <= stop
}

// stopKey returns a key that is highest for the stops that the market reaches first: the
// lowest buy stop, the highest sell stop.
func stopKey(side Side, stop int64) int64 {
	if side == Buy {
		return -stop
	}
	return stop
}

// park stores a stop until the last trade reaches it.
func (b *book) park(t *taker, cmd *Command) {
	st := b.parked.take()
	*b.parked.at(st) = stopOrder{
		stop: cmd.Stop, price: t.limit, display: t.display, quote: t.money,
		typ: cmd.Type, tif: t.tif, flags: t.flags,
	}
	if t.bounded {
		b.parked.at(st).earn = t.earn
	}
	s, o := b.newOrder(t.n, t.owner, t.side)
	o.total, o.shown = t.left, t.left
	o.stp, o.marks = t.stp, markStop
	o.makerFee, o.takerFee, o.discount = t.makerFee, t.takerFee, t.discount
	if cmd.Type == StopMarket {
		b.parked.at(st).price = 0
		if t.byQuote() {
			o.total, o.shown = 0, 0
		}
	} else {
		b.waiting[t.side] += t.left
		b.slices += b.parked.at(st).slices(t.left)
	}
	if t.bounded {
		o.marks |= markEarn
	}
	if t.client != 0 {
		o.marks |= markClient
	}
	*b.cold.at(s) = coldOrder{client: t.client, stop: st}
	b.owners.slots.at(o.owner).stops++
	b.hang(s, o, cmd.Stop)
}

// hang puts a stop at the end of the queue of its stop price.
func (b *book) hang(s int32, o *order, stop int64) {
	key := stopKey(o.side, stop)
	ls := b.stops[o.side].get(key)
	if ls == 0 {
		ls = b.levels.take()
		*b.levels.at(ls) = level{price: stop, side: o.side}
		b.stops[o.side].set(key, ls)
	}
	b.enqueue(s, o, ls, b.levels.at(ls))
}

// unhang takes a waiting stop out of its queue.
func (b *book) unhang(o *order) {
	ls := o.level
	lv := b.levels.at(ls)
	b.dequeue(o, lv)
	if lv.count == 0 {
		b.stops[o.side].del(stopKey(o.side, lv.price))
		b.levels.release(ls)
	}
}

// unpark ends the waiting of a stop that is off its queue.
func (b *book) unpark(s int32, o *order) stopOrder {
	c := b.cold.at(s)
	st := *b.parked.at(c.stop)
	b.parked.release(c.stop)
	b.owners.slots.at(o.owner).stops--
	c.stop = 0
	o.marks &^= markStop | markEarn
	if st.typ == StopLimit {
		b.waiting[o.side] -= o.shown
		b.slices -= st.slices(o.shown)
	}
	return st
}

// cascade triggers the stops that the last trade has reached, one by one in order of
// acceptance; stops that their trades reach queue behind them (docs/contract/matching.md#stops).
func (b *book) cascade() {
	if b.parked.live() == 0 {
		return
	}
	b.collect()
	for i := 0; i < len(b.queue); i++ {
		b.trigger(b.queue[i])
		b.collect()
	}
	b.queue = b.queue[:0]
}

// collect queues the stops that the last trade is at or through, the oldest first.
func (b *book) collect() {
	from := len(b.queue)
	for side := range b.stops {
		for b.stops[side].count() > 0 {
			_, ls := b.stops[side].max()
			if !b.through(Side(side), b.levels.at(ls).price) {
				break
			}
			b.queueLevel(ls)
		}
	}
	if len(b.queue)-from > 1 {
		slices.SortFunc(b.queue[from:], func(x, y int32) int {
			return cmp.Compare(b.orders.at(x).n, b.orders.at(y).n)
		})
	}
}

func (b *book) queueLevel(ls int32) {
	lv := b.levels.at(ls)
	for s := lv.head; s != 0; {
		o := b.orders.at(s)
		o.level = 0
		b.queue = append(b.queue, s)
		s = o.next
	}
	b.stops[lv.side].del(stopKey(lv.side, lv.price))
	b.levels.release(ls)
}

// trigger turns a stop that is off its queue into a taker and lets it enter.
func (b *book) trigger(s int32) {
	o := b.orders.at(s)
	client := b.clientOf(s, o)
	st := b.unpark(s, o)
	w := b.owners.slots.at(o.owner)
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
	b.emitTriggered(&t, st.typ, st.stop, st.price)
	b.enterTriggered(&t)
}

func (b *book) emitTriggered(t *taker, typ OrderType, stop, price int64) {
	e := b.emit(EventTriggered)
	e.Order = t.id
	e.Account = t.account
	e.Side = t.side
	e.Type = typ
	e.MakerOpen = stop
	e.OpenAmount = t.open()
	if typ == StopLimit {
		e.Price = price
	}
}

// enterTriggered lets a triggered stop enter. The order was accepted before the book's checks
// ran, so a failed check cancels it instead of refusing it.
func (b *book) enterTriggered(t *taker) {
	if b.mayEnter(t) != NotRejected {
		t.cause = CauseUnfillable
		b.cancelTaker(t)
		return
	}
	b.enter(t)
}
