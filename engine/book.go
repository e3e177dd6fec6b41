package engine

import (
	"math"
	"slices"

	"tickhive/internal/fixed"
)

// book is one pair: its ladders, waiting stops, index, owners and client ids. Order and
// level pointers stay valid while the slot is held; slots are what is stored.
type book struct {
	inst *Instrument
	id   PairID
	opts *Options

	out   []Event // the caller's slice during Apply
	nowNs int64
	rules uint8 // of the command under way

	seq   Seq
	lastN uint64 // n of the newest order
	trade TradeID
	last  int64 // price of the last trade, 0: never traded
	open  int   // open orders, waiting stops included

	sides  [2]ladder
	levels slab[level]
	orders slab[order]
	cold   slab[coldOrder] // same slots as orders
	ids    index
	owners owners

	clients clients

	stops   [2]keys // stopKey to stop level, by side of the order
	parked  slab[stopOrder]
	waiting [2]int64 // lots of the waiting stop_limit orders of a side
	slices  int64    // slices in the reserves of all icebergs, waiting stops included
	queue   []int32  // triggered in this command, in order

	// Every order of the built-in account below this n is closed: where the next mass
	// cancel of it starts to look. Follows from the history, is no state of its own.
	builtinFrom uint64
}

func newBook(inst *Instrument, opts *Options) *book {
	b := &book{
		inst: inst, id: inst.ID, opts: opts,
		sides:  [2]ladder{newLadder(Buy), newLadder(Sell)},
		owners: newOwners(),
		stops:  [2]keys{newKeys(), newKeys()},
	}
	b.clients.perPair = opts.ClientIDs
	b.clients.perOwner = int32(opts.AccountClientIDs)
	return b
}

// emit appends the next event of the pair, its common members set and the rest zero. The
// pointer is valid until the next emit.
func (b *book) emit(kind EventKind) *Event {
	n := len(b.out)
	if n == cap(b.out) {
		b.out = slices.Grow(b.out, 1)
	}
	b.out = b.out[:n+1]
	e := &b.out[n]
	*e = Event{}
	b.seq++
	e.Seq = b.seq
	e.TimeNs = b.nowNs
	e.Pair = b.id
	e.Kind = kind
	e.Rules = b.rules
	return e
}

func (b *book) emitLevel(lv *level) {
	e := b.emit(EventLevel)
	e.Side = lv.side
	e.Price = lv.price
	e.Amount = lv.shown
}

// roomFor reports whether lots more may rest on a side: the sums of a book stay in int64.
func (b *book) roomFor(side Side, lots int64) bool {
	return lots <= math.MaxInt64-b.sides[side].open-b.waiting[side]
}

// append puts a detached order with shown and hidden lots at the back of the queue at
// price.
func (b *book) append(s int32, o *order, price, hidden int64) *level {
	l := &b.sides[o.side]
	var lv *level
	ls := l.find(&b.levels, price)
	if ls == 0 {
		ls, lv = l.add(&b.levels, price)
	} else {
		lv = b.levels.at(ls)
	}
	b.enqueue(s, o, ls, lv)
	lv.shown += o.shown
	lv.hidden += hidden
	b.slices += b.slicesOf(s, o)
	l.open += o.shown + hidden
	return lv
}

func (b *book) enqueue(s int32, o *order, ls int32, lv *level) {
	o.level = ls
	o.prev, o.next = lv.tail, 0
	if lv.tail != 0 {
		b.orders.at(lv.tail).next = s
	} else {
		lv.head = s
	}
	lv.tail = s
	lv.count++
}

func (b *book) dequeue(o *order, lv *level) {
	if o.prev != 0 {
		b.orders.at(o.prev).next = o.next
	} else {
		lv.head = o.next
	}
	if o.next != 0 {
		b.orders.at(o.next).prev = o.prev
	} else {
		lv.tail = o.prev
	}
	o.level = 0
	lv.count--
}

// detach removes an order from its level and emits the level's new amount, unless the order
// returns to the level at once (quiet). It removes an empty level.
func (b *book) detach(s int32, o *order, quiet bool) {
	ls := o.level
	lv := b.levels.at(ls)
	hidden := b.hidden(s, o)
	lv.shown -= o.shown
	lv.hidden -= hidden
	b.slices -= b.slicesOf(s, o)
	l := &b.sides[o.side]
	l.open -= o.shown + hidden
	b.dequeue(o, lv)
	if !quiet {
		b.emitLevel(lv)
	}
	if lv.count == 0 {
		l.remove(&b.levels, ls)
	}
}

// hidden returns the reserve of an order, 0 for anything but icebergs.
func (b *book) hidden(s int32, o *order) int64 {
	if o.marks&markIceberg == 0 {
		return 0
	}
	return b.cold.at(s).hidden
}

// pieces returns the number of slices of display lots in a reserve.
func pieces(hidden, display int64) int64 {
	if hidden <= 0 {
		return 0
	}
	return (hidden-1)/display + 1
}

// slicesOf returns the number of slices in a resting order's reserve.
func (b *book) slicesOf(s int32, o *order) int64 {
	if o.marks&markIceberg == 0 {
		return 0
	}
	c := b.cold.at(s)
	return pieces(c.hidden, c.display)
}

// slices returns the number of slices that a waiting stop will have when it rests untouched.
func (st *stopOrder) slices(open int64) int64 {
	if st.display == 0 {
		return 0
	}
	return pieces(open-st.display, st.display)
}

func (b *book) clientOf(s int32, o *order) int32 {
	if o.marks&markClient == 0 {
		return 0
	}
	return b.cold.at(s).client
}

// forget ends a detached order: its id, its owner's list, its client id, its slot.
func (b *book) forget(s int32, o *order) {
	b.ids.del(o.n)
	if o.owner != builtinOwner {
		b.unlink(o)
	}
	if o.marks&markClient != 0 {
		b.closeClient(b.cold.at(s).client)
	}
	b.owners.drop(o.owner)
	b.open--
	b.orders.release(s)
}

// newOrder gives out a slot for order n of a held owner and enters it in index and
// owner's list. The caller sets total, shown, marks, self-trade mode and rates: written
// where it lies, an order is never copied.
func (b *book) newOrder(n uint64, owner int32, side Side) (int32, *order) {
	s := b.orders.take()
	if b.cold.used < b.orders.used {
		b.cold.grow()
	}
	o := b.orders.at(s)
	o.n = n
	o.owner = owner
	o.side = side
	b.ids.put(n, s)
	if owner != builtinOwner {
		b.link(s, o)
	}
	b.open++
	return s, o
}

// crosses reports whether an order at price would take from the other side.
func (b *book) crosses(side Side, price int64) bool {
	opp := &b.sides[side.Opposite()]
	if opp.best == 0 {
		return false
	}
	if side == Buy {
		return price >= opp.touch
	}
	return price <= opp.touch
}

func finalStatus(filled int64) Status {
	if filled > 0 {
		return PartiallyExecutedAndCanceled
	}
	return Canceled
}

// total returns price x amount in product units.
func total(price, amount int64) fixed.U128 { return fixed.Mul64(uint64(price), uint64(amount)) }
