package marketdata

// due orders the pairs by the second at which a trade next leaves their window. It is a heap
// with each pair at most once: as time passes, only windows that change are touched. Owner: the
// feed's goroutine.
type due struct{ heap []*pairState }

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
		d.remove(p)
	case p.dueAt == 0:
		p.dueSec, p.dueAt = sec, len(d.heap)+1
		d.heap = append(d.heap, p)
		d.up(len(d.heap) - 1)
	case p.dueSec != sec:
		p.dueSec = sec
		d.up(p.dueAt - 1)
		d.down(p.dueAt - 1)
	}
}

func (d *due) remove(p *pairState) {
	i, last := p.dueAt-1, len(d.heap)-1
	d.swap(i, last)
	d.heap[last] = nil
	d.heap = d.heap[:last]
	p.dueAt = 0
	if i < last {
		d.up(i)
		d.down(i)
	}
}

func (d *due) less(i, j int) bool { return d.heap[i].dueSec < d.heap[j].dueSec }

func (d *due) swap(i, j int) {
	h := d.heap
	h[i], h[j] = h[j], h[i]
	h[i].dueAt, h[j].dueAt = i+1, j+1
}

func (d *due) up(i int) {
	for i > 0 && d.less(i, (i-1)/2) {
		d.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (d *due) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(d.heap) {
			return
		}
		if c+1 < len(d.heap) && d.less(c+1, c) {
			c++
		}
		if !d.less(c, i) {
			return
		}
		d.swap(i, c)
		i = c
	}
}
