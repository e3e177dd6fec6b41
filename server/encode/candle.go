package encode

import (
	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

// AppendCandle appends the candle object of docs/contract/api.md; streams send it too.
func AppendCandle(b []byte, in *engine.Instrument, k *marketdata.Candle) []byte {
	b = AppendSecond(append(b, `{"date":"`...), k.Start)
	b = fixed.AppendI64(append(b, `","open":`...), k.Open, in.DigitsPrice)
	b = fixed.AppendI64(append(b, `,"max":`...), k.High, in.DigitsPrice)
	b = fixed.AppendI64(append(b, `,"min":`...), k.Low, in.DigitsPrice)
	b = fixed.AppendI64(append(b, `,"close":`...), k.Close, in.DigitsPrice)
	b = fixed.AppendU128(append(b, `,"volume":`...), k.QuoteVolume, in.DigitsTotal())
	b = fixed.AppendU128(append(b, `,"volumeBase":`...), k.Volume, in.DigitsAmount)
	return append(b, '}')
}
