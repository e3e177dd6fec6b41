package marketdata

import (
	"math"
	"slices"
	"unsafe"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/slots"
	"github.com/tickhive/tickhive/internal/fixed"
)

// History holds the order history, a fold over the events: all open orders, the newest closed orders, and their
// fills. The engine forgets an order when it ends; the history retains it.
//
// Owner: the feed's goroutine, for queries too; there is no lock. Queries run between commands.
// Other goroutines may call only Orders, Fills, Lists and PreventedMatches, which run their reads on the
// owner's goroutine, a bounded part at a time.
//
// Memory of an open or closed order: 128 bytes, and 4 for its number in a page of 512 numbers (2 KB; the page is
// retained while one of its orders is). An order with a client id, a stop price, a display amount or a quote amount,
// one of a list, an amended one and one of a prevented match take 152 more, plus the text of the client id. A trade
// takes 96 bytes for its two fills, an order list 72 and about 70 in two maps, an amendment and a prevented match 88
// each. At the default limits: 100,000 closed orders 13 MB; 1,000,000 fills 48 MB; 1,000,000 client ids that outlive
// their orders 280 MB plus their texts; 10,000 ended lists 1.4 MB; 100,000 amendments and as many prevented matches
// 18 MB.
type History struct {
	open   slots.Slab[orderRec]
	extras slots.Slab[orderExtra]
	closed ring[orderRec] // ordered by the time at which they ended
	// closed orders beyond the limit of closed, retained because their client id may be repeated
	remembered ring[orderRec]
	fills      ring[fillRec]
	lists      orderLists
	amendments ring[amendRec]
	prevented  ring[PreventedMatch]
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
	list     int32  // slot of the account's newest order list, 0: none

	// The lengths count retained entries. openCount stays 0 for the built-in account.
	openCount, closedCount, fillCount uint32 // a trade of the account with itself is two fills

	credit uint32 // what FillCredit returns
}

// What an order adds to the credit of its account at its first fill.
const (
	takerCredit = 1
	makerCredit = 5
)

// FillCredit returns by how much the fills of an account lower a count of its unfilled orders: an order counts once, at
// its first fill, and more as a maker. Two readings of one process differ by the fills between them.
// No snapshot has it.
func (h *History) FillCredit(id engine.AccountID) uint32 {
	if int(id) >= len(h.accounts) {
		return 0
	}
	return h.accounts[id].credit
}

// orderRec is the retained record of an order.
type orderRec struct {
	filledQuote fixed.U128 // product units
	fee         fixed.U128 // sum of the fees of its fills, in their units
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
	bitKept                        // order of a list: it was canceled while the list kept it back
)

// orderExtra holds the members that only a few orders have.
type orderExtra struct {
	stop, display int64
	quote         fixed.U128
	client        *engine.ClientID
	trackNs       int64  // time at which a trailing order began to track the market, 0: it does not yet
	prevented     uint64 // number of the newest prevented match, 0: none
	amended       uint64 // 1 + number of the order's newest amendment in History.amendments, 0: none

	// The first* members hold the order as the engine first answered it; a repeated client id receives this
	// answer.
	firstFilledQuote fixed.U128
	firstPrice       int64
	firstAmount      int64
	firstFilled      int64
	firstOpen        int64
	firstStop        int64
	firstPrevented   uint64
	firstSeq         engine.Seq // 0: the members were not there yet when the order was first answered
	firstFill        uint64
	firstStatus      engine.Status
	firstTriggered   bool
	firstTracks      bool
	list             uint8 // 1 + index of the order in its list, 0: it is in none
	trail            uint16
	firstTrail       uint16
}

func newHistory(o Options) *History {
	// Open orders of the built-in account may precede the first trade, so its state exists from the start.
	h := &History{accounts: make([]accountState, 1)}
	h.closed.limit = uint64(o.ClosedOrders)
	h.remembered.limit = uint64(o.ClientIDs)
	h.fills.limit = uint64(o.Fills / 2)
	h.lists = newOrderLists(o.Lists)
	h.amendments.limit, h.prevented.limit = amendmentsKept, preventedKept
	return h
}

