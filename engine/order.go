package engine

import "tickhive/internal/fixed"

// order is the part of an open order that matching touches: one cache line. A waiting
// stop is an order too, in a stop level instead of a book level.
type order struct {
	n     uint64 // OrderID.N
	total int64  // lots: filled + open; self-trade decrements taken off
	shown int64  // lots at the level; a waiting stop: all of it

	prev, next       int32 // in its level, by arrival
	level            int32 // 0 while it is detached (in a command only)
	owner            int32
	ownPrev, ownNext int32 // orders of the same owner, by id; unused for the built-in one

	makerFee, takerFee, discount uint32 // 10^-8, as placed

	side  Side
	marks marks
	stp   SelfTrade
}

// marks say which orders have something in coldOrder or behave otherwise.
type marks uint8

const (
	markIceberg  marks = 1 << iota // coldOrder.display counts
	markClient                     // coldOrder.client counts
	markStop                       // waits: coldOrder.stop counts
	markPostOnly                   // a replace must not let it take
	markEarn                       // waits: stopOrder.earn counts
)

// coldOrder holds the members that few orders need; a separate slab stores it under the same
// slot.
type coldOrder struct {
	hidden  int64 // lots in reserve
	display int64 // lots of a slice
	client  int32 // slot of its client id
	stop    int32 // slot of its stopOrder
}

// stopOrder holds the members that a waiting stop needs once it is triggered.
type stopOrder struct {
	stop    int64 // ticks
	price   int64 // ticks; 0 for market
	display int64
	quote   fixed.U128 // flagQuote: to spend; FlagFunded: spending cap
	earn    fixed.U128 // 0: no limit
	typ     OrderType
	tif     TimeInForce
	flags   uint8
}

// level queues all orders of one side at one price, oldest first; or the waiting stops of one
// side with one stop price.
type level struct {
	price      int64
	shown      int64 // sum of the orders' shown lots
	hidden     int64 // sum of their reserves
	head, tail int32
	count      int32
	side       Side
}
