package marketdata

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// modelWindow is a window that computes everything from all trades at each look.
type modelWindow struct {
	trades  []tick
	dropped int64 // seconds up to this one were dropped by a later trade; 0: none
}

// bucketsOf returns the seconds of a window, oldest first, and the close of the newest dropped one.
func (m *modelWindow) bucketsOf() (kept []bucket, agoBase int64) {
	for _, t := range m.trades {
		if t.Start <= m.dropped {
			agoBase = t.Close
			continue
		}
		one := bucket{t.Start, t.High, t.Low, t.Close, t.Volume, t.QuoteVolume}
		if n := len(kept); n > 0 && kept[n-1].sec == t.Start {
			b := &kept[n-1]
			one.high, one.low = max(b.high, one.high), min(b.low, one.low)
			one.volume, one.quote = b.volume.AddWrap(one.volume), b.quote.AddWrap(one.quote)
			*b = one
		} else {
			kept = append(kept, one)
		}
	}
	return kept, agoBase
}

func (q *queue[T]) list() (out []T) {
	for i := range q.len() {
		out = append(out, *q.at(i))
	}
	return out
}

// check compares a window at the second now.
func (m *modelWindow) check(t *testing.T, w *window, now int64) {
	t.Helper()
	kept, ago := m.bucketsOf()
	same(t, kept, w.buckets.list())
	same(t, ago, w.agoBase)
	var want Ticker
	var highs, lows []extreme
	left, next, out := int64(0), int64(0), 0
	if want.Ago24h = ago; len(m.trades) > 0 && ago == 0 {
		want.Ago24h = m.trades[0].Open
	}
	for _, b := range kept {
		if b.sec <= now-secondsOfDay {
			want.Ago24h, left = b.close, b.sec+secondsOfDay
			out++
			continue
		}
		if next == 0 {
			next = b.sec + secondsOfDay
		}
		want.Volume, want.QuoteVolume = want.Volume.AddWrap(b.volume), want.QuoteVolume.AddWrap(b.quote)
		for len(highs) > 0 && highs[len(highs)-1].price <= b.high {
			highs = highs[:len(highs)-1]
		}
		for len(lows) > 0 && lows[len(lows)-1].price >= b.low {
			lows = lows[:len(lows)-1]
		}
		highs, lows = append(highs, extreme{b.sec, b.high}), append(lows, extreme{b.sec, b.low})
	}
	if len(highs) > 0 {
		want.High, want.Low = highs[0].price, lows[0].price
	} else {
		highs, lows = nil, nil
	}
	same(t, highs, w.highs.list())
	same(t, lows, w.lows.list())
	got := Ticker{High: 99, Low: 99}
	w.figures(&got)
	same(t, want, got)
	same(t, out, w.out)
	same(t, left, w.left())
	sec, ok := w.nextSec()
	if sec != next || ok != (next != 0) {
		t.Fatalf("the next trade leaves at %d (%v), want %d", sec, ok, next)
	}
}

// A window has the same seconds, sums, extremes and edges as one that is computed from all trades, also when it moves
// back, and when the sums wrap.
func TestAWindowEqualsItsModel(t *testing.T) {
	rnd := newRand(t)
	for range soak(15, 20) {
		w, m := &window{}, &modelWindow{}
		last := int64(1000)
		m.check(t, w, last)
		for range 60 {
			switch rnd.IntN(5) {
			case 0:
				last += secondsOfDay - 2 + rnd.Int64N(4)
			case 1:
				last += rnd.Int64N(secondsOfDay / 2)
			case 2:
				last += rnd.Int64N(3)
			}
			low := 1 + rnd.Int64N(6)
			high := low + rnd.Int64N(4)
			one := tick{Candle{
				Start: last, Open: high, High: high, Low: low, Close: low + rnd.Int64N(high-low+1), Trades: 2,
				Volume:      fixed.U128{Hi: rnd.Uint64(), Lo: rnd.Uint64()},
				QuoteVolume: fixed.U128{Hi: rnd.Uint64(), Lo: rnd.Uint64()},
			}}
			w.add(&one)
			m.trades = append(m.trades, one)
			m.dropped = max(m.dropped, last-secondsOfDay)
			m.check(t, w, last)
			for range rnd.IntN(4) {
				now := last + rnd.Int64N(2*secondsOfDay) - secondsOfDay/2
				if rnd.IntN(2) == 0 { // at the edge of a trade
					now = m.trades[rnd.IntN(len(m.trades))].Start + secondsOfDay + rnd.Int64N(3) - 1
				}
				now = max(now, m.dropped+secondsOfDay) // no publication is before the newest trade's second
				w.slide(now)
				m.check(t, w, now)
			}
		}
	}
}

// The trades of one second may have any sum: it wraps, as the sums of the window do.
func TestTheTradesOfASecondWrap(t *testing.T) {
	p := newPairState(&engine.Event{Instrument: &engine.Instrument{}}, nil)
	o := Options{}.WithDefaults()
	const trades = 17 // of 2^124 each
	for n := range trades {
		p.foldTrade(&engine.Event{Trade: engine.TradeID(n + 1), TimeNs: rigStartNs, Price: 1 << 62, Amount: 1 << 62},
			&o)
	}
	p.merge(&o)
	same(t, fixed.U128{Hi: 1 << 60}, p.window.quote)
	same(t, fixed.Mul64(trades, 1<<62), p.window.volume)
}