// retain changes the limits and drops what is beyond them.
func (h *History) retain(r *Retention) {
	h.endCommand() // by the limits that were in force
	moveTo := func(in location) func(*orderRec, uint32) {
		return func(o *orderRec, place uint32) { h.pairs[o.id.Pair()].orders.move(o.id, in|location(place)) }
	}
	h.remembered.setLimit(uint64(r.ClientIDs), h.forget, moveTo(inRemembered))
	h.closed.setLimit(uint64(r.ClosedOrders), h.evict, moveTo(inClosed))
	h.fills.setLimit(uint64(r.Fills/2), h.dropFill, func(*fillRec, uint32) {})
	h.lists.limit = r.Lists
	h.evictLists()
}

// account returns the state of an account and makes it if necessary. Account numbers are dense: the list is as
// long as the highest number plus one.
func (h *History) account(id engine.AccountID) *accountState {
	for int(id) >= len(h.accounts) {
		h.accounts = append(h.accounts, accountState{})
	}
	return &h.accounts[id]
}

// fold folds one event other than a trade or a level change.
func (h *History) fold(p *pairState, e *engine.Event) {
	switch e.Kind {
	case engine.EventAccepted:
		h.accept(p, e)
	case engine.EventCanceled:
		o := h.change(p, e.Order, e.TimeNs)
		if o.status == engine.Pending {
			o.bits |= bitKept
		}
		o.status, o.cause, o.open = e.Status, e.Cause, e.Amount
		if e.Cause == engine.CauseReplace {
			o.amount = e.OpenAmount
		}
	case engine.EventReplaced:
		h.replace(p, e)
	case engine.EventReduced:
		h.change(p, e.Order, e.TimeNs).open = e.OpenAmount
	case engine.EventTriggered:
		h.change(p, e.Order, e.TimeNs).bits |= bitTriggered
	case engine.EventReleased:
		o := h.change(p, e.Order, e.TimeNs)
		o.status, o.amount, o.open = engine.Created, e.Amount, e.Amount
	case engine.EventActivated:
		h.extra(h.change(p, e.Order, e.TimeNs)).trackNs = e.TimeNs
	case engine.EventList:
		h.beginList(p, e)
	case engine.EventListEnded:
		h.endList(p, e)
	case engine.EventPrevented:
		h.prevent(p, e)
	default: // a refusal, or an event that changes no order
	}
}

// replace changes the members that a client has given new values, and notes an amendment.
func (h *History) replace(p *pairState, e *engine.Event) {
	o := h.change(p, e.Order, e.TimeNs)
	if e.Flags&engine.FlagSmallerOnly != 0 {
		h.amend(o, e)
	}
	o.amount, o.open = e.Amount, e.OpenAmount
	if !e.Type.AtMarket() {
		o.price = e.Price
	}
	if e.Type.Waits() {
		x := h.extra(o)
		if x.stop != e.StopPrice() {
			x.trackNs = 0 // it tracks from its new stop price on
		}
		x.stop, x.trail = e.StopPrice(), e.Trail
	}
}

// extra returns the further members of an order and makes them if necessary.
func (h *History) extra(o *orderRec) *orderExtra {
	if o.extra == 0 {
		o.extra = h.extras.Alloc()
		*h.extras.At(o.extra) = orderExtra{}
	}
	return h.extras.At(o.extra)
}

