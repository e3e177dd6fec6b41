package marketdata

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// viewOf returns a view with something in each member that its checksum covers.
func viewOf(change func(v *View, bids, asks *depthSide, trade *Trade, minute *Candle)) *View {
	v := &View{Seq: 50, BookSeq: 40, TradesSeq: 30, TickerVersion: 20, candles: new([Intervals]Candles)}
	bids, asks := newDepthSide(engine.Buy), newDepthSide(engine.Sell)
	bids.set(100, 5, 1)
	asks.set(101, 6, 1)
	trade := Trade{TimeNs: 7, Price: 8, Amount: 9}
	minute := Candle{Close: 8, Trades: 1, Volume: fixed.FromU64(9)}
	first := engine.TradeID(3)
	v.Trades = Trades{first: first, last: 3}
	change(v, &bids, &asks, &trade, &minute)
	v.Bids, v.Asks = bids.publish(), asks.publish()
	if v.Trades.last != 0 {
		v.Trades.base = v.Trades.first
		v.Trades.chunks = []*tradeChunk{new(tradeChunk)}
		*v.Trades.at(v.Trades.last) = trade
	}
	if minute.Trades != 0 {
		v.candles[Minute].open = minute
		v.candles[Year].open = minute
	}
	return v
}

// The checksum of a view depends on each part that a reader may find torn.
func TestTheChecksumOfAViewDependsOnEachPart(t *testing.T) {
	type change = func(v *View, bids, asks *depthSide, trade *Trade, minute *Candle)
	seen := map[uint64]string{}
	for name, c := range map[string]change{
		"nothing":        func(*View, *depthSide, *depthSide, *Trade, *Candle) {},
		"seq":            func(v *View, _, _ *depthSide, _ *Trade, _ *Candle) { v.Seq++ },
		"book seq":       func(v *View, _, _ *depthSide, _ *Trade, _ *Candle) { v.BookSeq++ },
		"trades seq":     func(v *View, _, _ *depthSide, _ *Trade, _ *Candle) { v.TradesSeq++ },
		"ticker version": func(v *View, _, _ *depthSide, _ *Trade, _ *Candle) { v.TickerVersion++ },
		"no bid":         func(_ *View, b, _ *depthSide, _ *Trade, _ *Candle) { b.set(100, 0, 1) },
		"bid amount":     func(_ *View, b, _ *depthSide, _ *Trade, _ *Candle) { b.set(100, 6, 1) },
		"two bids":       func(_ *View, b, _ *depthSide, _ *Trade, _ *Candle) { b.set(99, 6, 1) },
		"ask price": func(_ *View, _, a *depthSide, _ *Trade, _ *Candle) {
			a.set(101, 0, 1)
			a.set(102, 6, 1)
		},
		"ask amount": func(_ *View, _, a *depthSide, _ *Trade, _ *Candle) { a.set(101, 7, 1) },
		"two asks":   func(_ *View, _, a *depthSide, _ *Trade, _ *Candle) { a.set(102, 7, 1) },
		"bid and ask change places": func(_ *View, b, a *depthSide, _ *Trade, _ *Candle) {
			b.set(100, 6, 1)
			a.set(101, 5, 1)
		},
		"first trade":  func(v *View, _, _ *depthSide, _ *Trade, _ *Candle) { v.Trades.first-- },
		"last trade":   func(v *View, _, _ *depthSide, _ *Trade, _ *Candle) { v.Trades.last++ },
		"no trade":     func(v *View, _, _ *depthSide, _ *Trade, _ *Candle) { v.Trades.first, v.Trades.last = 0, 0 },
		"trade time":   func(_ *View, _, _ *depthSide, t *Trade, _ *Candle) { t.TimeNs++ },
		"trade price":  func(_ *View, _, _ *depthSide, t *Trade, _ *Candle) { t.Price++ },
		"trade amount": func(_ *View, _, _ *depthSide, t *Trade, _ *Candle) { t.Amount++ },
		"no candle":    func(_ *View, _, _ *depthSide, _ *Trade, c *Candle) { c.Trades = 0 },
		"close":        func(_ *View, _, _ *depthSide, _ *Trade, c *Candle) { c.Close++ },
		"volume":       func(_ *View, _, _ *depthSide, _ *Trade, c *Candle) { c.Volume.Lo++ },
	} {
		sum := viewOf(c).Checksum()
		if sum != viewOf(c).Checksum() {
			t.Errorf("%s: two sums of equal views", name)
		}
		if other, ok := seen[sum]; ok {
			t.Errorf("%s has the same sum as %s", name, other)
		}
		seen[sum] = name
	}
	v := viewOf(func(*View, *depthSide, *depthSide, *Trade, *Candle) {})
	before := v.Checksum()
	v.candles[Hour].open = v.candles[Minute].open
	if v.Checksum() == before {
		t.Error("another number of candles has the same sum")
	}
	bid := viewOf(func(_ *View, b, _ *depthSide, _ *Trade, _ *Candle) { b.set(99, 6, 1) })
	ask := viewOf(func(_ *View, _, a *depthSide, _ *Trade, _ *Candle) {
		a.set(99, 6, 1)
	})
	if bid.Checksum() == ask.Checksum() {
		t.Error("the last bid and the first ask have the same sum")
	}
}

