package slots

import "cmp"

// Queue is a heap of slots by wave and, within a wave, by number.
type Queue []Queued

// Queued is a slot in a queue.
type Queued struct {
	N    uint64
	Slot int32
	Wave uint32
}

// Compare returns a negative number when x comes before y.
func (x Queued) Compare(y Queued) int {
	return cmp.Or(cmp.Compare(x.Wave, y.Wave), cmp.Compare(x.N, y.N))
}

// Push adds a slot.
func (q *Queue) Push(x Queued) {
	*q = append(*q, x)
	h := *q
	for i := len(h) - 1; ; { // until it is not before the one above it; the first has itself above
		up := (i - 1) / 2
		if h[i].Compare(h[up]) >= 0 {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

// Pop removes and returns the first entry. There must be one.
func (q *Queue) Pop() Queued {
	h := *q
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	*q = h
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			return first
		}
		if c+1 < last && h[c+1].Compare(h[c]) < 0 {
			c++
		}
		if h[c].Compare(h[i]) >= 0 {
			return first
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}
