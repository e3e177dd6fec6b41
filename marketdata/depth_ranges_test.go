package marketdata

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// checkIndex checks what a search in a side relies on: the first keys of pages and directories, and that no page of
// another side of the book's history is reachable.
func checkIndex(t *testing.T, s *depthSide) {
	t.Helper()
	if len(s.tops) != len(s.nodes) || len(s.dirs) != len(s.nodes) {
		t.Fatalf("%d directories, %d keys, %d published", len(s.nodes), len(s.tops), len(s.dirs))
	}
	last, first := int64(0), true
	for d, node := range s.nodes {
		dir := node.dir
		if s.dirs[d] != dir || dir.n == 0 || s.tops[d] != node.keys[0] {
			t.Fatalf("directory %d: %d pages, key %d, its first page has %d", d, dir.n, s.tops[d], node.keys[0])
		}
		for p, page := range dir.pages {
			if (page != nil) != (p < dir.n) {
				t.Fatalf("directory %d: page %d of %d", d, p, dir.n)
			}
			if page == nil {
				continue
			}
			if node.keys[p] != page.levels[0].Price*s.sign {
				t.Fatalf("page %d of directory %d begins at %d, its key is %d", p, d, page.levels[0].Price,
					node.keys[p])
			}
			for _, l := range page.levels[:page.n] {
				if key := l.Price * s.sign; first || key > last {
					last, first = key, false
				} else {
					t.Fatalf("page %d of directory %d: %d is not behind the level before", p, d, l.Price)
				}
			}
		}
	}
}

// Ranges of levels come and go in a book of several directories, from the front, from the back and in the middle.
func TestRangesOfLevelsComeAndGo(t *testing.T) {
	rnd := newRand(t)
	for _, side := range []engine.Side{engine.Buy, engine.Sell} {
		s, want, gen := newDepthSide(side), map[int64]int64{}, uint64(1)
		set := func(price, amount int64) {
			if before := s.set(price, amount, gen); before != want[price] {
				t.Fatalf("%d lots were shown at %d, want %d", before, price, want[price])
			}
			if want[price] = amount; amount == 0 {
				delete(want, price)
			}
		}
		const span = 2500
		for price := int64(1); price <= span; price++ {
			set(price, price)
		}
		var old Side
		var oldWant map[int64]int64
		for round := range 400 {
			lo := 1 + rnd.Int64N(span)
			hi := min(lo+rnd.Int64N(int64(1)<<(1+rnd.IntN(10))), span)
			if rnd.IntN(4) == 0 {
				lo = 1
			}
			if rnd.IntN(4) == 0 {
				hi = span
			}
			ranged(rnd, lo, hi, func(price int64, come bool) {
				if come {
					set(price, 1+rnd.Int64N(9))
				} else if want[price] != 0 {
					set(price, 0)
				}
			})
			checkIndex(t, &s)
			if round%16 == 0 {
				if oldWant != nil {
					checkSide(t, &old, oldWant, s.sign)
				}
				old, oldWant = s.publish(), maps.Clone(want)
				gen++
				checkSide(t, &old, want, s.sign)
			}
		}
	}
}

// ranged calls do for the prices of a range, upwards or downwards.
func ranged(rnd *rand.Rand, lo, hi int64, do func(price int64, come bool)) {
	come, step := rnd.IntN(2) == 0, 1+rnd.Int64N(3)
	if rnd.IntN(2) == 0 {
		for price := lo; price <= hi; price += step {
			do(price, come)
		}
		return
	}
	for price := hi; price >= lo; price -= step {
		do(price, come)
	}
}

// A page that gets small joins the page before it, when it is the last one of its directory, and a directory the one
// before it.
func TestTheEndOfABookIsJoined(t *testing.T) {
	for _, n := range []int64{40, 1200} {
		s := newDepthSide(engine.Sell)
		for p := int64(1); p <= n; p++ {
			s.set(p, 1, 1)
		}
		for p := n; p > 1; p-- {
			s.set(p, 0, 1)
			pages, levels := 0, s.levels
			side := s.publish()
			for range side.Pages {
				pages++
			}
			if most := levels/(pageLevels/4) + 1; pages > most {
				t.Fatalf("%d levels in %d pages", levels, pages)
			}
			if most := pages/(dirPages/4) + 1; len(side.dirs) > most {
				t.Fatalf("%d pages in %d directories", pages, len(side.dirs))
			}
		}
	}
}

// Level changes older than a minute and than 10,000 updates go when the log is full, all of them.
func TestAFullLevelLogDropsAllThatIsOld(t *testing.T) {
	var l levelLog
	e := engine.Event{Price: 5}
	add := func() {
		e.Seq++
		l.startCommand()
		l.add(&e, 0)
	}
	for range maxChanges {
		add()
	}
	if n := l.view.Len(); n != maxChanges {
		t.Fatalf("%d changes of the same second are kept", n)
	}
	e.TimeNs += (retainedSec + 1) * nanosecond
	add()
	if n := l.view.Len(); n < retainedUpdates || n > retainedUpdates+2*chunkChanges {
		t.Errorf("%d changes are kept a minute later", n)
	}
	if base := l.view.Base(); uint64(base)+uint64(l.view.Len()) != uint64(e.Seq) {
		t.Errorf("%d changes behind %d, the last one is %d", l.view.Len(), base, e.Seq)
	}
	slots := slices.ContainsFunc(l.view.chunks, func(c *levelChunk) bool { return c == nil })
	if slots {
		t.Error("a chunk is missing")
	}
}
