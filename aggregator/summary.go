package aggregator

import (
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
)

// AppendSummary appends the row of one pair of /api/summary; figures without a value are 0
// (docs/contract/market-data.md#time-summary-status).
func AppendSummary(b []byte, v *marketdata.View) []byte {
	t, in := &v.Ticker, v.Instrument
	w := json.On(b)
	w.Object()
	w.Name("trading_pairs").Word(in.Code)
	w.Name("base_currency").Word(in.Base)
	w.Name("quote_currency").Word(in.Quote)
	w.Name("last_price").Units(t.Last, in.DigitsPrice)
	w.Name("lowest_ask").Units(t.Ask, in.DigitsPrice)
	w.Name("highest_bid").Units(t.Bid, in.DigitsPrice)
	w.Name("base_volume").Sum(t.Volume, in.DigitsAmount)
	w.Name("quote_volume").Sum(t.QuoteVolume, in.DigitsTotal())
	w.Name("price_change_percent_24h").Signed(fixed.PercentChangeHalfEven(t.Last, t.Ago24h), fixed.QuotientDigits)
	w.Name("highest_price_24h").Units(t.High, in.DigitsPrice)
	w.Name("lowest_price_24h").Units(t.Low, in.DigitsPrice)
	w.EndObject()
	return w.Bytes()
}
