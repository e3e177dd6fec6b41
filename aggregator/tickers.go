package aggregator

import "tickhive/marketdata"

// AppendTicker appends the row of one pair, or nothing when the pair is not listed. A pair is
// listed when it has traded within 24 h and has at least one resting order
// (docs/contract/listing.md#historical-trades).
func AppendTicker(b []byte, v *marketdata.View) []byte {
	t, in := &v.Ticker, v.Instrument
	if t.Volume.IsZero() || t.Bid == 0 && t.Ask == 0 {
		return b
	}
	b = append(append(b, `{"ticker_id":"`...), in.Code...)
	b = append(append(b, `","base_currency":"`...), in.Base...)
	b = append(append(b, `","target_currency":"`...), in.Quote...)
	b = price(append(b, `","last_price":`...), in, t.Last)
	b = amount(append(b, `,"base_volume":`...), in, t.Volume)
	b = total(append(b, `,"target_volume":`...), in, t.QuoteVolume)
	if t.Bid != 0 {
		b = price(append(b, `,"bid":`...), in, t.Bid)
	}
	if t.Ask != 0 {
		b = price(append(b, `,"ask":`...), in, t.Ask)
	}
	b = price(append(b, `,"high":`...), in, t.High)
	b = price(append(b, `,"low":`...), in, t.Low)
	return append(b, '}')
}
