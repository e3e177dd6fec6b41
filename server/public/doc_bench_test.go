package public

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/tickhive/tickhive/aggregator"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/doc"
)

// docMarket is a market without a loop whose clock passes a millisecond a command.
type docMarket struct{ *markettest.Market }

// newDocMarket returns a market of pairs with a book of 60 levels a side and 200 trades each.
func newDocMarket(pairs int) docMarket {
	m := docMarket{markettest.New(marketdata.Options{})}
	for p := range engine.PairID(pairs) {
		m.pair(p)
		for k := int64(1); k <= 60; k++ {
			m.Limit(p, engine.Buy, 6_500_000-k, k*12_345_678)
			m.Limit(p, engine.Sell, 6_500_000+k, k<<50)
		}
		for range 200 {
			m.Limit(p, engine.Buy, 6_500_001, 123_456)
		}
	}
	m.Publish()
	return m
}

func (m docMarket) pair(p engine.PairID) {
	m.AddPair(markettest.Instrument(fmt.Sprintf("P%04d_USDT", p), 2, 8))
}

// Limit places a limit order a millisecond after the one before.
func (m docMarket) Limit(p engine.PairID, side engine.Side, price, amount int64) {
	m.Pass(1_000_000)
	m.Market.Limit(p, side, price, amount)
}

// next trades once at the touch and changes a level further down.
func (m docMarket) next() *marketdata.Root {
	m.Limit(0, engine.Buy, 6_499_970, 10_000)
	m.Limit(0, engine.Buy, 6_500_001, 10_000)
	m.Publish()
	return m.Feed.Board().Load()
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
		make  func(r *marketdata.Root) *doc.Doc
	}{
		{"book40x40", 1, func(r *marketdata.Root) *doc.Doc { return baseBookDoc(r.View(0), 0) }},
		{"aggBook100", 1, func(r *marketdata.Root) *doc.Doc { return aggBookDoc(r.View(0), 50, 0) }},
		{"deals100", 1, func(r *marketdata.Root) *doc.Doc { return firstDealsDoc(r.View(0), 0) }},
		{"aggTrades100", 1, func(r *marketdata.Root) *doc.Doc {
			v := r.View(0)
			f := aggregator.Filter{StartMs: -1 << 63, EndMs: 1<<63 - 1, Buy: true, Sell: true, Limit: cachedTrades}
			return aggTradesDoc(v, aggregator.Select(&v.Trades, f), 0)
		}},
		{"tickers100", 100, func(r *marketdata.Root) *doc.Doc {
			return s.docs.aggTickers.get(r, func() int64 { return 0 })
		}},
		{"tickers1000", 1000, func(r *marketdata.Root) *doc.Doc {
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

func copyOf(size int) func(*marketdata.Root) *doc.Doc {
	text := bytes.Repeat([]byte("x"), size)
	return func(*marketdata.Root) *doc.Doc {
		return doc.New(bytes.Join([][]byte{text[:size/2], text[size/2:]}, nil), 1, 0)
	}
}
