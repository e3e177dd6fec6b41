package marketdata

import (
	"math"
	"slices"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// fold folds one event other than a trade or a level change.
func (h *History) fold(p *pairState, e *engine.Event) {
	switch e.Kind {
	case engine.EventAccepted:
		h.accept(p, e)
	case engine.EventCanceled:
		o := h.change(p, e.Order, e.TimeNs)
		o.status, o.cause, o.open = e.Status, e.Cause, e.Amount
	case engine.EventReplaced:
		o := h.change(p, e.Order, e.TimeNs)
		o.price, o.amount, o.open = e.Price, e.Amount, e.OpenAmount
	case engine.EventReduced:
		h.change(p, e.Order, e.TimeNs).open = e.OpenAmount
	case engine.EventTriggered:
		h.change(p, e.Order, e.TimeNs).bits |= bitTriggered
	default: // a refusal, or an event that changes no order
	}
}

func (h *History) accept(p *pairState, e *engine.Event) {
	i := h.open.Alloc()
	if location(i) >= placeMask {
		panic("BUG: marketdata: more open orders than places")
	}
	o := h.open.At(i)
	o.filledQuote, o.fee, o.filled, o.open = fixed.U128{}, fixed.I128{}, 0, e.Amount
	o.seq, o.lastFill, o.id = 0, 0, e.Order
	o.side, o.typ, o.tif, o.stp = e.Side, e.Type, e.TIF, e.STP
	o.flags, o.status, o.cause, o.bits = e.Flags, engine.Created, 0, bitChanged
	o.price, o.amount, o.createdNs, o.changedNs = e.Price, e.Amount, e.TimeNs, e.TimeNs
	o.account, o.extra, o.next, o.prev = e.Account, 0, 0, 0
	stop := e.MakerOpen
	if e.Client != nil || stop != 0 || e.Display != 0 || !e.Quote.IsZero() {
		k := h.extras.Alloc()
		*h.extras.At(k) = orderExtra{stop: stop, display: e.Display, quote: e.Quote, client: e.Client}
		o.extra = k
	}
	h.linkOpen(i, o)
	p.orders.add(e.Order, inOpen|location(i))
	h.command = p
	h.changed = append(h.changed, i)
}

// change returns the record of an open order that changes at timeNs, and adds it to the orders that the current
// command has changed.
func (h *History) change(p *pairState, id engine.OrderID, timeNs int64) *orderRec {
	w := p.orders.get(id)
	if w&^placeMask != inOpen {
		panic("BUG: marketdata: an event of an order that is not open")
	}
	i := int32(w & placeMask)
	o := h.open.At(i)
	if o.id != id {
		panic("BUG: marketdata: an event of an order that is not open")
	}
	o.changedNs = timeNs
	if o.bits&bitChanged == 0 {
		o.bits |= bitChanged
		h.command = p
		h.changed = append(h.changed, i)
	}
	return o
}

func (h *History) foldTrade(p *pairState, e *engine.Event) {
	taker, maker := h.change(p, e.Order, e.TimeNs), h.change(p, e.Maker, e.TimeNs)
	n := h.fills.end
	f := h.newFill()
	*f = fillRec{
		taker: e.Order, maker: e.Maker, trade: e.Trade, timeNs: e.TimeNs, price: e.Price, amount: e.Amount,
		takerFee: e.TakerFee, takerDiscount: e.TakerDiscount, makerFee: e.MakerFee, makerDiscount: e.MakerDiscount,
		takerPrev: distance(n, taker.lastFill), makerPrev: distance(n, maker.lastFill),
		takerAccount: taker.account, makerAccount: maker.account, side: e.Side,
	}
	quote := fixed.Mul64(uint64(e.Price), uint64(e.Amount))
	taker.fill(e, quote, n, e.OpenAmount, e.Flags&engine.FlagQuote != 0)
	maker.fill(e, quote, n, e.MakerOpen, false)
	digits := p.instrument.DigitsTotal()
	taker.pay(f.fee(false, digits))
	maker.pay(f.fee(true, digits))
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
		h.accounts[f.takerAccount].fillCount--
		h.accounts[f.makerAccount].fillCount--
	}
	return f
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

// pay adds the fee of a fill. The largest I128 caps the sum, like each fee.
func (o *orderRec) pay(fee fixed.I128) {
	if o.fee.Cmp(fixed.MaxFee.Sub(fee)) > 0 {
		o.fee = fixed.MaxFee
	} else {
		o.fee = o.fee.Add(fee)
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
	if o.extra == 0 || h.extras.At(o.extra).client == nil {
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
