package marketdata

import (
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// naiveTrade is a trade as in its event; the models below fold over all of them.
type naiveTrade struct {
	sec, ns       int64
	id            engine.TradeID
	price, amount int64
	taker         engine.Side
}

// naiveTrades returns the trades of a pair in recorded events.
func naiveTrades(events []engine.Event, pair engine.PairID) []naiveTrade {
	var out []naiveTrade
	for i := range events {
		if e := &events[i]; e.Kind == engine.EventTrade && e.Pair == pair {
			out = append(out, naiveTrade{time.Unix(0, e.TimeNs).Unix(), e.TimeNs, e.Trade, e.Price, e.Amount, e.Side})
		}
	}
	return out
}

// naiveTicker returns the window's figures at second now, computed from all trades as in
// docs/contract/market-data.md#ticker. The caller fills in bid, ask and the figures' change by
// the book.
func naiveTicker(trades []naiveTrade, now int64) Ticker {
	var t Ticker
	if len(trades) == 0 {
		return t
	}
	t.Ago24h = trades[0].price
	for _, tr := range trades {
		t.LastTrade, t.Last = tr.id, tr.price
		t.ChangedSec = max(t.ChangedSec, tr.sec)
		if tr.sec <= now-86400 {
			t.Ago24h = tr.price
			t.ChangedSec = max(t.ChangedSec, tr.sec+86400)
			continue
		}
		t.Volume = t.Volume.Add(fixed.FromU64(uint64(tr.amount)))
		t.QuoteVolume = t.QuoteVolume.Add(fixed.Mul64(uint64(tr.price), uint64(tr.amount)))
		if t.High == 0 || tr.price > t.High {
			t.High = tr.price
		}
		if t.Low == 0 || tr.price < t.Low {
			t.Low = tr.price
		}
	}
	return t
}

// naiveStart returns the start of the calendar interval that contains a second.
func naiveStart(i Interval, sec int64) int64 {
	t := time.Unix(sec, 0).UTC()
	y, mo, d := t.Date()
	h, mi := t.Hour(), t.Minute()
	switch i {
	case Minute, Minutes3, Minutes5, Minutes15, Minutes30:
		n := []int{1, 3, 5, 15, 30}[i]
		return time.Date(y, mo, d, h, mi/n*n, 0, 0, time.UTC).Unix()
	case Hour:
		return time.Date(y, mo, d, h, 0, 0, 0, time.UTC).Unix()
	case Hour4:
		return time.Date(y, mo, d, h/4*4, 0, 0, 0, time.UTC).Unix()
	case Day:
		return time.Date(y, mo, d, 0, 0, 0, 0, time.UTC).Unix()
	case Month:
		return time.Date(y, mo, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
}

// naiveCandles returns all candles of an interval.
func naiveCandles(trades []naiveTrade, i Interval) []Candle {
	var out []Candle
	for _, tr := range trades {
		start := naiveStart(i, tr.sec)
		if n := len(out); n == 0 || out[n-1].Start != start {
			out = append(out, Candle{Start: start, Open: tr.price, High: tr.price, Low: tr.price})
		}
		c := &out[len(out)-1]
		c.High, c.Low, c.Close = max(c.High, tr.price), min(c.Low, tr.price), tr.price
		c.Volume = c.Volume.Add(fixed.FromU64(uint64(tr.amount)))
		c.QuoteVolume = c.QuoteVolume.Add(fixed.Mul64(uint64(tr.price), uint64(tr.amount)))
		c.Trades++
		if tr.taker == engine.Buy {
			c.TakerVolume = c.TakerVolume.Add(fixed.FromU64(uint64(tr.amount)))
			c.TakerQuote = c.TakerQuote.Add(fixed.Mul64(uint64(tr.price), uint64(tr.amount)))
		}
	}
	return out
}

// isRequestedCancel reports whether a client's cancel caused e.
func isRequestedCancel(e *engine.Event) bool {
	return e.Kind == engine.EventCanceled && e.Cause == engine.CauseRequest
}
