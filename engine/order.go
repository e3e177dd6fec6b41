package engine

import "github.com/tickhive/tickhive/internal/fixed"

// order is the part of an open order that matching touches: one cache line. A waiting
// stop is an order too, in a stop level instead of a book level.
//
// Memory of one resting order: 64 bytes here, 24 in coldOrder, 4 in the index, about 5 for its share of the level; a
// client id adds 56 bytes and its table entry of 11 to 22. An order that is the last one in its index page of 512
// numbers retains 2 KiB. The page directory spans the open orders.
type order struct {
	n     uint64 // number of the order: OrderID.N
	total int64  // filled and open lots; decrements by self-trade prevention are subtracted
	shown int64  // lots that count at the level; for a waiting stop all its lots

	prev, next       int32 // neighbors in its level, by arrival
	level            int32 // slot of its level; 0: detached, only within a command
	owner            int32
	ownPrev, ownNext int32 // the owner's neighboring orders, by id; unused for the built-in account

	makerFee, takerFee, discount uint32 // 10^-8, as placed

	side  Side
	marks marks
	stp   SelfTrade

	amends uint8 // how often it was amended
}

// marks says which members of coldOrder and stopOrder are set, and whether a replace may take.
type marks uint8

const (
	markIceberg  marks = 1 << iota // coldOrder.display is set
	markClient                     // coldOrder.client is set
	markStop                       // a waiting stop; coldOrder.stop is set
	markPostOnly                   // post-only: a replace must not make it a taker
	markList                       // of an order list: coldOrder.stop is its list, of a waiting order stopOrder.list
)

// coldOrder holds the members that few orders need; a separate slab stores it under the same
// slot.
type coldOrder struct {
	hidden  int64 // lots in the reserve
	display int64 // lots of each slice
	client  int32 // slot of its client id
	stop    int32 // slot of its stopOrder; of an order of a list that does not wait, slot of the list
}

// stopOrder holds the members that only a waiting order needs.
type stopOrder struct {
	// ticks; of a reached order the price that has triggered it. 0: it trails and tracks from the first trade on.
	stop    int64
	price   int64 // ticks; 0 for market
	hold    int64 // ticks: at this price a market buy by amount holds its lots; 0: no such order
	display int64
	quote   fixed.U128 // FlagQuote: the amount to spend

	joined            uint64 // tracks: number in the order in which the orders of its side have begun to track
	slot              int32  // tracks: of the order
	child, next, prev int32  // tracks: neighbors in the heap of its group, slots of stops.parked

	list  int32  // slot of its order list, 0: it is of none
	trail uint16 // basis points; 0: the stop price is fixed
	typ   OrderType
	tif   TimeInForce
	flags uint8
	state stopState
}

// stopState says what a waiting order waits for.
type stopState uint8

const (
	waits  stopState = iota // for the market: it is in the queue of its stop price, or reached
	pends                   // for the working order of its list; it may be of any type
	due                     // for its turn in stops.queue: the working order has been filled
	tracks                  // for the market, which it follows: it is in a group of stops.trails
)

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
