package format

import (
	"bytes"
	"slices"

	"tickhive/sim/replay/format/decimal"
)

// dumps lists the layouts of files without a header that exchanges offer for download. flags are the columns of true or
// false by which a layout is known; the other columns of its order are numbers.
var dumps = []struct {
	width int
	flags []int
	order []column
}{
	// Binance, https://github.com/binance/binance-public-data: trades of spot, of futures; aggregated ones of spot, of
	// futures; klines.
	{7, []int{5, 6}, []column{noColumn, colPrice, colAmount, noColumn, colTime, colMaker}},
	{6, []int{5}, []column{noColumn, colPrice, colAmount, noColumn, colTime, colMaker}},
	{8, []int{6, 7}, []column{noColumn, colPrice, colAmount, noColumn, noColumn, colTime, colMaker}},
	{7, []int{6}, []column{noColumn, colPrice, colAmount, noColumn, noColumn, colTime, colMaker}},
	{12, nil, []column{colTime, colOpen, colHigh, colLow, colClose, colAmount}},
	// Kraken's history of OHLCVT: the last column counts the trades.
	{7, nil, []column{colTime, colOpen, colHigh, colLow, colClose, colAmount}},
}

// dump returns the columns of the layout that the first row has, nil when it has none.
func (r *tradeRows) dump() []column {
	for _, d := range dumps {
		if d.width != r.width {
			continue
		}
		fits := true
		for i := range r.cells[:r.width] {
			text := r.cells[i].Text
			_, err := decimal.Parse(text)
			flag := bytes.EqualFold(text, []byte("true")) || bytes.EqualFold(text, []byte("false"))
			fits = fits && (slices.Contains(d.flags, i) && flag || !slices.Contains(d.flags, i) && err == nil)
		}
		if fits {
			return d.order
		}
	}
	return nil
}
