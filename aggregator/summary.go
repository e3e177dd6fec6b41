package aggregator

import (
	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

// AppendSummary appends the row of one pair of /api/summary; figures without a value are 0
// (docs/contract/market-data.md#time-summary-status).
func AppendSummary(b []byte, v *marketdata.View) []byte {
	t, in := &v.Ticker, v.Instrument
	b = append(append(b, `{"trading_pairs":"`...), in.Code...)
	b = append(append(b, `","base_currency":"`...), in.Base...)
	b = append(append(b, `","quote_currency":"`...), in.Quote...)
	b = price(append(b, `","last_price":`...), in, t.Last)
	b = price(append(b, `,"lowest_ask":`...), in, t.Ask)
	b = price(append(b, `,"highest_bid":`...), in, t.Bid)
	b = amount(append(b, `,"base_volume":`...), in, t.Volume)
	b = total(append(b, `,"quote_volume":`...), in, t.QuoteVolume)
	b = fixed.AppendI128(append(b, `,"price_change_percent_24h":`...),
		fixed.PercentChangeHalfEven(t.Last, t.Ago24h), fixed.QuotientDigits)
	b = price(append(b, `,"highest_price_24h":`...), in, t.High)
	b = price(append(b, `,"lowest_price_24h":`...), in, t.Low)
	return append(b, '}')
}
