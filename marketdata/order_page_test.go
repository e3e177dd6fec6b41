package marketdata

import (
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// A page holds the newest orders of all that were added, in a heap whose root is the oldest.
func TestAPageOfOrdersHoldsTheNewest(t *testing.T) {
	rnd := newRand(t)
	for want := 1; want <= 40; want++ {
		p := orderPage{want: want}
		var added []orderKey
		for n := range 120 {
			if p.reserve(1 + rnd.IntN(3)); n < want && cap(p.heap) == len(p.heap) {
				t.Fatalf("no room for order %d of %d", n+1, want)
			}
			o := orderKey{createdNs: rnd.Int64N(30), id: engine.OrderID(n + 1)}
			p.add(o)
			added = append(added, o)
			if n > 0 && rnd.IntN(4) == 0 { // again: it is in the page, or too old for it
				was := added[rnd.IntN(len(added))]
				if !slices.Contains(p.heap, was) || was == p.heap[0] && len(p.heap) == want {
					p.add(was)
				}
			}
			newest := slices.Clone(added)
			slices.SortFunc(newest, newerKey)
			newest = newest[:min(want, len(newest))]
			for i := range p.heap {
				if up := (i - 1) / 2; i > 0 && newerKey(p.heap[i], p.heap[up]) > 0 {
					t.Fatalf("%d of %d orders: %v is above the newer %v", len(p.heap), want, p.heap[up], p.heap[i])
				}
			}
			sorted := orderPage{want: want, heap: slices.Clone(p.heap)}
			sorted.sort()
			same(t, newest, sorted.heap)
			oldest := newest[len(newest)-1]
			for d := int64(-1); d <= 1; d++ {
				complete := len(newest) == want && d < 0
				if got := p.complete(oldest.createdNs + d); got != complete {
					t.Fatalf("%d of %d orders, %d ns from the oldest: complete is %v", len(newest), want, d, got)
				}
			}
		}
	}
}

// A page reads twice its rows, and one record more of the open and of the closed orders; then it reads its rows. A deep
// page sorts between two turns.
func TestWhatAPageOfOrdersReads(t *testing.T) {
	r := newRig(Options{}, 2)
	const open, closed = 60, 50
	var times []int64
	for n := range closed + open {
		r.now++
		id := r.place(engine.PairID(n%2), 1, engine.Buy, 100, 1)
		if n < closed {
			r.end(id)
		}
		times = append(times, r.now)
	}
	r.fold()
	h := r.feed.History()
	for _, c := range []struct {
		q           Query
		turns, read int
	}{
		{Query{Limit: 10}, 1, 2*10 + 2 + 10},
		{Query{Limit: 10, Offset: 5}, 1, 2*10 + 5 + 2 + 10},
		{Query{Limit: 10, Status: OnlyOpen}, 1, 2*10 + 1 + 10},
		{Query{Limit: 10, Status: OnlyCanceled}, 1, 2*10 + 1 + 10},
		{Query{Limit: walkRecords / 2}, 1, 2 * (open + closed)},
		{Query{Limit: walkRecords/2 + 1}, 2, 2 * (open + closed)},
		{Query{Limit: 100, SinceNs: times[closed+20]}, 1, 40 + 1 + 1 + 40},
		{Query{Limit: 100, SinceNs: times[20]}, 1, open + 30 + 1 + open + 30},
		{Query{Limit: 100, SinceNs: times[closed] + 1}, 1, open - 1 + 1 + 1 + open - 1},
	} {
		q := everything(1, c.q.Limit)
		q.Offset, q.Status = c.q.Offset, c.q.Status
		if c.q.SinceNs != 0 {
			q.SinceNs = c.q.SinceNs
		}
		before := h.visited
		u := &turns{tb: t, history: h}
		rows, err := h.Orders(q, u.turn)
		if err != nil {
			t.Fatal(err)
		}
		same(t, page(simpleOrders(h, q), q), rows)
		if read := int(h.visited - before); u.n != c.turns || read != c.read {
			t.Errorf("%+v: %d turns, %d records, want %d and %d", c.q, u.n, read, c.turns, c.read)
		}
	}
}
