package engine

import (
	"github.com/tickhive/tickhive/engine/slots"
	"github.com/tickhive/tickhive/internal/fixed"
)

// stops holds the waiting orders of a pair. They queue in levels of openOrders by direction and stop price.
type stops struct {
	ways   [2]slots.Keys // maps stopKey to a stop level, by direction
	parked slots.Slab[stopOrder]
	lots   [2]int64  // of the waiting orders with a limit, by side of the order
	trails [2]trails // of the orders that track, by side of the order
	// queue holds the stops that the command under way has reached, by wave and number of the order.
	// wave counts the stops that the command has triggered: what it reaches later queues behind.
	queue slots.Queue
	wave  uint32
}

func newStops() (w stops) {
	for i := range 2 {
		w.ways[i], w.trails[i].keys = slots.NewKeys(), slots.NewKeys()
	}
	return w
}

// through reports whether the last trade has reached a stop price: at or above it in a rise, at or below it in a fall.
// Before the first trade it reports false.
func through(last int64, way direction, stop int64) bool {
	if last == 0 {
		return false
	}
	if way == rise {
		return last >= stop
	}
	return last <= stop
}

// stopKey returns the key of a stop price. The market reaches the one with the highest key first: the lowest of a rise,
// the highest of a fall.
func stopKey(way direction, stop int64) int64 {
	if way == rise {
		return -stop
	}
	return stop
}

// way returns the direction in which the stop price of a waiting order is reached. A trailing order without one, stop
// 0, is reached by the first trade.
func (st *stopOrder) way(s Side) direction {
	if st.stop == 0 {
		return rise
	}
	return st.typ.direction(s)
}

// park stores a waiting order until the last trade reaches it.
func (b *book) park(t *taker, cmd *Command) (s int32) {
	s = b.store(t, cmd, waits)
	b.await(s, b.orders.at(s))
	return s
}

// await makes an order wait that is in no queue: one that trails tracks at once when its stop price is reached.
func (b *book) await(s int32, o *order) {
	st := b.stops.parked.At(b.orders.cold.At(s).stop)
	if st.trail != 0 && through(b.last, st.way(o.side), st.stop) {
		b.track(s, o)
	} else {
		b.stops.add(&b.orders, s, o)
	}
}

// store gives an order that waits its slot. It is in no queue yet.
func (b *book) store(t *taker, cmd *Command, state stopState) (s int32) {
	st := b.stops.parked.Alloc()
	*b.stops.parked.At(st) = stopOrder{
		stop: cmd.Stop, price: t.own(), hold: t.hold, display: t.display, list: t.list, trail: cmd.Trail,
		typ: cmd.Type, tif: t.tif, flags: t.flags | cmd.Flags&FlagStrict, state: state,
	}
	s, o := b.orders.add(t.n, t.owner, t.side)
	o.total, o.shown = t.left, t.left
	o.stp, o.marks = t.stp, markStop
	o.makerFee, o.takerFee, o.discount = t.makerFee, t.takerFee, t.discount
	if t.byQuote() {
		b.stops.parked.At(st).quote = t.money
		o.total, o.shown = 0, 0
	}
	if !cmd.Type.AtMarket() {
		b.stops.lots[t.side] += t.left
		b.slices += b.stops.parked.At(st).slices(t.left)
	}
	if t.client|t.list != 0 {
		b.mark(s, o, t)
	}
	*b.orders.cold.At(s) = coldOrder{client: t.client, stop: st}
	b.orders.owners.At(o.owner).Stops++
	return s
}

// add puts a waiting order at the end of the queue of its stop price.
func (w *stops) add(q *openOrders, s int32, o *order) {
	st := w.parked.At(q.cold.At(s).stop)
	way := st.way(o.side)
	key := stopKey(way, st.stop)
	ls := w.ways[way].Get(key)
	if ls == 0 {
		ls = q.levels.Alloc()
		*q.levels.At(ls) = level{price: st.stop}
		w.ways[way].Set(key, ls)
	}
	q.enqueue(s, o, ls, q.levels.At(ls))
}

// withdraw takes a waiting order out of its queue or its group. One that is reached, or that its list keeps back, is in
// none.
func (b *book) withdraw(s int32, o *order) {
	if b.stops.parked.At(b.orders.cold.At(s).stop).state == tracks {
		b.untrack(s, o)
	} else if o.level != 0 {
		b.stops.remove(&b.orders, s, o)
	}
}

// remove removes a waiting order from its queue.
func (w *stops) remove(q *openOrders, s int32, o *order) {
	ls := o.level
	lv := q.levels.At(ls)
	q.dequeue(o, lv)
	if lv.count == 0 {
		way := w.parked.At(q.cold.At(s).stop).way(o.side)
		w.ways[way].Delete(stopKey(way, lv.price))
		q.levels.Release(ls)
	}
}

// collect queues the waiting orders that the last trade has reached, and makes trailing ones track. Extremes come
// first, so that an order that begins to track finds its group. It returns false when the part ends before.
func (b *book) collect() (done bool) {
	w, q := &b.stops, &b.orders
	for side := range w.trails {
		if !b.follow(Side(side)) {
			return false
		}
	}
	for way := range w.ways {
		for w.ways[way].Count() > 0 {
			key, ls := w.ways[way].Max()
			lv := q.levels.At(ls)
			if !through(b.last, direction(way), lv.price) {
				break
			}
			for lv.head != 0 {
				if b.stream.spent() {
					return false
				}
				b.stream.visit()
				s := lv.head
				o := q.at(s)
				q.dequeue(o, lv)
				if w.parked.At(q.cold.At(s).stop).trail != 0 {
					b.track(s, o)
				} else {
					w.queue.Push(slots.Queued{N: o.n, Slot: s, Wave: w.wave})
				}
			}
			w.ways[way].Delete(key)
			q.levels.Release(ls)
		}
	}
	return b.reachTrails(Buy) && b.reachTrails(Sell)
}

