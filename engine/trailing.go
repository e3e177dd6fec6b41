package engine

import (
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/tickhive/tickhive/engine/slots"
)

// The limits of Command.Trail.
const (
	MinTrail = 10
	MaxTrail = 2000
	oneTrail = 10_000 // basis points of 1
)

func validTrail(trail uint16) bool { return trail >= MinTrail && trail <= MaxTrail }

// trails holds the trailing orders of a side that track the price.
//
// Orders that have seen the same extreme (the highest price since they track, of buys the lowest) are a group. The
// groups are a stack: a younger order has seen less, so its extreme is nearer to the market. A new extreme of the
// market is that of all groups that it passes: they become one, so each group is merged once. A group is a pairing heap
// whose first order is the one with the smallest trail, which the market reaches first; it queues in the level of its
// trigger price. So a trade costs one comparison when no extreme is passed and no price reached, and else time that
// grows with the logarithm of the number of orders.
//
// The shape of the heaps has no effect: each has one first order, whatever its shape, and the state has none of it.
type trails struct {
	keys   slots.Keys   // maps stopKey to the level of the first orders that are reached there
	groups []trailGroup // the extreme that is farthest from the market first
	joined uint64       // number of the order that joined last
	empty  int          // groups without orders; never the last one
}

// trailGroup is a group of trails.
type trailGroup struct {
	extreme int64
	from    uint64 // stopOrder.joined of its orders is from here up to the next group's
	first   int32  // the root of its heap, a slot of stops.parked; 0: its orders have ended
}

// beyond reports whether price a is a better extreme for an order of a side than b.
func (s Side) beyond(a, b int64) bool {
	if s == Sell {
		return a > b
	}
	return a < b
}

// trailEnd returns the price that triggers an order of a side that has seen an extreme: the highest price at or below
// extreme x (1 - trail) for a sell, the lowest one at or above extreme x (1 + trail) for a buy. ok is false when no
// price reaches that.
func trailEnd(s Side, extreme int64, trail uint16) (price int64, ok bool) {
	factor, carry := uint64(oneTrail-trail), uint64(0)
	if s == Buy {
		factor, carry = uint64(oneTrail)+uint64(trail), oneTrail-1
	}
	hi, lo := bits.Mul64(uint64(extreme), factor)
	lo, c := bits.Add64(lo, carry, 0)
	if hi += c; hi >= oneTrail {
		return 0, false
	}
	q, _ := bits.Div64(hi, lo, oneTrail)
	if q > math.MaxInt64 {
		return 0, false
	}
	return int64(q), true
}

// endOf returns the direction in which a trailing order of a side is triggered, whatever the direction in which its
// stop price is reached.
func endOf(s Side) direction { return StopLimit.direction(s) }

// holdPrice returns the price at which a market buy by amount holds money while it waits: its stop price, or the price
// that triggers it as it begins to track. 0: it has no stop price, and nothing was traded.
func (cmd *Command) holdPrice(last int64) (price int64, ok bool) {
	if cmd.Stop != 0 || last == 0 {
		return cmd.Stop, true
	}
	return trailEnd(Buy, last, cmd.Trail)
}

// groupOf returns the place of the group of an order.
func (t *trails) groupOf(st *stopOrder) int {
	return sort.Search(len(t.groups), func(i int) bool { return t.groups[i].from > st.joined }) - 1
}

// track makes a waiting order that is in no queue track the price, beginning with the last trade's.
func (b *book) track(s int32, o *order) {
	t, w := &b.stops.trails[o.side], &b.stops
	e := b.stream.emit(EventActivated)
	e.Order = MakeOrderID(b.id, o.n)
	e.Account = b.orders.account(o)
	e.Side = o.side
	e.Price = b.last
	b.joinLast(t, s, o, b.last)
	w.parked.At(b.orders.cold.At(s).stop).state = tracks
}