func (h *History) accept(p *pairState, e *engine.Event) {
	i := h.open.Alloc()
	if location(i) >= placeMask {
		panic("BUG: marketdata: more open orders than places")
	}
	o := h.open.At(i)
	o.filledQuote, o.fee, o.filled, o.open = fixed.U128{}, fixed.U128{}, 0, e.Amount
	o.seq, o.lastFill, o.id = 0, 0, e.Order
	o.side, o.typ, o.tif, o.stp = e.Side, e.Type, e.TIF, e.STP
	o.flags, o.status, o.cause, o.bits = e.Flags, e.Status, 0, bitChanged
	o.price, o.amount, o.createdNs, o.changedNs = e.Price, e.Amount, e.TimeNs, e.TimeNs
	o.account, o.extra, o.next, o.prev = e.Account, 0, 0, 0
	stop, quote := e.MakerOpen, fixed.U128{}
	if e.Flags&engine.FlagQuote != 0 { // of another purchase it is the money that the order holds
		quote = e.Quote
	}
	if e.Client != nil || stop != 0 || e.Display != 0 || !quote.IsZero() || e.Trail != 0 || e.Maker != 0 {
		x := h.extra(o)
		x.stop, x.display, x.quote, x.client, x.trail = stop, e.Display, quote, e.Client, e.Trail
		if e.Maker != 0 {
			x.list = 1 + uint8(e.Order-e.Maker)
		}
	}
	h.linkOpen(i, o)
	p.orders.add(e.Order, inOpen|location(i))
	h.command = p
	h.changed = append(h.changed, i)
}

// change returns the record of an open order that changes at timeNs, and adds it to the orders that the current
// command has changed.
func (h *History) change(p *pairState, id engine.OrderID, timeNs int64) *orderRec {
	i := h.openSlot(p, id)
	o := h.open.At(i)
	o.changedNs = timeNs
	if o.bits&bitChanged == 0 {
		o.bits |= bitChanged
		h.command = p
		h.changed = append(h.changed, i)
	}
	return o
}

// openSlot returns the slot of an open order, which its event names.
func (h *History) openSlot(p *pairState, id engine.OrderID) int32 {
	w := p.orders.get(id)
	if i := int32(w & placeMask); w&^placeMask == inOpen && h.open.At(i).id == id {
		return i
	}
	panic("BUG: marketdata: an event of an order that is not open")
}

func (h *History) foldTrade(p *pairState, e *engine.Event) {
	taker, maker := h.change(p, e.Order, e.TimeNs), h.change(p, e.Maker, e.TimeNs)
	n := h.fills.end
	f := h.newFill()
	*f = recordOf(e)
	f.takerPrev, f.makerPrev = distance(n, taker.lastFill), distance(n, maker.lastFill)
	if taker.filled == 0 {
		h.account(taker.account).credit += takerCredit
	}
	if maker.filled == 0 {
		h.account(maker.account).credit += makerCredit
	}
	quote := fixed.Mul64(uint64(e.Price), uint64(e.Amount))
	taker.fill(e, quote, n, e.OpenAmount, e.Flags&engine.FlagQuote != 0)
	maker.fill(e, quote, n, e.MakerOpen, false)
	taker.fee = taker.fee.Add(f.fee(false, p.instrument))
	maker.fee = maker.fee.Add(f.fee(true, p.instrument))
	ta := h.account(taker.account)
	f.takerAccountPrev = distance(n, ta.fill)
	ta.fill = n + 1
	ta.fillCount++
	if maker.account == taker.account {
		f.makerAccountPrev = f.takerAccountPrev
		ta.fillCount++
		return
	}
	ma := h.account(maker.account)
	f.makerAccountPrev = distance(n, ma.fill)
	ma.fill = n + 1
	ma.fillCount++
}

// newFill returns the record for the next trade. When the ring is full, it first subtracts the trade that it
// overwrites from its accounts' counts.
func (h *History) newFill() *fillRec {
	full := h.fills.full()
	f := h.fills.push()
	if full {
		h.dropFill(f)
	}
	return f
}

// dropFill subtracts a trade that goes from its accounts' counts.
func (h *History) dropFill(f *fillRec) {
	h.accounts[f.takerAccount].fillCount--
	h.accounts[f.makerAccount].fillCount--
}

func (o *orderRec) fill(e *engine.Event, quote fixed.U128, n uint64, open int64, byQuote bool) {
	o.filled += e.Amount
	o.filledQuote = o.filledQuote.Add(quote)
	o.open = open
	o.lastFill = n + 1
	o.status = engine.PartiallyCompleted
	if open == 0 && !byQuote {
		o.status = engine.Completed
	}
}

// distance returns the difference between n and a previous record's number; prev is that number + 1, or 0 for
// none. The result 0 means no link. It drops a link of more than 32 bits, because the ring has overwritten its
// target long ago.
func distance(n, prev uint64) uint32 {
	if prev == 0 || n-(prev-1) > math.MaxUint32 {
		return 0
	}
	return uint32(n - (prev - 1))
}

