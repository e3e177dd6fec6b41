package marketdata

import (
	"tickhive/engine"
	"tickhive/engine/slots"
	"tickhive/internal/fixed"
)

// History holds the order history, a fold over the events: all open orders, the newest closed orders, and their
// fills. The engine forgets an order when it ends; the history retains it.
//
// Owner: the feed's goroutine, for queries too; there is no lock. Queries run between commands.
// Other goroutines may call only Orders and Fills, which run their reads on the owner's
// goroutine, a bounded part at a time.
//
// Memory of an open or closed order: 128 bytes, and 4 for its number in a page of 512 numbers (2 KB;
// the page is retained while one of its orders is). An order with a client id, a stop price, a display
// amount or a quote amount takes 136 more, plus the text of the client id. A trade takes 96 bytes for
// its two fills. At the default limits: 100,000 closed orders 13 MB; 1,000,000 fills 48 MB; 1,000,000
// client ids that outlive their orders 264 MB plus their texts.
type History struct {
	open   slots.Slab[orderRec]
	extras slots.Slab[orderExtra]
	closed ring[orderRec] // ordered by the time at which they ended
	// closed orders beyond the limit of closed, retained because their client id may be repeated
	remembered ring[orderRec]
	fills      ring[fillRec]
	accounts   []accountState
	pairs      []*pairState // by pair id; finds the index of an order's pair

	changed    []int32    // slots of the open orders that the current command has changed
	command    *pairState // pair of the current command
	prefetched engine.Seq // sum of what prefetch reads: without a use the compiler would remove the reads

	// walks between two turns; the key is the slot of the open order at which the walk continues
	pinned   map[int32][]*orderWalk
	visited  uint64 // records that list queries have read
	restored uint64 // number of restores from a snapshot; a walk that sees it change starts over
}

// accountState holds, for one account, the head and the length of each of its lists.
type accountState struct {
	closed   uint64 // 1 + number of the account's newest closed order, 0: none
	fill     uint64 // 1 + number of the account's newest fill, 0: none
	openHead int32  // slot of the account's newest open order, 0: none

	// The lengths count retained entries. openCount stays 0 for the built-in account.
	openCount, closedCount, fillCount uint32 // a trade of the account with itself is two fills
}

// orderRec is the retained record of an order.
type orderRec struct {
	filledQuote fixed.U128 // product units
	fee         fixed.I128 // sum of the fees of its fills in 10^-18 of the quote currency; negative: not known
	filled      int64      // lots
	open        int64      // lots not yet filled, hidden ones too; after a cancel, the lots that were canceled
	seq         engine.Seq // seq of the last event of the last command that changed the order
	lastFill    uint64     // 1 + number of the order's newest fill, 0: none
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
	changedNs     int64 // last change; the end of an order that is not open
	account       engine.AccountID
	extra         int32 // slot of the order's orderExtra, 0: none
	next          int32 // open order: slot of the account's next older open order
	// open order: slot of the next newer one; closed order: distance to the account's next older
	// closed order
	prev uint32
}

const (
	bitChanged   uint8 = 1 << iota // the order is in History.changed
	bitPlaced                      // the command that placed the order has ended
	bitPinned                      // open order: a walk in History.pinned continues at it
	bitTriggered                   // stop order: it was triggered
)

// orderExtra holds the members that only a few orders have.
type orderExtra struct {
	stop, display int64
	quote         fixed.U128
	client        *engine.ClientID

	// The first* members hold the order as the engine first answered it; a repeated client id receives this
	// answer.
	firstFilledQuote fixed.U128
	firstPrice       int64
	firstAmount      int64
	firstFilled      int64
	firstOpen        int64
	firstSeq         engine.Seq
	firstFill        uint64
	firstStatus      engine.Status
	firstTriggered   bool
}

func newHistory(o Options) *History {
	// Open orders of the built-in account may precede the first trade, so its state exists from the start.
	h := &History{accounts: make([]accountState, 1)}
	h.closed.limit = uint64(o.ClosedOrders)
	h.remembered.limit = uint64(o.ClientIDs)
	h.fills.limit = uint64(o.Fills / 2)
	return h
}

// account returns the state of an account and makes it if necessary. Account numbers are dense: the list is as
// long as the highest number plus one.
func (h *History) account(id engine.AccountID) *accountState {
	for int(id) >= len(h.accounts) {
		h.accounts = append(h.accounts, accountState{})
	}
	return &h.accounts[id]
}
