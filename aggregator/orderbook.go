package aggregator

import (
	"math"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/doc"
	"github.com/tickhive/tickhive/server/json"
)

// Book returns the order book with up to levels levels a side; a negative levels means all. The text consists
// of the cached texts of pages and directories.
func Book(v *marketdata.View, levels int64) *doc.Text {
	w := json.On(make([]byte, 0, 96))
	w.Object()
	w.Name("ticker_id").Word(v.Instrument.Code)
	w.Name("timestamp").Ms(v.BookTimeNs)
	return book(v, &w, levels)
}

// book returns what head has written, the members before the bids, followed by both sides.
func book(v *marketdata.View, head *json.Writer, levels int64) *doc.Text {
	n := math.MaxInt
	if levels >= 0 {
		n = int(levels)
	}
	t := doc.NewText()
	head.Name("bids").List()
	t.Add(head.Rows())
	addSide(t, v, &v.Bids, n)
	t.Add(betweenBook)
	t.Sum *= sideFactor
	addSide(t, v, &v.Asks, n)
	t.Add(endBook)
	return t
}

var betweenBook, endBook = []byte(`],"asks":[`), []byte("]}")

// sideFactor multiplies the sum of the asks, so that swapping bids and asks changes Text.Sum.
const sideFactor = 0x9e3779b97f4a7c15

// addSide adds the rows of up to n levels. Each cached row ends in a comma; addSide removes the last comma.
func addSide(t *doc.Text, v *marketdata.View, s *marketdata.Side, n int) {
	if n <= 0 || s.Len() == 0 {
		return
	}
	in := v.Instrument
	s.Texts(marketdata.PageAgg, n, func(dst []byte, rows []marketdata.Level) []byte {
		return appendLevels(dst, in, rows)
	}, t.AddSum)
	t.Cut()
}

func appendLevels(b []byte, in *engine.Instrument, rows []marketdata.Level) []byte {
	w := json.On(b)
	for _, l := range rows {
		w.List()
		w.Units(l.Price, in.DigitsPrice)
		w.Units(l.Amount, in.DigitsAmount)
		w.EndList()
	}
	return w.Rows()
}
