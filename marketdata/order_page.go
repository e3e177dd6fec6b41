package marketdata

import (
	"cmp"
	"slices"

	"tickhive/engine"
)

// orderKey holds the members by which a list sorts an order. It is a copy, so the caller's goroutine can sort
// without reading the history.
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

// orderPage collects the newest orders, at most want of them, in a heap whose root is the oldest.
type orderPage struct {
	want int
	heap []orderKey
}

// reserve allocates room for n more orders, up to want in total, so that adding them does not reallocate.
func (p *orderPage) reserve(n int) {
	p.heap = slices.Grow(p.heap, min(n, p.want-len(p.heap)))
}

// complete reports that the page is full and that every order in it was created after timeNs: an order created
// earlier cannot enter it.
func (p *orderPage) complete(timeNs int64) bool {
	return len(p.heap) >= p.want && p.heap[0].createdNs > timeNs
}

// add adds an order unless the page is full of newer ones. It costs at most the heap's height. Adding an order
// that was dropped before changes nothing.
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

// sort turns the heap into a list, newest first. No order may be added afterwards.
func (p *orderPage) sort() { slices.SortFunc(p.heap, newerKey) }
