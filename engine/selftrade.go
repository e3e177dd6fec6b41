package engine

// selfTrade handles a taker that meets an order of its own account, of which it could take a lot; the taker's mode
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

// cancelMaker cancels a maker in the level that is being swept.
func (b *book) cancelMaker(opp *ladder, lv *level, s int32, o *order) {
	hidden := b.orders.hidden(s, o)
	lv.shown -= o.shown
	lv.hidden -= hidden
	b.slices -= b.orders.slicesOf(s, o)
	opp.open -= o.shown + hidden
	b.orders.dequeue(o, lv)
	b.tape.canceled(o, b.orders.account(o), lv.price, o.shown+hidden, CauseSelfTrade)
	b.forget(s, o)
}

// decrement reduces both orders by the smaller remainder without a trade. The maker keeps its
// place and loses its reserve first; an order at 0 is canceled.
func (b *book) decrement(t *taker, opp *ladder, lv *level, s int32, o *order) {
	hidden := b.orders.hidden(s, o)
	open := o.shown + hidden
	d := min(t.left, open)
	// the remainder is money; without a quote amount, money has no limit here, because nothing is paid
	if t.byQuote() {
		d = min(t.lots(lv.price), open)
	}
	b.shrink(s, o, lv, opp, open-d)
	o.total -= d
	b.tape.reduced(MakeOrderID(b.id, o.n), t.account, o.side, lv.price, d).OpenAmount = open - d
	if t.byQuote() {
		t.money = t.money.Sub(total(lv.price, d))
	} else {
		t.left -= d
	}
	e := b.tape.reduced(t.id, t.account, t.side, lv.price, d)
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

// shrink lowers an order's open amount and keeps its place; it reduces the reserve first.
func (b *book) shrink(s int32, o *order, lv *level, l *ladder, open int64) {
	hidden := b.orders.hidden(s, o)
	l.open -= o.shown + hidden - open
	shown := min(o.shown, open)
	lv.shown -= o.shown - shown
	o.shown = shown
	if o.marks&markIceberg != 0 {
		lv.hidden -= hidden - (open - shown)
		b.slices -= b.orders.slicesOf(s, o)
		b.orders.cold.At(s).hidden = open - shown
		b.slices += b.orders.slicesOf(s, o)
	}
}
