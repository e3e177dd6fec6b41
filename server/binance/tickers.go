package binance

import (
	"math"
	"slices"
	"strconv"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
)

// Limits of the pairs in the parameter symbols: maxTickers for the tickers, maxRolling for the tickers of a rolling
// window.
const (
	maxTickers = 1000
	maxRolling = 100
)

// tickers returns the pairs of a request for tickers that have its symbolStatus, and pays what weigh says for their
// number. given is false for a request that names none. A request that names pairs wrongly pays as for one.
func (q *call) tickers(most int, weigh func(n int, given bool) int) ([]*marketdata.View, *marketdata.Root, *failure) {
	views, root, given, err := q.views(most)
	if refused := q.pay(weigh(max(len(views), 1), given || err != nil)); refused != nil {
		return nil, nil, refused
	}
	if err != nil {
		return nil, nil, err
	}
	status, err := q.symbolStatus()
	if err != nil || status == "" {
		return views, root, err
	}
	views = slices.DeleteFunc(views, func(v *marketdata.View) bool { return statusOf(v.Instrument.State) != status })
	if len(views) == 0 && q.given("symbol") {
		err = otherStatus()
	}
	return views, root, err
}

// weighSmall is the weight of small tickers: of a pair, or of a list, even one of a single pair.
func (q *call) weighSmall(int, bool) int {
	if q.given("symbol") {
		return 2
	}
	return 4
}

// list answers with one row a pair: an object if the request names one pair, otherwise an array.
func (q *call) list(
	root *marketdata.Root, views []*marketdata.View, row func(w *json.Writer, v *marketdata.View),
) []byte {
	w := q.writer()
	names := q.f.symbolsOf(root)
	one := len(views) == 1 && q.sent("symbol")
	if !one {
		w.List()
	}
	for _, v := range views {
		w.Object()
		w.Name("symbol").Word(names.of(v.Instrument))
		row(&w, v)
		w.EndObject()
	}
	if !one {
		w.EndList()
	}
	return w.Bytes()
}

func price(q *call) ([]byte, *failure) {
	views, root, err := q.tickers(maxTickers, q.weighSmall)
	if err != nil {
		return nil, err
	}
	return q.list(root, views, func(w *json.Writer, v *marketdata.View) {
		w.Name("price").Units(v.Ticker.Last, v.Instrument.DigitsPrice)
	}), nil
}

func bookTicker(q *call) ([]byte, *failure) {
	views, root, err := q.tickers(maxTickers, q.weighSmall)
	if err != nil {
		return nil, err
	}
	return q.list(root, views, writeTouch), nil
}

// writeTouch writes the best levels; a side without orders has zeros.
func writeTouch(w *json.Writer, v *marketdata.View) {
	bid, _ := v.Bids.Best()
	ask, _ := v.Asks.Best()
	w.Name("bidPrice").Units(bid.Price, v.Instrument.DigitsPrice)
	w.Name("bidQty").Units(bid.Amount, v.Instrument.DigitsAmount)
	w.Name("askPrice").Units(ask.Price, v.Instrument.DigitsPrice)
	w.Name("askQty").Units(ask.Amount, v.Instrument.DigitsAmount)
}

// window holds the figures of a span of time.
type window struct {
	open, high, low, last int64
	volume                fixed.U128
	quote                 fixed.U128
	openNs, closeNs       int64
	firstID, lastID       engine.TradeID
	count                 int64
}

// day returns the figures of the last 24 hours, which the pair's ticker has.
func day(root *marketdata.Root, v *marketdata.View) *window {
	t, now := &v.Ticker, secondOf(root)
	w := &window{
		open: t.Ago24h, high: t.High, low: t.Low, last: t.Last, volume: t.Volume, quote: t.QuoteVolume,
		openNs: root.NowNs - daySec*secNs, closeNs: root.NowNs,
	}
	w.countFrom(v, (now-daySec+1)*1_000_000_000)
	return w
}

