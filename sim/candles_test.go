package sim

import (
	"os"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
)

// tape collects every trade event.
type tape struct {
	sequencer.Sink
	trades []engine.Event
}

func (s *tape) Fold(events []engine.Event, pos uint64) {
	for i := range events {
		if events[i].Kind == engine.EventTrade {
			s.trades = append(s.trades, events[i])
		}
	}
	s.Sink.Fold(events, pos)
}

// floor returns the start of the calendar interval that contains a second.
func floor(i marketdata.Interval, sec int64) int64 {
	at := time.Unix(sec, 0).UTC()
	switch i {
	case marketdata.Month:
		return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC).Unix()
	case marketdata.Year:
		return time.Date(at.Year(), 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	length := []int64{60, 180, 300, 900, 1800, 3600, 14400, 86400}[i]
	return sec - sec%length
}

func TestBackfilledCandlesEqualAFoldOverAllTrades(t *testing.T) {
	t.Parallel()
	days, pairs := 1, testPairs()[:4]
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		days, pairs = 7, testPairs()
	}
	b := newBenchWith(t, 12, pairs, nil)
	b.loop.Stop()
	rec := &tape{Sink: b.Feed.Sink()}
	b.startWith(t, testStart, nil, rec)
	began := time.Now()
	if err := b.loop.AdvanceQuietly(testStart + int64(days)*24*int64(time.Hour)); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d days of %d pairs: %d trades in %v", days, len(b.ids), len(rec.trades), time.Since(began))
	root := b.Feed.Board().Load()
	compared := 0
	for i := range marketdata.Interval(marketdata.Intervals) {
		want := make([][]marketdata.Candle, len(b.ids))
		for k := range rec.trades {
			ev := &rec.trades[k]
			want[ev.Pair] = add(want[ev.Pair], ev, floor(i, ev.TimeNs/int64(time.Second)))
		}
		for p := range want {
			got := root.View(b.ids[p]).Candles(i)
			if got.Len() != len(want[p]) {
				t.Errorf("pair %d, %s: %d candles, want %d", p, i, got.Len(), len(want[p]))
				continue
			}
			for k := range want[p] {
				if got.At(k) != want[p][k] {
					t.Errorf("pair %d, %s: candle %+v, want %+v", p, i, got.At(k), want[p][k])
					break
				}
				compared++
			}
		}
	}
	if compared < days*1000*len(b.ids) {
		t.Errorf("only %d candles were compared", compared)
	}
}

func add(candles []marketdata.Candle, ev *engine.Event, start int64) []marketdata.Candle {
	n := len(candles)
	if n == 0 || candles[n-1].Start != start {
		candles = append(candles, marketdata.Candle{Start: start, Open: ev.Price, High: ev.Price, Low: ev.Price})
		n++
	}
	c := &candles[n-1]
	c.High, c.Low, c.Close = max(c.High, ev.Price), min(c.Low, ev.Price), ev.Price
	amount, quote := fixed.FromU64(uint64(ev.Amount)), fixed.Mul64(uint64(ev.Price), uint64(ev.Amount))
	c.Volume, c.QuoteVolume = c.Volume.Add(amount), c.QuoteVolume.Add(quote)
	if ev.Side == engine.Buy {
		c.TakerVolume, c.TakerQuote = c.TakerVolume.Add(amount), c.TakerQuote.Add(quote)
	}
	c.Trades++
	return candles
}
