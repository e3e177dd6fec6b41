package marketdata

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// addPair returns the event that adds a pair.
func addPair(id engine.PairID, code string) engine.Event {
	base, quote, _ := cutCode(code)
	return engine.Event{Kind: engine.EventPair, Pair: id, Seq: 1, TimeNs: rigStartNs, Instrument: &engine.Instrument{
		ID: id, Code: code, Base: base, Quote: quote, DigitsPrice: 2, DigitsAmount: 4, BaseDigits: 8, QuoteDigits: 8,
	}}
}

// A reader who waits for a seq waits for a pair that may still come, not for a text that no pair can have as its code.
func TestTheSeqOfAPair(t *testing.T) {
	f := NewFeed(Options{})
	f.Fold([]engine.Event{addPair(0, "A_USD")})
	f.Publish(rigStartNs)
	for _, c := range []struct {
		code  string
		seq   uint64
		known bool
	}{{"A_USD", 1, true}, {"B_USD", 0, false}, {"a_USD", math.MaxUint64, false}, {"", math.MaxUint64, false}} {
		if seq, known := f.Board().SeqOf(c.code); seq != c.seq || known != c.known {
			t.Errorf("%q: seq %d, known %v, want %d, %v", c.code, seq, known, c.seq, c.known)
		}
	}
}

// Pairs of several engine loops arrive in any order of their numbers, and numbers may be missing.
func TestARootWithGapsBetweenItsPairs(t *testing.T) {
	f := NewFeed(Options{})
	for _, id := range []engine.PairID{100, 70, 33} {
		f.Fold([]engine.Event{addPair(id, fmt.Sprintf("P%03d_USD", 900-id))})
		f.Publish(rigStartNs)
	}
	root := f.Board().Load()
	if root.Len() != 101 {
		t.Errorf("length %d, want 101", root.Len())
	}
	same(t, []engine.PairID{100, 70, 33}, root.Sorted())
	for id := range engine.PairID(140) {
		v := root.View(id)
		if want := id == 33 || id == 70 || id == 100; (v != nil) != want || v != nil && v.Instrument.ID != id {
			t.Errorf("pair %d: %v", id, v)
		}
	}
	if v := root.View(math.MaxUint32); v != nil {
		t.Errorf("the largest number: %v", v.Instrument)
	}
	f.Withhold([]engine.PairID{0, 70, 101})
	if o, ok := f.History().Current(engine.MakeOrderID(0, 1)); ok {
		t.Errorf("an order of a missing pair: %+v", o)
	}
	if s := f.Stats(); s.Pairs != 3 {
		t.Errorf("%d pairs are counted", s.Pairs)
	}
}

// The time up to which the market is published never goes back.
func TestTheSealedTimeNeverGoesBack(t *testing.T) {
	r := newRig(Options{}, 1)
	b := r.feed.Board()
	if b.SealedNs() != 0 {
		t.Errorf("%d before the first publication", b.SealedNs())
	}
	for _, c := range []struct{ now, want int64 }{{500, 500}, {499, 500}, {500, 500}, {501, 501}} {
		r.feed.Publish(c.now)
		if got := b.SealedNs(); got != c.want {
			t.Errorf("published at %d: sealed up to %d, want %d", c.now, got, c.want)
		}
	}
}

func TestAssetsAreFoundByTheirSymbol(t *testing.T) {
	r := newRig(Options{}, 1)
	symbols := []string{"B", "D", "F", "H", "J", "L", "N", "P", "R"}
	for _, s := range symbols {
		r.apply(engine.Command{
			Kind: engine.SetAsset, Pair: engine.ControlPair,
			Control: &engine.ControlRecord{Asset: &engine.Asset{Symbol: s}},
		})
		r.publish()
		root := r.feed.Board().Load()
		for c := 'A'; c <= 'S'; c++ {
			a := root.Asset(string(c))
			if want := slices.Contains(symbols, string(c)) && string(c) <= s; (a != nil) != want ||
				a != nil && a.Symbol != string(c) {
				t.Fatalf("up to %s: %c is %v", s, c, a)
			}
		}
	}
}

