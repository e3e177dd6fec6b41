package engine

import (
	"fmt"
	"math"

	"github.com/tickhive/tickhive/engine/owners"
)

// Check walks over everything a pair holds and reports the first broken invariant of doc.go. Tests and restores
// call it. It is slow: it visits every order several times.
func (c *Core) Check() error {
	for _, b := range c.books {
		if b == nil {
			continue
		}
		if err := b.check(); err != nil {
			return fmt.Errorf("engine: pair %s at seq %d: %w", b.inst.Code, b.stream.seq, err)
		}
	}
	return nil
}

func (b *book) check() error {
	w := walk{b: b, owned: map[int32]int32{}, waits: map[int32]int32{}}
	for side := range b.sides {
		if err := w.ladder(&b.sides[side]); err != nil {
			return fmt.Errorf("%s side: %w", Side(side), err)
		}
	}
	for way := range b.stops.ways {
		if err := w.stops(direction(way)); err != nil {
			return fmt.Errorf("%s stops: %w", direction(way), err)
		}
	}
	for side := range b.stops.trails {
		if err := w.trails(Side(side)); err != nil {
			return fmt.Errorf("trailing %ss: %w", Side(side), err)
		}
	}
	if err := w.queued(); err != nil {
		return fmt.Errorf("reached stops: %w", err)
	}
	if b.sides.crossed() {
		return fmt.Errorf("crossed: bid %d, ask %d", b.sides[Buy].touch, -b.sides[Sell].touch)
	}
	if err := w.unfinished(); err != nil {
		return err
	}
	if err := w.lists(); err != nil {
		return err
	}
	if w.orders != b.orders.count || w.orders != b.orders.hot.InUse() || w.levels != b.orders.levels.InUse() ||
		w.parked != b.stops.parked.InUse() {
		return fmt.Errorf("%d orders on %d levels, %d stops; counted %d and held %d on %d, %d",
			w.orders, w.levels, w.parked,
			b.orders.count, b.orders.hot.InUse(), b.orders.levels.InUse(), b.stops.parked.InUse())
	}
	if w.slices != b.slices {
		return fmt.Errorf("%d slices in reserve, counted %d", w.slices, b.slices)
	}
	if err := w.owners(); err != nil {
		return err
	}
	return b.clients.Check(&b.orders.owners, w.named)
}

// walk holds the counts of one check.
type walk struct {
	b                      *book
	orders, levels, parked int
	named                  int             // orders with a client id
	slices                 int64           // of the reserves of icebergs
	lots                   [2]int64        // of waiting orders with a limit
	owned, waits           map[int32]int32 // orders and waiting stops by owner
	listed                 int             // orders of lists
}

func (w *walk) ladder(l *ladder) (err error) {
	b := w.b
	var open int64
	before := int64(math.MaxInt64)
	l.Down(func(ls int32) bool {
		lv := b.orders.levels.At(ls)
		switch {
		case l.key(lv.price) >= before:
			err = fmt.Errorf("level %d is out of order", lv.price)
		case l.Get(l.key(lv.price)) != ls:
			err = fmt.Errorf("level %d has another key", lv.price)
		case before == math.MaxInt64 && (ls != l.best || l.key(lv.price) != l.touch):
			err = fmt.Errorf("level %d is the best and not at hand", lv.price)
		case l.find(&b.orders.levels, lv.price) != ls:
			err = fmt.Errorf("level %d is not found by its price", lv.price)
		case lv.count == 0:
			err = fmt.Errorf("level %d is empty", lv.price)
		default:
			err = w.queue(ls, lv, false)
		}
		w.levels++
		open += lv.shown + lv.hidden
		before = l.key(lv.price)
		return err == nil
	})
	if l.N == 0 && (l.best != 0 || l.Tree.Count() > 0) {
		err = fmt.Errorf("nothing is at hand of %d levels", l.Tree.Count())
	}
	if err == nil && open != l.open {
		err = fmt.Errorf("%d lots rest, counted %d", open, l.open)
	}
	return err
}

