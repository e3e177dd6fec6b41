package marketdata

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/wire"
)

// spoil encodes a pair after a change and returns the error with which it is decoded.
func spoil(change func(p *pairState)) error {
	f := wholeFeed()
	p := f.pairs[2]
	change(p)
	return NewFeed(f.opts).DecodePairState(f.AppendPairState(nil, 2))
}

// A pair that no feed can have is refused, and the error says why.
func TestAnImpossiblePairIsRefused(t *testing.T) {
	if err := spoil(func(*pairState) {}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want   string
		change func(p *pairState)
	}{
		{"5 is above 4", func(p *pairState) { p.instrument.State = engine.Delisted + 1 }},
		{"19 is above 18", func(p *pairState) { p.instrument.DigitsPrice = 19 }},
		{"19 is above 18", func(p *pairState) { p.instrument.DigitsAmount = 19 }},
		{
			"digitsPrice 10 + digitsAmount 9",
			func(p *pairState) { p.instrument.DigitsPrice, p.instrument.DigitsAmount = 10, 9 },
		},
		{"19 is above 18", func(p *pairState) { p.instrument.BaseDigits = 19 }},
		{"19 is above 18", func(p *pairState) { p.instrument.QuoteDigits = 19 }},
		{"the 4 digits of ABC", func(p *pairState) { p.instrument.BaseDigits = 4 }},
		{"the 7 digits of USDT", func(p *pairState) { p.instrument.QuoteDigits = 7 }},
		{"text of 65 bytes, at most 64", func(p *pairState) { p.instrument.Code = strings.Repeat("A", 60) + "_USDT" }},
		{"is not of the form", func(p *pairState) { p.instrument.Code = strings.Repeat("A", 59) + "_USDT" }},
		{"pair number 131072 is not free", func(p *pairState) { p.instrument.ID = engine.MaxPairs }},
		{"a fee rate is above 1", func(p *pairState) { p.instrument.MakerFee = engine.RateOne + 1 }},
		{"a level at 90 is not behind", func(p *pairState) { p.sides[0].dirs[0].pages[0].levels[0].Price = 90 }},
		{"2 is above 1", func(p *pairState) { p.ring.view.at(4).TakerSide = 2 }},
		{"0 is not above 0", func(p *pairState) { p.candles.series[Minute].view.open.Open = 0 }},
		{"-1 is not above 0", func(p *pairState) { p.candles.series[Year].view.open.Low = -1 }},
		{"0 is not above 0", func(p *pairState) { p.window.buckets.at(0).high = 0 }},
		{"0 is not above 0", func(p *pairState) { p.window.buckets.at(1).low = 0 }},
		{"0 is not above 0", func(p *pairState) { p.window.buckets.at(2).close = 0 }},
		{
			"is not behind the one before",
			func(p *pairState) { p.window.buckets.at(1).sec = p.window.buckets.at(0).sec },
		},
		{
			"is not behind the one before",
			func(p *pairState) { p.window.buckets.at(2).sec = p.window.buckets.at(1).sec - 1 },
		},
	} {
		if err := spoil(c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	for _, c := range []struct {
		first, last, n uint64
		ok             bool
	}{
		{1, 1, 1, true},
		{3, 5, 3, true},
		{5, 5, 1, true},
		{0, 5, 6, false},
		{0, 5, 5, false},
		{5, 4, 0, false},
		{6, 4, 3, false},
		{3, 5, 2, false},
		{3, 5, 4, false},
		{1, 0, 0, false},
	} {
		w := walker{wire.Writer(nil)}
		w.U64(&c.n)
		w.Fixed(make([]byte, 9))
		r := walker{wire.Reader(w.Bytes())}
		n := r.checkTrades(c.first, c.last)
		if want := map[bool]int{true: int(c.n)}[c.ok]; n != want || (r.Err() == nil) != c.ok {
			t.Errorf("trades %d to %d as %d: %d, %v", c.first, c.last, c.n, n, r.Err())
		}
	}
	for n, chunks := range map[engine.TradeID]int{
		1: 1, chunkTrades - 1: 1, chunkTrades: 1, chunkTrades + 1: 2, 2 * chunkTrades: 2,
	} {
		var r, q tradeRing
		for id := engine.TradeID(7); id < 7+n; id++ {
			if id == 7 {
				r.view.last = id - 1
				r.view.first, r.view.base = id, id
			}
			r.add(id, int64(id), 1<<40, 1<<40).Amount = int64(id)
		}
		w := walker{wire.Writer(nil)}
		r.walk(w)
		q.walk(walker{wire.Reader(w.Bytes())})
		same(t, chunks, len(q.view.chunks))
		same(t, int(n), q.view.Len())
		same(t, r.view.At(6+n), q.view.At(6+n))
	}
	f := wholeFeed()
	state := f.AppendPairState(nil, 2)
	if err := f.DecodePairState(state); err == nil || !strings.Contains(err.Error(), "pair number 2 is not free") {
		t.Errorf("decoded twice: %v", err)
	}
	if len(f.pairs) != 3 || f.pairsNew != 0 {
		t.Errorf("%d pairs, version %d", len(f.pairs), f.pairsNew)
	}
	g := NewFeed(f.opts)
	g.addPair(newPairState(&engine.Event{Pair: 5, Instrument: wholeInstrument()}, &g.cache))
	if err := g.DecodePairState(state); err != nil { // into the gap
		t.Error(err)
	}
	for n := range state {
		g := NewFeed(f.opts)
		if err := g.DecodePairState(state[:n]); err == nil || len(g.pairs) != 0 || g.pairsNew != 0 {
			t.Errorf("cut at %d: %v, %d pairs", n, err, len(g.pairs))
		}
	}
}

// An asset's texts and digits end at their limits.
func TestTheMembersOfAnAssetAreBounded(t *testing.T) {
	for _, c := range []struct {
		symbol, name, digits int
		ok                   bool
	}{{64, 1 << 16, 18, true}, {65, 5, 0, false}, {5, 1<<16 + 1, 0, false}, {5, 5, 19, false}} {
		f := NewFeed(Options{})
		a := &engine.Asset{
			Symbol: strings.Repeat("A", c.symbol), Name: strings.Repeat("B", c.name), Digits: c.digits,
		}
		f.assets = map[string]*engine.Asset{a.Symbol: a}
		g := NewFeed(Options{})
		if err := g.DecodeControlState(f.AppendControlState(nil)); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		} else if c.ok {
			same(t, f.assets, g.assets)
		}
	}
}

// An earlier and a later format are refused by name.
func TestOtherFormatsAreRefused(t *testing.T) {
	f := wholeFeed()
	for what, c := range map[string]struct {
		state  []byte
		decode func(g *Feed, state []byte) error
	}{
		"assets":  {f.AppendControlState(nil), (*Feed).DecodeControlState},
		"pair":    {f.AppendPairState(nil, 2), (*Feed).DecodePairState},
		"history": {NewFeed(f.opts).AppendHistoryState(nil), (*Feed).DecodeHistoryState},
	} {
		has := byte(stateFormat)
		if what == "history" {
			has = historyFormat
		}
		for format := range byte(7) {
			c.state[0] = format
			err := c.decode(NewFeed(f.opts), c.state)
			if format == has {
				same(t, error(nil), err)
				continue
			}
			says := fmt.Sprintf("format %d cannot be read by this program, which has %d", format, has)
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s of format %d: %v", what, format, err)
			}
		}
	}
}

