package marketdata

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// windowRun trades in one pair and compares each published ticker with a fold over all trades so
// far.
type windowRun struct {
	*rig
	t      *testing.T
	rnd    *rand.Rand
	trades []naiveTrade
	looks  int
	beyond int // trades folded after a look a day or more behind their second
}

// look publishes at ns and compares. The caller passes the best prices at that moment.
func (w *windowRun) look(ns int64, bid, ask int64) {
	w.t.Helper()
	w.looks++
	w.fold()
	w.feed.Publish(ns)
	got := w.feed.Board().Load().View(0).Ticker
	want := naiveTicker(w.trades, ns/nanosecond)
	want.Bid, want.Ask = bid, ask
	if bid+ask != 0 {
		want.ChangedSec = max(want.ChangedSec, w.now/nanosecond)
	}
	if got != want {
		w.t.Fatalf("after %d trades, at second %d (the last trade at %d): ticker\n%+v, want\n%+v",
			len(w.trades), ns/nanosecond, w.now/nanosecond, got, want)
	}
	next := int64(math.MaxInt64)
	for _, tr := range w.trades {
		if tr.sec > ns/nanosecond-secondsOfDay {
			next = (tr.sec + secondsOfDay) * nanosecond
			break
		}
	}
	if got := w.feed.NextNs(); got != next {
		w.t.Fatalf("at second %d: the next change is at %d, want %d", ns/nanosecond, got, next)
	}
}

// jump returns the time from one trade of a batch to the next: most trades share a second, some
// are on both sides of the window's edge, some far beyond it.
func (w *windowRun) jump() int64 {
	const day = secondsOfDay * nanosecond
	switch w.rnd.IntN(20) {
	case 0:
		return day - nanosecond + w.rnd.Int64N(2*nanosecond)
	case 1:
		return day
	case 2:
		return w.rnd.Int64N(3 * day)
	case 3, 4, 5:
		return w.rnd.Int64N(day / 20)
	case 6, 7, 8:
		return w.rnd.Int64N(3 * nanosecond)
	}
	return w.rnd.Int64N(1000)
}

// batch does what a loop does with a batch whose commands carry their times: the clock is at the
// batch's end before the first command is folded, and each chunk of commands, of any size, ends
// with a publication.
func (w *windowRun) batch(trades int) {
	times := make([]int64, trades)
	for i, at := 0, w.now; i < trades; i++ {
		at += w.jump()
		times[i] = at
	}
	end := times[trades-1]
	publishes := 1 + w.rnd.IntN(12) // one in this many commands
	for _, at := range times {
		w.now = at
		taker, price, amount := engine.Side(w.rnd.IntN(2)), 1+w.rnd.Int64N(1000), 1+w.rnd.Int64N(1000)
		w.place(0, 1, taker.Opposite(), price, amount)
		if w.rnd.IntN(publishes) == 0 {
			if taker == engine.Sell {
				w.look(end, price, 0)
			} else {
				w.look(end, 0, price)
			}
		}
		from := len(w.events)
		w.place(0, 2, taker, price, amount)
		w.trades = append(w.trades, naiveTrades(w.events[from:], 0)...)
		if at/nanosecond <= end/nanosecond-secondsOfDay {
			w.beyond++
		}
		if w.rnd.IntN(publishes) == 0 {
			w.look(end, 0, 0)
		}
	}
	w.look(end, 0, 0)
}

// pass lets time pass and looks at every second at which the window may change, and at the
// second before.
func (w *windowRun) pass(ns int64) {
	end := w.now + ns
	var edges []int64
	for _, tr := range w.trades {
		if edge := (tr.sec + secondsOfDay) * nanosecond; edge > w.now && edge <= end {
			edges = append(edges, edge-nanosecond, edge-1, edge)
		}
	}
	slices.Sort(edges)
	for _, at := range slices.Compact(edges) {
		if at > w.now {
			w.now = at
			w.look(at, 0, 0)
		}
	}
	w.now = end
	w.look(end, 0, 0)
}

// TestWindowEqualsAFoldOverAllTradesAtEverySecond checks docs/contract/market-data.md#ticker for
// trades whose times jump over the window's edge within a batch, also for a clock that was ahead
// for a moment.
func TestWindowEqualsAFoldOverAllTradesAtEverySecond(t *testing.T) {
	rnd := newRand(t)
	looks, beyond, ahead := 0, 0, 0
	for range soak(40, 20) {
		w := &windowRun{rig: newRig(Options{Retention: Retention{TradesMin: 10, TradesMax: 50}}, 1), t: t, rnd: rnd}
		for range 12 {
			w.batch(1 + rnd.IntN(40))
			switch rnd.IntN(4) {
			case 0:
				w.pass(rnd.Int64N(3 * secondsOfDay * nanosecond))
			case 1:
				w.look(w.now+rnd.Int64N(3*secondsOfDay*nanosecond), 0, 0)
				ahead++
			}
		}
		once := NewFeed(Options{Retention: Retention{TradesMin: 10, TradesMax: 50}})
		once.Fold(w.events)
		same(t, once.AppendPairState(nil, 0), w.feed.AppendPairState(nil, 0))
		looks, beyond = looks+w.looks, beyond+w.beyond
	}
	t.Logf("%d looks, %d trades folded when their second had left the window, %d looks ahead", looks, beyond, ahead)
	if looks < 5000 || beyond < 1000 || ahead < 50 {
		t.Errorf("%d looks, %d trades beyond, %d looks ahead: too few", looks, beyond, ahead)
	}
}
