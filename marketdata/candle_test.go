package marketdata

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

func TestCandlesOfAllIntervalsEqualANaiveFold(t *testing.T) {
	rnd := newRand(t)
	r := newRig(Options{}, 1)
	r.now = time.Date(2025, 12, 31, 23, 58, 59, 999_999_999, time.UTC).UnixNano()
	n := soak(6000, 10)
	for i := range n {
		switch rnd.IntN(12) {
		case 0:
			r.now += rnd.Int64N(40 * 3600 * nanosecond)
		case 1, 2:
			r.now += rnd.Int64N(400 * nanosecond)
		case 3:
			r.now = (r.now/(60*nanosecond) + 1) * 60 * nanosecond // on a boundary
		case 4:
			r.now = max(r.now, (r.now/(60*nanosecond)+1)*60*nanosecond-1) // just before one
		}
		r.trade(0, engine.Side(rnd.IntN(2)), 1+rnd.Int64N(100_000), 1+rnd.Int64N(1<<40))
		if rnd.IntN(50) == 0 || i == n-1 {
			r.publish()
		}
	}
	trades := naiveTrades(r.events, 0)
	view := r.feed.Board().Load().View(0)
	for i := range Interval(Intervals) {
		want := naiveCandles(trades, i)
		if keep := DefaultCandles()[i] + 1; len(want) > keep {
			want = want[len(want)-keep:]
		}
		got := view.Candles(i)
		if got.Len() != len(want) {
			t.Fatalf("%s: %d candles, want %d", i, got.Len(), len(want))
		}
		for k := range want {
			if got.At(k) != want[k] {
				t.Fatalf("%s: candle %d is %+v, want %+v", i, k, got.At(k), want[k])
			}
			for d := int64(-1); d <= 1; d++ {
				s := got.Search(want[k].Start + d)
				if ok := (s == got.Len() || got.At(s).Start >= want[k].Start+d) &&
					(s == 0 || got.At(s-1).Start < want[k].Start+d); !ok {
					t.Fatalf("%s: search for %d gives %d", i, want[k].Start+d, s)
				}
			}
		}
		t.Logf("%s: %d candles", i, len(want))
	}
}

func TestCandlesPublishedStayAsTheyWereAndOldOnesGo(t *testing.T) {
	opts := Options{}
	for i := range opts.Candles {
		opts.Candles[i] = 100
	}
	r := newRig(opts, 1)
	type seen struct {
		c    Candles
		want []Candle
	}
	var kept []seen
	for i := range 2000 {
		r.now += 30 * nanosecond
		r.trade(0, engine.Buy, int64(1+i%77), 3)
		r.publish()
		c := r.feed.Board().Load().View(0).Candles(Minute)
		if c.Len() > 101 {
			t.Fatalf("%d candles kept", c.Len())
		}
		if i%37 == 0 {
			s := seen{c: c}
			for k := range c.Len() {
				s.want = append(s.want, c.At(k))
			}
			kept = append(kept, s)
		}
	}
	last := r.feed.Board().Load().View(0).Candles(Minute)
	if n := last.Len(); n != 101 {
		t.Fatalf("%d candles at the end, want 100 closed and an open one", n)
	}
	for _, s := range kept {
		for k, want := range s.want {
			if s.c.At(k) != want {
				t.Fatalf("a published candle changed: %+v, was %+v", s.c.At(k), want)
			}
		}
	}
}

func TestIntervalFloorAndNextFollowTheCalendar(t *testing.T) {
	rnd := newRand(t)
	check := func(i Interval, sec int64) {
		f, n := i.Floor(sec), i.Next(sec)
		if f != naiveStart(i, sec) || f > sec || n <= sec || i.Floor(n) != n || i.Floor(n-1) != f {
			t.Fatalf("%s at %d: floor %d (want %d), next %d", i, sec, f, naiveStart(i, sec), n)
		}
	}
	for range 20_000 {
		sec := rnd.Int64N(8_000_000_000) - 3_000_000_000
		for i := range Interval(Intervals) {
			check(i, sec)
			check(i, i.Floor(sec))
			check(i, i.Floor(sec)-1)
		}
	}
	leap := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC).Unix()
	if got := Month.Next(leap); got != time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC).Unix() {
		t.Fatalf("the month after a leap day begins at %d", got)
	}
	if i, ok := ParseInterval("hour4"); !ok || i != Hour4 || i.String() != "hour4" {
		t.Fatal("hour4 is not known by its name")
	}
	if _, ok := ParseInterval("Hour4"); ok {
		t.Fatal("names of intervals are lower case")
	}
}

// Trades of any sum within one second are folded: on a virtual clock a second has any number of
// them. The state does not depend on the publications in between, and a candle's sum ends at the
// largest number.
func TestTradesOfAnySumInASecondAreFolded(t *testing.T) {
	most := fixed.U128{Hi: math.MaxUint64, Lo: math.MaxUint64}
	often, once := newRig(Options{}, 1), newRig(Options{}, 1)
	often.publish()
	once.publish()
	for i := range engine.TradeID(40) {
		for _, r := range []*rig{often, once} {
			p := r.feed.pairs[0]
			e := engine.Event{
				Kind: engine.EventTrade, TimeNs: r.now, Trade: i + 1, Seq: p.seq + 1,
				Price: math.MaxInt64, Amount: math.MaxInt64 - int64(i),
			}
			p.foldTrade(&e, &r.feed.opts)
		}
		often.feed.pairs[0].merge(&often.feed.opts)
	}
	once.feed.pairs[0].merge(&once.feed.opts)
	if a, b := often.feed.AppendPairState(nil, 0), once.feed.AppendPairState(nil, 0); !bytes.Equal(a, b) {
		t.Error("the state depends on the publications")
	}
	for i := range Interval(Intervals) {
		c := once.feed.pairs[0].candles.series[i].view.open
		volume := fixed.Mul64(40, math.MaxInt64).Sub(fixed.FromU64(39 * 40 / 2))
		if c.QuoteVolume != most || c.Trades != 40 || c.Volume != volume {
			t.Errorf("%s: %+v", i, c)
		}
	}
	// The window's sum is exact again when they have left, and a snapshot restores it.
	next := newRig(Options{}, 0)
	if err := next.feed.DecodePairState(once.feed.AppendPairState(nil, 0)); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*Feed{once.feed, next.feed} {
		w := &f.pairs[0].window
		w.slide(floorSec(once.now) + secondsOfDay)
		if w.volume != (fixed.U128{}) || w.quote != (fixed.U128{}) {
			t.Errorf("%v and %v are left in an empty window", w.volume, w.quote)
		}
	}
}
