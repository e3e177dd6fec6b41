package marketdata

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// instant is one event of a virtual run: a trade happens, or a reader looks.
type instant struct {
	ns    int64
	trade bool
}

// schedule returns a run of hours: trades in bursts and gaps, and looks at random times and at
// the edges of the window of each trade.
func schedule(rnd *rand.Rand, hours, trades, looks int) []instant {
	span := int64(hours) * 3600 * nanosecond
	var out []instant
	at := int64(rigStartNs)
	for range trades {
		switch rnd.IntN(10) {
		case 0:
			at += rnd.Int64N(4 * span / int64(trades) * 10 / 4)
		case 1, 2, 3:
			at += rnd.Int64N(2 * nanosecond)
		case 4: // in the same second, or on its first or last nanosecond
			at = at/nanosecond*nanosecond + []int64{
				0, nanosecond,
				nanosecond - 1,
			}[rnd.IntN(3)] + rnd.Int64N(2)*nanosecond
		}
		out = append(out, instant{at, true})
	}
	for range looks {
		tr := out[rnd.IntN(trades)].ns
		edge := (tr/nanosecond + secondsOfDay) * nanosecond
		look := rigStartNs + rnd.Int64N(span+25*3600*nanosecond)
		switch rnd.IntN(8) {
		case 0:
			look = edge
		case 1:
			look = edge - 1
		case 2:
			look = edge - nanosecond
		case 3:
			look = edge + nanosecond
		case 4:
			look = tr + secondsOfDay*nanosecond // exactly 24 h old to the nanosecond
		}
		out = append(out, instant{look, false})
	}
	slices.SortStableFunc(out, func(a, b instant) int { return cmp.Compare(a.ns, b.ns) })
	for i := 1; i < len(out); i++ { // the engine's time never goes back
		out[i].ns = max(out[i].ns, out[i-1].ns)
	}
	return out
}

func TestTickerOfA25HourRunEqualsANaiveFoldAtTenThousandInstants(t *testing.T) {
	rnd := newRand(t)
	r := newRig(Options{Retention: Retention{TradesMin: 10, TradesMax: 50}}, 1)
	looked := 0
	var trades []naiveTrade
	for _, in := range schedule(rnd, 25, 3000, 10_000) {
		r.now = max(r.now, in.ns)
		if in.trade {
			from := len(r.events)
			r.trade(0, engine.Side(rnd.IntN(2)), 1+rnd.Int64N(1000), 1+rnd.Int64N(math.MaxInt32))
			trades = append(trades, naiveTrades(r.events[from:], 0)...)
			if rnd.IntN(3) == 0 {
				r.fold()
			}
			continue
		}
		looked++
		r.publish()
		got := r.feed.Board().Load().View(0).Ticker
		want := naiveTicker(trades, r.now/nanosecond)
		if got != want {
			t.Fatalf("at %d ns: ticker\n%+v, want\n%+v", r.now, got, want)
		}
		next, wantNext := r.feed.NextNs(), int64(math.MaxInt64)
		for _, tr := range trades {
			if tr.sec > r.now/nanosecond-86400 {
				wantNext = (tr.sec + 86400) * nanosecond
				break
			}
		}
		if next != wantNext {
			t.Fatalf("at %d ns: next change at %d, want %d", r.now, next, wantNext)
		}
	}
	if looked < 10_000 {
		t.Fatalf("looked at %d instants", looked)
	}
}

func TestWindowEdgeIsExactToTheSecond(t *testing.T) {
	r := newRig(Options{}, 1)
	r.now = rigStartNs + 999_999_999 // the last nanosecond of its second
	r.trade(0, engine.Buy, 100, 7)
	r.publish()
	leaves := int64(rigStartNs + secondsOfDay*nanosecond)
	for _, c := range []struct {
		ns     int64
		volume uint64
		stamp  int64
	}{
		{leaves - nanosecond, 7, rigStartNs / nanosecond},
		{leaves - 1, 7, rigStartNs / nanosecond},
		{leaves, 0, leaves / nanosecond},
		{leaves + nanosecond, 0, leaves / nanosecond},
	} {
		r.now = c.ns
		before := r.feed.Board().Load().View(0).TickerVersion
		r.publish()
		v := r.feed.Board().Load().View(0)
		if v.Ticker.Volume.Lo != c.volume || v.Ticker.ChangedSec != c.stamp {
			t.Errorf("at %d: volume %d stamp %d, want %d and %d", c.ns, v.Ticker.Volume.Lo, v.Ticker.ChangedSec,
				c.volume, c.stamp)
		}
		if changed := v.TickerVersion != before; changed != (c.ns == leaves) {
			t.Errorf("at %d: version changed: %v", c.ns, changed)
		}
	}
}

