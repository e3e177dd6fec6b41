package marketdata

import (
	"cmp"
	"slices"
)

// orderPage keeps the newest want orders by creation of those added: a heap with the
// oldest of them on top.
type orderPage struct {
	want int
	heap []*orderRec
}

// newer orders by creation, newest first, ties by id descending.
func newer(a, b *orderRec) int {
	if c := cmp.Compare(b.createdNs, a.createdNs); c != 0 {
		return c
	}
	return cmp.Compare(b.id, a.id)
}

// complete reports that nothing created at timeNs or before can belong to the page any
// more, but for ties.
func (p *orderPage) complete(timeNs int64) bool {
	return len(p.heap) >= p.want && p.heap[0].createdNs > timeNs
}

func (p *orderPage) add(o *orderRec) {
	if len(p.heap) < p.want {
		p.heap = append(p.heap, o)
		for i := len(p.heap) - 1; i > 0; {
			up := (i - 1) / 2
			if newer(p.heap[i], p.heap[up]) <= 0 {
				return
			}
			p.heap[i], p.heap[up] = p.heap[up], p.heap[i]
			i = up
		}
		return
	}
	if newer(o, p.heap[0]) > 0 {
		return
	}
	p.heap[0] = o
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(p.heap) {
			return
		}
		if c+1 < len(p.heap) && newer(p.heap[c+1], p.heap[c]) > 0 {
			c++
		}
		if newer(p.heap[c], p.heap[i]) <= 0 {
			return
		}
		p.heap[i], p.heap[c] = p.heap[c], p.heap[i]
		i = c
	}
}

func (p *orderPage) sorted() []*orderRec {
	slices.SortFunc(p.heap, newer)
	return p.heap
}