// endCommand ends the current command. It gives the command's last seq to the orders that the command changed,
// moves ended orders to the closed ones, and retains the first answer of a new order with a client id.
func (h *History) endCommand() {
	if len(h.lists.change) > 0 {
		h.lists.endCommand()
		h.evictLists()
	}
	if len(h.changed) == 0 {
		return
	}
	p := h.command
	// The order that the command placed was changed first, so the loop closes it last. It is then the newest
	// closed order and still retained for its answer, however low the limit is.
	for _, i := range slices.Backward(h.changed) {
		o := h.open.At(i)
		o.bits &^= bitChanged
		o.seq = p.seq
		if o.bits&bitPlaced == 0 {
			o.bits |= bitPlaced
			if o.extra != 0 {
				h.extras.At(o.extra).firstAnswer(o)
			}
		}
		if !o.status.Open() {
			h.close(p, i, o)
		}
	}
	h.changed = h.changed[:0]
}

func (x *orderExtra) firstAnswer(o *orderRec) {
	x.firstFilledQuote, x.firstFilled, x.firstOpen = o.filledQuote, o.filled, o.open
	x.firstPrice, x.firstAmount = o.price, o.amount
	x.firstSeq, x.firstFill, x.firstStatus = o.seq, o.lastFill, o.status
	x.firstTriggered = o.bits&bitTriggered != 0
	x.firstStop, x.firstTrail, x.firstTracks, x.firstPrevented = x.stop, x.trail, x.trackNs != 0, x.prevented
}

// close moves an ended order from the open orders to the end of the closed ones.
func (h *History) close(p *pairState, i int32, o *orderRec) {
	h.unlinkOpen(i, o)
	place := h.closed.next
	h.pushClosed(o)
	p.orders.move(o.id, inClosed|location(place))
	h.open.Release(i)
}

// pushClosed appends an order to the closed ones and to its account's list of them.
func (h *History) pushClosed(o *orderRec) {
	if h.closed.full() {
		h.evict(h.closed.atPlace(h.closed.next))
	}
	n := h.closed.end
	c := h.closed.push()
	*c = *o
	a := h.account(c.account)
	c.next, c.prev = 0, distance(n, a.closed)
	a.closed = n + 1
	a.closedCount++
}

// evict removes o, the oldest closed order. An order with a client id moves to the remembered ones, which
// retain its first answer for a repeat of the client id.
func (h *History) evict(o *orderRec) {
	h.accounts[o.account].closedCount--
	if o.extra == 0 || !h.extras.At(o.extra).client.Named() {
		h.forget(o)
		return
	}
	place := h.remembered.next
	if h.remembered.full() {
		h.forget(h.remembered.atPlace(place))
	}
	*h.remembered.push() = *o
	h.pairs[o.id.Pair()].orders.move(o.id, inRemembered|location(place))
}

func (h *History) forget(o *orderRec) {
	h.pairs[o.id.Pair()].orders.forget(o.id)
	if o.extra != 0 {
		*h.extras.At(o.extra) = orderExtra{}
		h.extras.Release(o.extra)
	}
}

// linkOpen links an order into its account's list of open orders. The built-in account has no list: it may own
// most of a large book, and unlinking an order would load two further records from memory. Queries find its
// orders through the index.
func (h *History) linkOpen(i int32, o *orderRec) {
	if o.account == 0 {
		return
	}
	a := h.account(o.account)
	o.next = a.openHead
	if a.openHead != 0 {
		h.open.At(a.openHead).prev = uint32(i)
	}
	a.openHead = i
	a.openCount++
}

func (h *History) unlinkOpen(i int32, o *orderRec) {
	if o.account == 0 {
		return
	}
	if o.bits&bitPinned != 0 {
		h.advancePinned(i, o)
	}
	a := h.account(o.account)
	a.openCount--
	if o.prev != 0 {
		h.open.At(int32(o.prev)).next = o.next
	} else {
		a.openHead = o.next
	}
	if o.next != 0 {
		h.open.At(o.next).prev = o.prev
	}
}

