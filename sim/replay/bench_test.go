package replay

import (
	"context"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/marketdata"
)

// BenchmarkTrades measures a recorded trade from the file to the folded market data, with the trades one by one and in
// batches; core is the reference: the same commands, applied without a loop.
func BenchmarkTrades(b *testing.B) {
	const trades = 20_000
	path := tradesFile(b, trades)
	for _, c := range []struct {
		name  string
		batch int
	}{{"batch=1", 1}, {"batch=512", printBatch}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				r, err := New(Options{Format: "trades", Files: []string{path}})
				if err != nil {
					b.Fatal(err)
				}
				r.batch = c.batch
				m := newTestMarket(b, r)
				if _, err := r.Run(context.Background(), m.loop, m.pair, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/trades, "ns/trade")
		})
	}
	b.Run("core", func(b *testing.B) {
		for b.Loop() {
			m := markettest.New(marketdata.Options{})
			p := m.AddPair(&engine.Instrument{
				Code: "AA_BB", Base: "AA", Quote: "BB", DigitsPrice: 1, DigitsAmount: 1,
			})
			for i := range trades {
				price := int64(100 + i%7)
				m.Limit(p, engine.Sell, price, int64(1+i%9))
				m.Limit(p, engine.Buy, price, int64(1+i%9))
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/trades, "ns/trade")
	})
}
