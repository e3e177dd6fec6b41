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
	Ago24h      int64          // ticks; price24hAgo of docs/contract/market-data.md#ticker
	High, Low   int64          // ticks; highest and lowest price in the window, 0: no trade in it
	Volume      fixed.U128     // lots in the window
	QuoteVolume fixed.U128     // product units in the window
	Bid, Ask    int64          // ticks, 0: empty side
	ChangedSec  int64          // Unix second of the last change of these figures
}

// version returns a hash of the figures. Equal figures have equal hashes, also after a restart; different ones
// collide with a chance of 2^-64. A counter would begin again at a restart, and one number could then identify
// different figures.
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

// mix combines h and v into one hash, by a multiplication of 64 x 64 bits.
func mix(h, v uint64) uint64 {
	hi, lo := bits.Mul64(h^0x9E3779B97F4A7C15, v^0xC2B2AE3D27D4EB4F)
	return hi ^ lo ^ bits.RotateLeft64(h, 23)
}
