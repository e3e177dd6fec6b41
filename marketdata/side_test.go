package marketdata

import (
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/wire"
)

// A reader of a side stops at any level and at any page.
func TestASideIsReadUntilTheReaderHasEnough(t *testing.T) {
	s := newDepthSide(engine.Sell)
	const levels = 3 * pageLevels * dirPages
	for price := range int64(levels) {
		s.set(price+1, 5, 1)
	}
	side := s.publish()
	if len(side.dirs) < 3 {
		t.Fatalf("%d directories", len(side.dirs))
	}
	for _, enough := range []int{1, 2, pageLevels, pageLevels + 1, 2 * pageLevels * dirPages, levels} {
		n := 0
		for l := range side.All {
			if n++; l.Price != int64(n) {
				t.Fatalf("level %d has the price %d", n, l.Price)
			}
			if n == enough {
				break
			}
		}
		same(t, enough, n)
	}
	pages := 0
	for range side.Pages {
		pages++
	}
	for enough := 1; enough <= pages; enough++ {
		n := 0
		for range side.Pages {
			if n++; n == enough {
				break
			}
		}
		same(t, enough, n)
	}
}

// The candle of one trade has its price and amount, and what takers have bought if the taker did.
func TestTheCandleOfOneTrade(t *testing.T) {
	for _, c := range []struct {
		side          engine.Side
		volume, quote uint64
	}{{engine.Buy, 7, 42}, {engine.Sell, 0, 0}} {
		trade := Trade{TimeNs: rigStartNs + 999, Price: 6, Amount: 7, TakerSide: c.side}
		same(t, Candle{
			Start: rigStartNs / nanosecond, Open: 6, High: 6, Low: 6, Close: 6, Trades: 1,
			Volume: fixed.FromU64(7), QuoteVolume: fixed.FromU64(42),
			TakerVolume: fixed.FromU64(c.volume), TakerQuote: fixed.FromU64(c.quote),
		}, trade.Candle())
	}
}

// sideOf encodes levels as a side.
func sideOf(levels ...Level) []byte {
	w := walker{wire.Writer(nil)}
	w.Len(len(levels))
	for _, l := range levels {
		w.I64(&l.Price)
		w.I64(&l.Amount)
	}
	return w.Bytes()
}

// A side is decoded if each level is behind the one before and has an amount.
func TestAnImpossibleSideIsRefused(t *testing.T) {
	for _, c := range []struct {
		side   engine.Side
		levels []Level
		ok     bool
	}{
		{engine.Buy, nil, true},
		{engine.Buy, []Level{{1, 1}}, true},
		{engine.Buy, []Level{{9, 1}, {8, 1}, {1, 1}}, true},
		{engine.Buy, []Level{{9, 1}, {9, 2}}, false},
		{engine.Buy, []Level{{8, 1}, {9, 2}}, false},
		{engine.Sell, []Level{{1, 1}, {2, 1}, {9, 1}}, true},
		{engine.Sell, []Level{{9, 1}, {9, 2}}, false},
		{engine.Sell, []Level{{1, 1}, {9, 1}, {8, 2}}, false},
		{engine.Sell, []Level{{0, 1}}, false},
		{engine.Sell, []Level{{-1, 1}}, false},
		{engine.Sell, []Level{{1, 0}}, false},
		{engine.Sell, []Level{{1, 1}, {2, -1}}, false},
	} {
		s := newDepthSide(c.side)
		w := walker{wire.Reader(sideOf(c.levels...))}
		s.walk(w, 1)
		if err := w.End(); (err == nil) != c.ok {
			t.Errorf("%s %v: %v", c.side, c.levels, err)
		} else if c.ok {
			side := s.publish()
			same(t, c.levels, slices.Collect(side.All))
		}
	}
}

// A control state with more assets than bytes is refused, and changes nothing.
func TestAControlStateThatIsCutIsRefused(t *testing.T) {
	r := newRig(Options{}, 0)
	for _, symbol := range []string{"AA", "BB"} {
		r.apply(engine.Command{
			Kind: engine.SetAsset, Pair: engine.ControlPair,
			Control: &engine.ControlRecord{Asset: &engine.Asset{Symbol: symbol}},
		})
	}
	r.publish()
	state := r.feed.AppendControlState(nil)
	for cut := range len(state) {
		g := NewFeed(Options{})
		if err := g.DecodeControlState(state[:cut]); err == nil || len(g.assets) != 0 || g.controlSeq != 0 {
			t.Errorf("cut at %d: %v, %d assets", cut, err, len(g.assets))
		}
	}
	g := NewFeed(Options{})
	if err := g.DecodeControlState(state); err != nil || len(g.assets) != 2 {
		t.Errorf("%v, %d assets", err, len(g.assets))
	}
}
