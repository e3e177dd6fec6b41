package marketdata

import (
	"tickhive/engine"
	"tickhive/internal/fixed"
)

// History is the order history, a fold over the events: open orders, the newest closed orders,
// and their fills. The engine forgets an order when it ends; the history retains it.
//
// Owner: the feed's goroutine, for queries too; there is no lock. Queries run between commands.
// Other goroutines may call only Orders and Fills, which run their reads on the owner's
// goroutine, a bounded part at a time.
//
// Memory: 112 bytes for each open or closed order and 4 for its number (a page of 512 numbers, 2
// KB, is retained while one of its orders is); 136 more for an order with a client id, a stop
// price, a display amount or a quote amount, plus the client id itself; 96 bytes a trade, which
// is two fills. At the default limits: 100,000 closed orders 11 MB, 1,000,000 fills 48 MB, both
// full soon; 1,000,000 client ids outliving their orders 248 MB plus the texts.
type History struct {
	open       slab[orderRec]
	extras     slab[orderExtra]
	closed     ring[orderRec] // by the time they ended
	remembered ring[orderRec] // evicted from closed, with client ids
	fills      ring[fillRec]
	accounts   []accountState
	pairs      []*pairState // to find an order's page by its id

	changed    []uint32   // open slab places that the current command changed
	command    *pairState // its pair
	prefetched engine.Seq // keeps the reads of prefetch from being optimized away

	pinned   map[uint32][]*orderWalk // waiting walks, by 1 + the slab place of their next order
	visited  uint64                  // records that lists have read
	restored uint64                  // counts restores from a snapshot: walks start over
}

// accountState holds the heads of an account's lists and their lengths.
type accountState struct {
	closed   uint64 // 1 + number of its newest closed order, 0: none
	fill     uint64 // 1 + number of its newest fill, 0: none
	openHead uint32 // 1 + slab place of its newest open order, 0: none

	// Numbers of retained entries. Open orders of the built-in account are not counted.
	openCount, closedCount, fillCount uint32 // a trade of the account with itself is two fills
}

// orderRec is the retained record of an order.
type orderRec struct {
	filledQuote fixed.U128 // product units
	filled      int64      // lots
	open        int64      // lots, hidden ones too; of a canceled order: the lots taken out
	seq         engine.Seq // of the last event of the last command that changed it
	lastFill    uint64     // 1 + number of its newest fill, 0: none
	id          engine.OrderID
	side        engine.Side
	typ         engine.OrderType
	tif         engine.TimeInForce
	stp         engine.SelfTrade
	flags       uint8
	status      engine.Status
	cause       engine.CancelCause
	bits        uint8

	price, amount int64
	createdNs     int64
	endedNs       int64 // 0: open
	account       engine.AccountID
	extra         uint32 // 1 + place of its orderExtra, 0: none
	next          uint32 // open: 1 + the account's next older open order
	prev          uint32 // open: 1 + the next newer; closed: distance to the account's next older
}

const (
	bitChanged uint8 = 1 << iota // is in History.changed
	bitPlaced                    // the command that placed it has ended
	bitPinned                    // open: is in History.pinned
)

// orderExtra holds the members that few orders have.
type orderExtra struct {
	stop, display int64
	quote         fixed.U128
	client        *engine.ClientID

	// The order as the engine first answered it, for a repeated client id.
	firstFilledQuote fixed.U128
	firstPrice       int64
	firstAmount      int64
	firstFilled      int64
	firstOpen        int64
	firstSeq         engine.Seq
	firstFill        uint64
	firstStatus      engine.Status
}

func newHistory(o Options) *History {
	// The built-in account exists before the first trade: it may have only open orders.
	h := &History{accounts: make([]accountState, 1)}
	h.closed.limit = uint64(o.ClosedOrders)
	h.remembered.limit = uint64(o.ClientIDs)
	h.fills.limit = uint64(o.Fills / 2)
	return h
}

// account returns the state of an account. Account numbers are dense: the list is as long as the
// highest number plus one.
func (h *History) account(id engine.AccountID) *accountState {
	for int(id) >= len(h.accounts) {
		h.accounts = append(h.accounts, accountState{})
	}
	return &h.accounts[id]
}
