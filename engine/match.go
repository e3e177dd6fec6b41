package engine

// match takes from the other side, best price first, then by arrival, until the taker is
// filled, ended, at its limit, or the side is empty. It returns false when the part ends before.
func (b *book) match(t *taker) (done bool) {
	opp := &b.sides[t.side.Opposite()]
	for t.left > 0 && !t.ended && opp.best != 0 {
		if !opp.reached(t.limit) {
			return true
		}
		ls := opp.best
		lv := b.orders.levels.At(ls)
		shown := lv.shown
		if t.found != 0 {
			shown, t.found = t.found, 0
		}
		if !b.sweep(t, opp, lv) {
			t.found = shown
			return false
		}
		if lv.shown != shown { // refills may have made up for what was taken
			b.tape.level(lv)
		}
		if lv.count == 0 {
			opp.remove(&b.orders.levels, ls)
		}
	}
	return true
}

// sweep takes from one level. It returns false when the part ends before. The taker meets a maker only where its money
// and its earn limit allow a lot: an order of its own account that it cannot reach stays as it is.
func (b *book) sweep(t *taker, opp *ladder, lv *level) (done bool) {
	for t.left > 0 && !t.ended && lv.head != 0 {
		if b.tape.spent() {
			return false
		}
		s := lv.head
		o := b.orders.at(s)
		q := min(t.lots(lv.price), o.shown)
		if q == 0 {
			t.ended = true // the money ends below one lot
			return true
		}
		if t.bounded {
			if q = t.earnable(lv.price, q); q == 0 {
				t.stopAtLimit()
				return true
			}
		}
		if t.stp != SelfTradeNone && o.owner == t.owner {
			b.selfTrade(t, opp, lv, s, o)
			continue
		}
		if t.bounded {
			t.earned(lv.price, q)
		}
		o.shown -= q
		lv.shown -= q
		opp.open -= q
		t.fill(lv.price, q)
		t.report(b.emitTrade(s, o, lv.price, q))
		if o.shown == 0 {
			b.makerEmptied(s, o, lv)
		}
	}
	return true
}

// fill updates the taker after a fill.
func (t *taker) fill(price, q int64) {
	t.filled += q
	if t.capped {
		t.money = t.money.Sub(total(price, q))
	}
	if !t.byQuote() {
		t.left -= q
	}
}

// emitTrade emits a trade with the maker of a slot; the caller sets the taker's members.
func (b *book) emitTrade(s int32, o *order, price, q int64) *Event {
	b.trade++
	b.last = price
	e := b.tape.emit(EventTrade)
	b.tape.weigh(tradeWeight)
	e.Maker = MakeOrderID(b.id, o.n)
	e.Trade = b.trade
	e.Price = price
	e.Amount = q
	e.MakerOpen = o.shown + b.orders.hidden(s, o)
	e.MakerAccount = b.orders.account(o)
	e.MakerFee, e.MakerDiscount = o.makerFee, o.discount
	return e
}

// report sets the members of a trade that the taker determines.
func (t *taker) report(e *Event) {
	e.Side = t.side
	e.Flags = t.flags
	e.Account = t.account
	e.Order = t.id
	e.TakerFee, e.TakerDiscount = t.takerFee, t.discount
	e.Status = PartiallyCompleted
	if t.byQuote() {
		e.Quote = t.money
	} else if e.OpenAmount = t.left; t.left == 0 {
		e.Status = Completed
	}
}

// makerEmptied handles a maker without shown lots: an iceberg shows its next slice and goes to the back of the
// queue; any other order has ended.
func (b *book) makerEmptied(s int32, o *order, lv *level) {
	ls := o.level
	b.orders.dequeue(o, lv)
	if o.marks&markIceberg != 0 {
		if c := b.orders.cold.At(s); c.hidden > 0 {
			o.shown = min(c.display, c.hidden)
			c.hidden -= o.shown
			lv.hidden -= o.shown
			b.slices--
			lv.shown += o.shown
			b.orders.enqueue(s, o, ls, lv)
			e := b.tape.emit(EventRefilled)
			e.Order = MakeOrderID(b.id, o.n)
			e.Account = b.orders.account(o)
			e.Side = o.side
			e.Price = lv.price
			e.Amount = o.shown
			e.OpenAmount = o.shown + c.hidden
			return
		}
	}
	b.forget(s, o)
}

// enter lets a taker into the book: it matches, then rests, ends or is canceled. The caller
// has already refused a taker that may not enter. It returns false when the part ends before: the
// book then keeps the taker.
func (b *book) enter(t *taker) (done bool) {
	if !b.match(t) {
		b.pauseTaker(t)
		return false
	}
	switch {
	case t.left == 0 && !t.ended: // filled
		b.release(t)
	case t.ended || t.tif != GTC: // a market order is IOC
		b.cancelTaker(t)
	case t.exceedsLimit():
		t.cause = CauseLimit
		b.cancelTaker(t)
	default:
		b.rest(t)
	}
	return true
}

// rest puts the remainder of a gtc limit order into the book.
func (b *book) rest(t *taker) {
	s := t.slot
	var o *order
	if s == 0 {
		s, o = b.orders.add(t.n, t.owner, t.side)
		o.stp = t.stp
		o.makerFee, o.takerFee, o.discount = t.makerFee, t.takerFee, t.discount
	} else {
		o = b.orders.at(s)
	}
	o.total = t.filled + t.left
	if lv := b.enqueue(s, o, t.limit, t.left, t.display, t.client, t.flags); lv.shown != t.was {
		b.tape.level(lv)
	}
}

// enqueue puts an order with open lots at the back of the queue at price.
func (b *book) enqueue(s int32, o *order, price, open, display int64, client int32, flags uint8) *level {
	o.marks = 0
	if flags&FlagPostOnly != 0 {
		o.marks |= markPostOnly
	}
	if client != 0 {
		o.marks |= markClient
		b.orders.cold.At(s).client = client
	}
	o.shown = open
	if display > 0 {
		o.shown = min(display, open)
		o.marks |= markIceberg
		c := b.orders.cold.At(s)
		c.display = display
		c.hidden = open - o.shown
	}
	return b.append(s, o, price, open-o.shown)
}

// cancelTaker cancels the taker's remainder.
func (b *book) cancelTaker(t *taker) {
	e := b.tape.emit(EventCanceled)
	e.Order = t.id
	e.Account = t.account
	e.Side = t.side
	e.Cause = t.cause
	e.Status = finalStatus(t.filled)
	if !t.market {
		e.Price = t.limit
	}
	if !t.byQuote() {
		e.Amount = t.left
	} else {
		e.Quote = t.money
		if t.filled > 0 && b.spent(t) {
			e.Status = Completed
		}
	}
	b.release(t)
}

// spent reports whether the remaining quote amount buys no lot, neither at the last trade's price nor at the
// next price.
func (b *book) spent(t *taker) bool {
	if t.cause != CauseRemainder {
		return false
	}
	// An order that did not empty the other side ended there, because its money bought no lot.
	return t.lots(b.last) == 0 || b.sides[t.side.Opposite()].best != 0
}

// release frees what a taker holds if it does not rest.
func (b *book) release(t *taker) {
	if t.slot != 0 {
		b.forget(t.slot, b.orders.at(t.slot))
		return
	}
	b.releaseNew(t.owner, t.client)
}

// releaseNew frees what an order holds that never had a slot.
func (b *book) releaseNew(owner, client int32) {
	if client != 0 {
		b.clients.Close(client)
	}
	b.orders.owners.DropOrder(owner)
}
