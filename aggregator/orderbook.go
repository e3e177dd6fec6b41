package aggregator

import (
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

// AppendBook appends the order book with up to levels a side; levels below 0: all of it.
func AppendBook(b []byte, v *marketdata.View, levels int64) []byte {
	b = append(append(b, `{"ticker_id":"`...), v.Instrument.Code...)
	b = strconv.AppendInt(append(b, `","timestamp":`...), floorMs(v.BookTimeNs), 10)
	b = appendSide(append(b, `,"bids":[`...), v, &v.Bids, levels)
	b = appendSide(append(b, `],"asks":[`...), v, &v.Asks, levels)
	return append(b, "]}"...)
}

// BookSize is an estimate of the text of that many levels a side.
func BookSize(v *marketdata.View, levels int64) int {
	n := int64(v.Bids.Len() + v.Asks.Len())
	if levels >= 0 {
		n = min(n, 2*levels)
	}
	return 96 + int(n)*rowSize(v.Instrument)
}

// appendSide joins the kept texts of the pages. Each row ends in a comma; the last one is
// taken off.
func appendSide(b []byte, v *marketdata.View, s *marketdata.Side, levels int64) []byte {
	in, start := v.Instrument, len(b)
	render := func(dst []byte, rows []marketdata.Level) []byte {
		return appendLevels(dst, in, rows)
	}
	left := levels
	if left < 0 {
		left = int64(s.Len())
	}
	for p := range s.Pages {
		if left == 0 {
			break
		}
		b = append(b, p.TextOf(marketdata.PageAgg, int(left), render)...)
		left = max(left-int64(len(p.Levels())), 0)
	}
	if len(b) > start {
		b = b[:len(b)-1]
	}
	return b
}

// rowSize is an estimate of one row's text for usual figures.
func rowSize(in *engine.Instrument) int { return 18 + in.DigitsPrice + in.DigitsAmount }

func appendLevels(b []byte, in *engine.Instrument, rows []marketdata.Level) []byte {
	for _, l := range rows {
		b = price(append(b, '['), in, l.Price)
		b = fixed.AppendI64(append(b, ','), l.Amount, in.DigitsAmount)
		b = append(b, "],"...)
	}
	return b
}