// joinLast adds an order to the group of an extreme, which is the last one or becomes it.
func (b *book) joinLast(t *trails, s int32, o *order, extreme int64) {
	ps := b.orders.cold.At(s).stop
	st := b.stops.parked.At(ps)
	t.joined++
	st.state, st.slot, st.joined, st.child, st.next, st.prev = tracks, s, t.joined, 0, 0, 0
	last := len(t.groups) - 1
	if last < 0 || t.groups[last].extreme != extreme {
		t.groups = append(t.groups, trailGroup{extreme: extreme, from: t.joined})
		last++
	}
	g := &t.groups[last]
	b.setFirst(o.side, g, b.stops.meld(g.first, ps))
}

// untrack takes an order that tracks out of its group.
func (b *book) untrack(s int32, o *order) {
	t, w := &b.stops.trails[o.side], &b.stops
	ps := b.orders.cold.At(s).stop
	st := w.parked.At(ps)
	i := t.groupOf(st)
	if g := &t.groups[i]; g.first != ps {
		w.cut(st)
	} else if b.setFirst(o.side, g, w.pair(st.child)); g.first == 0 {
		t.drop(i)
	}
	st.state, st.joined, st.slot, st.child, st.next, st.prev = waits, 0, 0, 0, 0, 0
}

// changeTrail gives an order that tracks another trail; its extreme stays.
func (b *book) changeTrail(s int32, o *order, trail uint16) {
	t, w := &b.stops.trails[o.side], &b.stops
	ps := b.orders.cold.At(s).stop
	st := w.parked.At(ps)
	g := &t.groups[t.groupOf(st)]
	first := g.first
	b.setFirst(o.side, g, 0)
	if first == ps {
		first = w.pair(st.child)
	} else {
		w.cut(st)
	}
	st.trail, st.child, st.next, st.prev = trail, 0, 0, 0
	b.setFirst(o.side, g, w.meld(first, ps))
}

// extremeOf returns the extreme of an order, 0: it does not track.
func (b *book) extremeOf(o *order, st *stopOrder) int64 {
	if st.state != tracks {
		return 0
	}
	t := &b.stops.trails[o.side]
	return t.groups[t.groupOf(st)].extreme
}

// drop removes a group without orders.
func (t *trails) drop(i int) {
	if t.empty++; i == len(t.groups)-1 {
		for i >= 0 && t.groups[i].first == 0 {
			t.groups, t.empty = t.groups[:i], t.empty-1
			i--
		}
	} else if 2*t.empty > len(t.groups) {
		t.groups = slices.DeleteFunc(t.groups, func(g trailGroup) bool { return g.first == 0 })
		t.empty = 0
	}
}

// follow makes the last trade the extreme of all groups that it passes. It returns false when the part ends before.
func (b *book) follow(side Side) (done bool) {
	t := &b.stops.trails[side]
	last := len(t.groups) - 1
	if last < 0 {
		return true
	}
	g := t.groups[last]
	passed := side.beyond(b.last, g.extreme)
	if passed {
		g.extreme = b.last
	} else if last == 0 || side.beyond(t.groups[last-1].extreme, g.extreme) {
		return true
	}
	first := g.first
	b.setFirst(side, &g, 0)
	done = true
	for last > 0 && !side.beyond(t.groups[last-1].extreme, g.extreme) {
		before := &t.groups[last-1]
		if before.first == 0 {
			t.empty--
		} else {
			if done = !b.stream.spent(); !done {
				break
			}
			b.stream.visit()
			other := before.first
			b.setFirst(side, before, 0)
			first = b.stops.meld(other, first)
		}
		g.from = before.from
		last--
	}
	t.groups = t.groups[:last+1]
	b.setFirst(side, &g, first)
	t.groups[last] = g
	return done
}

// reachTrails queues the orders that track and are triggered by the last trade. It returns false when the part ends
// before.
func (b *book) reachTrails(side Side) (done bool) {
	w, way := &b.stops, endOf(side)
	keys := w.trails[side].keys
	for keys.Count() > 0 {
		_, ls := keys.Max()
		lv := b.orders.levels.At(ls)
		if !through(b.last, way, lv.price) {
			return true
		}
		if b.stream.spent() {
			return false
		}
		b.stream.visit()
		s, price := lv.head, lv.price
		o := b.orders.at(s)
		b.untrack(s, o)
		w.parked.At(b.orders.cold.At(s).stop).stop = price
		w.queue.Push(slots.Queued{N: o.n, Slot: s, Wave: w.wave})
	}
	return true
}

