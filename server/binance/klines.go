package binance

import (
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/encode"
)

const (
	defaultKlines = 500
	maxKlines     = 1000

	minuteSec, hourSec, daySec = 60, 3600, 86_400
)

// Interval is an interval of klines. Its rows are sums of the candles of base, or of trades.
type Interval struct {
	Name       string
	base       marketdata.Interval
	fromTrades bool
	sec        int64 // length; 0: a calendar month
	offset     int64 // Unix second of a boundary
}

// intervals lists all of them. Weeks begin on Mondays, intervals of three days at multiples of three days since
// 1970-01-01.
var intervals = []Interval{
	{"1s", 0, true, 1, 0},
	{"1m", marketdata.Minute, false, minuteSec, 0},
	{"3m", marketdata.Minutes3, false, 3 * minuteSec, 0},
	{"5m", marketdata.Minutes5, false, 5 * minuteSec, 0},
	{"15m", marketdata.Minutes15, false, 15 * minuteSec, 0},
	{"30m", marketdata.Minutes30, false, 30 * minuteSec, 0},
	{"1h", marketdata.Hour, false, hourSec, 0},
	{"2h", marketdata.Hour, false, 2 * hourSec, 0},
	{"4h", marketdata.Hour4, false, 4 * hourSec, 0},
	{"6h", marketdata.Hour, false, 6 * hourSec, 0},
	{"8h", marketdata.Hour, false, 8 * hourSec, 0},
	{"12h", marketdata.Hour, false, 12 * hourSec, 0},
	{"1d", marketdata.Day, false, daySec, 0},
	{"3d", marketdata.Day, false, 3 * daySec, 0},
	{"1w", marketdata.Day, false, 7 * daySec, 4 * daySec},
	{"1M", marketdata.Month, false, 0, 0},
}

// ParseInterval returns the interval with this name.
func ParseInterval(name string) (*Interval, bool) {
	for i := range intervals {
		if intervals[i].Name == name {
			return &intervals[i], true
		}
	}
	return nil, false
}

// Floor returns the second at which the interval containing sec begins.
func (i *Interval) Floor(sec int64) int64 {
	if i.sec == 0 {
		return i.base.Floor(sec)
	}
	rest := (sec - i.offset) % i.sec
	if rest < 0 {
		rest += i.sec
	}
	return sec - rest
}

// Next returns the end of the interval that contains sec.
func (i *Interval) Next(sec int64) int64 {
	if i.sec == 0 {
		return i.base.Next(sec)
	}
	return i.Floor(sec) + i.sec
}

// Kline is one row. FirstID is 0 when no trade of it is kept.
type Kline struct {
	marketdata.Candle
	End             int64 // Unix second at which the next row begins
	FirstID, LastID engine.TradeID
}

func klines(q *call) ([]byte, *failure) {
	limit, err := q.limit(defaultKlines, maxKlines)
	if err != nil {
		return nil, err
	}
	name, err := q.required("interval")
	if err != nil {
		return nil, err
	}
	i, ok := ParseInterval(name)
	if !ok {
		return nil, fail(codeBadInterval, "Invalid interval.")
	}
	if zone, given := q.text("timeZone"); given && zone != "0" && zone != "0:00" && zone != "00:00" {
		return nil, invalid("timeZone") // candles follow UTC
	}
	from := q.sent("startTime")
	startMs, endMs, err := q.span()
	if err != nil {
		return nil, err
	}
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	low := encode.FloorDiv(startMs+999, 1000)
	high := min(endMs/1000, encode.FloorDiv(q.f.opt.Clock.NowNs(), 1_000_000_000))
	w := NewKlines(v, i)
	b := []byte{'['}
	for at := w.start(low, high, limit, from); at <= high && limit > 0; at = i.Next(at) {
		k, ok := w.At(at)
		if !ok {
			continue
		}
		b = append(appendKline(b, v.Instrument, &k), ',')
		limit--
	}
	return append(trimComma(b), ']'), nil
}

// Klines makes the rows of one interval from one view. The times of its rows must ascend.
type Klines struct {
	view    *marketdata.View
	candles marketdata.Candles // the rows are their sums, unless i.fromTrades
	i       *Interval
	close   int64
	primed  bool
}

