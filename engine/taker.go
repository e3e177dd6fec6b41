package engine

import (
	"math"

	"tickhive/internal/fixed"
)

// taker is the order being matched: a new order, a triggered stop or a replaced order. Meanwhile it is on no
// level.
type taker struct {
	n       uint64
	id      OrderID
	slot    int32 // slot of an order that is already open (stop, replace), 0: a new order
	owner   int32 // slot of its owner, which exists until the taker is released
	client  int32
	account AccountID

	side   Side
	market bool
	tif    TimeInForce
	stp    SelfTrade
	flags  uint8

	limit   int64 // ticks; for a market order the worst possible price
	left    int64 // open lots; by quote: unlimited
	filled  int64 // lots, earlier fills included
	display int64
	was     int64 // what the level it comes back to showed before a replace took it out
	found   int64 // what the level showed at which an earlier part paused, before it took; 0: none

	capped bool       // money limits what it may spend
	money  fixed.U128 // left to spend when capped

	bounded bool       // earn limits what it may bring
	earn    fixed.U128 // left to bring when bounded: product units of a sell, lots of a buy by quote

	makerFee, takerFee, discount uint32

	ended bool // the remainder is canceled with cause, whatever the time in force
	cause CancelCause
}

func (t *taker) byQuote() bool { return t.flags&FlagQuote != 0 }

// open returns the open amount that events report.
func (t *taker) open() int64 {
	if t.byQuote() {
		return 0
	}
	return t.left
}

// lots returns the lots that it may take at price: its open amount, or less when its money ends before.
func (t *taker) lots(price int64) int64 {
	if !t.capped {
		return t.left
	}
	return min(t.left, lotsFor(t.money, price))
}

// lotsFor returns the number of lots that an amount of product units buys at price.
func lotsFor(money fixed.U128, price int64) int64 {
	q, _ := money.DivMod64(uint64(price))
	if q.Hi != 0 || q.Lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(q.Lo)
}

// setEarn sets the limit of what the order may bring. A buy by amount needs none, because its amount limits it.
func (t *taker) setEarn(limit fixed.U128) {
	t.bounded, t.earn = !limit.IsZero() && (t.side == Sell || t.byQuote()), limit
}

// earnable returns how many of q lots at price the order may take within its earn limit.
func (t *taker) earnable(price, q int64) int64 {
	if t.side == Sell {
		if !t.earn.Less(total(price, q)) {
			return q
		}
		return lotsFor(t.earn, price)
	}
	return min(q, lotsFor(t.earn, 1))
}

// earned subtracts the proceeds of q lots at price from the earn limit.
func (t *taker) earned(price, q int64) {
	if t.side == Buy {
		price = 1
	}
	t.earn = t.earn.Sub(total(price, q))
}

// exceedsLimit reports whether an order that would rest may exceed its earn limit. Of those, only a sell has one.
func (t *taker) exceedsLimit() bool {
	return t.bounded && t.earn.Less(total(t.limit, t.left))
}

// stopAtLimit ends the order at its earn limit.
func (t *taker) stopAtLimit() { t.ended, t.cause = true, CauseLimit }

// setMarket sets the limit to the worst possible price.
func (t *taker) setMarket() {
	t.market, t.tif, t.limit = true, IOC, 1
	if t.side == Buy {
		t.limit = math.MaxInt64
	}
	if t.byQuote() {
		t.left = math.MaxInt64
	}
}