func (w *walk) stops(way direction) (err error) {
	b := w.b
	b.stops.ways[way].Down(func(ls int32) bool {
		lv := b.orders.levels.At(ls)
		w.levels++
		if b.stops.ways[way].Get(stopKey(way, lv.price)) != ls || lv.count == 0 ||
			through(b.last, way, lv.price) && b.unfinished == nil {
			err = fmt.Errorf("level %d waits with last trade %d", lv.price, b.last)
			return false
		}
		err = w.queue(ls, lv, true)
		for s := lv.head; s != 0 && err == nil; s = b.orders.at(s).next {
			o := b.orders.at(s)
			if st := w.stop(s, o); st.stop != lv.price || st.way(o.side) != way || st.state != waits {
				err = fmt.Errorf("order %d waits for %d at level %d", o.n, st.stop, lv.price)
			}
		}
		return err == nil
	})
	return err
}

// trails checks the orders of a side that track: their groups, heaps and levels.
func (w *walk) trails(side Side) (err error) {
	b := w.b
	t := &b.stops.trails[side]
	empty, queued := 0, 0
	for i := range t.groups {
		g := &t.groups[i]
		switch {
		case i > 0 && g.from <= t.groups[i-1].from, g.from > t.joined:
			return fmt.Errorf("group %d begins with order %d", i, g.from)
		case b.unfinished == nil && (side.beyond(b.last, g.extreme) ||
			i > 0 && !side.beyond(t.groups[i-1].extreme, g.extreme)):
			return fmt.Errorf("group %d has the extreme %d with last trade %d", i, g.extreme, b.last)
		case g.first == 0 && i == len(t.groups)-1:
			return fmt.Errorf("the last group is empty")
		case g.first == 0:
			empty++
			continue
		}
		first := b.stops.parked.At(g.first)
		if n, err := w.heap(side, i, first); err != nil {
			return fmt.Errorf("group %d, order %d of its heap: %w", i, n, err)
		}
		price, ok := trailEnd(side, g.extreme, first.trail)
		o := b.orders.at(first.slot)
		if ok != (o.level != 0) || ok && b.orders.levels.At(o.level).price != price {
			return fmt.Errorf("group %d does not wait for %d", i, price)
		}
		if ok {
			queued++
		}
	}
	if empty != t.empty {
		return fmt.Errorf("%d groups are empty, counted %d", empty, t.empty)
	}
	t.keys.Down(func(ls int32) bool {
		lv := b.orders.levels.At(ls)
		w.levels++
		prev, joined := int32(0), uint64(0)
		for s := lv.head; s != 0; s = b.orders.at(s).next {
			o := b.orders.at(s)
			st := b.stops.parked.At(b.orders.cold.At(s).stop)
			if o.level != ls || o.prev != prev || st.joined <= joined {
				err = fmt.Errorf("order %d is linked wrongly in its level", o.n)
			}
			prev, joined = s, st.joined
			queued--
		}
		if lv.head == 0 || lv.tail != prev || t.keys.Get(stopKey(endOf(side), lv.price)) != ls ||
			through(b.last, endOf(side), lv.price) && b.unfinished == nil {
			err = fmt.Errorf("level %d waits with last trade %d", lv.price, b.last)
		}
		return err == nil
	})
	if err == nil && queued != 0 {
		err = fmt.Errorf("%d first orders are in no level", queued)
	}
	return err
}

// heap checks the orders of a group and returns the number of the one at which it has ended.
func (w *walk) heap(side Side, group int, first *stopOrder) (n uint64, err error) {
	b := w.b
	t := &b.stops.trails[side]
	if first.prev != 0 || first.next != 0 {
		return b.orders.at(first.slot).n, fmt.Errorf("it is first and has neighbors")
	}
	for _, st := range b.stops.heap(nil, b.orders.cold.At(first.slot).stop) {
		o := b.orders.at(st.slot)
		ps := b.orders.cold.At(st.slot).stop
		before := ps
		for c := st.child; c != 0; c = b.stops.parked.At(c).next {
			if x := b.stops.parked.At(c); x.prev != before || !b.stops.less(st, x) {
				return o.n, fmt.Errorf("a child is linked wrongly, or comes before it")
			}
			before = c
		}
		if b.stops.parked.At(ps) != st || o.side != side || st.state != tracks || t.groupOf(st) != group ||
			st != first && o.level != 0 || o.marks&markStop == 0 {
			return o.n, fmt.Errorf("it is of another group, or in a level")
		}
		w.stop(st.slot, o)
		if err := w.order(st.slot, o); err != nil {
			return o.n, err
		}
	}
	return 0, nil
}

