package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine/slots"
)

// ladderModel is a ladder beside a sorted list of its prices, best first.
type ladderModel struct {
	t      *testing.T
	l      ladder
	levels slots.Slab[level]
	prices []int64
	most   int // levels at once
}

func newLadderModel(t *testing.T, side Side) *ladderModel {
	return &ladderModel{t: t, l: newLadder(side)}
}

func (m *ladderModel) compare(a, b int64) int {
	if m.l.side == Sell {
		a, b = b, a
	}
	return int(b - a) // best first: a bid's highest price
}

func (m *ladderModel) add(price int64) {
	m.t.Helper()
	s, lv := m.l.add(&m.levels, price)
	if *lv != (level{price: price, side: m.l.side}) || m.levels.At(s) != lv || m.cached(price) != s {
		m.t.Fatalf("the new level %d is %+v, at hand is %d", price, *lv, m.cached(price))
	}
	lv.shown, lv.hidden, lv.head, lv.tail, lv.count = 1, 2, 3, 4, 5
	i, _ := slices.BinarySearchFunc(m.prices, price, m.compare)
	m.prices = slices.Insert(m.prices, i, price)
	m.most = max(m.most, len(m.prices))
}

func (m *ladderModel) remove(price int64) {
	m.t.Helper()
	i := slices.Index(m.prices, price)
	s := m.l.find(&m.levels, price)
	m.l.remove(&m.levels, s)
	if m.prices = slices.Delete(m.prices, i, i+1); m.cached(price) == s {
		m.t.Fatalf("the removed level %d is at hand", price)
	}
}

// cached returns the slot that the price cache has for a price.
func (m *ladderModel) cached(price int64) int32 { return m.l.cache[int(price)%len(m.l.cache)] }

func (m *ladderModel) price(s int32) int64 { return m.levels.At(s).price }

// check compares everything that a ladder answers with the list.
func (m *ladderModel) check(prices ...int64) {
	m.t.Helper()
	for _, price := range prices {
		s := m.l.find(&m.levels, price)
		if (s != 0) != slices.Contains(m.prices, price) || s != 0 && m.price(s) != price {
			m.t.Fatalf("level %d is in slot %d", price, s)
		}
		if s != 0 && m.cached(price) != s {
			m.t.Fatalf("level %d was found, and slot %d is at hand", price, m.cached(price))
		}
		for visits := range 3 {
			var from []int64
			m.l.downFrom(price, func(s int32) bool {
				from = append(from, m.price(s))
				return len(from) <= visits
			})
			i, _ := slices.BinarySearchFunc(m.prices, price, m.compare)
			if price == 0 {
				i = 0
			}
			if want := m.prices[i:min(len(m.prices), i+visits+1)]; !slices.Equal(from, want) {
				m.t.Fatalf("from %d on: %v, want %v", price, from, want)
			}
		}
	}
	var all []int64
	m.l.Down(func(s int32) bool { all = append(all, m.price(s)); return true })
	if !slices.Equal(all, m.prices) || m.l.Count() != len(all) {
		m.t.Fatalf("%d levels %v, want %v", m.l.Count(), all, m.prices)
	}
	best, worst := int64(math.MinInt64), int64(0)
	if n := len(m.prices); n > 0 {
		best, worst = m.prices[0], m.prices[n-1]
		if m.price(m.l.best) != best || m.price(m.l.Lowest()) != worst {
			m.t.Fatalf("the best level is %d, the worst %d", m.price(m.l.best), m.price(m.l.Lowest()))
		}
	} else if m.l.best != 0 || m.l.Lowest() != 0 {
		m.t.Fatalf("an empty side has a best or worst level")
	}
	if m.l.touch != m.l.key(best) { // the least key is the key of itself
		m.t.Fatalf("the touch is %d, want %d", m.l.touch, m.l.key(best))
	}
	size := cacheFirst // the least power of two that is twice the levels, up to the limit
	for size < 2*m.most && size < cacheLast {
		size *= 2
	}
	if len(m.l.cache) != size {
		m.t.Fatalf("a cache of %d for %d levels, want %d", len(m.l.cache), m.most, size)
	}
}

// A ladder does what a sorted list does, in the array and in the tree.
func TestLadderIsASortedList(t *testing.T) {
	for side := range Sell + 1 {
		r := rand.New(rand.NewPCG(1, uint64(side)))
		m := newLadderModel(t, side)
		m.check(0, 1, 50)
		for i := range 6000 {
			span := int64(20 + i/20%280) // also around the size of the array
			price := 1 + r.Int64N(span)
			if slices.Contains(m.prices, price) {
				m.remove(price)
			} else if len(m.prices) < int(span)/2 {
				m.add(price)
			}
			m.check(0, price, 1+r.Int64N(span))
		}
		for len(m.prices) > 0 {
			m.remove(m.prices[0])
			m.check(0, 1)
		}
	}
}

// Levels move between array and tree half an array at a time: the next to the touch are in the array.
func TestLadderMovesLevelsInBatches(t *testing.T) {
	for side := range Sell + 1 {
		m := newLadderModel(t, side)
		price := func(i int64) int64 { return 1000 + i*int64(1-2*int(side)) } // better with i
		check := func(what string, top, tree int) {
			t.Helper()
			if m.l.N != top || m.l.Tree.Count() != tree {
				t.Fatalf("%s: %d levels in the array and %d in the tree, want %d and %d", what, m.l.N, m.l.Tree.Count(),
					top, tree)
			}
			m.check(price(0), price(slots.TopLevels))
		}
		for i := range int64(slots.TopLevels) {
			m.add(price(i))
		}
		check("full", slots.TopLevels, 0)
		m.add(price(-1))
		check("a worse level", slots.TopLevels, 1)
		m.add(price(slots.TopLevels))
		check("a better level", slots.TopLevels-slots.TopMove+1, 1+slots.TopMove)
		m.add(price(-2))
		check("the worst level", slots.TopLevels-slots.TopMove+1, 2+slots.TopMove)
		for i := range int64(slots.TopLevels - slots.TopMove) {
			m.remove(price(slots.TopLevels - i))
		}
		check("all but one removed", 1, 2+slots.TopMove)
		m.remove(price(slots.TopMove))
		check("refilled", slots.TopMove, 2)
	}
}

// The price cache grows with the side up to its limit.
func TestLadderCacheGrows(t *testing.T) {
	m := newLadderModel(t, Buy)
	for price := int64(1); price <= cacheLast+10; price++ {
		m.add(price)
		if price&(price-1) == 0 || (price-1)&(price-2) == 0 { // a power of two, and one more
			m.check(price)
		}
	}
	m.check(1, cacheLast+10)
}
