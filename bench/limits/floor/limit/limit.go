// Package limit is the speed-of-light reference: a single-threaded price-time book
// over int64 ticks. Levels are a flat array indexed by tick, each an intrusive FIFO
// of slab nodes; two-level bitmaps find the next best level; orders are found by an
// id array (Dense) or an open-addressing table (Hash). No allocation after New.
package limit

import (
	"math/bits"

	"github.com/tickhive/tickhive/bench/limits/floor/wl"
)

type node struct {
	id         uint64
	qty        uint32
	tick       int32
	prev, next int32
	side       uint8
} // 32 bytes

type level struct {
	head, tail int32
	qty        int64
	n          int32
} // 24 bytes

type bitmap struct {
	w, s []uint64
}

func newBitmap(n int) bitmap {
	nw := (n + 63) / 64
	return bitmap{make([]uint64, nw), make([]uint64, (nw+63)/64)}
}
func (b *bitmap) set(i int32) { b.w[i>>6] |= 1 << (i & 63); b.s[i>>12] |= 1 << ((i >> 6) & 63) }
func (b *bitmap) clear(i int32) {
	b.w[i>>6] &^= 1 << (i & 63)
	if b.w[i>>6] == 0 {
		b.s[i>>12] &^= 1 << ((i >> 6) & 63)
	}
}

// up returns the lowest set bit >= i, or -1.
func (b *bitmap) up(i int32) int32 {
	k := i >> 6
	if x := b.w[k] >> (i & 63); x != 0 {
		return i + int32(bits.TrailingZeros64(x))
	}
	k++
	for sk := k >> 6; int(sk) < len(b.s); sk++ {
		x := b.s[sk]
		if sk == k>>6 {
			x = x >> (k & 63) << (k & 63)
		}
		if x != 0 {
			k = sk<<6 + int32(bits.TrailingZeros64(x))
			return k<<6 + int32(bits.TrailingZeros64(b.w[k]))
		}
	}
	return -1
}

// down returns the highest set bit <= i, or -1.
func (b *bitmap) down(i int32) int32 {
	if i < 0 {
		return -1
	}
	k := i >> 6
	if x := b.w[k] << (63 - i&63); x != 0 {
		return i - int32(bits.LeadingZeros64(x))
	}
	k--
	if k < 0 {
		return -1
	}
	for sk := k >> 6; sk >= 0; sk-- {
		x := b.s[sk]
		if sk == k>>6 {
			x = x << (63 - k&63) >> (63 - k&63)
		}
		if x != 0 {
			k = sk<<6 + 63 - int32(bits.LeadingZeros64(x))
			return k<<6 + 63 - int32(bits.LeadingZeros64(b.w[k]))
		}
	}
	return -1
}

type Book struct {
	base     int64
	nt       int32
	lv       [2][]level
	bm       [2]bitmap
	bid, ask int32 // best ticks; bid -1, ask nt when empty
	nodes    []node
	free     int32
	used     int32
	dense    []int32
	hk       []uint64 // open addressing: key 0 is empty
	hv       []int32
	hmask    uint64
	ring     []wl.Trade
	rpos     uint64
	Live     int
	St       wl.Stats
}

// New builds a book for ticks minP..maxP and at most maxLive resting orders. With
// hash false, ids up to maxID index an array.
func New(minP, maxP int64, maxLive int, maxID uint64, hash bool) *Book {
	n := int(maxP - minP + 1)
	b := &Book{base: minP, nt: int32(n), bid: -1, ask: int32(n), ring: make([]wl.Trade, 1<<12)}
	for s := range b.lv {
		b.lv[s] = make([]level, n)
		for i := range b.lv[s] {
			b.lv[s][i].head, b.lv[s][i].tail = -1, -1
		}
		b.bm[s] = newBitmap(n)
	}
	b.nodes = make([]node, maxLive+1)
	b.free = -1
	if hash {
		sz := 1
		for sz < 2*(maxLive+1) {
			sz <<= 1
		}
		b.hk, b.hv, b.hmask = make([]uint64, sz), make([]int32, sz), uint64(sz-1)
	} else {
		b.dense = make([]int32, maxID+1)
	}
	return b
}

func mix(k uint64) uint64 { k *= 0x9E3779B97F4A7C15; return k ^ k>>32 }

func (b *Book) put(id uint64, v int32) {
	if b.dense != nil {
		b.dense[id] = v + 1
		return
	}
	i := mix(id) & b.hmask
	for b.hk[i] != 0 {
		i = (i + 1) & b.hmask
	}
	b.hk[i], b.hv[i] = id, v
}

func (b *Book) take(id uint64) int32 {
	if b.dense != nil {
		v := b.dense[id] - 1
		b.dense[id] = 0
		return v
	}
	i := mix(id) & b.hmask
	for b.hk[i] != id {
		if b.hk[i] == 0 {
			return -1
		}
		i = (i + 1) & b.hmask
	}
	v := b.hv[i]
	for j := i; ; { // backward-shift delete
		j = (j + 1) & b.hmask
		if b.hk[j] == 0 {
			break
		}
		if h := mix(b.hk[j]) & b.hmask; (j-h)&b.hmask >= (j-i)&b.hmask {
			b.hk[i], b.hv[i] = b.hk[j], b.hv[j]
			i = j
		}
	}
	b.hk[i] = 0
	return v
}