// queued checks the orders that the command under way has reached, and counts the lots of all waiting orders.
func (w *walk) queued() error {
	b := w.b
	for i := range b.stops.queue {
		s := b.stops.queue[i].Slot
		if !b.awaits(b.stops.queue[i]) {
			continue
		}
		w.stop(s, b.orders.at(s))
		if err := w.order(s, b.orders.at(s)); err != nil {
			return err
		}
	}
	for ls := b.lists.oldest; ls != 0; ls = b.lists.at(ls).newer {
		for _, s := range b.lists.at(ls).orders {
			if s != 0 && b.pends(s) {
				w.stop(s, b.orders.at(s))
			}
		}
	}
	if w.lots != b.stops.lots {
		return fmt.Errorf("%d lots wait, counted %d", w.lots, b.stops.lots)
	}
	return nil
}

// stop counts a waiting order.
func (w *walk) stop(s int32, o *order) *stopOrder {
	st := w.b.stops.parked.At(w.b.orders.cold.At(s).stop)
	w.parked++
	w.waits[o.owner]++
	if !st.typ.AtMarket() {
		w.slices += st.slices(o.shown)
		w.lots[o.side] += o.shown
	}
	return st
}

// unfinished checks what is left of an unfinished command; its stops are checked with the others.
func (w *walk) unfinished() error {
	b := w.b
	if b.unfinished == nil {
		if len(b.stops.queue) > 0 || b.stops.wave != 0 || b.scan.need != 0 {
			return fmt.Errorf("no command is unfinished, but %d stops are queued", len(b.stops.queue))
		}
		return nil
	}
	if t := b.unfinished.taker; t != nil {
		o := b.orders.at(t.slot)
		if o.level != 0 || o.n != t.n || t.left < 1 || t.ended {
			return fmt.Errorf("order %d is the taker under way and waits elsewhere", o.n)
		}
		w.orders++
		w.owned[o.owner]++
		if o.marks&markClient != 0 {
			w.named++
		}
		if o.marks&markList != 0 {
			w.listed++
		}
	}
	return nil
}

// lists checks the order lists: each order knows its list, of which it is at its place, and no order outlives its list.
func (w *walk) lists() error {
	b, open, of, last := w.b, 0, map[int32]int32{}, uint64(0)
	for ls := b.lists.oldest; ls != 0; ls = b.lists.at(ls).newer {
		l := b.lists.at(ls)
		if l.n <= last || l.ending {
			return fmt.Errorf("list %d is out of order, or ends", l.n)
		}
		last = l.n
		alive := 0
		for i, s := range l.orders {
			if s == 0 {
				continue
			}
			alive++
			o := b.orders.at(s)
			if o.n != l.n+uint64(i) || b.orders.ids.Get(o.n) != s || o.owner != l.owner || b.listOf(s, o) != ls {
				return fmt.Errorf("order %d is not the one at place %d of list %d", o.n, i, l.n)
			}
			if other := l.other(s); other != 0 && (b.orders.at(other).total != o.total ||
				o.total != o.shown+b.orders.hidden(s, o)) {
				return fmt.Errorf("order %d of list %d has fills, or another amount than its other", o.n, l.n)
			}
			if b.pends(s) != (l.kind.Works() && i > 0 && l.orders[0] != 0) && b.unfinished == nil {
				return fmt.Errorf("order %d of list %d pends, or should", o.n, l.n)
			}
			if b.pends(s) {
				if err := w.order(s, o); err != nil {
					return err
				}
			}
		}
		if alive == 0 {
			return fmt.Errorf("list %d has no order", l.n)
		}
		open++
		w.listed -= alive
		of[l.owner]++
		if l.client != 0 {
			w.named++
			if e := b.clients.At(l.client); e.Order() != l.n || !e.OfList() || !e.Open() {
				return fmt.Errorf("the client id of list %d belongs to order %d", l.n, e.Order())
			}
		}
	}
	if open != b.lists.all.InUse() || w.listed != 0 {
		return fmt.Errorf("%d lists, held %d; %d orders are of none", open, b.lists.all.InUse(), w.listed)
	}
	for s := range w.owned {
		if o := b.orders.owners.At(s); o.Lists != of[s] {
			return fmt.Errorf("account %d has %d lists, counted %d", o.Account, of[s], o.Lists)
		}
	}
	return nil
}