// setFirst makes an order the first one of a group: it queues at the price that triggers it.
func (b *book) setFirst(side Side, g *trailGroup, first int32) {
	if g.first == first {
		return
	}
	w, q := &b.stops, &b.orders
	keys := w.trails[side].keys
	if g.first != 0 {
		o := q.at(w.parked.At(g.first).slot)
		if ls := o.level; ls != 0 {
			lv := q.levels.At(ls)
			if q.dequeue(o, lv); lv.count == 0 {
				keys.Delete(stopKey(endOf(side), lv.price))
				q.levels.Release(ls)
			}
		}
	}
	if g.first = first; first == 0 {
		return
	}
	st := w.parked.At(first)
	price, ok := trailEnd(side, g.extreme, st.trail)
	if !ok {
		return
	}
	key := stopKey(endOf(side), price)
	ls := keys.Get(key)
	if ls == 0 {
		ls = q.levels.Alloc()
		*q.levels.At(ls) = level{price: price}
		keys.Set(key, ls)
	}
	// A level has few of them: groups with different extremes need different trails to be triggered at one price.
	lv := q.levels.At(ls)
	before := lv.tail
	for before != 0 && w.parked.At(q.cold.At(before).stop).joined > st.joined {
		before = q.at(before).prev
	}
	q.insert(st.slot, q.at(st.slot), ls, lv, before)
}

// less reports whether an order of a heap comes before another one.
func (w *stops) less(x, y *stopOrder) bool {
	return x.trail < y.trail || x.trail == y.trail && x.joined < y.joined
}

// meld makes one heap of two and returns its first order; 0 is the empty one.
func (w *stops) meld(x, y int32) int32 {
	if x == 0 {
		return y
	}
	if y == 0 {
		return x
	}
	if w.less(w.parked.At(y), w.parked.At(x)) {
		x, y = y, x
	}
	above, below := w.parked.At(x), w.parked.At(y)
	below.prev, below.next = x, above.child
	if above.child != 0 {
		w.parked.At(above.child).prev = y
	}
	above.child, above.prev, above.next = y, 0, 0
	return x
}

// pair makes one heap of the children of an order.
func (w *stops) pair(child int32) (first int32) {
	var pairs int32 // a list of heaps by next
	for child != 0 {
		x := child
		if y := w.parked.At(x).next; y == 0 {
			child = 0
		} else {
			child = w.parked.At(y).next
			x = w.meld(x, y)
		}
		w.parked.At(x).next = pairs
		pairs = x
	}
	for pairs != 0 {
		x := pairs
		st := w.parked.At(x)
		pairs, st.next, st.prev = st.next, 0, 0
		first = w.meld(first, x)
	}
	return first
}

// cut takes an order that is not the first one out of its heap. Its children take its place.
func (w *stops) cut(st *stopOrder) {
	in := w.pair(st.child)
	after := st.next
	if in != 0 {
		x := w.parked.At(in)
		x.prev, x.next = st.prev, after
		if after != 0 {
			w.parked.At(after).prev = in
		}
	} else if in = after; after != 0 {
		w.parked.At(after).prev = st.prev
	}
	if before := w.parked.At(st.prev); before.child != 0 && w.parked.At(before.child) == st {
		before.child = in
	} else {
		before.next = in
	}
}

// heap appends the orders of a heap in the order in which they joined.
func (w *stops) heap(dst []*stopOrder, first int32) []*stopOrder {
	from := len(dst)
	if first != 0 {
		dst = append(dst, w.parked.At(first))
	}
	for i := from; i < len(dst); i++ {
		for c := dst[i].child; c != 0; c = w.parked.At(c).next {
			dst = append(dst, w.parked.At(c))
		}
	}
	slices.SortFunc(dst[from:], func(x, y *stopOrder) int {
		if x.joined < y.joined {
			return -1
		}
		return 1
	})
	return dst
}
