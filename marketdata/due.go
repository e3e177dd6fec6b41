package marketdata

import "container/heap"

// due orders the pairs by the second at which a trade next leaves their window. It is a heap
// with each pair at most once: as time passes, only windows that change are touched. Owner: the
// feed's goroutine.
type due struct{ heap dueHeap }

// next returns the earliest second; false when no window holds a trade.
func (d *due) next() (int64, bool) {
	if len(d.heap) == 0 {
		return 0, false
	}
	return d.heap[0].dueSec, true
}

// fix updates p's place in the heap after its window has changed; it removes p when the window is empty.
func (d *due) fix(p *pairState) {
	sec, ok := p.window.nextSec()
	switch {
	case !ok && p.dueAt == 0:
	case !ok:
		heap.Remove(&d.heap, p.dueAt-1)
	case p.dueAt == 0:
		p.dueSec = sec
		heap.Push(&d.heap, p)
	case p.dueSec != sec:
		p.dueSec = sec
		heap.Fix(&d.heap, p.dueAt-1)
	}
}

// dueHeap implements heap.Interface.
type dueHeap []*pairState

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].dueSec < h[j].dueSec }

func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].dueAt, h[j].dueAt = i+1, j+1
}

func (h *dueHeap) Push(x any) {
	*h = append(*h, x.(*pairState))
	(*h)[len(*h)-1].dueAt = len(*h)
}

func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	(*h)[last], p.dueAt = nil, 0
	*h = (*h)[:last]
	return nil // fix does not ask which pair it was
}
