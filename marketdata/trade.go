package marketdata

import "tickhive/engine"

// Trade is a public execution. It never changes. Its id is its position in the pair's ring.
type Trade struct {
	TimeNs        int64 // Unix ns
	Price         int64 // ticks, the maker's price
	Amount        int64 // lots
	Buyer, Seller engine.AccountID
	TakerSide     engine.Side // Buy: the taker bought
}
