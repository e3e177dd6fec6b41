package engine

import (
	"math"

	"github.com/tickhive/tickhive/internal/fixed"
)

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
			b.stream.level(lv)
		}
		if lv.count == 0 {
			opp.remove(&b.orders.levels, ls)
		}
	}
	return true
}

// sweep takes from one level. It returns false when the part ends before. The taker meets a maker only where its money
// allows a lot: an order of its own account that it cannot reach stays as it is.
func (b *book) sweep(t *taker, opp *ladder, lv *level) (done bool) {
	for t.left > 0 && !t.ended && lv.head != 0 {
		if b.stream.spent() {
			return false
		}
		s := lv.head
		o := b.orders.at(s)
		q := min(t.lots(lv.price), o.shown)
		if q == 0 {
			t.endOfMoney()
			return true
		}
		if t.stp != SelfTradeNone && o.owner == t.owner {
			b.selfTrade(t, opp, lv, s, o)
			continue
		}
		o.shown -= q
		lv.shown -= q
		opp.open -= q
		t.fill(lv.price, q)
		t.report(b.emitTrade(s, o, lv.price, q))
		if t.list|int32(o.marks&markList) != 0 {
			b.tradeOfList(t, s, o, q)
		}
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
	if !t.byQuote() || t.side == Sell {
		t.left -= q
	}
}

// emitTrade emits a trade with the maker of a slot; the caller sets the taker's members.
func (b *book) emitTrade(s int32, o *order, price, q int64) *Event {
	b.trade++
	b.last = price
	e := b.stream.emit(EventTrade)
	b.stream.weigh(tradeWeight)
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
	e.Display = t.own()
	e.Status = PartiallyCompleted
	if t.capped {
		e.Quote = t.money
		if t.byQuote() {
			return
		}
	}
	if e.OpenAmount = t.left; t.left == 0 {
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
			e := b.stream.emit(EventRefilled)
			e.Order = MakeOrderID(b.id, o.n)
			e.Account = b.orders.account(o)
			e.Side = o.side
			e.Price = lv.price
			e.Amount = o.shown
			e.OpenAmount = o.shown + c.hidden
			return
		}
	}
	b.forget(s, o, causeFilled)
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
	case t.left == 0 && !t.ended && !t.byQuote(): // filled
		b.release(t, causeFilled)
	case t.ended || t.tif != GTC: // a market order is IOC
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
	if lv := b.enqueue(s, o, t); lv.shown != t.was {
		b.stream.level(lv)
	}
}

// enqueue puts the order of a taker that has open lots at the back of the queue at its limit.
func (b *book) enqueue(s int32, o *order, t *taker) *level {
	o.marks = 0
	if t.flags&FlagPostOnly != 0 {
		o.marks |= markPostOnly
	}
	if t.client|t.list != 0 {
		b.mark(s, o, t)
	}
	o.shown = t.left
	if t.display > 0 {
		o.shown = min(t.display, t.left)
		o.marks |= markIceberg
		c := b.orders.cold.At(s)
		c.display = t.display
		c.hidden = t.left - o.shown
	}
	return b.append(s, o, t.limit, t.left-o.shown)
}

// mark notes the client id and the list of a taker at its order.
func (b *book) mark(s int32, o *order, t *taker) {
	c := b.orders.cold.At(s)
	if t.client != 0 {
		o.marks |= markClient
		c.client = t.client
	}
	if t.list != 0 {
		o.marks |= markList
		c.stop = t.list
	}
}

