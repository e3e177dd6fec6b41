package engine

// selfTrade handles a taker that meets an order of its own account; the taker's mode
// decides (docs/contract/matching.md#self-trade-prevention). Neither side trades.
func (b *book) selfTrade(t *taker, opp *ladder, lv *level, s int32, o *order) {
	switch t.stp {
	case CancelTaker:
		t.stop()
	case CancelMaker:
		b.cancelMaker(opp, lv, s, o)
	case CancelBoth:
		b.cancelMaker(opp, lv, s, o)
		t.stop()
	case Decrement:
		b.decrement(t, opp, lv, s, o)
	default:
		panic("BUG: engine: self-trade mode " + t.stp.String() + " cannot meet itself")
	}
}

func (t *taker) stop() { t.ended, t.cause = true, CauseSelfTrade }

// cancelMaker takes a maker out of the level that is being swept.
func (b *book) cancelMaker(opp *ladder, lv *level, s int32, o *order) {
	hidden := b.hidden(s, o)
	lv.shown -= o.shown
	lv.hidden -= hidden
	b.slices -= b.slicesOf(s, o)
	opp.open -= o.shown + hidden
	b.dequeue(o, lv)
	b.emitCanceled(o, lv.price, o.shown+hidden, CauseSelfTrade)
	b.forget(s, o)
}

// emitCanceled emits the event of an order that ended with open lots left.
func (b *book) emitCanceled(o *order, price, open int64, cause CancelCause) {
	e := b.emit(EventCanceled)
	e.Order = MakeOrderID(b.id, o.n)
	e.Account = b.owners.account(o.owner)
	e.Side = o.side
	e.Price = price
	e.Amount = open
	e.Cause = cause
	e.Status = finalStatus(o.total - open)
}

// decrement reduces both orders by the smaller remainder without a trade. The maker keeps its
// place and loses its reserve first; an order at 0 is canceled.
func (b *book) decrement(t *taker, opp *ladder, lv *level, s int32, o *order) {
	hidden := b.hidden(s, o)
	open := o.shown + hidden
	d := min(t.left, open)
	if t.byQuote() { // the remainder is money; elsewhere money is no bound, because none is paid
		if d = min(t.lots(lv.price), open); d == 0 {
			t.ended = true // the money left buys no lot
			return
		}
	}
	b.shrink(s, o, lv, opp, open-d)
	o.total -= d
	b.emitReduced(MakeOrderID(b.id, o.n), t.account, o.side, lv.price, d).OpenAmount = open - d
	if t.byQuote() {
		t.money = t.money.Sub(total(lv.price, d))
	} else {
		t.left -= d
	}
	e := b.emitReduced(t.id, t.account, t.side, lv.price, d)
	e.OpenAmount = t.open()
	if t.byQuote() {
		e.Flags, e.Quote = t.flags, t.money
	}
	if d == open {
		b.cancelMaker(opp, lv, s, o)
	}
	if t.left == 0 {
		t.stop()
	}
}

func (b *book) emitReduced(id OrderID, account AccountID, side Side, price, d int64) *Event {
	e := b.emit(EventReduced)
	e.Order = id
	e.Account = account
	e.Side = side
	e.Price = price
	e.Amount = d
	return e
}

// shrink lowers an order's open amount and keeps its place; it reduces the reserve first.
func (b *book) shrink(s int32, o *order, lv *level, l *ladder, open int64) {
	hidden := b.hidden(s, o)
	l.open -= o.shown + hidden - open
	shown := min(o.shown, open)
	lv.shown -= o.shown - shown
	o.shown = shown
	if o.marks&markIceberg != 0 {
		lv.hidden -= hidden - (open - shown)
		b.slices -= b.slicesOf(s, o)
		b.cold.at(s).hidden = open - shown
		b.slices += b.slicesOf(s, o)
	}
}
