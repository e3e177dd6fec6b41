package marketdata

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// checkSide compares a published side with a map of the expected levels, and checks its
// structure.
func checkSide(t *testing.T, s *Side, want map[int64]int64, sign int64) {
	t.Helper()
	prices := slices.Sorted(maps.Keys(want))
	if sign < 0 {
		slices.Reverse(prices)
	}
	if s.Len() != len(prices) {
		t.Fatalf("side has %d levels, want %d", s.Len(), len(prices))
	}
	if best, ok := s.Best(); ok != (len(prices) > 0) || (ok && best.Price != prices[0]) {
		t.Fatalf("best is %v %v, want the first of %d levels", best, ok, len(prices))
	}
	i := 0
	for l := range s.All {
		if l.Price != prices[i] || l.Amount != want[l.Price] {
			t.Fatalf("level %d is %v, want %d x %d", i, l, prices[i], want[prices[i]])
		}
		i++
	}
	n := 0
	for p := range s.Pages {
		if len(p.Levels()) == 0 || len(p.Levels()) > pageLevels {
			t.Fatalf("a page of %d levels", len(p.Levels()))
		}
		n += len(p.Levels())
	}
	if n != len(prices) {
		t.Fatalf("pages hold %d levels, want %d", n, len(prices))
	}
}

func TestPublishedSidesNeverChangeAndTheWorkingSideEqualsAMap(t *testing.T) {
	rnd := newRand(t)
	type frozen struct {
		side Side
		want map[int64]int64
	}
	for round := range soak(12, 20) {
		side := engine.Side(round % 2)
		s := newDepthSide(side)
		want := map[int64]int64{}
		span := int64(1) << (2 + rnd.IntN(14))
		var kept []frozen
		gen := uint64(1)
		for range 30_000 {
			churn(rnd, &s, want, span, gen)
			if rnd.IntN(200) == 0 {
				f := frozen{s.publish(), maps.Clone(want)}
				gen++
				checkSide(t, &f.side, f.want, s.sign)
				if len(kept) < 8 {
					kept = append(kept, f)
				} else {
					kept[rnd.IntN(8)] = f
				}
			}
		}
		for _, f := range kept {
			checkSide(t, &f.side, f.want, s.sign)
		}
		for price := range want {
			s.set(price, 0, gen)
		}
		if side := s.publish(); side.Len() != 0 || len(side.dirs) != 0 {
			t.Fatal("an emptied side keeps directories")
		}
	}
}

// churn sets or removes a level; books grow, shrink and lose levels from the front.
func churn(rnd *rand.Rand, s *depthSide, want map[int64]int64, span int64, gen uint64) {
	price := 1 + rnd.Int64N(span)
	if rnd.IntN(1000) == 0 {
		for range rnd.IntN(300) {
			best := s.best()
			if best == 0 {
				break
			}
			s.set(best, 0, gen)
			delete(want, best)
		}
	}
	if _, ok := want[price]; ok && rnd.IntN(2) == 0 {
		s.set(price, 0, gen)
		delete(want, price)
		return
	}
	amount := 1 + rnd.Int64N(1000)
	s.set(price, amount, gen)
	want[price] = amount
}

func TestPagesOfAThinnedBookAreJoined(t *testing.T) {
	s := newDepthSide(engine.Sell)
	const n = 20_000
	for p := int64(1); p <= n; p++ {
		s.set(p, 1, 1)
	}
	for p := int64(1); p <= n; p++ {
		if p%20 != 0 {
			s.set(p, 0, 1)
		}
	}
	side := s.publish()
	pages := 0
	for range side.Pages {
		pages++
	}
	if levels := side.Len(); pages > levels/2 {
		t.Fatalf("%d levels in %d pages", levels, pages)
	}
	if want := side.Len()/dirPages + 1; len(side.dirs) > 4*want {
		t.Fatalf("%d directories for %d pages", len(side.dirs), pages)
	}
}

func TestALevelThatIsNotThereCannotGo(t *testing.T) {
	for _, levels := range []int64{0, 1, 40} {
		s := newDepthSide(engine.Buy)
		for p := range levels {
			s.set(10+p, 1, 1)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d levels: removing a missing level did not panic", levels)
				}
			}()
			s.set(5, 0, 1)
		}()
	}
}

func TestPageTextIsRenderedOnce(t *testing.T) {
	s := newDepthSide(engine.Sell)
	s.set(1, 5, 1)
	side := s.publish()
	n := 0
	render := func(dst []byte, levels []Level) []byte { n++; return append(dst, byte('0'+levels[0].Amount)) }
	for p := range side.Pages {
		for range 3 {
			if got := string(p.pageText(PageAgg, render).text); got != "5" {
				t.Fatalf("text %q", got)
			}
		}
	}
	s.set(1, 6, 2)
	side2 := s.publish()
	for p := range side2.Pages {
		if got := string(p.pageText(PageAgg, render).text); got != "6" {
			t.Fatalf("text of the changed page %q", got)
		}
	}
	if n != 2 {
		t.Fatalf("rendered %d times, want 2", n)
	}
}

// A side's text in parts equals the text of its levels, whichever pages and directories hold
// them and however many texts were cached before the change; the sum depends on the levels
// alone.
func TestSideTextAndSum(t *testing.T) {
	rnd := newRand(t)
	s, book := newDepthSide(engine.Buy), map[int64]int64{}
	for round := range 60 {
		for range 1 + round*10 {
			churn(rnd, &s, book, 3000, uint64(round+1))
		}
		side := s.publish()
		var levels []Level
		for l := range side.All {
			levels = append(levels, l)
		}
		for _, n := range []int{0, 1, 15, 16, 17, 40, 600, len(levels), 1 << 40} {
			var text texts
			side.Texts(PageAgg, n, renderLevels, text.add)
			shown := levels[:min(n, len(levels))]
			want := string(renderLevels(nil, shown))
			if got := text.joined(); got != want {
				t.Fatalf("round %d, %d of %d levels: %q, want %q", round, n, len(levels), got, want)
			}
			if text.sum != levelsSum(shown) {
				t.Fatalf("round %d, %d of %d levels: the sum depends on the pages", round, n, len(levels))
			}
		}
	}
}