// prefetchOrders is the number of open orders from which prefetch pays. Fewer records stay in the CPU cache.
const prefetchOrders = 32_768

// prefetch reads every record that the events will change. The reads are independent, so the CPU overlaps their
// cache misses; during the fold each miss would delay the next. In a deep book a fold spends most of its time
// on these misses.
func (h *History) prefetch(events []engine.Event) {
	if h.open.Used() < prefetchOrders {
		return
	}
	var sum engine.Seq
	for i := range events {
		e := &events[i]
		id := e.Order
		switch e.Kind {
		case engine.EventTrade:
			id = e.Maker
		case engine.EventCanceled:
		default:
			continue
		}
		if int(e.Pair) >= len(h.pairs) || h.pairs[e.Pair] == nil {
			continue
		}
		w := h.pairs[e.Pair].orders.get(id)
		if w&^placeMask == inOpen {
			o := h.open.At(int32(w & placeMask))
			sum += o.seq + engine.Seq(o.account)
		}
	}
	h.prefetched = sum
}

const ringChunk = 1024

// ring retains the newest values up to a limit and overwrites the oldest. Values are numbered from 0 without a
// gap. Owner: the goroutine that owns the containing struct.
type ring[T any] struct {
	chunks []*[ringChunk]T
	limit  uint64
	base   uint64 // number of the value that was at place 0 first
	end    uint64 // number of the next value
	next   uint32 // place of the next value: end - base modulo limit, stored because a division is slower
}

// first returns the number of the oldest retained value.
func (r *ring[T]) first() uint64 {
	if r.end-r.base > r.limit {
		return r.end - r.limit
	}
	return r.base
}

func (r *ring[T]) has(n uint64) bool { return n < r.end && n >= r.first() }

func (r *ring[T]) at(n uint64) *T { return r.atPlace(uint32((n - r.base) % r.limit)) }

func (r *ring[T]) atPlace(i uint32) *T { return &r.chunks[i/ringChunk][i%ringChunk] }

// find returns the value at a place that an evicted value may have had, also under a higher limit; nil: there is none.
func (r *ring[T]) find(i uint32) *T {
	if int(i/ringChunk) >= len(r.chunks) {
		return nil
	}
	return r.atPlace(i)
}

// bytes returns the size of the retained values.
func (r *ring[T]) bytes() int64 { return int64(len(r.chunks)) * int64(unsafe.Sizeof([ringChunk]T{})) }

// full reports whether the next push overwrites the oldest value, which is then at next.
func (r *ring[T]) full() bool { return r.end-r.base >= r.limit }

// push returns the place for the next value; the caller sets every member.
func (r *ring[T]) push() *T {
	i := r.next
	if int(i/ringChunk) == len(r.chunks) {
		r.chunks = append(r.chunks, new([ringChunk]T))
	}
	r.end++
	if r.next++; uint64(r.next) == r.limit {
		r.next = 0
	}
	return r.atPlace(i)
}

// setLimit changes the limit. It calls drop for the oldest values that are then too many, and move for each value that
// gets another place, from the oldest on. Values keep their numbers. A ring that has not overwritten a value, and does
// not have more than limit, moves nothing.
func (r *ring[T]) setLimit(limit uint64, drop func(*T), move func(v *T, place uint32)) {
	if r.end-r.base <= min(limit, r.limit) {
		r.limit, r.next = limit, uint32((r.end-r.base)%limit)
		return
	}
	if limit == r.limit {
		return
	}
	old, first := *r, r.first()
	for ; r.end-first > limit; first++ {
		drop(r.at(first))
	}
	*r = ring[T]{limit: limit, base: first, end: first}
	for n := first; n < old.end; n++ {
		place := r.next
		v := r.push()
		*v = *old.at(n)
		move(v, place)
	}
}

// location says which store holds an order (open, closed or remembered) and at which place of a ring or slot of the
// slab; 0: not retained.
type location uint32

const (
	inOpen       location = 1 << 30
	inClosed     location = 2 << 30
	inRemembered location = 3 << 30
	placeMask    location = 1<<30 - 1
)

