package sim

import (
	"testing"
	"time"

	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

// testStart is a Monday, 2026-01-05T00:00:00Z.
const testStart = int64(1767571200) * int64(time.Second)

// bench is a market with its loop and market data on a virtual clock.
type bench struct {
	core   *engine.Core
	feed   *marketdata.Feed
	loop   *engine.Loop
	market *Market
	ids    []engine.PairID
}

func testPairs() []Pair {
	return []Pair{
		{"BTC_USDT", 6_500_000, 100}, {"ETH_USDT", 340_000, 70}, {"SOL_USDT", 150_000, 40}, {"BNB_USDT", 58_000, 25},
		{"XRP_USDT", 52_000, 25}, {"DOGE_USDT", 120_000, 18}, {"ADA_USDT", 45_000, 12}, {"LTC_USDT", 8_200, 8},
		{"ETH_BTC", 52_300, 10}, {"SOL_BTC", 23_080, 3}, {"BTC_EUR", 6_000_000, 9}, {"ETH_EUR", 314_000, 5},
	}
}

var testDigits = map[string][2]int{
	"BTC_USDT": {2, 8}, "ETH_USDT": {2, 8}, "SOL_USDT": {3, 6}, "BNB_USDT": {2, 6}, "XRP_USDT": {5, 4}, "DOGE_USDT": {6, 2},
	"ADA_USDT": {5, 3}, "LTC_USDT": {2, 6}, "ETH_BTC": {6, 6}, "SOL_BTC": {7, 5}, "BTC_EUR": {2, 8}, "ETH_EUR": {2, 8},
}

func instrument(code string) *engine.Instrument {
	var base, quoted string
	for i := range code {
		if code[i] == '_' {
			base, quoted = code[:i], code[i+1:]
		}
	}
	d := testDigits[code]
	ins := &engine.Instrument{Code: code, Base: base, Quote: quoted, DigitsPrice: d[0], DigitsAmount: d[1], HasMinQuote: true}
	ins.MinQuote = defaultSmallest(ins)
	return ins
}

func newBench(t testing.TB, seed uint64, pairs []Pair) *bench {
	t.Helper()
	b := &bench{core: engine.NewCore(engine.Options{}), feed: marketdata.NewFeed(marketdata.Options{})}
	b.market = New(Options{Core: b.core, Seed: seed, StartNs: testStart, Pairs: pairs})
	b.loop = engine.NewLoop(engine.LoopOptions{
		Core: b.core, Clock: clock.NewManual(testStart), Sinks: []engine.Sink{b.feed.Sink()}, Sources: []engine.Source{b.market},
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.loop.Run()
	}()
	t.Cleanup(func() {
		b.loop.Stop()
		<-done
	})
	var batch engine.Batch
	for _, p := range pairs {
		batch.Commands = append(batch.Commands, engine.Command{
			Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: instrument(p.Code),
		})
	}
	batch.Collect = func(_ int, _ *engine.Command, events []engine.Event) { b.ids = append(b.ids, events[0].Pair) }
	if err := b.loop.Submit(&batch); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestZZ(t *testing.T) {
	b := newBench(t, 1, testPairs())
	t0 := time.Now()
	if err := b.loop.AdvanceTo(testStart + 25*int64(time.Hour)); err != nil {
		t.Fatal(err)
	}
	s := b.loop.Stats()
	t.Logf("%v commands %d events %d trades %d refused %d", time.Since(t0), s.Commands.Load(), s.Events.Load(), s.Trades.Load(), s.Rejected.Load())
	for _, id := range b.ids {
		v := b.feed.Board().Load().View(id)
		bb, _ := v.Bids.Best()
		ba, _ := v.Asks.Best()
		c := &v.Candles[marketdata.Minute]
		t.Logf("%s bids %d asks %d spread %d/100bp trades %d minutes %d last %d vol %v quote %v", v.Instrument.Code, v.Bids.Len(), v.Asks.Len(),
			(ba.Price-bb.Price)*1000000/ba.Price, v.Trades.Last(), c.Len(), v.Ticker.Last, v.Ticker.Volume, string(fixed.AppendU128(nil, v.Ticker.QuoteVolume, v.Instrument.DigitsTotal())))
	}
}
