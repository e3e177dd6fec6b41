package engine

import "github.com/tickhive/tickhive/internal/fixed"

// replaceWaiting changes a waiting order (docs/contract/matching.md#replace). It keeps its id and its age: among the
// orders that one trade reaches, the oldest still enters first.
func (b *book) replaceWaiting(cmd *Command, s int32, o *order) {
	st := b.stops.parked.At(b.orders.cold.At(s).stop)
	if st.state == pends {
		b.replacePending(cmd, s, o, st)
		return
	}
	next, amount := st.replaced(cmd, o.total)
	if next.stop != st.stop {
		next.state = waits // it tracks from the new stop price on
	}
	end, r := b.checkWaiting(cmd, s, o, st, &next, amount)
	if r != NotRejected {
		b.stream.refuse(cmd, r)
		return
	}
	other := int32(0)
	if amount != o.total {
		other = b.otherOf(s, o)
	}
	b.emitWaiting(o, st, &next, amount)
	b.setLots(o, st, &next, amount)
	if other != 0 {
		b.replaceOther(other, amount)
	}
	st.price, st.hold = next.price, next.hold
	switch {
	case next.state != st.state || next.stop != st.stop:
		b.withdraw(s, o)
		if st.stop, st.trail = next.stop, next.trail; st.trail != 0 || !through(b.last, st.way(o.side), st.stop) {
			b.await(s, o)
			return
		}
	case end != 0:
		b.withdraw(s, o)
		st.stop, st.trail = end, next.trail
	case next.state == tracks && next.trail != st.trail:
		b.changeTrail(s, o, next.trail)
		return
	default:
		st.trail = next.trail
		return
	}
	if b.trigger(s) {
		b.cascade()
	}
}

// replaced returns the waiting order that a Replace asks for, of an order with a total, and its new total.
func (st *stopOrder) replaced(cmd *Command, total int64) (next stopOrder, amount int64) {
	next, amount = *st, total
	if cmd.Flags&FlagHasPrice != 0 {
		next.price = cmd.Price
	}
	if cmd.Flags&FlagHasAmount != 0 {
		amount = cmd.Amount
	}
	if cmd.Flags&FlagHasStop != 0 {
		next.stop = cmd.Stop
	}
	if cmd.Flags&FlagHasTrail != 0 {
		next.trail = cmd.Trail
	}
	return next, amount
}

// checkWaiting checks whether a waiting order may become next with a new amount, and sets the hold of next. end is the
// price that triggers the order at once, of a trailing order: the last trade has reached it.
func (b *book) checkWaiting(cmd *Command, s int32, o *order, st, next *stopOrder, amount int64) (end int64, r Reason) {
	switch market := st.typ.AtMarket(); {
	case market && cmd.Flags&FlagHasPrice != 0:
		return 0, PriceOutOfRange
	case st.flags&FlagQuote != 0 && cmd.Flags&FlagHasAmount != 0:
		return 0, AmountOutOfRange
	case st.trail == 0 && cmd.Flags&FlagHasTrail != 0:
		return 0, TrailOutOfRange
	case !market:
		if r := b.inst.CheckTotal(total(next.price, amount)); r != NotRejected {
			return 0, r
		}
	}
	reached := next.trail == 0 && through(b.last, next.way(o.side), next.stop)
	price, ok := next.stop, true
	if next.state == tracks {
		if price, ok = trailEnd(o.side, b.extremeOf(o, st), next.trail); ok && through(b.last, endOf(o.side), price) {
			end, reached = price, true
		}
	}
	if st.hold != 0 {
		if next.stop != 0 {
			price, ok = next.stop, true
		}
		if next.hold = price; !ok || b.inst.MaxSettled().Less(total(price, amount)) {
			return 0, TotalOutOfRange
		}
	}
	if r := b.checkOther(s, o, amount); r != NotRejected {
		return 0, r
	}
	before := b.inst.holds(o.side, st.waitingPrice(), o.total)
	more := b.needsBeyond(s, o, amount, before, b.inst.holds(o.side, next.waitingPrice(), amount))
	if r := b.cover(b.orders.account(o), o.side, more); r != NotRejected {
		return 0, r
	}
	if !st.typ.AtMarket() {
		d := st.display
		switch {
		case !b.roomFor(o.side, amount-o.total), d > amount, d > 0 && amount/d > b.opts.IcebergSlices:
			return 0, AmountOutOfRange
		case next.slices(amount) > b.opts.PairSlices-b.slices+st.slices(o.total):
			return 0, TooManySlices
		}
	}
	switch {
	case !reached:
	case st.flags&FlagStrict != 0:
		return 0, WouldTrigger
	case b.inst.State == PostOnlyState && st.flags&FlagPostOnly == 0:
		return 0, PairPostOnly
	}
	return end, NotRejected
}

// waitingPrice returns the price at which a waiting buy holds its lots; 0 for one by quote amount.
func (st *stopOrder) waitingPrice() int64 { return max(st.price, st.hold) }

// emitWaiting reports the replace of a waiting order.
func (b *book) emitWaiting(o *order, st, next *stopOrder, amount int64) {
	e := b.stream.emit(EventReplaced)
	e.Order = MakeOrderID(b.id, o.n)
	e.Account = b.orders.account(o)
	e.Side = o.side
	e.Type = st.typ
	e.Price, e.MakerOpen = next.waitingPrice(), st.waitingPrice()
	e.Amount, e.OpenAmount, e.Display = amount, amount, o.total
	e.Quote = fixed.FromU64(uint64(next.stop))
	e.Trail = next.trail
}
