package binance

import (
	"math"
	"strconv"

	"tickhive/engine"
	"tickhive/marketdata"
	"tickhive/server/encode"
)

// rolling answers with the figures of the last minutes, hours or days: of the current minute and of the ones that
// the span before it touches.
func rolling(q *call) ([]byte, *failure) {
	size, err := q.windowSize()
	if err != nil {
		return nil, err
	}
	return q.windows(func(root *marketdata.Root) (fromSec, closeMs int64) {
		return marketdata.Minute.Floor(secondOf(root) - size), encode.FloorDiv(root.NowNs, msNs)
	})
}

// windowSize reads windowSize: 1m to 59m, 1h to 23h, 1d to 7d.
func (q *call) windowSize() (sec int64, err *failure) {
	text, given := q.text("windowSize")
	if !given {
		return daySec, nil
	}
	n, bad := strconv.Atoi(text[:len(text)-1])
	if bad == nil && n >= 1 && text[0] != '0' && text[0] != '+' {
		switch unit := text[len(text)-1]; {
		case unit == 'm' && n <= 59:
			return int64(n) * minuteSec, nil
		case unit == 'h' && n <= 23:
			return int64(n) * hourSec, nil
		case unit == 'd' && n <= 7:
			return int64(n) * daySec, nil
		}
	}
	return 0, invalid("windowSize")
}

// tradingDay answers with the figures of the current day in UTC.
func tradingDay(q *call) ([]byte, *failure) {
	if zone, given := q.text("timeZone"); given && zone != "0" && zone != "0:00" && zone != "00:00" {
		return nil, invalid("timeZone")
	}
	return q.windows(func(root *marketdata.Root) (fromSec, closeMs int64) {
		from := marketdata.Day.Floor(secondOf(root))
		return from, (from+daySec)*1000 - 1
	})
}

// windows answers with the figures since a second, for the pairs of the request, which must name some.
func (q *call) windows(span func(root *marketdata.Root) (fromSec, closeMs int64)) ([]byte, *failure) {
	views, root, given, err := q.views(maxRolling)
	if err == nil && !given {
		err = missing("symbol")
	}
	if err == nil {
		err = q.pay(min(4*len(views), 200))
	}
	if err != nil {
		return nil, err
	}
	full, err := q.full()
	if err != nil {
		return nil, err
	}
	from, closeMs := span(root)
	names := q.f.symbolsOf(root)
	return q.list(views, func(b []byte, v *marketdata.View) []byte {
		w := since(v, from)
		w.openMs, w.closeMs = from*1000, closeMs
		return w.append(q.f.open(b, names, v), v.Instrument, full)
	}), nil
}

// since returns the figures of a pair since the beginning of a minute, from the candles of minutes.
func since(v *marketdata.View, fromSec int64) *window {
	w := &window{last: v.Ticker.Last}
	minutes := v.Candles(marketdata.Minute)
	k := minutes.Fold(fromSec, math.MaxInt64)
	if k.Trades == 0 { // flat at the last price
		w.open, w.high, w.low = w.last, w.last, w.last
		return w
	}
	w.open, w.high, w.low, w.count = k.Open, k.High, k.Low, k.Trades
	w.volume, w.quote = k.Volume, k.QuoteVolume
	w.lastID = v.Trades.Last()
	w.firstID = w.lastID + 1 - min(w.lastID, engine.TradeID(w.count))
	return w
}
