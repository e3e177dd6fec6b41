package binance

import (
	"math"
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/encode"
)

// Limits of the pairs in the parameter symbols: maxTickers for the tickers, maxRolling for the tickers of a rolling
// window.
const (
	maxTickers = 1000
	maxRolling = 100
)

// payTickers counts the weight of an answer about one pair or several.
func (q *call) payTickers(n int, given bool) *failure {
	if given && n == 1 {
		return q.pay(2)
	}
	return q.pay(4)
}

// list answers with one row a pair: an object if the request names one pair, otherwise an array.
func (q *call) list(views []*marketdata.View, row func(b []byte, v *marketdata.View) []byte) []byte {
	if len(views) == 1 && q.sent("symbol") {
		return row(nil, views[0])
	}
	b := []byte{'['}
	for _, v := range views {
		b = append(row(b, v), ',')
	}
	return append(trimComma(b), ']')
}

// open appends the first member of a row.
func (f *Facade) open(b []byte, names *symbols, v *marketdata.View) []byte {
	return append(append(append(b, `{"symbol":"`...), names.of(v.Instrument)...), '"')
}

func price(q *call) ([]byte, *failure) {
	views, root, given, err := q.views(maxTickers)
	if err == nil {
		err = q.payTickers(len(views), given)
	}
	if err != nil {
		return nil, err
	}
	names := q.f.symbolsOf(root)
	return q.list(views, func(b []byte, v *marketdata.View) []byte {
		b = appendQuoted(append(q.f.open(b, names, v), ','), "price", v.Ticker.Last, v.Instrument.DigitsPrice)
		return append(b, '}')
	}), nil
}

func bookTicker(q *call) ([]byte, *failure) {
	views, root, given, err := q.views(maxTickers)
	if err == nil {
		err = q.payTickers(len(views), given)
	}
	if err != nil {
		return nil, err
	}
	names := q.f.symbolsOf(root)
	return q.list(views, func(b []byte, v *marketdata.View) []byte {
		return append(appendTouch(append(q.f.open(b, names, v), ','), v), '}')
	}), nil
}

// appendTouch appends the best levels; a side without orders has zeros.
func appendTouch(b []byte, v *marketdata.View) []byte {
	bid, _ := v.Bids.Best()
	ask, _ := v.Asks.Best()
	b = appendQuoted(b, "bidPrice", bid.Price, v.Instrument.DigitsPrice)
	b = appendQuoted(append(b, ','), "bidQty", bid.Amount, v.Instrument.DigitsAmount)
	b = appendQuoted(append(b, ','), "askPrice", ask.Price, v.Instrument.DigitsPrice)
	return appendQuoted(append(b, ','), "askQty", ask.Amount, v.Instrument.DigitsAmount)
}

// window holds the figures of a span of time.
type window struct {
	open, high, low, last int64
	volume                fixed.U128
	quote                 fixed.U128
	openMs, closeMs       int64
	firstID, lastID       engine.TradeID
	count                 int64
}

// day returns the figures of the last 24 hours, which the pair's ticker has.
func day(root *marketdata.Root, v *marketdata.View) *window {
	t, now := &v.Ticker, secondOf(root)
	w := &window{
		open: t.Ago24h, high: t.High, low: t.Low, last: t.Last, volume: t.Volume, quote: t.QuoteVolume,
		openMs: encode.FloorDiv(root.NowNs, msNs) - 1000*daySec, closeMs: encode.FloorDiv(root.NowNs, msNs),
	}
	w.countFrom(v, (now-daySec+1)*1_000_000_000)
	return w
}

// countFrom counts the kept trades since a time.
func (w *window) countFrom(v *marketdata.View, ns int64) {
	t := &v.Trades
	if low := t.Search(ns); t.Len() > 0 && low <= t.Last() {
		w.firstID, w.lastID, w.count = low, t.Last(), int64(t.Last()-low)+1
	}
}