// NewKlines returns the rows of a pair.
func NewKlines(v *marketdata.View, i *Interval) *Klines {
	return &Klines{view: v, candles: v.Candles(i.base), i: i}
}

// start returns where the first row begins: the first boundary at or after low, or the beginning of the last limit
// rows up to high. No row is before the first candle.
func (w *Klines) start(low, high int64, limit int, fromLow bool) int64 {
	first, ok := w.first()
	if !ok {
		return high + 1
	}
	if at := w.i.Floor(low); fromLow {
		if at < low {
			at = w.i.Next(low)
		}
		return max(at, first)
	}
	at := w.i.Floor(high)
	for ; limit > 1 && at > first; limit-- {
		at = w.i.Floor(at - 1)
	}
	return max(at, first)
}

// first returns the beginning of the oldest row.
func (w *Klines) first() (int64, bool) {
	if w.i.fromTrades {
		if w.view.Trades.Len() == 0 {
			return 0, false
		}
		t := &w.view.Trades
		first := encode.FloorDiv(t.At(t.First()).TimeNs, 1_000_000_000)
		if encode.FloorDiv(t.DroppedNs(), 1_000_000_000) == first {
			first++ // a trade of this second is no longer kept
		}
		return first, true
	}
	if w.candles.Len() == 0 {
		return 0, false
	}
	k := w.candles.At(0)
	return w.i.Floor(k.Start), true
}

// At returns the row that begins at a boundary. A row without trades is flat at the close before it; before the
// first trade there is none. Calls go forward in time.
func (w *Klines) At(start int64) (k Kline, ok bool) {
	k.Start, k.End = start, w.i.Next(start)
	t := &w.view.Trades
	low, high := t.Search(k.Start*1_000_000_000), t.Search(k.End*1_000_000_000)-1
	if t.Len() > 0 && low <= high {
		k.FirstID, k.LastID = low, high
	}
	if !w.i.fromTrades {
		k.Candle = w.candles.Fold(k.Start, k.End)
	} else if k.FirstID != 0 {
		for id := low; id <= high; id++ {
			trade := t.At(id)
			one := trade.Candle()
			k.Merge(&one)
		}
	}
	if k.Trades > 0 {
		w.close, w.primed = k.Close, true
		return k, true
	}
	if !w.primed {
		w.close, w.primed = w.before(start)
	}
	p := w.close
	k.Open, k.High, k.Low, k.Close = p, p, p, p
	return k, w.primed
}

// before returns the close of the last row before start.
func (w *Klines) before(start int64) (price int64, ok bool) {
	if w.i.fromTrades {
		t := &w.view.Trades
		if id := t.Search(start * 1_000_000_000); t.Len() > 0 && id > t.First() {
			return t.At(id - 1).Price, true
		}
		return 0, false
	}
	if n := w.candles.Search(start); n > 0 {
		return w.candles.At(n - 1).Close, true
	}
	return 0, false
}

func appendKline(b []byte, in *engine.Instrument, k *Kline) []byte {
	b = strconv.AppendInt(append(b, '['), k.Start*1000, 10)
	for _, p := range [...]int64{k.Open, k.High, k.Low, k.Close} {
		b = fixed.AppendI64(append(b, `,"`...), p, in.DigitsPrice)
		b = append(b, '"')
	}
	b = fixed.AppendU128(append(b, `,"`...), k.Volume, in.DigitsAmount)
	b = strconv.AppendInt(append(b, `",`...), k.End*1000-1, 10)
	b = fixed.AppendU128(append(b, `,"`...), k.QuoteVolume, in.DigitsTotal())
	b = strconv.AppendInt(append(b, `",`...), k.Trades, 10)
	b = appendKnown(append(b, ','), k.TakerVolume, in.DigitsAmount, !k.TakersUnknown)
	b = appendKnown(append(b, ','), k.TakerQuote, in.DigitsTotal(), !k.TakersUnknown)
	return append(b, `,"0"]`...)
}

// appendKnown appends a number in quotes, or null for an unknown one.
func appendKnown(b []byte, v fixed.U128, digits int, known bool) []byte {
	if !known {
		return append(b, "null"...)
	}
	return append(fixed.AppendU128(append(b, '"'), v, digits), '"')
}