// ETags hold these hashes. They stay in every version, so that the pages of readers outlive an upgrade.
func TestHashesStayInEveryVersion(t *testing.T) {
	one := Ticker{
		LastTrade: 1, Last: 2, Ago24h: 3, High: 4, Low: 5, Volume: fixed.U128{Hi: 6, Lo: 7},
		QuoteVolume: fixed.U128{Hi: 8, Lo: 9}, Bid: 10, Ask: 11, ChangedSec: 12,
	}
	for what, c := range map[string]struct{ got, want uint64 }{
		"mix":             {mix(1, 2), 0x8e3fb77ec35eba75},
		"ticker":          {one.version(0), 0xaa376e0563c73198},
		"ticker, pair 7":  {one.version(7), 0x3524ab06d65a357b},
		"ticker of a new": {new(Ticker).version(0), 0xeb85ab38b19f7b75},
		"no levels":       {levelsSum(nil), 0},
		"levels":          {levelsSum([]Level{{3, 4}, {5, 6}}), 0x22ff860ecc22d44},
	} {
		if c.got != c.want {
			t.Errorf("%s: %#x, want %#x", what, c.got, c.want)
		}
	}
	same(t, levelsSum([]Level{{3, 4}, {5, 6}}), levelsSum([]Level{{5, 6}})+levelsSum([]Level{{3, 4}}))
}

// note is what the readers of these tests keep in a view.
type note struct{ seq engine.Seq }

// A slot is empty or not. What the first reader keeps in it stays.
func TestTheSlotsOfAView(t *testing.T) {
	for slot := range Slots {
		v := &View{TradesSeq: 5}
		look := func(want any) {
			t.Helper()
			if got := v.Kept(slot); got != want {
				t.Errorf("slot %d: %v, want %v", slot, got, want)
			}
		}
		look(nil)
		own, late := &note{4}, &note{4}
		if got := v.Keep(slot, own); got != own {
			t.Errorf("slot %d: %v is shown, want the first %v", slot, got, own)
		}
		look(own)
		if got := v.Keep(slot, late); got != own {
			t.Errorf("slot %d: the second note takes the place of the first", slot)
		}
		look(own)
	}
}

