package accounts

import (
	"tickhive/engine"
	"tickhive/internal/fixed"
)

func atMarket(t engine.OrderType) bool { return t == engine.Market || t == engine.StopMarket }

func waits(t engine.OrderType) bool { return t == engine.StopLimit || t == engine.StopMarket }

// Rates holds the fee rates and the discount of an order, in 10^-8.
type Rates struct{ Maker, Taker, Discount uint32 }

// holds keeps the money of open orders, and of orders on their way to the engine, separate from the free
// balances. It also settles trades.
//
// Owner: State's mu guards it.
//
// Invariant: held of an account is the sum of the holds of its open orders. A reservation is not
// part of it and never in a snapshot.
type holds struct {
	dir      *directory
	balances *balances

	pairs   map[uint32]*pairTerms
	orders  map[uint64]*orderHold
	pending map[reservationKey]*pendingEntry
	waiting int // number of reservations in pending
	counts  Counts
}

func newHolds(dir *directory, b *balances) *holds {
	return &holds{
		dir: dir, balances: b, pairs: map[uint32]*pairTerms{}, orders: map[uint64]*orderHold{},
		pending: map[reservationKey]*pendingEntry{},
	}
}

// pairTerms holds the facts about a pair that settlement needs.
type pairTerms struct {
	id           uint32
	base, quote  uint32 // currency numbers
	digitsPrice  int
	digitsAmount int
	seq          uint64 // seq of the pair's last folded event
}

func (p *pairTerms) digitsTotal() int { return p.digitsPrice + p.digitsAmount }

// notional returns price x amount as money of 10^-18; ok is false beyond MaxMoney.
func (p *pairTerms) notional(price, amount int64) (fixed.I128, bool) {
	return moneyOf(fixed.Mul64(uint64(price), uint64(amount)), p.digitsTotal())
}

// orderHold is the hold of a user's open order on the user's balance. Orders of the built-in
// account have none.
type orderHold struct {
	id      uint64
	account uint32
	pair    uint32
	side    engine.Side
	typ     engine.OrderType
	byQuote bool // market buy by quote: quote is the amount left to spend
	capped  bool // funded market buy by amount: quote is the rest of its spending limit
	waiting bool // a stop that has not been triggered
	price   int64
	open    int64 // lots
	filled  int64 // lots
	quote   fixed.U128
	rates   Rates
	held    fixed.I128
	coming  fixed.I128 // the amount that it may still bring; a part of balances.coming
	limited bool       // the engine prevents that it brings more than coming
}

// currency returns the number of the currency that the order spends.
func (o *orderHold) currency(p *pairTerms) uint32 {
	if o.side == engine.Buy {
		return p.quote
	}
	return p.base
}

// brought returns the number of the currency that the order receives.
func (o *orderHold) brought(p *pairTerms) uint32 {
	if o.side == engine.Buy {
		return p.base
	}
	return p.quote
}

// earnDigits returns the number of digits of the units of an earn limit: product units of a
// sell, lots of a buy.
func (o *orderHold) earnDigits(p *pairTerms) int {
	if o.side == engine.Sell {
		return p.digitsTotal()
	}
	return p.digitsAmount
}

// need returns the amount that the order must hold for its remainder
// (docs/contract/trading.md#balances-and-holds); ok is false beyond 10^20. A capped market buy
// needs all that it holds until it ends. A market buy of an unlimited account holds nothing.
func (o *orderHold) need(p *pairTerms) (fixed.I128, bool) {
	switch {
	case o.side == engine.Sell:
		return lotsOf(o.open, p.digitsAmount)
	case o.byQuote:
		return withFee(o.quote, p, o.rates)
	case o.capped:
		return o.held, true
	case atMarket(o.typ):
		return fixed.I128{}, true
	}
	n, ok := p.notional(o.price, o.open)
	if !ok {
		return n, false
	}
	return addFee(n, o.rates)
}

// needAtMost returns need, limited to 10^20.
func (o *orderHold) needAtMost(p *pairTerms) fixed.I128 { return atMost(o.need(p)) }

// principal returns the part of need that fees must not use: the price of a buy's remainder.
func (o *orderHold) principal(p *pairTerms) fixed.I128 {
	switch {
	case o.side == engine.Sell:
	case o.byQuote || o.capped:
		return atMost(moneyOf(o.quote, p.digitsTotal()))
	case !atMarket(o.typ):
		return atMost(p.notional(o.price, o.open))
	}
	return fixed.I128{}
}

// filledBy updates the order after a fill. left is the amount that a buy by quote may still spend.
func (o *orderHold) filledBy(price, amount, open int64, left fixed.U128) {
	o.open, o.filled = open, o.filled+amount
	switch {
	case o.byQuote:
		o.quote = left
	case o.capped:
		o.quote = o.quote.SubFloor(fixed.Mul64(uint64(price), uint64(amount)))
	}
}

func withFee(quote fixed.U128, p *pairTerms, r Rates) (fixed.I128, bool) {
	n, ok := moneyOf(quote, p.digitsTotal())
	if !ok {
		return n, false
	}
	return addFee(n, r)
}

// addFee returns n plus the fee. It uses the higher of the pair's maker and taker rate, because a resting buy
// may pay the maker rate.
func addFee(n fixed.I128, r Rates) (fixed.I128, bool) {
	fee := feeHalfEven(n, max(r.Taker, r.Maker), r.Discount)
	if fee.Cmp(MaxMoney.Sub(n)) > 0 {
		return n, false
	}
	return n.Add(fee), true
}

// spendLimit returns the most product units that free, or 10^20 of it, covers with the fee on top, at the
// higher of the maker and taker rates. The rounding of the fee cannot exceed what is left for it, because that is
// a whole number of 10^-18 and at least the exact fee.
func spendLimit(free fixed.I128, p *pairTerms, r Rates) fixed.U128 {
	rate := uint64(max(r.Taker, r.Maker)) * uint64(RateOne-r.Discount)
	most, _ := mulDiv(least(free, MaxMoney), rateSquare, rateSquare+rate)
	units, _ := most.DivMod64(fixed.Pow10[fixed.Scale-p.digitsTotal()])
	return units
}
