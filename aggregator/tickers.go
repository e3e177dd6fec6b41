package aggregator

import (
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
)

// AppendTicker appends the row of one pair, or nothing when the pair is not listed. A pair is
// listed when it has traded within 24 h and has at least one resting order
// (docs/contract/listing.md#historical-trades).
func AppendTicker(b []byte, v *marketdata.View) []byte {
	t, in := &v.Ticker, v.Instrument
	if t.Volume.IsZero() || t.Bid == 0 && t.Ask == 0 {
		return b
	}
	w := json.On(b)
	w.Object()
	w.Name("ticker_id").Word(in.Code)
	w.Name("base_currency").Word(in.Base)
	w.Name("target_currency").Word(in.Quote)
	w.Name("last_price").Units(t.Last, in.DigitsPrice)
	w.Name("base_volume").Sum(t.Volume, in.DigitsAmount)
	w.Name("target_volume").Sum(t.QuoteVolume, in.DigitsTotal())
	if t.Bid != 0 {
		w.Name("bid").Units(t.Bid, in.DigitsPrice)
	}
	if t.Ask != 0 {
		w.Name("ask").Units(t.Ask, in.DigitsPrice)
	}
	w.Name("high").Units(t.High, in.DigitsPrice)
	w.Name("low").Units(t.Low, in.DigitsPrice)
	w.EndObject()
	return w.Bytes()
}
