package marketdata

import (
	"cmp"
	"slices"

	"tickhive/engine"
)

// orderKey is the position of an order in a list. A key outlives its order, so the caller's
// goroutine can sort a list without the history.
type orderKey struct {
	createdNs int64
	id        engine.OrderID
}

func (o *orderRec) key() orderKey { return orderKey{o.createdNs, o.id} }

// newer compares orders by creation, newest first, ties by id descending.
func newer(a, b *orderRec) int { return newerKey(a.key(), b.key()) }

func newerKey(a, b orderKey) int {
	if c := cmp.Compare(b.createdNs, a.createdNs); c != 0 {
		return c
	}
	return cmp.Compare(b.id, a.id)
}

// orderPage collects the newest want orders by creation in a heap with the oldest of them on
// top.
type orderPage struct {
	want int
	heap []orderKey
}

// reserve makes room for n more, at most for as many as are wanted: adding them then copies
// nothing.
func (p *orderPage) reserve(n int) {
	p.heap = slices.Grow(p.heap, min(n, p.want-len(p.heap)))
}

// complete reports whether no order created at timeNs or before can enter the page any more,
// except ties.
func (p *orderPage) complete(timeNs int64) bool {
	return len(p.heap) >= p.want && p.heap[0].createdNs > timeNs
}

// add adds an order at the cost of the heap's height at most. Adding a dropped order again
// changes nothing, because the page holds only newer ones.
func (p *orderPage) add(o orderKey) {
	if len(p.heap) < p.want {
		p.heap = append(p.heap, o)
		for i := len(p.heap) - 1; i > 0; {
			up := (i - 1) / 2
			if newerKey(p.heap[i], p.heap[up]) <= 0 {
				return
			}
			p.heap[i], p.heap[up] = p.heap[up], p.heap[i]
			i = up
		}
		return
	}
	if newerKey(o, p.heap[0]) > 0 {
		return
	}
	p.heap[0] = o
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(p.heap) {
			return
		}
		if c+1 < len(p.heap) && newerKey(p.heap[c+1], p.heap[c]) > 0 {
			c++
		}
		if newerKey(p.heap[c], p.heap[i]) <= 0 {
			return
		}
		p.heap[i], p.heap[c] = p.heap[c], p.heap[i]
		i = c
	}
}

// sort sorts the heap into a list, newest first. The caller adds nothing afterwards.
func (p *orderPage) sort() { slices.SortFunc(p.heap, newerKey) }
