package binance

import (
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

// maxDepth is the largest number of levels of a side that depth shows.
const maxDepth = 5000

func depth(q *call) ([]byte, *failure) {
	levels, err := q.limit(100, maxDepth)
	if err != nil {
		return nil, err
	}
	weight := 250
	for _, step := range [...][2]int{{1000, 50}, {500, 25}, {100, 5}} {
		if levels <= step[0] {
			weight = step[1]
		}
	}
	if err := q.pay(weight); err != nil {
		return nil, err
	}
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	return appendBook(v, levels), nil
}

// appendBook appends the best levels of both sides.
func appendBook(v *marketdata.View, levels int) []byte {
	b := strconv.AppendUint([]byte(`{"lastUpdateId":`), uint64(v.BookSeq), 10)
	b = appendLevels(append(b, `,"bids":[`...), v.Instrument, &v.Bids, levels)
	b = appendLevels(append(b, `],"asks":[`...), v.Instrument, &v.Asks, levels)
	return append(b, "]}"...)
}

// appendLevels appends the best levels of a side.
func appendLevels(b []byte, in *engine.Instrument, side *marketdata.Side, most int) []byte {
	for l := range side.All {
		if most--; most < 0 {
			break
		}
		b = append(AppendLevel(b, in, l), ',')
	}
	return trimComma(b)
}

// AppendLevel appends one level of a book; streams send it too.
func AppendLevel(b []byte, in *engine.Instrument, l marketdata.Level) []byte {
	b = fixed.AppendI64(append(b, `["`...), l.Price, in.DigitsPrice)
	b = fixed.AppendI64(append(b, `","`...), l.Amount, in.DigitsAmount)
	return append(b, `"]`...)
}
