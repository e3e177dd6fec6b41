package marketdata

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// panics reports whether do panics.
func panics(do func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	do()
	return false
}

func TestNamesOfIntervals(t *testing.T) {
	names := IntervalNames()
	same(t, []string{
		"minute", "minutes3", "minutes5", "minutes15", "minutes30", "hour", "hour4", "day", "month", "year",
	}, names)
	for i, name := range names {
		if got, ok := ParseInterval(name); !ok || got != Interval(i) || got.String() != name {
			t.Errorf("%s is %s, %v", name, got, ok)
		}
	}
	names[0] = "changed"
	if IntervalNames()[0] != "minute" {
		t.Error("the names can be changed")
	}
}

// A sum of candles has what the takers of all have bought.
func TestASumOfCandlesSumsUpItsTakers(t *testing.T) {
	one := Candle{
		Start: 60, Open: 5, High: 7, Low: 4, Close: 6, Trades: 2,
		Volume: fixed.FromU64(10), QuoteVolume: fixed.FromU64(50),
		TakerVolume: fixed.FromU64(3), TakerQuote: fixed.FromU64(15),
	}
	sum := one
	sum.Merge(&one)
	same(t, Candle{
		Start: 60, Open: 5, High: 7, Low: 4, Close: 6, Trades: 4,
		Volume: fixed.FromU64(20), QuoteVolume: fixed.FromU64(100),
		TakerVolume: fixed.FromU64(6), TakerQuote: fixed.FromU64(30),
	}, sum)
}

// limited returns the view of a pair that keeps some closed candles of each interval.
func limited(t *testing.T, keep, minutes int) (*View, []Candle) {
	t.Helper()
	var o Options
	for i := range o.Candles {
		o.Candles[i] = keep
	}
	r := newRig(o, 1)
	for i := range minutes {
		r.now += 60 * nanosecond * int64(1+i%3)
		r.trade(0, engine.Side(i%2), int64(1+i%77), 3)
		r.publish()
	}
	want := naiveCandles(naiveTrades(r.events, 0), Minute)
	return r.feed.Board().Load().View(0), want[max(len(want)-keep-1, 0):]
}

// Candles that were dropped are found no more, and their memory goes.
func TestCandlesAfterOthersWereDropped(t *testing.T) {
	for _, keep := range []int{1, 63, 64, 100, 300} {
		v, want := limited(t, keep, 800)
		c := v.Candles(Minute)
		if c.Len() != len(want) || len(c.chunks) > keep/chunkCandles+2 {
			t.Fatalf("keep %d: %d candles in %d chunks", keep, c.Len(), len(c.chunks))
		}
		for k := range want {
			if c.At(k) != want[k] {
				t.Fatalf("keep %d: candle %d is %+v, want %+v", keep, k, c.At(k), want[k])
			}
			for d := int64(-1); d <= 1; d++ {
				at, _ := slices.BinarySearchFunc(want, want[k].Start+d, func(c Candle, s int64) int {
					return int(c.Start - s)
				})
				if got := c.Search(want[k].Start + d); got != at {
					t.Fatalf("keep %d: search for %d gives %d, want %d", keep, want[k].Start+d, got, at)
				}
			}
		}
		for _, i := range []int{-1, c.Len(), c.Len() + 1, math.MaxInt} {
			if !panics(func() { c.At(i) }) {
				t.Errorf("keep %d: candle %d of %d is given", keep, i, c.Len())
			}
		}
		checkFold(t, &c, want)
	}
	var empty Candles
	if !panics(func() { empty.At(0) }) {
		t.Error("a candle of no trade is given")
	}
	same(t, Candle{Start: 7}, empty.Fold(7, 900))
}

func checkFold(t *testing.T, c *Candles, want []Candle) {
	t.Helper()
	n := len(want)
	for _, at := range [][2]int{{0, 0}, {0, 1}, {0, n}, {n / 2, n}, {n - 1, n}} {
		for d := int64(-1); d <= 1; d++ {
			from, to := want[at[0]].Start+d, want[len(want)-1].Start+1
			if at[1] < len(want) {
				to = want[at[1]].Start + d
			}
			sum := Candle{Start: from}
			for _, one := range want {
				if one.Start >= from && one.Start < to {
					sum.Merge(&one)
				}
			}
			if got := c.Fold(from, to); got != sum {
				t.Fatalf("from %d to %d: %+v, want %+v", from, to, got, sum)
			}
		}
	}
}

