package floor

import (
	"math/rand/v2"

	"github.com/tickhive/tickhive/bench/limits/floor/limit"
	"github.com/tickhive/tickhive/bench/limits/floor/wl"
)

const (
	mid0 = 100000
	span = 4096
)

type gen struct {
	r     *rand.Rand
	b     *limit.Book
	w     wl.Workload
	id    uint64
	live  []uint64 // candidates, pruned lazily
	dst   *[]wl.Op
	count [8]int
}

func newGen(seed uint64, maxLive int) *gen {
	g := &gen{r: rand.New(rand.NewPCG(seed, 20240601)), b: limit.New(mid0-span, mid0+span, maxLive, 4_000_000, false)}
	g.dst = &g.w.Preload
	return g
}

func (g *gen) limit(side uint8, price int64, qty uint32) {
	g.id++
	*g.dst = append(*g.dst, wl.Op{Type: wl.Limit, Side: side, Qty: qty, ID: g.id, Price: price})
	g.b.Add(side, g.id, price, qty)
	if g.b.IsLive(g.id) {
		g.live = append(g.live, g.id)
	}
}

// pick removes and returns a uniformly random live id.
func (g *gen) pick() (uint64, bool) {
	for len(g.live) > 0 {
		i := g.r.IntN(len(g.live))
		id := g.live[i]
		g.live[i] = g.live[len(g.live)-1]
		g.live = g.live[:len(g.live)-1]
		if g.b.IsLive(id) {
			return id, true
		}
	}
	return 0, false
}

func (g *gen) cancel() bool {
	id, ok := g.pick()
	if ok {
		*g.dst = append(*g.dst, wl.Op{Type: wl.Cancel, Side: g.b.SideOf(id), ID: id})
		g.b.Cancel(id)
	}
	return ok
}

func (g *gen) replace(price func(side uint8) int64) bool {
	id, ok := g.pick()
	if !ok {
		return false
	}
	side := g.b.SideOf(id)
	g.b.Cancel(id)
	g.id++
	p, q := price(side), g.qty()
	*g.dst = append(*g.dst, wl.Op{Type: wl.Replace, Side: side, Qty: q, ID: id, NewID: g.id, Price: p})
	g.b.Add(side, g.id, p, q)
	if g.b.IsLive(g.id) {
		g.live = append(g.live, g.id)
	}
	return true
}
func (g *gen) qty() uint32 { return 1 + g.r.Uint32N(100) }
func (g *gen) side() uint8 { return uint8(g.r.IntN(2)) }

// passive clamps a price so that it does not cross.
func (g *gen) passive(side uint8, p int64) int64 {
	bid, ask, hb, ha := g.b.Best()
	if side == wl.Buy && ha && p >= ask {
		p = ask - 1
	}
	if side == wl.Sell && hb && p <= bid {
		p = bid + 1
	}
	return p
}

func away(side uint8, mid, d int64) int64 {
	if side == wl.Buy {
		return mid - d
	}
	return mid + d
}

func churn(n int) *gen {
	g := newGen(1, 100000)
	mid := int64(mid0)
	add := func() {
		s := g.side()
		g.limit(s, g.passive(s, away(s, mid, 1+g.r.Int64N(50))), g.qty())
	}
	for range 5000 {
		add()
	}
	g.dst = &g.w.Ops
	for i := 0; i < n; i++ {
		if i%200 == 0 {
			mid += int64(g.r.IntN(3)) - 1
			mid = min(max(mid, mid0-1000), mid0+1000)
		}
		if g.r.IntN(10) == 0 {
			s := g.side()
			if p, ok := g.b.Nth(s^1, g.r.IntN(3)); ok {
				g.count[2]++
				g.limit(s, p, g.qty())
				continue
			}
		}
		pAdd := 0.55
		if g.b.Live > 5000 {
			pAdd = 0.45
		}
		if g.r.Float64() < pAdd || !g.cancel() {
			g.count[0]++
			add()
		} else {
			g.count[1]++
		}
	}
	return g
}

func deep(n int) *gen {
	g := newGen(2, 400000)
	far := func(s uint8) int64 { return away(s, mid0, 51+g.r.Int64N(2500)) }
	for i := range 200000 {
		s := uint8(i & 1)
		g.limit(s, far(s), g.qty())
	}
	g.dst = &g.w.Ops
	for range n {
		switch x := g.r.Float64(); {
		case x < 0.05:
			g.count[4]++
			s := g.side()
			g.limit(s, away(s^1, mid0, 200), 1+g.r.Uint32N(500))
		case x < 0.30:
			g.count[3]++
			s := g.side()
			g.limit(s, g.passive(s, away(s, mid0, 1+g.r.Int64N(50))), g.qty())
		case x < 0.60:
			g.count[2]++
			g.replace(far)
		default:
			pAdd := 0.55
			if g.b.Live > 200000 {
				pAdd = 0.45
			}
			if g.r.Float64() < pAdd {
				g.count[0]++
				s := g.side()
				g.limit(s, far(s), g.qty())
			} else {
				g.count[1]++
				g.cancel()
			}
		}
	}
	return g
}

func match(n int) *gen {
	g := newGen(3, 10000)
	pas := func(s uint8) { g.limit(s, g.passive(s, away(s, mid0, 1+g.r.Int64N(50))), g.qty()) }
	for i := range 2000 {
		pas(uint8(i & 1))
	}
	g.dst = &g.w.Ops
	for range n / 2 {
		s := g.side()
		pas(s)
		p, q, _ := g.b.HeadQty(s)
		g.limit(s^1, p, q)
	}
	return g
}