func TestTickerSeqIsThatOfTheLastEventThatChangedTheFigures(t *testing.T) {
	r := newRig(Options{}, 1)
	view := func() *View { r.publish(); return r.feed.Board().Load().View(0) }
	first := view()
	if first.TickerSeq != 0 || first.BookSeq != 0 || first.Seq != 1 {
		t.Fatalf("a new pair has seqs %d %d %d", first.Seq, first.BookSeq, first.TickerSeq)
	}
	r.now += nanosecond
	bid := r.place(0, 1, engine.Buy, 100, 5)
	v := view()
	if v.TickerSeq != r.events[len(r.events)-1].Seq || v.Ticker.Bid != 100 || v.Ticker.ChangedSec != r.now/nanosecond {
		t.Fatalf("a new touch: %+v seq %d", v.Ticker, v.TickerSeq)
	}
	r.now += nanosecond
	r.place(0, 1, engine.Buy, 99, 5) // behind the touch: the book changes, the ticker does not
	w := view()
	if w.TickerSeq != v.TickerSeq || w.Ticker != v.Ticker || w.TickerVersion != v.TickerVersion ||
		w.BookSeq == v.BookSeq {
		t.Fatalf("a level behind the touch changed the ticker: %+v", w.Ticker)
	}
	r.now += nanosecond // loses its place at the same price: no change of the touch
	r.apply(engine.Command{Kind: engine.Replace, Account: 1, Order: bid, Amount: 9, Flags: engine.FlagHasAmount})
	x := view()
	if x.Ticker != v.Ticker || x.TickerSeq != v.TickerSeq || x.TickerVersion != v.TickerVersion {
		t.Fatalf("a replace at the touch changed the ticker: %+v, was %+v", x.Ticker, v.Ticker)
	}
	r.now += nanosecond
	r.apply(engine.Command{Kind: engine.Cancel, Account: 1, Order: 999, Flags: 0})
	if y := view(); y.Seq == x.Seq || y.TickerVersion != x.TickerVersion || y.TickerSeq != x.TickerSeq ||
		y.BookSeq != x.BookSeq {
		t.Fatal("a refusal changed more than the seq")
	}
}

func TestTickerVersionIsAFunctionOfTheFigures(t *testing.T) {
	one, two := newRig(Options{}, 2), newRig(Options{}, 2)
	for i := range 50 {
		for _, r := range []*rig{one, two} {
			r.now += nanosecond
			r.trade(engine.PairID(i%2), engine.Buy, int64(100+i), 3)
		}
		one.publish() // the other publishes once, at the end
	}
	two.publish()
	a, b := one.feed.Board().Load(), two.feed.Board().Load()
	for p := range engine.PairID(2) {
		if a.View(p).TickerVersion != b.View(p).TickerVersion || a.View(p).Ticker != b.View(p).Ticker {
			t.Fatalf("pair %d: equal events, different tickers", p)
		}
	}
	if a.TickersVersion != b.TickersVersion || a.TickersSeqSum != b.TickersSeqSum {
		t.Fatal("equal events, different sums")
	}
	if a.View(0).TickerVersion == a.View(1).TickerVersion {
		t.Fatal("two pairs, one version")
	}
}

// The state of a window is a function of the trades, not of the looks, even when a trade is
// folded after the window has moved beyond its second, as under sync always.
func TestWindowStateDoesNotDependOnLooks(t *testing.T) {
	const day = secondsOfDay * nanosecond
	after := func(look bool) (state []byte, ticker Ticker) {
		r := newRig(Options{}, 1)
		r.trade(0, engine.Buy, 100, 1)
		r.now += nanosecond
		r.trade(0, engine.Buy, 101, 1)
		r.publish()
		if look {
			r.feed.Publish(rigStartNs + day) // the first trade leaves
		}
		r.now = rigStartNs + day - 1
		r.trade(0, engine.Buy, 102, 1)
		r.fold()
		r.feed.Publish(rigStartNs + day)
		return r.feed.AppendPairState(nil, 0), r.feed.Board().Load().View(0).Ticker
	}
	state, ticker := after(false)
	looked, lookedTicker := after(true)
	same(t, state, looked)
	same(t, ticker, lookedTicker)
}
