package marketdata

import (
	"tickhive/engine"
	"tickhive/internal/fixed"
)

// Trade is a public execution. It never changes. Its id is its position in the pair's ring.
type Trade struct {
	TimeNs        int64 // Unix ns
	Price         int64 // ticks, the maker's price
	Amount        int64 // lots
	Buyer, Seller engine.AccountID
	TakerSide     engine.Side // Buy: the taker bought
}

// Candle returns the candle of the trade alone. Its Start is the trade's second.
func (t *Trade) Candle() Candle { return candleOf(floorSec(t.TimeNs), t.Price, t.Amount, t.TakerSide) }

func candleOf(sec, price, amount int64, taker engine.Side) Candle {
	c := Candle{
		Start: sec, Open: price, High: price, Low: price, Close: price, Volume: fixed.FromU64(uint64(amount)),
		QuoteVolume: fixed.Mul64(uint64(price), uint64(amount)), Trades: 1,
	}
	if taker == engine.Buy {
		c.TakerVolume, c.TakerQuote = c.Volume, c.QuoteVolume
	}
	return c
}