// append appends the members of the window that every form has, and with full also the members of the form FULL.
func (w *window) append(b []byte, in *engine.Instrument, full bool) []byte {
	if full {
		b = append(w.appendChange(append(b, ','), in), ',')
	} else {
		b = append(b, ',')
	}
	b = appendQuoted(b, "openPrice", w.open, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "highPrice", w.high, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "lowPrice", w.low, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "lastPrice", w.last, in.DigitsPrice)
	b = appendQuoted128(append(b, ','), "volume", w.volume, in.DigitsAmount)
	b = appendQuoted128(append(b, ','), "quoteVolume", w.quote, in.DigitsTotal())
	b = strconv.AppendInt(append(b, `,"openTime":`...), w.openMs, 10)
	b = strconv.AppendInt(append(b, `,"closeTime":`...), w.closeMs, 10)
	first, last := int64(w.firstID), int64(w.lastID)
	if w.count == 0 {
		first, last = -1, -1
	}
	b = strconv.AppendInt(append(b, `,"firstId":`...), first, 10)
	b = strconv.AppendInt(append(b, `,"lastId":`...), last, 10)
	return append(strconv.AppendInt(append(b, `,"count":`...), w.count, 10), '}')
}

// appendChange appends the change of the price and the average.
func (w *window) appendChange(b []byte, in *engine.Instrument) []byte {
	b = append(fixed.AppendI128(append(b, `"priceChange":"`...),
		fixed.FromI64(w.last).Sub(fixed.FromI64(w.open)), in.DigitsPrice), '"')
	b = append(fixed.AppendI128(append(b, `,"priceChangePercent":"`...),
		fixed.PercentChangeHalfEven(w.last, w.open), fixed.QuotientDigits), '"')
	return w.appendAverage(append(b, ','), "weightedAvgPrice", in)
}

// appendAverage appends the average price of the trades in the window, 0 without trades.
func (w *window) appendAverage(b []byte, name string, in *engine.Instrument) []byte {
	amount := w.volume
	if amount.IsZero() {
		amount = fixed.FromU64(1) // w.quote is 0
	}
	b = append(append(append(b, '"'), name...), `":"`...)
	return append(fixed.AppendAverageHalfEven(b, w.quote, amount, in.DigitsPrice), '"')
}

// full reports whether the request wants the form FULL.
func (q *call) full() (full bool, err *failure) {
	form, err := q.word("type", "FULL", "MINI")
	return form == "FULL", err
}

func ticker24h(q *call) ([]byte, *failure) {
	views, root, given, err := q.views(maxTickers)
	if err != nil {
		return nil, err
	}
	weight := 80
	switch {
	case given && len(views) <= 20:
		weight = 2
	case given && len(views) <= 100:
		weight = 40
	}
	if err := q.pay(weight); err != nil {
		return nil, err
	}
	full, err := q.full()
	if err != nil {
		return nil, err
	}
	names := q.f.symbolsOf(root)
	return q.list(views, func(b []byte, v *marketdata.View) []byte {
		w, in := day(root, v), v.Instrument
		b = q.f.open(b, names, v)
		if full {
			b = appendQuoted(append(b, ','), "prevClosePrice", w.open, in.DigitsPrice)
			b = appendQuoted(append(b, ','), "lastQty", lastAmount(v), in.DigitsAmount)
			b = appendTouch(append(b, ','), v)
		}
		return w.append(b, in, full)
	}), nil
}

// lastAmount returns the amount of the newest trade, 0 without one.
func lastAmount(v *marketdata.View) int64 {
	if v.Trades.Len() == 0 {
		return 0
	}
	return v.Trades.At(v.Trades.Last()).Amount
}

// avgPrice answers with the average price of the last five minutes, or the last price if they have no trade.
func avgPrice(q *call) ([]byte, *failure) {
	const minutes = 5
	text, err := q.required("symbol")
	if err != nil {
		return nil, err
	}
	root := q.f.opt.Board.Load()
	v, err := q.f.lookup(root, text)
	if err != nil {
		return nil, err
	}
	var w window
	t := &v.Trades
	for id := t.Search(root.NowNs - minutes*minuteNs + 1); t.Len() > 0 && id <= t.Last(); id++ {
		one := t.At(id)
		w.volume = w.volume.AddSat(fixed.FromU64(uint64(one.Amount)))
		w.quote = w.quote.AddSat(fixed.Mul64(uint64(one.Price), uint64(one.Amount)))
	}
	if w.volume.IsZero() {
		w.volume, w.quote = fixed.FromU64(1), fixed.FromU64(uint64(v.Ticker.Last))
	}
	b := strconv.AppendInt([]byte(`{"mins":`), minutes, 10)
	b = w.appendAverage(append(b, ','), "price", v.Instrument)
	at := int64(0)
	if t.Len() > 0 {
		at = t.At(t.Last()).TimeNs
	}
	return append(encode.AppendMs(append(b, `,"closeTime":`...), at), '}'), nil
}

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
