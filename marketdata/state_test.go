package marketdata

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/wire"
)

// run applies n random commands over some days, and publishes now and then.
func (r *rig) run(rnd *rand.Rand, n, pairs int, publish bool) {
	for range n {
		r.now += rnd.Int64N(2 * nanosecond)
		if rnd.IntN(50) == 0 {
			r.now += rnd.Int64N(3600 * nanosecond)
		}
		look := rnd.IntN(30) == 0
		r.apply(r.randomCommand(rnd, pairs, 4, 500))
		if publish && look {
			r.publish()
		}
	}
	r.fold()
}

func (r *rig) asset(rnd *rand.Rand) {
	r.apply(engine.Command{
		Kind: engine.SetAsset, Pair: engine.ControlPair,
		Control: &engine.ControlRecord{Asset: &engine.Asset{
			Symbol: string(rune('A'+rnd.IntN(26))) + "SSET", Name: "an asset", CanDeposit: rnd.IntN(2) == 0,
			HasMinWithdraw: true, MinWithdraw: fixed.FromI64(rnd.Int64()),
		}},
	})
}

// reload encodes the feed and decodes it into a new one.
func reload(t testing.TB, f *Feed, pairs int) *Feed {
	t.Helper()
	g := NewFeed(f.opts)
	if err := g.DecodeControlState(f.AppendControlState(nil)); err != nil {
		t.Fatal(err)
	}
	for p := range pairs {
		if err := g.DecodePairState(f.AppendPairState(nil, engine.PairID(p))); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.DecodeHistoryState(f.AppendHistoryState(nil)); err != nil {
		t.Fatal(err)
	}
	return g
}

// stateOf returns the whole encoded state.
func stateOf(f *Feed, pairs int) []byte {
	b := f.AppendControlState(nil)
	for p := range pairs {
		b = f.AppendPairState(b, engine.PairID(p))
	}
	return f.AppendHistoryState(b)
}

func TestAFeedReadFromItsStateGoesOnAsIfNothingHadHappened(t *testing.T) {
	rnd := newRand(t)
	const pairs = 3
	for _, kept := range []Retention{
		{TradesMin: 5, TradesMax: 1500, ClosedOrders: 300, Fills: 500, ClientIDs: 40},
		{ClosedOrders: 1, Fills: 2, ClientIDs: 1},
		{},
	} {
		r := newRig(Options{Retention: kept, Checksums: true}, pairs)
		for range 3 {
			r.asset(rnd)
			r.run(rnd, soak(2500, 10), pairs, true)
			f := r.feed
			g := reload(t, f, pairs)
			if !bytes.Equal(stateOf(f, pairs), stateOf(g, pairs)) {
				t.Fatal("the state read back differs")
			}
			r.publish()
			g.Publish(r.now)
			equalBoards(t, f.Board().Load(), g.Board().Load())
			if f.NextNs() != g.NextNs() {
				t.Fatalf("next change at %d, after reading at %d", f.NextNs(), g.NextNs())
			}
			r.feed = g // the reader goes on
			mark := len(r.events)
			r.run(rnd, 500, pairs, true)
			f.Fold(r.events[mark:])
			if !bytes.Equal(stateOf(f, pairs), stateOf(g, pairs)) {
				t.Fatal("the reader went another way")
			}
			equalHistories(t, f, g, pairs)
		}
	}
}

func equalBoards(t *testing.T, a, b *Root) {
	t.Helper()
	if a.Len() != b.Len() || a.TickersVersion != b.TickersVersion || a.SeqSum != b.SeqSum ||
		a.ControlSeq != b.ControlSeq {
		t.Fatalf("roots differ: %+v and %+v", a, b)
	}
	same(t, a.Assets(), b.Assets())
	for _, p := range a.Sorted() {
		v, w := a.View(p), b.View(p)
		if v.Sum != w.Sum || v.Ticker != w.Ticker || v.Seq != w.Seq || v.BookTimeNs != w.BookTimeNs ||
			v.TimeNs != w.TimeNs ||
			v.Trades.DroppedNs() != w.Trades.DroppedNs() || v.DroppedYoung != w.DroppedYoung {
			t.Fatalf("views of pair %d differ: %+v and %+v", p, v.Ticker, w.Ticker)
		}
		same(t, v.Instrument, w.Instrument)
		if b.Lookup(v.Instrument.Code) != w {
			t.Fatal("the view is not found by its code")
		}
	}
}

func equalHistories(t *testing.T, f, g *Feed, pairs int) {
	t.Helper()
	for p := range engine.PairID(pairs) {
		for n := uint64(1); n < 5000; n++ {
			id := engine.MakeOrderID(p, n)
			a, okA := f.History().Order(id)
			b, okB := g.History().Order(id)
			same(t, okA, okB)
			same(t, a, b)
			a, okA = f.History().FirstAnswer(id)
			b, okB = g.History().FirstAnswer(id)
			same(t, okA, okB)
			same(t, a, b)
		}
	}
	for account := range engine.AccountID(5) {
		q := Query{Account: account, Pair: engine.ControlPair, UntilNs: 1<<63 - 1, Limit: 100_000}
		same(t, ordersOf(t, f, q), ordersOf(t, g, q))
		same(t, fillsOf(t, f, q), fillsOf(t, g, q))
	}
}

func TestStateDoesNotDependOnWhenAnyoneLooked(t *testing.T) {
	rnd := newRand(t)
	seed := rnd.Uint64()
	var states [2][]byte
	for i := range states {
		rnd := rand.New(rand.NewPCG(seed, 2))
		r := newRig(Options{Retention: Retention{TradesMin: 5}}, 2)
		r.run(rnd, 4000, 2, i == 1)
		if i == 1 { // a day later the windows are empty, but nothing was sequenced
			r.feed.Publish(r.now + 90_000*nanosecond)
			if v := r.feed.Board().Load().View(0); !v.Ticker.Volume.IsZero() {
				t.Fatal("the window did not slide")
			}
		}
		states[i] = stateOf(r.feed, 2)
	}
	if !bytes.Equal(states[0], states[1]) {
		t.Fatal("looking changed the state")
	}
}

func TestStateTellsEachFieldApart(t *testing.T) {
	rnd := newRand(t)
	r := newRig(Options{Retention: Retention{TradesMin: 5}}, 1)
	r.run(rnd, 3000, 1, true)
	before := r.feed.HashPair(0, nil)
	seen := map[[32]byte]string{before: "nothing"}
	for name, change := range map[string]func(p *pairState){
		"seq":        func(p *pairState) { p.seq++ },
		"book seq":   func(p *pairState) { p.bookSeq++ },
		"trades seq": func(p *pairState) { p.tradesSeq++ },
		"ticker seq": func(p *pairState) { p.tickerSeq++ },
		"changed":    func(p *pairState) { p.changedSec++ },
		"time":       func(p *pairState) { p.timeNs++ },
		"level":      func(p *pairState) { p.sides[0].set(p.sides[0].best(), 1_000_000, r.feed.gen) },
		"kept trade": func(p *pairState) { p.ring.view.at(p.ring.view.last-3).Amount++ },
		"taker side": func(p *pairState) { p.ring.view.at(p.ring.view.last - 2).TakerSide ^= 1 },
		"retention":  func(p *pairState) { p.ring.view.first++ },
		"dropped":    func(p *pairState) { p.ring.view.droppedNs++ },
		"young":      func(p *pairState) { p.ring.young++ },
		"closed candle": func(p *pairState) {
			p.candles.series[Minute].view.chunks[0][p.candles.series[Minute].view.first].High++
		},
		"open candle": func(p *pairState) { p.candles.series[Hour].view.open.Close++ },
		"volume":      func(p *pairState) { p.candles.series[Year].view.open.Volume.Lo++ },
		"bucket":      func(p *pairState) { p.window.buckets.at(0).high++ },
		"window edge": func(p *pairState) { p.window.buckets.popFront() },
		"ago":         func(p *pairState) { p.window.agoBase++ },
		"first trade": func(p *pairState) { p.window.first++ },
	} {
		g := reload(t, r.feed, 1)
		change(g.pairs[0])
		sum := g.HashPair(0, nil)
		if other, ok := seen[sum]; ok {
			t.Errorf("%s: the same hash as %s", name, other)
		}
		seen[sum] = name
	}
}

func TestCutAndFlippedStatesAreRefusedOrReadWithoutPanic(t *testing.T) {
	rnd := newRand(t)
	kept := Retention{TradesMin: 5, TradesMax: 50, ClosedOrders: 20, Fills: 20, ClientIDs: 5}
	r := newRig(Options{Retention: kept}, 1)
	r.run(rnd, 600, 1, false)
	pair, control, history := r.feed.AppendPairState(nil,
		0), r.feed.AppendControlState(nil), r.feed.AppendHistoryState(nil)
	read := func(pair, control, history []byte) (err error) {
		g := NewFeed(r.feed.opts)
		if err = g.DecodeControlState(control); err != nil {
			return err
		}
		if err = g.DecodePairState(pair); err != nil {
			return err
		}
		return g.DecodeHistoryState(history)
	}
	if err := read(pair, control, history); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pair); i += 1 + len(pair)/200 {
		if read(pair[:i], control, history) == nil {
			t.Fatalf("a pair cut at %d was read", i)
		}
	}
	for i := 0; i < len(history); i += 1 + len(history)/200 {
		if read(pair, control, history[:i]) == nil {
			t.Fatalf("a history cut at %d was read", i)
		}
	}
	for i := range control {
		if read(pair, control[:i], history) == nil {
			t.Fatalf("a control state cut at %d was read", i)
		}
	}
	for range soak(800, 50) { // the log has the checksums; here it must only not panic
		p, h := bytes.Clone(pair), bytes.Clone(history)
		p[rnd.IntN(len(p))] ^= 1 << rnd.IntN(8)
		_ = read(p, control, history)
		h[rnd.IntN(len(h))] ^= 1 << rnd.IntN(8)
		_ = read(pair, control, h)
	}
	if read(append(bytes.Clone(pair), 0), control, history) == nil {
		t.Fatal("bytes left over were not noticed")
	}
	g := reload(t, r.feed, 1)
	if err := g.DecodePairState(pair); err == nil {
		t.Fatal("a pair was read twice")
	}
}

// Readers of published views have the instrument while the loop encodes it. The numbers here are none that decoding
// gives, so that a write shows.
func TestEncodingDoesNotWriteToTheInstrument(t *testing.T) {
	i := engine.Instrument{Code: "AA_BB", Base: "base", Quote: "quote", DigitsPrice: 257, DigitsAmount: 258}
	before := i
	walker{wire.Writer(nil)}.instrument(&i)
	if i != before {
		t.Errorf("%+v, was %+v", i, before)
	}
}