// The sequencer's loop wakes up when a trade leaves a window, and at the end of each minute, when the open candles
// close.
func TestASinkWakesUpForWindowsAndCandles(t *testing.T) {
	r := newRig(Options{}, 0)
	s := r.feed.Sink()
	if next := s.NextNs(); next != math.MaxInt64 {
		t.Errorf("without a pair: %d", next)
	}
	const minute = 60 * nanosecond
	s.Fold([]engine.Event{addPair(0, "A_USD")}, 7)
	for _, c := range []struct{ now, want int64 }{
		{rigStartNs, rigStartNs + minute},
		{rigStartNs + 1, rigStartNs + minute},
		{rigStartNs + minute - 1, rigStartNs + minute},
		{rigStartNs + minute, rigStartNs + 2*minute},
	} {
		s.Publish(c.now)
		if next := s.NextNs(); next != c.want {
			t.Errorf("at %d the next is %d, want %d", c.now, next, c.want)
		}
	}
	trade := r.now + 5*nanosecond/2
	r.feed.pairs[0].foldTrade(&engine.Event{
		Kind: engine.EventTrade, TimeNs: trade, Trade: 1, Seq: 2, Price: 5, Amount: 7,
	}, &r.feed.opts)
	r.feed.markChanged(r.feed.pairs[0])
	leaves := rigStartNs + (2+secondsOfDay)*nanosecond
	s.Publish(leaves - minute/2)
	if next := s.NextNs(); next != leaves && next != leaves-2*nanosecond {
		t.Errorf("the trade leaves at %d, the next is %d", leaves, next)
	}
	s.Publish(leaves - nanosecond)
	if next := s.NextNs(); next != leaves {
		t.Errorf("the trade leaves at %d, the next is %d", leaves, next)
	}
}

// A pair that is withheld is shown again once it is no longer withheld, with everything since.
func TestAWithheldPairIsNotShown(t *testing.T) {
	r := newRig(Options{}, 2)
	r.publish()
	show := func(want0, want1 bool) {
		t.Helper()
		before := r.feed.Board().Load()
		for pair := range engine.PairID(2) {
			r.place(pair, 1, engine.Buy, 100, 1)
		}
		r.publish()
		root := r.feed.Board().Load()
		for pair, want := range []bool{want0, want1} {
			id := engine.PairID(pair)
			if v := root.View(id); (v != before.View(id)) != want || want && v.Seq != r.core.LastSeq(id) {
				t.Errorf("pair %d is shown: %v", pair, !want)
			}
		}
		if (root != before) != (want0 || want1) {
			t.Error("a root for nothing")
		}
	}
	show(true, true)
	r.feed.Withhold([]engine.PairID{1, 2, 900}) // of which only one exists
	show(true, false)
	show(true, false)
	r.feed.Withhold([]engine.PairID{0})
	show(false, true)
	r.feed.Withhold([]engine.PairID{0, 1})
	show(false, false)
	r.feed.Withhold(nil)
	show(true, true)
}

// An observer sees each event of a pair after it was folded, and none of the control stream.
func TestAnObserverSeesEachEventOfAPair(t *testing.T) {
	r := newRig(Options{}, 1)
	var seen []engine.Event
	r.feed.Observe(func(e *engine.Event) {
		seen = append(seen, *e)
		if p := r.feed.pairs[0]; p.seq != e.Seq {
			t.Errorf("event %d is observed at %d", e.Seq, p.seq)
		}
	})
	r.trade(0, engine.Buy, 100, 5)
	r.apply(engine.Command{
		Kind: engine.SetAsset, Pair: engine.ControlPair,
		Control: &engine.ControlRecord{Asset: &engine.Asset{Symbol: "A"}},
	})
	r.fold()
	var want []engine.Event
	for _, e := range r.events {
		if e.Pair == 0 {
			want = append(want, e)
		}
	}
	if len(want) == len(r.events) {
		t.Fatal("no event of the control stream")
	}
	same(t, want, seen)
}