// A virtual clock may begin before 1970.
func TestTradesBefore1970(t *testing.T) {
	r := newRig(Options{}, 1)
	r.publish()
	p := r.feed.pairs[0]
	var trades []naiveTrade
	for i := range int64(3) {
		ns := -100*60*nanosecond - 1 + 30*i*nanosecond
		p.foldTrade(&engine.Event{
			Kind: engine.EventTrade, TimeNs: ns, Trade: engine.TradeID(i + 1), Seq: p.seq + 1, Price: 5, Amount: 2,
		}, &r.feed.opts)
		trades = append(trades, naiveTrade{ns: ns, sec: naiveStart(Minute, floorSec(ns)) + 1, price: 5, amount: 2})
	}
	p.merge(&r.feed.opts)
	want, got := naiveCandles(trades, Minute), &p.candles.series[Minute].view
	if got.Len() != len(want) {
		t.Fatalf("%d candles, want %d", got.Len(), len(want))
	}
	for k := range want {
		if c := got.At(k); c.Start != want[k].Start || c.Trades != want[k].Trades {
			t.Errorf("%+v, want %+v", c, want[k])
		}
	}
	for ns, sec := range map[int64]int64{
		-nanosecond - 1: -2, -nanosecond: -1, -1: -1, 0: 0, nanosecond - 1: 0, nanosecond: 1,
	} {
		if got := floorSec(ns); got != sec {
			t.Errorf("%d ns are in second %d, want %d", ns, got, sec)
		}
	}
}

// The sums of a second are merged before they overflow, whatever the trades in it are.
func TestLargeSumsOfASecond(t *testing.T) {
	most := [2]int64{math.MaxInt64, math.MaxInt64}
	for _, trades := range [][][2]int64{
		{most, most, most, most, most},
		{{1 << 32, 1 << 32}, most, most, most, most},
		{most, most, {1, 1}, most, most},
		{most, most, {1 << 33, 1 << 32}, most, most, most},
	} {
		once, often := newRig(Options{}, 1), newRig(Options{}, 1)
		once.publish()
		often.publish()
		for i, trade := range trades {
			for _, r := range []*rig{once, often} {
				p := r.feed.pairs[0]
				p.foldTrade(&engine.Event{
					Kind: engine.EventTrade, TimeNs: r.now, Trade: engine.TradeID(i + 1), Seq: p.seq + 1,
					Price: trade[0], Amount: trade[1],
				}, &r.feed.opts)
			}
			often.feed.pairs[0].merge(&often.feed.opts)
		}
		if !bytes.Equal(once.feed.AppendPairState(nil, 0), often.feed.AppendPairState(nil, 0)) {
			t.Errorf("%v: the sums depend on the publications", trades)
		}
	}
}

// Views of one second share their candles, and each shows all trades before it, in every interval and in the ticker.
func TestViewsOfASecondShareTheirCandles(t *testing.T) {
	rnd := newRand(t)
	r := newRig(Options{}, 1)
	r.publish()
	view := func() *View { return r.feed.Board().Load().View(0) }
	var trades []naiveTrade
	shared, views := 0, 0
	for range soak(3000, 10) {
		before, sec := view(), r.now/nanosecond
		r.now += rnd.Int64N(nanosecond / 4)
		if rnd.IntN(50) == 0 {
			r.now += rnd.Int64N(2 * secondsOfDay * nanosecond)
		}
		for range 1 + rnd.IntN(3) {
			from := len(r.events)
			r.trade(0, engine.Side(rnd.IntN(2)), 1+rnd.Int64N(1000), 1+rnd.Int64N(math.MaxInt32))
			trades = append(trades, naiveTrades(r.events[from:], 0)...)
		}
		if rnd.IntN(20) == 0 {
			r.fold()
			r.feed.HashPair(0, func() {}) // merges
		}
		r.publish()
		v := view()
		if views++; v.candles == before.candles {
			shared++
			if r.now/nanosecond != sec {
				t.Fatalf("a view of second %d has the candles of %d", r.now/nanosecond, sec)
			}
		}
		for i := range Interval(Intervals) {
			want, got := naiveCandles(trades, i), v.Candles(i)
			if got.Len() != len(want) || got.At(got.Len()-1) != want[len(want)-1] {
				t.Fatalf("%s: %d candles, the last %+v; want %d and %+v",
					i, got.Len(), got.At(got.Len()-1), len(want), want[len(want)-1])
			}
		}
		want := naiveTicker(trades, r.now/nanosecond)
		if want.Bid, want.Ask = v.Ticker.Bid, v.Ticker.Ask; v.Ticker != want {
			t.Fatalf("ticker %+v, want %+v", v.Ticker, want)
		}
		if len(trades) > 400 {
			r = newRig(Options{}, 1)
			r.publish()
			trades = trades[:0]
		}
	}
	if shared < views/3 {
		t.Errorf("%d of %d views share their candles", shared, views)
	}
}