// countFrom counts the kept trades since a time.
func (f *window) countFrom(v *marketdata.View, ns int64) {
	t := &v.Trades
	if low := t.Search(ns); t.Len() > 0 && low <= t.Last() {
		f.firstID, f.lastID, f.count = low, t.Last(), int64(t.Last()-low)+1
	}
}

// write writes the members of the window that every form has, and with full also the members of the form FULL.
func (f *window) write(w *json.Writer, in *engine.Instrument, full bool) {
	if full {
		f.writeChange(w, in)
	}
	f.writeRange(w, in)
	w.Name("lastPrice").Units(f.last, in.DigitsPrice)
	f.writeSums(w, in)
}

func (f *window) writeChange(w *json.Writer, in *engine.Instrument) {
	w.Name("priceChange").Signed(fixed.FromI64(f.last).Sub(fixed.FromI64(f.open)), in.DigitsPrice)
	w.Name("priceChangePercent").Signed(fixed.PercentChangeHalfEven(f.last, f.open), fixed.QuotientDigits)
	f.writeAverage(w.Name("weightedAvgPrice"), in)
}

func (f *window) writeRange(w *json.Writer, in *engine.Instrument) {
	w.Name("openPrice").Units(f.open, in.DigitsPrice)
	w.Name("highPrice").Units(f.high, in.DigitsPrice)
	w.Name("lowPrice").Units(f.low, in.DigitsPrice)
}

func (f *window) writeSums(w *json.Writer, in *engine.Instrument) {
	w.Name("volume").Sum(f.volume, in.DigitsAmount)
	w.Name("quoteVolume").Sum(f.quote, in.DigitsTotal())
	w.Name("openTime").Time(f.openNs)
	w.Name("closeTime").Time(f.closeNs)
	first, last := f.ids()
	w.Name("firstId").Int(first)
	w.Name("lastId").Int(last)
	w.Name("count").Int(f.count)
}

// ids returns the ids of the first and the last trade, -1 without trades.
func (f *window) ids() (first, last int64) {
	if f.count == 0 {
		return -1, -1
	}
	return int64(f.firstID), int64(f.lastID)
}

// writeAverage writes the average price of the trades in the window, 0 without trades.
func (f *window) writeAverage(w *json.Writer, in *engine.Instrument) {
	amount := f.volume
	if amount.IsZero() {
		amount = fixed.FromU64(1) // f.quote is 0
	}
	w.Average(f.quote, amount, in.DigitsPrice)
}

// full reports whether the request wants the form FULL.
func (q *call) full() (full bool, err *failure) {
	form, err := q.word("type", "FULL", "MINI")
	return form == "FULL", err
}

func ticker24h(q *call) ([]byte, *failure) {
	views, root, err := q.tickers(maxTickers, func(n int, given bool) int {
		switch {
		case given && n <= 20:
			return 2
		case given && n <= 100:
			return 40
		}
		return 80
	})
	if err != nil {
		return nil, err
	}
	full, err := q.full()
	if err != nil {
		return nil, err
	}
	return q.list(root, views, func(w *json.Writer, v *marketdata.View) {
		figures, in := day(root, v), v.Instrument
		if !full {
			figures.write(w, in, false)
			return
		}
		figures.writeChange(w, in)
		w.Name("prevClosePrice").Units(figures.open, in.DigitsPrice)
		w.Name("lastPrice").Units(figures.last, in.DigitsPrice)
		w.Name("lastQty").Units(lastAmount(v), in.DigitsAmount)
		writeTouch(w, v)
		figures.writeRange(w, in)
		figures.writeSums(w, in)
	}), nil
}

// lastAmount returns the amount of the newest trade, 0 without one.
func lastAmount(v *marketdata.View) int64 {
	if v.Trades.Len() == 0 {
		return 0
	}
	return v.Trades.At(v.Trades.Last()).Amount
}

// averageMinutes is the time of which avgPrice is the average.
const averageMinutes = 5

