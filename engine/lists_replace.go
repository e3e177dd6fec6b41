package engine

import (
	"math"

	"github.com/tickhive/tickhive/internal/fixed"
)

// otherOf returns the slot of the order that an order cancels when it works, 0: none.
func (b *book) otherOf(s int32, o *order) int32 {
	if o.marks&markList == 0 {
		return 0
	}
	return b.lists.at(b.listOf(s, o)).other(s)
}

// priceOf returns the price at which a buy holds money for its lots.
func (b *book) priceOf(s int32, o *order) int64 {
	if o.marks&markStop != 0 {
		return b.stops.parked.At(b.orders.cold.At(s).stop).waitingPrice()
	}
	return b.orders.levels.At(o.level).price
}

// holds returns the units that an order of a side holds for its lots at a price.
func (i *Instrument) holds(side Side, price, lots int64) fixed.U128 {
	if side == Sell {
		return i.BaseUnits(lots)
	}
	return i.QuoteUnits(total(price, lots))
}

// needsBeyond returns the units that an order, which holds before, needs beyond that to hold after with a new total.
// Two orders of which one cancels the other hold the larger need, and have one amount.
func (b *book) needsBeyond(s int32, o *order, amount int64, before, after fixed.U128) fixed.U128 {
	if x := b.otherOf(s, o); x != 0 {
		p := b.orders.at(x)
		price := b.priceOf(x, p)
		before = larger(before, b.inst.holds(p.side, price, p.total))
		after = larger(after, b.inst.holds(p.side, price, amount))
	}
	return after.SubFloor(before)
}

// checkOther checks whether the order that an order cancels may have the new amount too.
func (b *book) checkOther(s int32, o *order, amount int64) Reason {
	x := b.otherOf(s, o)
	if x == 0 || amount == o.total {
		return NotRejected
	}
	p := b.orders.at(x)
	if p.marks&markStop != 0 {
		return b.checkLots(p, b.stops.parked.At(b.orders.cold.At(x).stop), amount, amount-o.total)
	}
	st := stopOrder{typ: Limit, price: b.priceOf(x, p)}
	if p.marks&markIceberg != 0 {
		st.display = b.orders.cold.At(x).display
	}
	return b.checkLots(p, &st, amount, amount-o.total)
}

// checkLots checks whether an order may have a new amount, beside one that gets more lots as well.
func (b *book) checkLots(o *order, st *stopOrder, amount, more int64) Reason {
	if st.hold != 0 && b.inst.MaxSettled().Less(total(st.hold, amount)) {
		return TotalOutOfRange
	}
	if st.typ.AtMarket() {
		return NotRejected
	}
	if r := b.inst.CheckTotal(total(st.price, amount)); r != NotRejected {
		return r
	}
	d := st.display
	switch {
	case more > math.MaxInt64/2 || more > 0 && !b.roomFor(o.side, 2*more): // of both
		return AmountOutOfRange
	case d > amount, d > 0 && amount/d > b.opts.IcebergSlices:
		return AmountOutOfRange
	case st.slices(amount) > b.opts.PairSlices-b.slices+st.slices(o.total):
		return TooManySlices
	}
	return NotRejected
}

// replaceOther gives the order that a replaced one cancels the new amount. It has no fills, and it does not trade: a
// limit order is post-only, and its price stays.
func (b *book) replaceOther(x int32, amount int64) {
	o := b.orders.at(x)
	if o.marks&markStop != 0 {
		st := b.stops.parked.At(b.orders.cold.At(x).stop)
		b.emitWaiting(o, st, st, amount)
		b.setLots(o, st, st, amount)
		return
	}
	lv := b.orders.levels.At(o.level)
	if amount <= o.total {
		b.replaceInPlace(x, o, lv, amount, amount)
		return
	}
	b.reenter(x, o, lv.price, amount, 0)
}

// setLots sets the amount of a waiting order that becomes next.
func (b *book) setLots(o *order, st, next *stopOrder, amount int64) {
	if !next.typ.AtMarket() {
		b.stops.lots[o.side] += amount - o.total
		b.slices += next.slices(amount) - st.slices(o.total)
	}
	o.total, o.shown = amount, amount
}

// replacePending replaces an order that its list keeps back. It holds nothing, so its money is judged when it is
// released, and so is what the book says.
func (b *book) replacePending(cmd *Command, s int32, o *order, st *stopOrder) {
	next, amount := st.replaced(cmd, o.total)
	if next.hold != 0 && next.stop != 0 {
		next.hold = next.stop
	}
	if r := b.checkPending(cmd, s, o, &next, amount); r != NotRejected {
		b.stream.refuse(cmd, r)
		return
	}
	other := b.otherOf(s, o)
	more := amount != o.total
	b.emitWaiting(o, st, &next, amount)
	b.setLots(o, st, &next, amount)
	if *st = next; other != 0 && more {
		b.replaceOther(other, amount)
	}
}

// lacksAmount reports whether an order is one whose list sets its amount when it releases it.
func (b *book) lacksAmount(s int32, o *order) bool {
	return b.pends(s) && b.lists.at(b.listOf(s, o)).kind.Brings()
}

// checkPending checks whether a pending order may become next with a new amount.
func (b *book) checkPending(cmd *Command, s int32, o *order, next *stopOrder, amount int64) Reason {
	brings := b.lists.at(b.listOf(s, o)).kind.Brings()
	switch {
	case brings && cmd.Flags&FlagHasAmount != 0:
		return OrderPending
	case next.typ.AtMarket() && cmd.Flags&FlagHasPrice != 0:
		return PriceOutOfRange
	case !next.typ.Waits() && cmd.Flags&FlagHasStop != 0:
		return OrderClosed
	case next.trail != 0 && cmd.Flags&FlagHasTrail != 0 && b.stops.parked.At(b.orders.cold.At(s).stop).trail == 0:
		return TrailOutOfRange
	}
	if !brings {
		if r := b.checkLots(o, next, amount, amount-o.total); r != NotRejected {
			return r
		}
		if r := b.checkOther(s, o, amount); r != NotRejected {
			return r
		}
	}
	return b.cover(b.orders.account(o), o.side, fixed.U128{})
}