// Each number of an order and of a fill ends at its largest value.
func TestTheNumbersOfAHistoryAreBounded(t *testing.T) {
	for name, change := range map[string]func(o *orderRec, x *orderExtra){
		"side":         func(o *orderRec, _ *orderExtra) { o.side = 2 },
		"type":         func(o *orderRec, _ *orderExtra) { o.typ = engine.TakeMarket + 1 },
		"tif":          func(o *orderRec, _ *orderExtra) { o.tif = engine.FOK + 1 },
		"stp":          func(o *orderRec, _ *orderExtra) { o.stp = engine.Decrement + 1 },
		"status":       func(o *orderRec, _ *orderExtra) { o.status = engine.Pending + 1 },
		"cause":        func(o *orderRec, _ *orderExtra) { o.cause = engine.CauseOperator + 1 },
		"first status": func(_ *orderRec, x *orderExtra) { x.firstStatus = engine.Pending + 1 },
		"list":         func(_ *orderRec, x *orderExtra) { x.list = engine.MaxListOrders + 1 },
		"client id":    func(_ *orderRec, x *orderExtra) { x.client.Text = strings.Repeat("c", 65) },
	} {
		o, x := wholeOrder()
		change(&o, &x)
		if _, _, err := decodeOrder(t, encodeOrder(o, &x, 0)); err == nil {
			t.Errorf("%s: decoded", name)
		}
	}
	o, x := wholeOrder()
	x.client.Text = strings.Repeat("c", 64)
	if _, extra, err := decodeOrder(t, encodeOrder(o, &x, 0)); err != nil ||
		extra.client.Text != x.client.Text {
		t.Errorf("a client id of 64 bytes: %v", err)
	}
	data := encodeOrder(o, nil, 0)
	trigger := 6 + 1 + 7 // behind the number of the order, its account and seven small numbers
	if data[trigger] != 3 {
		t.Fatalf("%x has no trigger at %d", data, trigger)
	}
	for bits, ok := range map[byte]bool{0: true, 1: true, 2: true, 3: true, 4: false, 255: false} {
		data[trigger] = bits
		if _, _, err := decodeOrder(t, data); (err == nil) != ok {
			t.Errorf("trigger %d: %v", bits, err)
		}
	}
	for name, change := range map[string]func(f *fillRec){
		"side": func(f *fillRec) { f.side = 2 }, "price": func(f *fillRec) { f.price = 0 },
		"amount": func(f *fillRec) { f.amount = -1 },
	} {
		one, w := wholeFill(), walker{wire.Writer(nil)}
		change(&one)
		w.fill(&one)
		w = walker{wire.Reader(w.Bytes())}
		if w.fill(&one); w.End() == nil {
			t.Errorf("%s of a fill: decoded", name)
		}
	}
}
