package marketdata

import (
	"math/bits"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// Ticker holds the last trade, the touch and the 24 h window of a pair, in integers.
type Ticker struct {
	LastTrade   engine.TradeID // 0: never traded
	Last        int64          // ticks, 0: never traded
	Ago24h      int64          // ticks, price24hAgo of docs/contract/market-data.md#ticker
	High, Low   int64          // ticks in the window, 0: no trade in it
	Volume      fixed.U128     // lots in the window
	QuoteVolume fixed.U128     // product units in the window
	Bid, Ask    int64          // ticks, 0: empty side
	ChangedSec  int64          // Unix second of the last change of these figures
}

// version returns a hash of the figures. A counter would restart at zero after a restart and
// could then name other figures; the hash is equal exactly when the figures are, except with a
// chance of 2^-64.
func (t *Ticker) version(pair engine.PairID) uint64 {
	h := mix(uint64(pair)+1, uint64(t.LastTrade))
	for _, v := range [...]uint64{
		uint64(t.Last), uint64(t.Ago24h), uint64(t.High), uint64(t.Low),
		t.Volume.Hi, t.Volume.Lo, t.QuoteVolume.Hi, t.QuoteVolume.Lo,
		uint64(t.Bid), uint64(t.Ask), uint64(t.ChangedSec),
	} {
		h = mix(h, v)
	}
	return h
}

// mix folds v into h by a 64 x 64 bit product.
func mix(h, v uint64) uint64 {
	hi, lo := bits.Mul64(h^0x9E3779B97F4A7C15, v^0xC2B2AE3D27D4EB4F)
	return hi ^ lo ^ bits.RotateLeft64(h, 23)
}
