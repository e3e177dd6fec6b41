package sim

import (
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/marketdata"
)

// testStart is a Monday, 2026-01-05T00:00:00Z.
const testStart = int64(1767571200) * int64(time.Second)

// bench is a market with its loop and market data on a virtual clock.
type bench struct {
	*markettest.Market
	loop   *markettest.Loop
	market *Market
	ids    []engine.PairID
}

func testPairs() []Pair {
	return []Pair{
		{"BTC_USDT", 6_500_000, 100},
		{"ETH_USDT", 340_000, 70},
		{"SOL_USDT", 15_000, 40},
		{"BNB_USDT", 58_000, 25},
		{"XRP_USDT", 5_200, 25},
		{"DOGE_USDT", 12_000, 18},
		{"ADA_USDT", 4_500, 12},
		{"LTC_USDT", 8_200, 8},
		{"ETH_BTC", 5_230, 10},
		{"SOL_BTC", 2_308, 3},
		{"BTC_EUR", 6_000_000, 9},
		{"ETH_EUR", 314_000, 5},
	}
}

var testDigits = map[string][2]int{
	"BTC_USDT": {2, 5}, "ETH_USDT": {2, 4}, "SOL_USDT": {2, 3}, "BNB_USDT": {2, 3}, "XRP_USDT": {4, 1},
	"DOGE_USDT": {5, 0}, "ADA_USDT": {4, 1}, "LTC_USDT": {2, 3}, "ETH_BTC": {5, 3}, "SOL_BTC": {6, 2},
	"BTC_EUR": {2, 5}, "ETH_EUR": {2, 4},
}

func instrument(code string) *engine.Instrument {
	d := testDigits[code]
	ins := markettest.Instrument(code, d[0], d[1])
	ins.HasMinQuote = true
	ins.MinQuote = defaultSmallest(ins)
	return ins
}

func newBench(t testing.TB, seed uint64, pairs []Pair) *bench {
	t.Helper()
	return newBenchWith(t, seed, pairs, nil)
}

func newBenchWith(t testing.TB, seed uint64, pairs []Pair, journal sequencer.Journal) *bench {
	t.Helper()
	b := &bench{Market: markettest.New(marketdata.Options{})}
	b.Clock.Set(testStart)
	b.market = New(Options{Core: b.Core, Seed: seed, StartNs: testStart, Pairs: pairs})
	b.start(t, testStart, journal)
	instruments := make([]*engine.Instrument, 0, len(pairs))
	for _, p := range pairs {
		instruments = append(instruments, instrument(p.Code))
	}
	b.ids = b.loop.AddPairs(instruments...)
	return b
}

// start runs a loop over the market at nowNs.
func (b *bench) start(t testing.TB, nowNs int64, journal sequencer.Journal) {
	b.startWith(t, nowNs, journal, b.Feed.Sink())
}

func (b *bench) startWith(t testing.TB, nowNs int64, journal sequencer.Journal, sink sequencer.Sink) {
	t.Helper()
	b.Clock.Set(nowNs)
	b.loop = b.Run(t, sequencer.LoopOptions{
		Journal: journal, Show: sequencer.Synced, StartNs: nowNs,
		Sinks: []sequencer.Sink{sink}, Sources: []sequencer.Source{b.market},
	})
}

func TestWithinTwoSecondsEveryPairIsAlive(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, testPairs())
	b.advance(t, 2*time.Second)
	for _, id := range b.ids {
		v := b.Feed.Board().Load().View(id)
		bid, _ := v.Bids.Best()
		ask, _ := v.Asks.Best()
		if v.Bids.Len() < 50 || v.Asks.Len() < 50 || ask.Price <= bid.Price || v.Trades.Len() == 0 {
			t.Errorf("%s: %d bids, %d asks, spread %d, %d trades", v.Instrument.Code, v.Bids.Len(), v.Asks.Len(),
				ask.Price-bid.Price, v.Trades.Len())
		}
	}
}

func TestNoAgentIsRefusedAndOrdersStayBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, 11, testPairs())
	for h := 1; h <= 6; h++ {
		b.advance(t, time.Duration(h)*time.Hour)
		for i, id := range b.ids {
			most := 2*levelsMax + 8
			if testPairs()[i].Weight >= majorWeight {
				most = 2*majorLevelsMax + 40
			}
			if n := b.Core.OpenOrders(id); n > most {
				t.Errorf("pair %d has %d open orders after %d hours", id, n, h)
			}
		}
	}
	if n := b.loop.Stats().Rejected.Load(); n != 0 {
		t.Errorf("%d commands were refused", n)
	}
}

// BenchmarkBackfillOf25Hours measures the wait of make run, without the journal.
func BenchmarkBackfillOf25Hours(b *testing.B) {
	for b.Loop() {
		m := newBench(b, 1, testPairs())
		if err := m.loop.AdvanceQuietly(testStart + 25*int64(time.Hour)); err != nil {
			b.Fatal(err)
		}
		s := m.loop.Stats()
		b.ReportMetric(float64(s.Commands.Load()), "commands")
		b.ReportMetric(float64(s.Trades.Load()), "trades")
	}
}
