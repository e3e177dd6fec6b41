package engine

import (
	"github.com/tickhive/tickhive/engine/owners"
	"github.com/tickhive/tickhive/engine/slots"
)

// openOrders holds the open orders of a pair, waiting stops included, and the levels in which
// they queue. It finds an order by its number and the orders of an owner. Order and level
// pointers stay valid while the slot is held. Stored references are slots, not pointers.
type openOrders struct {
	hot    slots.Slab[order]
	cold   slots.Slab[coldOrder] // indexed by the same slots as hot
	levels slots.Slab[level]
	ids    slots.Index
	owners owners.Set
	count  int
}

// at returns the order of a slot.
func (q *openOrders) at(s int32) *order { return q.hot.At(s) }

// account returns the account of an order.
func (q *openOrders) account(o *order) AccountID { return AccountID(q.owners.Account(o.owner)) }

// openOf returns the number of open orders of an account.
func (q *openOrders) openOf(id AccountID) int {
	return int(q.owners.At(q.owners.Find(uint32(id))).Open)
}

// alloc returns a free slot for an order.
func (q *openOrders) alloc() int32 {
	s := q.hot.Alloc()
	if q.cold.Used() < q.hot.Used() {
		q.cold.Grow()
	}
	return s
}

// add allocates a slot for order n of an owner and adds the order to the index and to the owner's list. The
// caller sets total, shown, marks, self-trade mode and rates in the slot, so that an order is never copied.
func (q *openOrders) add(n uint64, owner int32, side Side) (int32, *order) {
	s := q.alloc()
	o := q.hot.At(s)
	o.n = n
	o.owner = owner
	o.side = side
	o.amends = 0
	q.ids.Put(n, s)
	if owner != owners.Builtin {
		q.link(s, o)
	}
	q.count++
	return s, o
}

// restore adds an order of a decoded book. The orders do not come by id, so relink builds the owners' lists
// afterwards.
func (q *openOrders) restore(o order, c coldOrder, account AccountID) int32 {
	o.owner = q.owners.AddOrder(uint32(account))
	s := q.alloc()
	*q.hot.At(s), *q.cold.At(s) = o, c
	q.ids.Put(o.n, s)
	q.count++
	return s
}

// enqueue puts an order at the end of a level.
func (q *openOrders) enqueue(s int32, o *order, ls int32, lv *level) {
	o.level = ls
	o.prev, o.next = lv.tail, 0
	if lv.tail != 0 {
		q.hot.At(lv.tail).next = s
	} else {
		lv.head = s
	}
	lv.tail = s
	lv.count++
}

// insert puts an order into a level behind another one of it, 0: as the first.
func (q *openOrders) insert(s int32, o *order, ls int32, lv *level, before int32) {
	if before == lv.tail {
		q.enqueue(s, o, ls, lv)
		return
	}
	next := &lv.head
	if before != 0 {
		next = &q.hot.At(before).next
	}
	o.level, o.prev, o.next = ls, before, *next
	q.hot.At(*next).prev = s
	*next = s
	lv.count++
}

// dequeue takes an order out of its level.
func (q *openOrders) dequeue(o *order, lv *level) {
	if o.prev != 0 {
		q.hot.At(o.prev).next = o.next
	} else {
		lv.head = o.next
	}
	if o.next != 0 {
		q.hot.At(o.next).prev = o.prev
	} else {
		lv.tail = o.prev
	}
	o.level = 0
	lv.count--
}

// link appends an order, whose id is the owner's highest, to the owner's list. The built-in
// account has no list.
func (q *openOrders) link(s int32, o *order) {
	w := q.owners.At(o.owner)
	o.ownPrev, o.ownNext = w.Tail, 0
	if w.Tail != 0 {
		q.hot.At(w.Tail).ownNext = s
	} else {
		w.Head = s
	}
	w.Tail = s
}

func (q *openOrders) unlink(o *order) {
	w := q.owners.At(o.owner)
	if o.ownPrev != 0 {
		q.hot.At(o.ownPrev).ownNext = o.ownNext
	} else {
		w.Head = o.ownNext
	}
	if o.ownNext != 0 {
		q.hot.At(o.ownNext).ownPrev = o.ownPrev
	} else {
		w.Tail = o.ownPrev
	}
}

// hidden returns the reserve of an order, 0 for anything but icebergs.
func (q *openOrders) hidden(s int32, o *order) int64 {
	if o.marks&markIceberg == 0 {
		return 0
	}
	return q.cold.At(s).hidden
}

// slicesOf returns the number of slices in a resting order's reserve.
func (q *openOrders) slicesOf(s int32, o *order) int64 {
	if o.marks&markIceberg == 0 {
		return 0
	}
	c := q.cold.At(s)
	return pieces(c.hidden, c.display)
}

// clientOf returns the entry of an order's client id, 0: it has none.
func (q *openOrders) clientOf(s int32, o *order) int32 {
	if o.marks&markClient == 0 {
		return 0
	}
	return q.cold.At(s).client
}