// cancelTaker cancels the taker's remainder.
func (b *book) cancelTaker(t *taker) {
	if t.byQuote() && t.left == 0 {
		t.cause = CauseFunds
	}
	e := b.stream.emit(EventCanceled)
	e.Order = t.id
	e.Account = t.account
	e.Side = t.side
	e.Cause = t.cause
	e.Status = finalStatus(t.filled)
	e.Price = t.own()
	e.Amount = t.open()
	if t.capped {
		e.Quote = t.money
	}
	if t.byQuote() && t.filled > 0 && b.spent(t) {
		e.Status = Completed
	}
	b.release(t, t.cause)
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
func (b *book) release(t *taker, cause CancelCause) {
	if t.slot != 0 {
		b.forget(t.slot, b.orders.at(t.slot), cause)
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

// taker is the order being matched: a new order, a triggered stop or a replaced order. Meanwhile it is on no
// level.
type taker struct {
	n       uint64
	id      OrderID
	slot    int32 // slot of an order that is already open (stop, replace), 0: a new order
	owner   int32 // slot of its owner, which exists until the taker is released
	client  int32
	list    int32 // slot of its order list, 0: none; then it has a slot
	account AccountID

	side   Side
	market bool
	tif    TimeInForce
	stp    SelfTrade
	flags  uint8

	limit   int64 // ticks; for a market order the worst possible price
	left    int64 // open lots; by quote: unlimited, but where the account has less than a sell would take
	filled  int64 // lots, earlier fills included
	display int64
	was     int64 // what the level it comes back to showed before a replace took it out
	found   int64 // what the level showed at which an earlier part paused, before it took; 0: none

	// money is what a market buy holds in product units: its quote amount, or what its amount costs (reach). While it
	// trades, it counts down when it is capped: by quote, or where it is less than the amount costs.
	capped bool
	money  fixed.U128
	sells  int64 // lots that a market sell by quote holds: what it will sell (reach), of which filled are sold

	typ  OrderType // of a reached waiting order, or of one that its list releases
	stop int64     // the price that triggers it, until EventTriggered reports it
	hold int64     // the price at which it has held its lots, of a market buy by amount
	due  bool      // its list releases it, until EventReleased reports it

	makerFee, takerFee, discount uint32

	ended bool // the remainder is canceled with cause, whatever the time in force
	cause CancelCause
}

func (t *taker) byQuote() bool { return t.flags&FlagQuote != 0 }

// open returns the open amount that events report.
func (t *taker) open() int64 {
	if t.byQuote() {
		return 0
	}
	return t.left
}

// lots returns the lots that it may take at price: its open amount, or less when its money ends before.
func (t *taker) lots(price int64) int64 {
	if !t.capped {
		return t.left
	}
	return min(t.left, lotsFor(t.money, price))
}

// wants returns the lots that an order of its own account at price keeps from it. Nothing is paid for them, so only a
// quote amount is a limit.
func (t *taker) wants(price int64) int64 {
	if t.byQuote() {
		return lotsFor(t.money, price)
	}
	return t.left
}

// lotsFor returns the number of lots that an amount of product units buys at price.
func lotsFor(money fixed.U128, price int64) int64 {
	q, _ := money.DivMod64(uint64(price))
	if q.Hi != 0 || q.Lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(q.Lo)
}

// own returns the limit of a limit order, 0 for a market order.
func (t *taker) own() int64 {
	if t.market {
		return 0
	}
	return t.limit
}

// byAmount reports whether it is a market buy by amount that holds money, which the built-in account does not.
func (t *taker) byAmount() bool { return t.market && t.side == Buy && t.account != 0 && !t.byQuote() }

// asks reports whether it has to know what it will take before it enters: a market buy by amount, and a market sell by
// quote amount, of an account that holds something.
func (t *taker) asks() bool {
	return t.market && t.account != 0 && t.byQuote() == (t.side == Sell)
}

// endOfMoney ends a taker whose money buys no lot at the next price.
func (t *taker) endOfMoney() {
	if t.ended = true; !t.byQuote() {
		t.cause = CauseFunds
	}
}

// setMarket makes it a market order, whose limit is the worst possible price; quote is the amount of a buy by quote.
func (t *taker) setMarket(quote fixed.U128) {
	t.market, t.tif, t.limit = true, IOC, 1
	if t.side == Buy {
		t.limit = math.MaxInt64
	}
	if t.byQuote() {
		t.capped, t.money, t.left = true, quote, math.MaxInt64
	}
}

// selfTrade handles a taker that meets an order of its own account, of which it could take a lot; the taker's mode
// decides (docs/contract/matching.md#self-trade-prevention). Neither side trades.
func (b *book) selfTrade(t *taker, opp *ladder, lv *level, s int32, o *order) {
	b.emitPrevented(t, lv.price, o, o.shown+b.orders.hidden(s, o))
	switch t.stp {
	case CancelTaker:
		t.crossed()
	case CancelMaker:
		b.cancelMaker(opp, lv, s, o)
	case CancelBoth:
		b.cancelMaker(opp, lv, s, o)
		t.crossed()
	case Decrement:
		b.decrement(t, opp, lv, s, o)
	default:
		panic("BUG: engine: self-trade mode " + t.stp.String() + " cannot meet itself")
	}
}

// emitPrevented reports that the taker and a maker with open lots are kept apart.
func (b *book) emitPrevented(t *taker, price int64, o *order, open int64) {
	b.prevented++
	e := b.stream.emit(EventPrevented)
	e.Order = t.id
	e.Maker = MakeOrderID(b.id, o.n)
	e.Trade = b.prevented
	e.Side = t.side
	e.Account = t.account
	e.Price = price
	e.STP = t.stp
	wants := t.wants(price)
	switch t.stp {
	case CancelTaker:
		e.Amount = wants
	case CancelMaker:
		e.OpenAmount = open
	case CancelBoth:
		e.Amount, e.OpenAmount = wants, open
	case Decrement:
		e.Amount = min(wants, open)
		e.OpenAmount = e.Amount
	case SelfTradeNone: // it would trade
	}
}

func (t *taker) crossed() { t.ended, t.cause = true, CauseSelfTrade }

// cancelMaker cancels a maker in the level that is being swept.
func (b *book) cancelMaker(opp *ladder, lv *level, s int32, o *order) {
	hidden := b.orders.hidden(s, o)
	lv.shown -= o.shown
	lv.hidden -= hidden
	b.slices -= b.orders.slicesOf(s, o)
	opp.open -= o.shown + hidden
	b.orders.dequeue(o, lv)
	b.stream.canceled(o, b.orders.account(o), lv.price, o.shown+hidden, CauseSelfTrade)
	b.forget(s, o, CauseSelfTrade)
}

// decrement reduces both orders by the smaller remainder without a trade. The maker keeps its
// place and loses its reserve first; an order at 0 is canceled.
func (b *book) decrement(t *taker, opp *ladder, lv *level, s int32, o *order) {
	hidden := b.orders.hidden(s, o)
	open := o.shown + hidden
	d := min(t.wants(lv.price), open)
	b.shrink(s, o, lv, opp, open-d)
	o.total -= d
	e := b.stream.reduced(MakeOrderID(b.id, o.n), t.account, o.side, lv.price, d)
	e.OpenAmount, e.Display = open-d, lv.price
	if t.byQuote() {
		t.money = t.money.Sub(total(lv.price, d))
	} else {
		t.left -= d
	}
	e = b.stream.reduced(t.id, t.account, t.side, lv.price, d)
	e.OpenAmount, e.Display = t.open(), t.own()
	if t.byQuote() {
		e.Flags, e.Quote = t.flags, t.money
	}
	if d == open {
		b.cancelMaker(opp, lv, s, o)
	} else if o.marks&markList != 0 {
		b.reduceOther(s, o, d)
	}
	if t.left == 0 {
		t.crossed()
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

// scan is a walk over the other side (reach) between two parts.
type scan struct {
	need  int64      // lots still to be found; 0: no walk is unfinished
	cost  fixed.U128 // of the lots found, product units; by quote also of those that self-trade prevention takes off
	sold  int64      // by quote: the lots found
	price int64      // of the level to go on with
	n     uint64     // of the order to go on with at this level, 0: its first
	// The reserves of other accounts at this level before order n.
	hidden int64
}

// reach walks the other side as the taker will take it, and changes nothing: fills reports whether its whole amount is
// there, cost is the worth of the lots that it gets, of a sell by quote amount those lots. It counts hidden lots, and
// treats orders of the taker's own account as the taker's self-trade mode will. It counts whole levels by their sums
// and reads single orders only when the account has other orders. known is false when the part ends before the answer
// is found.
func (b *book) reach(t *taker) (fills bool, cost fixed.U128, known bool) {
	opp := &b.sides[t.side.Opposite()]
	at := b.scan
	if at.need == 0 {
		at.need = t.left
	}
	own := t.stp != SelfTradeNone && b.orders.owners.At(t.owner).Open > 1 // it may have orders besides the taker
	known = true
	opp.downFrom(at.price, func(ls int32) bool {
		lv := b.orders.levels.At(ls)
		if opp.better(t.limit, lv.price) {
			return false
		}
		if known = !b.stream.spent(); !known {
			at.price = lv.price
			return false
		}
		b.stream.visit()
		if t.byQuote() {
			if at.need = lotsFor(t.money.Sub(at.cost), lv.price); at.need == 0 {
				return false
			}
		}
		blocked := false
		if !own {
			blocked = at.take(lv.price, lv.shown+lv.hidden)
		} else if blocked, known = b.reachAt(t, lv, &at); !known {
			at.price = lv.price
			return false
		}
		return !blocked && (at.need > 0 || t.byQuote())
	})
	if !known {
		if b.scan = at; t.byQuote() {
			b.scan.need = 1 // the next part finds it anew
		}
		return false, fixed.U128{}, false
	}
	b.scan = scan{}
	if t.byQuote() {
		return false, fixed.FromU64(uint64(at.sold)), true
	}
	return at.need == 0, at.cost, true
}

// take counts up to q lots at price, and reports whether more are there than it needs.
func (at *scan) take(price, q int64) (more bool) {
	more = q > at.need
	q = min(q, at.need)
	at.need -= q
	at.sold += q
	at.cost = at.cost.Add(total(price, q))
	return more
}

// reachAt walks a level order by order. An order of the taker's account ends a taker there (blocked), unless the mode
// cancels that order or takes both down by the smaller amount: the taker cannot reach the orders behind it, nor the
// reserves that would queue behind it. A fill-or-kill order that loses an amount is not filled, so it ends there too.
// The answer is not known yet when the part ends before.
func (b *book) reachAt(t *taker, lv *level, at *scan) (blocked, known bool) {
	more := false
	s := lv.head
	if at.n != 0 {
		s = b.orders.ids.Get(at.n)
	}
	for ; s != 0 && at.need > 0; s = b.orders.at(s).next {
		o := b.orders.at(s)
		if b.stream.spent() {
			at.n = o.n
			return false, false
		}
		b.stream.visit()
		switch {
		case o.owner != t.owner:
			more = at.take(lv.price, o.shown)
			at.hidden += b.orders.hidden(s, o)
		case t.stp == Decrement && t.market:
			open := o.shown + b.orders.hidden(s, o)
			d := min(at.need, open)
			more = d < open
			if at.need -= d; t.byQuote() {
				at.cost = at.cost.Add(total(lv.price, d))
			}
		case t.stp != CancelMaker:
			return true, true
		}
	}
	more = at.take(lv.price, at.hidden) || more || s != 0
	at.n, at.hidden = 0, 0
	return more, true
}
