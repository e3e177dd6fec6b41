package public

import (
	"strings"

	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// maxCandles is the largest number of rows in an answer of /api/ohlc
// (docs/contract/market-data.md#candles).
const maxCandles = 1000

// fills lists the values of the parameter fill: intervals without trades are left out, or become flat candles.
var fills = []string{"none", "previous"}

func (m *Market) ohlc(c *edge.Ctx) *refuse.Refusal {
	code, err := c.PairParam(edge.PairName)
	if err != nil {
		return err
	}
	interval, err := interval(c, "interval")
	if err != nil {
		return err
	}
	start, err := requiredDate(c, "start")
	if err != nil {
		return err
	}
	end, err := requiredDate(c, "end")
	if err != nil {
		return err
	}
	fill, err := c.Enum("fill", fills...)
	if err != nil {
		return err
	}
	if start.After(end) {
		return refuse.Param("start", "The parameter start must not be after end.")
	}
	v, err := m.lookup(edge.PairName, code)
	if err != nil {
		return err
	}
	// Candles begin on whole seconds: low is the first second at or after start, high the last one at or before
	// end.
	low, high := start.Sec, end.Sec
	if start.Nsec > 0 {
		low++
	}
	rows := candleRows{in: v.Instrument, candles: v.Candles(interval), interval: interval, left: maxCandles}
	if fill == 1 {
		rows.filled(low, min(high, interval.Floor(encode.FloorDiv(m.opt.Clock.NowNs(), 1_000_000_000))))
	} else {
		rows.traded(low, high)
	}
	if rows.next != nil {
		c.Response.Header.SetCanonical(edge.HdrNextStart, rows.next)
	}
	return c.SendBody(rows.close(), uint64(v.TradesSeq))
}

func interval(c *edge.Ctx, name string) (marketdata.Interval, *refuse.Refusal) {
	text, err := c.Required(name)
	if err != nil {
		return 0, err
	}
	if i, ok := marketdata.ParseInterval(text); ok {
		return i, nil
	}
	return 0, refuse.Param(name, "The parameter %s must be one of %s.", name,
		strings.Join(marketdata.IntervalNames(), ", "))
}

func requiredDate(c *edge.Ctx, name string) (edge.Moment, *refuse.Refusal) {
	m, given, err := c.Date(name)
	if err == nil && !given {
		err = edge.MissingParam(name)
	}
	return m, err
}

// candleRows collects the rows of one answer. When the answer is full, it records the date of the next row.
type candleRows struct {
	in       *engine.Instrument
	candles  marketdata.Candles
	interval marketdata.Interval
	left     int
	body     []byte
	next     []byte // date of the first row that had no room
}

// add appends a row. When the answer is full, it records the row's date in next and returns false.
func (r *candleRows) add(k *marketdata.Candle) bool {
	if r.left == 0 {
		r.next = encode.AppendSecond(nil, k.Start)
		return false
	}
	r.left--
	r.body = append(encode.AppendCandle(r.body, r.in, k), ',')
	return true
}

func (r *candleRows) close() []byte {
	if len(r.body) == 0 {
		return []byte("[]")
	}
	return closeRows(r.body)
}

// traded adds the candles that begin from low to high.
func (r *candleRows) traded(low, high int64) {
	r.body = append(r.body, '[')
	for i := r.candles.Search(low); i < r.candles.Len(); i++ {
		k := r.candles.At(i)
		if k.Start > high || !r.add(&k) {
			return
		}
	}
}

// filled adds a row for every interval from the first trade on. An interval without trades gets a flat candle
// at the previous close.
func (r *candleRows) filled(low, high int64) {
	r.body = append(r.body, '[')
	if r.candles.Len() == 0 {
		return
	}
	first := r.candles.At(0)
	at := max(low, first.Start)
	if floor := r.interval.Floor(at); floor != at {
		at = r.interval.Next(at)
	}
	i := r.candles.Search(at)
	before := first
	if i > 0 {
		before = r.candles.At(i - 1)
	}
	for ; at <= high; at = r.interval.Next(at) {
		if i < r.candles.Len() {
			if k := r.candles.At(i); k.Start == at {
				if !r.add(&k) {
					return
				}
				before, i = k, i+1
				continue
			}
		}
		p := before.Close
		if !r.add(&marketdata.Candle{Start: at, Open: p, High: p, Low: p, Close: p}) {
			return
		}
	}
}
