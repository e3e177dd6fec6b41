package marketdata

import (
	"math"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// fold takes every event but trades and levels.
func (h *History) fold(p *pairState, e *engine.Event) {
	switch e.Kind {
	case engine.EventAccepted:
		h.accept(p, e)
	case engine.EventCanceled:
		o := h.change(p, e.Order)
		o.status, o.cause, o.open, o.endedNs = e.Status, e.Cause, 0, e.TimeNs
	case engine.EventReplaced:
		o := h.change(p, e.Order)
		o.price, o.amount, o.open = e.Price, e.Amount, e.OpenAmount
	case engine.EventReduced:
		h.change(p, e.Order).open = e.OpenAmount
	case engine.EventTriggered:
		h.change(p, e.Order).bits &^= bitWaiting
	}
}

func (h *History) accept(p *pairState, e *engine.Event) {
	i := h.open.take()
	if where(i) >= placeMask {
		panic("BUG: marketdata: more open orders than places")
	}
	o := h.open.at(i)
	*o = orderRec{
		id: e.Order, side: e.Side, typ: e.Type, tif: e.TIF, stp: e.STP, flags: e.Flags,
		price: e.Price, amount: e.Amount, open: e.Amount, createdNs: e.TimeNs, account: e.Account,
		bits: bitTouched,
	}
	if e.Type == engine.StopLimit || e.Type == engine.StopMarket {
		o.bits |= bitWaiting
	}
	stop := e.MakerOpen
	if e.Client != nil || stop != 0 || e.Display != 0 || !e.Quote.IsZero() {
		k := h.extras.take()
		*h.extras.at(k) = orderExtra{stop: stop, display: e.Display, quote: e.Quote, client: e.Client}
		o.extra = k + 1
	}
	h.linkOpen(i, o)
	p.orders.set(e.Order, inOpen|where(i))
	h.command = p
	h.touched = append(h.touched, i)
}

// change is an open order that the command under way changes.
func (h *History) change(p *pairState, id engine.OrderID) *orderRec {
	w := p.orders.get(id)
	if w&^placeMask != inOpen {
		panic("BUG: marketdata: an event of an order that is not open")
	}
	i := uint32(w & placeMask)
	o := h.open.at(i)
	if o.bits&bitTouched == 0 {
		o.bits |= bitTouched
		h.command = p
		h.touched = append(h.touched, i)
	}
	return o
}

func (h *History) foldTrade(p *pairState, e *engine.Event) {
	taker, maker := h.change(p, e.Order), h.change(p, e.Maker)
	n := h.fills.end
	f := h.fills.push()
	*f = fillRec{
		taker: e.Order, maker: e.Maker, trade: e.Trade, timeNs: e.TimeNs, price: e.Price, amount: e.Amount,
		takerFee: e.TakerFee, takerDiscount: e.TakerDiscount, makerFee: e.MakerFee, makerDiscount: e.MakerDiscount,
		takerPrev: distance(n, taker.lastFill), makerPrev: distance(n, maker.lastFill),
		takerAccount: taker.account, makerAccount: maker.account, side: e.Side,
	}
	quote := fixed.Mul64(uint64(e.Price), uint64(e.Amount))
	taker.fill(e, quote, n, e.OpenAmount, taker.flags&engine.FlagQuote != 0)
	maker.fill(e, quote, n, e.MakerOpen, false)
	ta := h.account(taker.account)
	f.takerAccountPrev = distance(n, ta.fill)
	ta.fill = n + 1
	if maker.account == taker.account {
		f.makerAccountPrev = f.takerAccountPrev
		return
	}
	ma := h.account(maker.account)
	f.makerAccountPrev = distance(n, ma.fill)
	ma.fill = n + 1
}

func (o *orderRec) fill(e *engine.Event, quote fixed.U128, n uint64, open int64, byQuote bool) {
	o.filled += e.Amount
	o.filledQuote = o.filledQuote.Add(quote)
	o.open = open
	o.lastFill = n + 1
	o.status = engine.PartiallyCompleted
	if open == 0 && !byQuote {
		o.status, o.endedNs = engine.Completed, e.TimeNs
	}
}

// distance is from n back to the value whose number + 1 is prev; 0 when there is none.
// One too far to say is out of the ring long since.
func distance(n, prev uint64) uint32 {
	if prev == 0 || n-(prev-1) > math.MaxUint32 {
		return 0
	}
	return uint32(n - (prev - 1))
}

// settle ends the command under way: its orders get its last seq, those that ended move
// to the closed ones, a new order's first answer is kept.
func (h *History) settle() {
	if len(h.touched) == 0 {
		return
	}
	p := h.command
	for _, i := range h.touched {
		o := h.open.at(i)
		o.bits &^= bitTouched
		o.seq = p.seq
		if o.flags&engine.FlagQuote != 0 && o.bits&bitWaiting == 0 && o.status.Open() {
			o.status, o.endedNs = engine.Completed, p.timeNs
		}
		if o.bits&bitPlaced == 0 {
			o.bits |= bitPlaced
			if o.extra != 0 {
				h.extras.at(o.extra - 1).firstAnswer(o)
			}
		}
		if !o.status.Open() {
			h.close(p, i, o)
		}
	}
	h.touched = h.touched[:0]
}

func (x *orderExtra) firstAnswer(o *orderRec) {
	x.firstFilledQuote, x.firstFilled, x.firstOpen = o.filledQuote, o.filled, o.open
	x.firstPrice, x.firstAmount = o.price, o.amount
	x.firstSeq, x.firstFill, x.firstStatus = o.seq, o.lastFill, o.status
}

// close moves an order that ended behind the newest closed one.
func (h *History) close(p *pairState, i uint32, o *orderRec) {
	h.unlinkOpen(o)
	if h.closed.full() {
		h.evict(h.closed.at(h.closed.begin()))
	}
	n := h.closed.end
	place := h.closed.place(n)
	c := h.closed.push()
	*c = *o
	a := h.account(c.account)
	c.next, c.prev = 0, distance(n, a.closed)
	a.closed = n + 1
	p.orders.set(c.id, inClosed|where(place))
	h.open.give(i)
}

// evict forgets the oldest closed order, or keeps its first answer when a client may
// still ask for it by repeating its client id.
func (h *History) evict(o *orderRec) {
	index := &h.pairs[o.id.Pair()].orders
	if o.extra == 0 || h.extras.at(o.extra-1).client == nil {
		h.forget(index, o)
		return
	}
	if h.remembered.full() {
		old := h.remembered.at(h.remembered.begin())
		h.forget(&h.pairs[old.id.Pair()].orders, old)
	}
	place := h.remembered.place(h.remembered.end)
	*h.remembered.push() = *o
	index.set(o.id, inRemembered|where(place))
}

func (h *History) forget(index *orderIndex, o *orderRec) {
	index.set(o.id, 0)
	if o.extra != 0 {
		h.extras.give(o.extra - 1)
	}
}

func (h *History) linkOpen(i uint32, o *orderRec) {
	a := h.account(o.account)
	o.next = a.openHead
	if a.openHead != 0 {
		h.open.at(a.openHead - 1).prev = i + 1
	}
	a.openHead = i + 1
}

func (h *History) unlinkOpen(o *orderRec) {
	if o.prev != 0 {
		h.open.at(o.prev - 1).next = o.next
	} else {
		h.account(o.account).openHead = o.next
	}
	if o.next != 0 {
		h.open.at(o.next - 1).prev = o.prev
	}
}
