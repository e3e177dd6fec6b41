package encode

import (
	"strconv"

	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

// AppendTicker appends the ticker object of docs/contract/api.md; streams send it too.
func AppendTicker(b []byte, v *marketdata.View) []byte {
	t, in := &v.Ticker, v.Instrument
	changed := t.ChangedSec
	if changed == 0 { // no event has changed the figures since the pair was added
		changed = FloorDiv(in.CreatedNs, 1_000_000_000)
	}
	b = strconv.AppendInt(append(b, `{"timestamp":`...), changed, 10)
	b = append(append(append(b, `,"currencyPairCode":"`...), in.Code...), '"')
	b = fixed.AppendI64(append(b, `,"price":`...), t.Last, in.DigitsPrice)
	b = fixed.AppendI64(append(b, `,"price24hAgo":`...), t.Ago24h, in.DigitsPrice)
	b = fixed.AppendI128(append(b, `,"priceChangePercentage24h":`...),
		fixed.PercentChangeHalfEven(t.Last, t.Ago24h), fixed.QuotientDigits)
	b = fixed.AppendU128(append(b, `,"volume24h":`...), t.Volume, in.DigitsAmount)
	b = fixed.AppendI64(append(b, `,"bidPrice":`...), t.Bid, in.DigitsPrice)
	b = fixed.AppendI64(append(b, `,"askPrice":`...), t.Ask, in.DigitsPrice)
	return append(b, '}')
}