const idPageOrders = 512

// idPage holds the locations of 512 consecutive order numbers of a pair. The location of an evicted order stays
// in the page, because clearing it would load a cache line for each eviction. A lookup detects it: the record
// there has another id.
type idPage [idPageOrders]location

// orderIndex finds the orders of one pair by number. It retains a page while an order in it is retained, and
// drops empty pages at the front of the list. Owner: the feed's goroutine.
//
// slots.Index is another thing: it removes a number at once. Here evicted orders stay in place, and a snapshot has the
// number of the first page.
type orderIndex struct {
	base  uint64 // number of the first page
	pages []*idPage
	// number of retained orders in each page; a separate slice, so that an eviction need not load the page
	counts []uint16
	spare  *idPage // an emptied page for reuse, so that steady turnover allocates nothing
}

// get returns the location of an order, 0 when it is not retained.
func (x *orderIndex) get(id engine.OrderID) location {
	k := id.N()/idPageOrders - x.base
	if k >= uint64(len(x.pages)) || x.pages[k] == nil {
		return 0
	}
	return x.pages[k][id.N()%idPageOrders]
}

// add sets the location of a new order.
func (x *orderIndex) add(id engine.OrderID, w location) {
	k := id.N() / idPageOrders
	if len(x.pages) == 0 {
		x.base = k
	}
	if k < x.base {
		panic("BUG: marketdata: an order number below the kept ones")
	}
	for k-x.base >= uint64(len(x.pages)) {
		x.pages, x.counts = append(x.pages, nil), append(x.counts, 0)
	}
	p := x.pages[k-x.base]
	if p == nil {
		if p = x.spare; p == nil {
			p = new(idPage)
		}
		x.spare = nil
		x.pages[k-x.base] = p
	}
	x.counts[k-x.base]++
	p[id.N()%idPageOrders] = w
}

// move changes the location of a retained order.
func (x *orderIndex) move(id engine.OrderID, w location) {
	x.pages[id.N()/idPageOrders-x.base][id.N()%idPageOrders] = w
}

// forget subtracts an evicted order from its page's count and drops the page when the count is 0.
func (x *orderIndex) forget(id engine.OrderID) {
	k := id.N()/idPageOrders - x.base
	if x.counts[k]--; x.counts[k] > 0 {
		return
	}
	x.spare = x.pages[k]
	x.pages[k] = nil
	n := 0
	for n < len(x.pages) && x.pages[n] == nil {
		n++
	}
	if n > 0 && n >= len(x.pages)/2 {
		copy(x.pages, x.pages[n:])
		clear(x.pages[len(x.pages)-n:])
		x.pages = x.pages[:len(x.pages)-n]
		copy(x.counts, x.counts[n:])
		x.counts = x.counts[:len(x.counts)-n]
		x.base += uint64(n)
	}
}

// queue is a double-ended queue in a ring buffer. The buffer doubles when it is full and never shrinks. Owner:
// the goroutine that owns the containing struct.
type queue[T any] struct {
	buf  []T // its length is 0 or a power of two
	head int
	n    int
}

func (q *queue[T]) len() int { return q.n }

func (q *queue[T]) at(i int) *T { return &q.buf[(q.head+i)&(len(q.buf)-1)] }

func (q *queue[T]) pushBack(v T) {
	q.grow()
	q.n++
	*q.at(q.n - 1) = v
}

func (q *queue[T]) pushFront(v T) {
	q.grow()
	q.head = (q.head - 1) & (len(q.buf) - 1)
	q.n++
	*q.at(0) = v
}

// grow makes room for one more value.
func (q *queue[T]) grow() {
	if q.n < len(q.buf) {
		return
	}
	grown := make([]T, max(2*len(q.buf), 8))
	copy(grown[copy(grown, q.buf[q.head:]):], q.buf[:q.head]) // the buffer is full
	q.buf, q.head = grown, 0
}

func (q *queue[T]) popFront() {
	q.head = (q.head + 1) & (len(q.buf) - 1)
	q.n--
}

func (q *queue[T]) popBack() { q.n-- }