func (b *Book) Add(side uint8, id uint64, price int64, qty uint32) {
	t := int32(price - b.base)
	if side == wl.Buy {
		for qty > 0 && b.ask <= t {
			qty = b.hit(wl.Sell, b.ask, id, qty)
			if b.lv[wl.Sell][b.ask].head < 0 {
				b.bm[wl.Sell].clear(b.ask)
				if b.ask = b.bm[wl.Sell].up(b.ask); b.ask < 0 {
					b.ask = b.nt
				}
			}
		}
	} else {
		for qty > 0 && b.bid >= t {
			qty = b.hit(wl.Buy, b.bid, id, qty)
			if b.lv[wl.Buy][b.bid].head < 0 {
				b.bm[wl.Buy].clear(b.bid)
				b.bid = b.bm[wl.Buy].down(b.bid)
			}
		}
	}
	if qty == 0 {
		return
	}
	k := b.free
	if k >= 0 {
		b.free = b.nodes[k].next
	} else {
		k = b.used
		b.used++
	}
	l := &b.lv[side][t]
	b.nodes[k] = node{id: id, qty: qty, tick: t, prev: l.tail, next: -1, side: side}
	if l.tail >= 0 {
		b.nodes[l.tail].next = k
	} else {
		l.head = k
		b.bm[side].set(t)
		if side == wl.Buy {
			b.bid = max(b.bid, t)
		} else {
			b.ask = min(b.ask, t)
		}
	}
	l.tail = k
	l.qty += int64(qty)
	l.n++
	b.Live++
	b.put(id, k)
}

// hit fills against the FIFO at tick t and returns the quantity left.
func (b *Book) hit(side uint8, t int32, taker uint64, qty uint32) uint32 {
	l := &b.lv[side][t]
	price := b.base + int64(t)
	for k := l.head; k >= 0; {
		n := &b.nodes[k]
		q := min(qty, n.qty)
		b.ring[b.rpos&(1<<12-1)] = wl.Trade{Maker: n.id, Taker: taker, Price: price, Qty: int64(q)}
		b.rpos++
		b.St.Add(n.id, price, int64(q))
		l.qty -= int64(q)
		qty -= q
		if n.qty -= q; n.qty > 0 {
			break
		}
		b.take(n.id)
		nx := n.next
		n.next = b.free
		b.free = k
		l.n--
		b.Live--
		k = nx
		l.head = k
		if k < 0 {
			l.tail = -1
			break
		}
		b.nodes[k].prev = -1
		if qty == 0 {
			break
		}
	}
	return qty
}

func (b *Book) Cancel(id uint64) bool {
	k := b.take(id)
	if k < 0 {
		return false
	}
	n := &b.nodes[k]
	l := &b.lv[n.side][n.tick]
	if n.prev >= 0 {
		b.nodes[n.prev].next = n.next
	} else {
		l.head = n.next
	}
	if n.next >= 0 {
		b.nodes[n.next].prev = n.prev
	} else {
		l.tail = n.prev
	}
	l.qty -= int64(n.qty)
	l.n--
	b.Live--
	if l.head < 0 {
		bm := &b.bm[n.side]
		bm.clear(n.tick)
		if n.side == wl.Buy {
			if n.tick == b.bid {
				b.bid = bm.down(n.tick)
			}
		} else if n.tick == b.ask {
			if b.ask = bm.up(n.tick); b.ask < 0 {
				b.ask = b.nt
			}
		}
	}
	n.next = b.free
	b.free = k
	return true
}

// Best returns the best bid and ask prices.
func (b *Book) Best() (bid, ask int64, hasBid, hasAsk bool) {
	return b.base + int64(b.bid), b.base + int64(b.ask), b.bid >= 0, b.ask < b.nt
}

// Nth returns the price of the kth (0-based) level from the touch on side, or false.
func (b *Book) Nth(side uint8, k int) (int64, bool) {
	t := b.bid
	if side == wl.Sell {
		t = b.ask
		if t >= b.nt {
			return 0, false
		}
	}
	for ; k > 0 && t >= 0; k-- {
		if side == wl.Sell {
			if t+1 >= b.nt {
				return 0, false
			}
			t = b.bm[side].up(t + 1)
		} else {
			t = b.bm[side].down(t - 1)
		}
	}
	return b.base + int64(t), t >= 0
}

// HeadQty is the open quantity of the oldest order at the touch of side.
func (b *Book) HeadQty(side uint8) (price int64, qty uint32, ok bool) {
	t := b.bid
	if side == wl.Sell {
		t = b.ask
	}
	if t < 0 || t >= b.nt {
		return 0, 0, false
	}
	return b.base + int64(t), b.nodes[b.lv[side][t].head].qty, true
}

// IsLive reports whether id rests (Dense books only; the generator uses it).
func (b *Book) IsLive(id uint64) bool { return b.dense[id] != 0 }

// SideOf returns the side of a resting order (Dense books only).
func (b *Book) SideOf(id uint64) uint8 { return b.nodes[b.dense[id]-1].side }
