package public

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"tickhive/aggregator"
	"tickhive/engine"
	"tickhive/marketdata"
	"tickhive/server/edge"
)

// docMarket is a feed of pairs with a book of 60 a side and 200 trades, and roots of it
// that differ by one trade and one level of the first pair each.
type docMarket struct {
	core  *engine.Core
	feed  *marketdata.Feed
	out   []engine.Event
	nowNs int64
}

func newDocMarket(pairs int) *docMarket {
	m := &docMarket{
		core: engine.NewCore(engine.Options{}), feed: marketdata.NewFeed(marketdata.Options{}),
		nowNs: 1_767_225_600_000_000_000,
	}
	for p := range engine.PairID(pairs) {
		m.pair(p)
		for k := int64(1); k <= 60; k++ {
			m.apply(engine.Command{
				Kind: engine.Place, Pair: p, Side: engine.Buy,
				Price: 6_500_000 - k, Amount: k * 12_345_678,
			})
			m.apply(engine.Command{
				Kind: engine.Place, Pair: p, Side: engine.Sell,
				Price: 6_500_000 + k, Amount: k << 50,
			})
		}
		for range 200 {
			m.apply(engine.Command{Kind: engine.Place, Pair: p, Side: engine.Buy, Price: 6_500_001, Amount: 123_456})
		}
	}
	m.feed.Publish(m.nowNs)
	return m
}

func (m *docMarket) pair(p engine.PairID) {
	code := fmt.Sprintf("P%04d", p)
	m.apply(engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &engine.Instrument{
		Code: code + "_USDT", Base: code, Quote: "USDT", DigitsPrice: 2, DigitsAmount: 8,
	}})
}

func (m *docMarket) apply(cmd engine.Command) {
	m.nowNs += 1_000_000
	cmd.TimeNs = m.nowNs
	m.out = m.core.Apply(&cmd, m.out[:0])
	m.feed.Fold(m.out)
}

// next trades once at the touch and changes a level further down.
func (m *docMarket) next() *marketdata.Root {
	m.apply(engine.Command{Kind: engine.Place, Side: engine.Buy, Price: 6_499_970, Amount: 10_000})
	m.apply(engine.Command{Kind: engine.Place, Side: engine.Buy, Price: 6_500_001, Amount: 10_000})
	m.feed.Publish(m.nowNs)
	return m.feed.Board().Load()
}

// BenchmarkDocument measures docs/internals/performance.md#h4 by itself: a document made after one
// change, allocation included: doc-ns/op, without the change. The copies cost as much as a document of
// that size costs when all its text is at hand: fresh memory, a copy and the hash of its tag.
func BenchmarkDocument(b *testing.B) {
	board := marketdata.NewFeed(marketdata.Options{}).Board()
	s := &Market{board: board}
	aggregatorRoutes(s)
	marketRoutes(s)
	for _, c := range []struct {
		name  string
		pairs int
		make  func(r *marketdata.Root) *marketdata.Doc
	}{
		{"book40x40", 1, func(r *marketdata.Root) *marketdata.Doc { return baseBookDoc(r.View(0), 0) }},
		{"aggBook100", 1, func(r *marketdata.Root) *marketdata.Doc { return aggBookDoc(r.View(0), 50, 0) }},
		{"deals100", 1, func(r *marketdata.Root) *marketdata.Doc { return firstDealsDoc(r.View(0), 0) }},
		{"aggTrades100", 1, func(r *marketdata.Root) *marketdata.Doc {
			v := r.View(0)
			f := aggregator.Filter{StartMs: -1 << 63, EndMs: 1<<63 - 1, Buy: true, Sell: true, Limit: cachedTrades}
			return aggTradesDoc(v, aggregator.Select(&v.Trades, f), 0)
		}},
		{"tickers100", 100, func(r *marketdata.Root) *marketdata.Doc {
			return s.docs.aggTickers.get(r, func() int64 { return 0 })
		}},
		{"tickers1000", 1000, func(r *marketdata.Root) *marketdata.Doc {
			now := int64(r.Gen) * sharedFloorNs
			return s.docs.aggTickers.get(r, func() int64 { return now })
		}},
		{"copy12532", 1, copyOf(12_532)},
		{"copy19201", 1, copyOf(19_201)},
		{"copy21692", 100, copyOf(21_692)},
		{"copy216992", 1000, copyOf(216_992)},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := newDocMarket(c.pairs)
			s.docs.aggTickers.cur.Store(nil)
			var spent time.Duration
			for range b.N {
				root := m.next()
				start := time.Now()
				c.make(root)
				spent += time.Since(start)
			}
			b.ReportMetric(float64(spent)/float64(b.N), "doc-ns/op")
		})
	}
}

func copyOf(size int) func(*marketdata.Root) *marketdata.Doc {
	text := bytes.Repeat([]byte("x"), size)
	return func(*marketdata.Root) *marketdata.Doc {
		return edge.NewDoc(bytes.Join([][]byte{text[:size/2], text[size/2:]}, nil), 1, 0)
	}
}