// A view takes over exactly what was derived from equal inputs.
func TestAViewTakesOverWhatItKeeps(t *testing.T) {
	instrument := &engine.Instrument{}
	for name, c := range map[string]struct {
		change func(v *View)
		kept   string
	}{
		"nothing":        {func(*View) {}, "ticker book book2 book3 trades trades2 both both2"},
		"seq":            {func(v *View) { v.Seq++ }, "ticker book book2 book3 trades trades2 both both2"},
		"book":           {func(v *View) { v.BookSeq++ }, "ticker trades trades2 both both2"},
		"trades":         {func(v *View) { v.TradesSeq++ }, "ticker book book2 book3 both both2"},
		"ticker":         {func(v *View) { v.TickerSeq++ }, "book book2 book3 trades trades2"},
		"ticker version": {func(v *View) { v.TickerVersion++ }, "book book2 book3 trades trades2"},
		"instrument": {
			func(v *View) { v.Instrument = new(engine.Instrument) },
			"ticker book book2 book3 trades trades2",
		},
		"book, ticker": {
			func(v *View) { v.BookSeq, v.TickerSeq = v.BookSeq+1, v.TickerSeq+1 }, "trades trades2",
		},
		"instrument, book": {
			func(v *View) { v.Instrument, v.BookSeq = new(engine.Instrument), v.BookSeq+1 }, "ticker trades trades2",
		},
	} {
		names := [Slots]string{"ticker", "book", "book2", "book3", "trades", "trades2", "both", "both2"}
		made := func() *View {
			return &View{Instrument: instrument, Seq: 9, BookSeq: 8, TradesSeq: 7, TickerSeq: 6, TickerVersion: 5}
		}
		old, v := made(), made()
		for slot := range Slots {
			old.Keep(slot, &note{engine.Seq(slot)})
		}
		c.change(v)
		v.inherit(old)
		kept := ""
		for slot := range Slots {
			if x := v.Kept(slot); x != nil {
				if x != old.Kept(slot) {
					t.Errorf("%s: another note of %s", name, names[slot])
				}
				kept += " " + names[slot]
			}
		}
		if kept != " "+c.kept {
			t.Errorf("%s: kept%s, want %s", name, kept, c.kept)
		}
	}
}

// The figures of what is kept are exact, for pairs of any number and each kind of record.
func TestStatsAreExact(t *testing.T) {
	f := NewFeed(Options{Retention: Retention{ClosedOrders: 3000, Fills: 5000, ClientIDs: 10}})
	same(t, Stats{}, f.Stats())
	f.cache.bytes.Store(1234)
	for k, id := range []engine.PairID{1, 4} {
		f.Fold([]engine.Event{addPair(id, fmt.Sprintf("A%d_USD", id))})
		p, n := f.pairs[id], k+1 // the second pair has twice of all
		p.sides[0].levels, p.sides[1].levels = 10*n, 100*n
		p.ring.view.first, p.ring.view.last, p.ring.young = 5, engine.TradeID(4+1000*n), uint64(7*n)
		p.ring.view.chunks = make([]*tradeChunk, 3*n)
		for i := range p.candles.series {
			p.candles.series[i].view.closed = (i + 1) * n
			p.candles.series[i].view.chunks = make([]*candleChunk, n)
		}
		p.window.buckets = queue[bucket]{buf: make([]bucket, 16*n), n: 12 * n}
		p.window.out = 2 * n
		p.window.highs.buf, p.window.lows.buf = make([]extreme, 8*n), make([]extreme, 32*n)
		p.orders.pages = []*idPage{nil, new(idPage), nil, new(idPage), new(idPage)}
	}
	h := f.history
	for range 900 {
		h.open.Alloc()
	}
	for i := range int32(50) {
		h.open.Release(i + 1)
	}
	h.closed.end, h.closed.chunks = 7000, make([]*[ringChunk]orderRec, 3)
	h.remembered.end, h.remembered.chunks = 25, make([]*[ringChunk]orderRec, 4)
	h.fills.end, h.fills.chunks = 6000, make([]*[ringChunk]fillRec, 5)
	for range 3 * 256 {
		h.extras.Alloc()
	}
	same(t, Stats{
		Pairs: 2, Levels: 330, Trades: 3000, TradeBytes: 9 * int64(unsafe.Sizeof(tradeChunk{})), DroppedYoung: 21,
		Candles: 165, CandleBytes: 30 * int64(unsafe.Sizeof(candleChunk{})), Seconds: 30,
		WindowBytes: 48*int64(unsafe.Sizeof(bucket{})) + 120*int64(unsafe.Sizeof(extreme{})), TextBytes: 1234,
		OpenOrders: 850, ClosedOrders: 3000, Remembered: 10, Fills: 5000,
		OrderBytes: 6*int64(unsafe.Sizeof(idPage{})) + 7*int64(unsafe.Sizeof([ringChunk]orderRec{})) +
			4*int64(unsafe.Sizeof([256]orderRec{})) + 4*int64(unsafe.Sizeof([256]orderExtra{})) +
			5*int64(unsafe.Sizeof([ringChunk]fillRec{})),
	}, f.Stats())
}