// queue checks one level against its orders.
func (w *walk) queue(ls int32, lv *level, stops bool) error {
	b := w.b
	var shown, hidden int64
	prev, count := int32(0), int32(0)
	for s := lv.head; s != 0; {
		o := b.orders.at(s)
		if o.prev != prev || o.level != ls || !stops && o.side != lv.side || (o.marks&markStop != 0) != stops {
			return fmt.Errorf("order %d is linked wrongly", o.n)
		}
		if err := w.order(s, o); err != nil {
			return fmt.Errorf("order %d: %w", o.n, err)
		}
		shown += o.shown
		hidden += b.orders.hidden(s, o)
		count++
		prev, s = s, o.next
	}
	if lv.tail != prev || lv.count != count {
		return fmt.Errorf("level %d counts %d orders, has %d", lv.price, lv.count, count)
	}
	if !stops && (lv.shown != shown || lv.hidden != hidden) {
		return fmt.Errorf("level %d says %d and %d hidden, its orders %d and %d",
			lv.price, lv.shown, lv.hidden, shown, hidden)
	}
	return nil
}

func (w *walk) order(s int32, o *order) error {
	b := w.b
	w.orders++
	w.owned[o.owner]++
	hidden := b.orders.hidden(s, o)
	switch {
	case b.orders.ids.Get(o.n) != s:
		return fmt.Errorf("the index has slot %d, not %d", b.orders.ids.Get(o.n), s)
	case o.marks&markStop == 0 && o.shown <= 0 || hidden < 0 || o.total < o.shown+hidden:
		return fmt.Errorf("%d shown, %d hidden of %d", o.shown, hidden, o.total)
	}
	if o.marks&markIceberg != 0 {
		if d := b.orders.cold.At(s).display; o.shown > d {
			return fmt.Errorf("an iceberg of slice %d shows %d, hides %d", d, o.shown, hidden)
		}
		w.slices += b.orders.slicesOf(s, o)
	}
	if o.marks&markList != 0 {
		w.listed++
	}
	if o.marks&markClient != 0 {
		w.named++
		if e := b.clients.At(b.orders.cold.At(s).client); e.Order() != o.n || !e.Open() {
			return fmt.Errorf("its client id belongs to order %d", e.Order())
		}
	}
	return nil
}

func (w *walk) owners() error {
	b := w.b
	if err := b.orders.owners.Check(); err != nil {
		return err
	}
	for s, open := range w.owned {
		o := b.orders.owners.At(s)
		if o.Stops != w.waits[s] {
			return fmt.Errorf("account %d has %d waiting stops, counted %d", o.Account, w.waits[s], o.Stops)
		}
		if o.Open != open {
			return fmt.Errorf("account %d has %d open orders, counted %d", o.Account, open, o.Open)
		}
		if s == owners.Builtin {
			continue
		}
		n, prev := uint64(0), int32(0)
		for i := o.Head; i != 0; i = b.orders.at(i).ownNext {
			x := b.orders.at(i)
			if x.n <= n || x.owner != s || x.ownPrev != prev {
				return fmt.Errorf("account %d: order %d is out of order in its list", o.Account, x.n)
			}
			n, prev = x.n, i
			open--
		}
		if open != 0 || o.Tail != prev {
			return fmt.Errorf("account %d: its list lacks %d orders", o.Account, open)
		}
	}
	return nil
}