// unpark ends the wait of a stop that has been removed from its queue.
func (b *book) unpark(s int32, o *order) stopOrder {
	ps := b.orders.cold.At(s).stop
	st := *b.stops.parked.At(ps)
	b.stops.parked.Release(ps)
	b.orders.cold.At(s).stop = st.list
	b.orders.owners.At(o.owner).Stops--
	o.marks &^= markStop
	if !st.typ.AtMarket() {
		b.stops.lots[o.side] -= o.shown
		b.slices -= st.slices(o.shown)
	}
	return st
}

// cascade triggers the stops that the last trade has reached, one by one in order of
// acceptance; stops that their trades reach queue behind them (docs/contract/matching.md#waiting-orders).
// When the part ends before, a later one calls cascade again.
func (b *book) cascade() {
	if b.stops.parked.InUse() == 0 {
		b.stops.queue, b.stops.wave = b.stops.queue[:0], 0 // the command may have paused in its last stop
		return
	}
	for {
		collected := b.collect()
		if collected && len(b.stops.queue) == 0 {
			b.stops.wave = 0
			return
		}
		if b.stream.spent() {
			b.pause()
			return
		}
		next := b.stops.queue.Pop()
		if !b.awaits(next) {
			continue
		}
		b.stops.wave++
		if b.stops.parked.At(b.orders.cold.At(next.Slot).stop).state == due {
			if !b.begin(next.Slot) {
				return
			}
		} else if !b.trigger(next.Slot) {
			return
		}
	}
}

// awaits reports whether an entry of stops.queue is an order that is open. One that its list has canceled stays in the
// queue.
func (b *book) awaits(q slots.Queued) bool { return b.orders.ids.Get(q.N) == q.Slot }

// trigger turns a stop that is off its queue into a taker and lets it enter. Of two orders of which one cancels the
// other, the other ends. It returns false when the part ends before.
func (b *book) trigger(s int32) (done bool) {
	if list := b.listOf(s, b.orders.at(s)); list != 0 {
		b.cancelOther(list, s)
	}
	t := b.takerOf(s)
	return b.enterStop(&t)
}

// takerOf turns an order that has waited, and is in no queue, into a taker.
func (b *book) takerOf(s int32) taker {
	o := b.orders.at(s)
	client := b.orders.clientOf(s, o)
	st := b.unpark(s, o)
	w := b.orders.owners.At(o.owner)
	t := taker{
		n: o.n, id: MakeOrderID(b.id, o.n), slot: s, owner: o.owner, client: client, list: st.list,
		account: AccountID(w.Account), side: o.side, tif: st.tif, stp: o.stp, flags: st.flags &^ FlagStrict,
		cause: CauseRemainder, limit: st.price, left: o.shown, display: st.display,
		makerFee: o.makerFee, takerFee: o.takerFee, discount: o.discount, stop: st.stop, hold: st.hold,
		typ: st.typ,
	}
	if st.typ.AtMarket() {
		t.setMarket(st.quote)
	}
	return t
}

// enterStop lets a reached stop enter. A market buy by amount first gets its money: what the amount costs, of that at
// most what it held and what its account has free. It returns false when the part ends before.
func (b *book) enterStop(t *taker) (done bool) {
	if t.asks() {
		_, cost, known := b.reach(t)
		if !known {
			b.pauseTaker(t)
			return false
		}
		if t.side == Sell {
			b.holdLots(t, int64(cost.Lo))
		} else {
			t.money = cost
			if most := b.affords(t); most.Less(cost) {
				t.money, t.capped = most, true
			}
		}
	}
	if t.due {
		b.emitReleased(t.slot, b.orders.at(t.slot), &stopOrder{typ: Market}, t.left, t.money)
	} else {
		b.stream.triggered(t)
	}
	t.stop, t.due = 0, false
	return b.enterTriggered(t)
}

// holdLots gives a reached market sell by quote amount, which has held nothing, its hold: the lots that it would sell,
// of that at most what its account has free.
func (b *book) holdLots(t *taker, lots int64) {
	if t.sells = lots; b.ledger.funds == nil {
		return
	}
	b.fold()
	free, _ := b.ledger.funds.Free(t.account, b.id, Sell).DivMod64(uint64(b.inst.BaseUnits(1).Lo))
	if free.Less(fixed.FromU64(uint64(lots))) {
		t.sells = int64(free.Lo)
		t.left = t.sells
	}
}

// affords returns the most that a reached market buy by amount may spend, in product units: its hold and the free money
// of its account.
func (b *book) affords(t *taker) fixed.U128 {
	most := b.inst.MaxSettled()
	if b.ledger.funds == nil {
		return most
	}
	b.fold()
	free, _ := b.ledger.funds.Free(t.account, b.id, Buy).DivMod64(b.inst.quoteUnit())
	if sum := free.AddSat(total(t.hold, t.left)); sum.Less(most) {
		return sum
	}
	return most
}

// enterTriggered lets a triggered stop enter. The order was accepted before the book's checks
// ran, so a failed check cancels it instead of refusing it. It returns false when the part ends
// before.
func (b *book) enterTriggered(t *taker) (done bool) {
	r, known := b.mayEnter(t)
	if !known {
		b.pauseTaker(t)
		return false
	}
	if r != NotRejected {
		t.cause = CauseUnfillable
		b.cancelTaker(t)
		return true
	}
	return b.enter(t)
}