// A side gives the joined text of each directory that is large and wanted as a whole, and one text for each page else.
func TestTheDivisionOfASidesText(t *testing.T) {
	const joined = "joined"
	side := func(pages ...int) (s Side) {
		price := int64(1)
		for _, n := range pages {
			d := &directory{n: n}
			for k := range n {
				p := &Page{n: pageLevels}
				for i := range p.levels {
					p.levels[i] = Level{price, 1}
					price++
				}
				d.pages[k] = p
			}
			s.dirs = append(s.dirs, d)
			s.levels += n * pageLevels
		}
		return s
	}
	const large, small = joinedPages, joinedPages - 1
	for _, c := range []struct {
		pages []int
		n     int
		parts int
		join  []bool // the directory has a joined text afterwards
	}{
		{[]int{small}, 1 << 40, small, []bool{false}},
		{[]int{large}, 1 << 40, 1, []bool{true}},
		{[]int{large}, large * pageLevels, 1, []bool{true}},
		{[]int{large}, large*pageLevels - 1, large, []bool{false}},
		{[]int{large}, large*pageLevels + 1, 1, []bool{true}},
		{[]int{large, large}, large * pageLevels, 1, []bool{true, false}},
		{[]int{large, large}, large*pageLevels + 1, 2, []bool{true, false}},
		{[]int{large, large}, large*pageLevels + pageLevels, 2, []bool{true, false}},
		{[]int{large, large}, 2 * large * pageLevels, 2, []bool{true, true}},
		{[]int{small, large}, small * pageLevels, small, []bool{false, false}},
		{[]int{small, dirPages, small}, 1 << 40, 2*small + 1, []bool{false, true, false}},
		{[]int{large, small}, 0, 0, []bool{false, false}},
		{[]int{large, small}, -1, 0, []bool{false, false}},
		{[]int{small, small}, pageLevels, 1, []bool{false, false}},
		{[]int{small, small}, pageLevels + 1, 2, []bool{false, false}},
	} {
		s, text := side(c.pages...), texts{}
		s.Texts(PageBase, c.n, renderLevels, text.add)
		if len(text.parts) != c.parts {
			t.Errorf("%v, %d levels: %d parts, want %d", c.pages, c.n, len(text.parts), c.parts)
		}
		var levels []Level
		for l := range s.All {
			levels = append(levels, l)
		}
		levels = levels[:max(0, min(c.n, len(levels)))]
		same(t, string(renderLevels(nil, levels)), text.joined())
		same(t, levelsSum(levels), text.sum)
		for k, d := range s.dirs {
			if has := d.text[PageBase].Load() != nil; has != c.join[k] {
				t.Errorf("%v, %d levels: directory %d is %s: %v", c.pages, c.n, k, joined, has)
			}
			if d.text[PageAgg].Load() != nil {
				t.Error("a text of another kind")
			}
		}
		again := texts{}
		s.Texts(PageBase, c.n, func([]byte, []Level) []byte { t.Error("rendered again"); return nil }, again.add)
		same(t, text, again)
	}
}