// avgPrice answers with the average price of the last minutes.
func avgPrice(q *call) ([]byte, *failure) {
	text, err := q.required("symbol")
	if err != nil {
		return nil, err
	}
	root := q.f.opt.Board.Load()
	v, err := q.f.lookup(root, text)
	if err != nil {
		return nil, err
	}
	figures, atNs := lastAverage(v, q.f.marketNs(root))
	w := q.writer()
	w.Object()
	w.Name("mins").Int(averageMinutes)
	figures.writeAverage(w.Name("price"), v.Instrument)
	w.Name("closeTime").Time(atNs)
	w.EndObject()
	return w.Bytes(), nil
}

// lastAverage returns the sums of the last minutes, of the last price if they have no trade, and the time of the newest
// trade, 0 without one.
func lastAverage(v *marketdata.View, nowNs int64) (last window, atNs int64) {
	t := &v.Trades
	for id := t.Search(nowNs - averageMinutes*minuteNs + 1); t.Len() > 0 && id <= t.Last(); id++ {
		one := t.At(id)
		last.volume = last.volume.AddSat(fixed.FromU64(uint64(one.Amount)))
		last.quote = last.quote.AddSat(fixed.Mul64(uint64(one.Price), uint64(one.Amount)))
	}
	if last.volume.IsZero() {
		last.volume, last.quote = fixed.FromU64(1), fixed.FromU64(uint64(v.Ticker.Last))
	}
	if t.Len() > 0 {
		atNs = t.At(t.Last()).TimeNs
	}
	return last, atNs
}

// rolling answers with the figures of the last minutes, hours or days: of the current minute and of the ones that
// the span before it touches.
func rolling(q *call) ([]byte, *failure) {
	size, err := q.windowSize()
	if err != nil {
		return nil, err
	}
	return q.windows(func(root *marketdata.Root) (fromSec, closeNs int64) {
		nowNs := q.f.marketNs(root)
		return windowStart(nowNs, size), nowNs
	})
}

// marketNs returns the time of the market. That of the root is the time of the last change: time goes on without one.
func (f *Facade) marketNs(root *marketdata.Root) int64 {
	return max(root.NowNs, f.opt.Board.SealedNs())
}

// windowStart returns the second at which a rolling window begins.
func windowStart(nowNs, sec int64) int64 {
	return marketdata.Minute.Floor(fixed.FloorDiv(nowNs, 1_000_000_000) - sec)
}

// rollingFigures returns the figures of a rolling window.
func rollingFigures(v *marketdata.View, nowNs, sec int64) *window {
	from := windowStart(nowNs, sec)
	w := since(v, from)
	w.openNs, w.closeNs = from*secNs, nowNs
	return w
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

// tradingDay answers with the figures of the current day, in UTC or in the timeZone of the request.
func tradingDay(q *call) ([]byte, *failure) {
	zone, err := q.timeZone()
	if err != nil {
		return nil, err
	}
	day, _ := ParseInterval("1d")
	day = day.In(zone)
	return q.windows(func(root *marketdata.Root) (fromSec, closeNs int64) {
		now := secondOf(root)
		return day.Floor(now), day.Next(now)*secNs - 1
	})
}

// windows answers with the figures since a second, for the pairs of the request, which must name some.
func (q *call) windows(span func(root *marketdata.Root) (fromSec, closeNs int64)) ([]byte, *failure) {
	if !q.given("symbol") && !q.given("symbols") {
		return nil, missing("symbol")
	}
	views, root, err := q.tickers(maxRolling, func(n int, _ bool) int { return min(4*n, 200) })
	if err != nil {
		return nil, err
	}
	full, err := q.full()
	if err != nil {
		return nil, err
	}
	from, closeNs := span(root)
	return q.list(root, views, func(w *json.Writer, v *marketdata.View) {
		figures := since(v, from)
		figures.openNs, figures.closeNs = from*secNs, closeNs
		figures.write(w, v.Instrument, full)
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
