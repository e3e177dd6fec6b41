package engine

import "github.com/tickhive/tickhive/internal/fixed"

// replace changes an open order (docs/contract/matching.md#replace). Of a resting one, a lower
// total at the same price, or no change, keeps the place; anything else is a new arrival under the
// old id.
func (b *book) replace(cmd *Command) {
	s, o, r := b.checkReplace(cmd)
	switch {
	case r != NotRejected:
		b.stream.refuse(cmd, r)
	case cmd.Flags&FlagSmallerOnly != 0:
		b.amend(cmd, s, o)
	default:
		b.change(cmd, s, o)
	}
}

// change carries out a Replace of an open order.
func (b *book) change(cmd *Command, s int32, o *order) {
	if o.marks&markStop != 0 {
		b.replaceWaiting(cmd, s, o)
		return
	}
	lv := b.orders.levels.At(o.level)
	price, amount := lv.price, o.total
	if cmd.Flags&FlagHasPrice != 0 {
		price = cmd.Price
	}
	if cmd.Flags&FlagHasAmount != 0 {
		amount = cmd.Amount
	}
	open := o.shown + b.orders.hidden(s, o)
	filled := o.total - open
	if amount <= filled {
		if r := b.cover(b.orders.account(o), o.side, fixed.U128{}); r != NotRejected {
			b.stream.refuse(cmd, r)
			return
		}
		at := b.stream.n
		b.cancelOpen(s, o, CauseReplace, nil)
		b.stream.out[at].OpenAmount = cmd.Amount
		return
	}
	if r := b.checkReplaced(s, o, price, amount, open, amount-filled); r != NotRejected {
		b.stream.refuse(cmd, r)
		return
	}
	other := int32(0)
	if amount != o.total {
		other = b.otherOf(s, o)
	}
	if price == lv.price && amount <= o.total {
		b.replaceInPlace(s, o, lv, amount, amount-filled)
	} else if b.reenter(s, o, price, amount, filled) && other == 0 { // with another one it does not trade
		b.cascade()
	}
	if other != 0 {
		b.replaceOther(other, amount)
	}
}

// checkReplace makes the checks that do not depend on the new price and total.
func (b *book) checkReplace(cmd *Command) (s int32, o *order, r Reason) {
	switch {
	case cmd.Refuse != NotRejected:
		return 0, nil, cmd.Refuse
	case cmd.Flags&FlagHasPrice != 0:
		r = b.inst.checkPrice(cmd.Price)
	}
	if r == NotRejected && cmd.Flags&FlagHasStop != 0 {
		r = b.inst.checkPrice(cmd.Stop)
	}
	switch {
	case r != NotRejected:
		return 0, nil, r
	case cmd.Flags&FlagHasTrail != 0 && !validTrail(cmd.Trail):
		return 0, nil, TrailOutOfRange
	case cmd.Flags&FlagHasAmount == 0:
	case cmd.Amount <= 0:
		return 0, nil, AmountNotPositive
	case cmd.Amount > b.inst.LargestAmount():
		return 0, nil, AmountOutOfRange
	}
	if cmd.Flags&FlagHasPrice != 0 && b.inst.OutOfBand(cmd.Price, b.last) {
		return 0, nil, PriceOutOfBand
	}
	if s, o, r = b.lookup(cmd, cmd.Order.N()); r != NotRejected {
		return 0, nil, r
	}
	switch {
	case o.marks&markStop == 0 && cmd.Flags&(FlagHasStop|FlagHasTrail) != 0:
		r = OrderClosed // it does not wait, or not any more
	case b.inst.State == Halted:
		r = PairHalted
	case b.inst.State == CancelOnly:
		r = PairCancelOnly
	}
	return s, o, r
}

// checkReplaced checks whether the order may change to price and amount with the given open lots.
func (b *book) checkReplaced(s int32, o *order, price, amount, was, open int64) Reason {
	if r := b.inst.CheckTotal(total(price, amount)); r != NotRejected {
		return r
	}
	if r := b.checkOther(s, o, amount); r != NotRejected {
		return r
	}
	if r := b.cover(b.orders.account(o), o.side, b.needsMore(s, o, price, amount, was, open)); r != NotRejected {
		return r
	}
	if !b.roomFor(o.side, open-was) {
		return AmountOutOfRange
	}
	if o.marks&markIceberg != 0 {
		d := b.orders.cold.At(s).display
		if amount/d > b.opts.IcebergSlices {
			return AmountOutOfRange
		}
		if pieces(open-d, d) > b.opts.PairSlices-b.slices+b.orders.slicesOf(s, o) {
			return TooManySlices
		}
	}
	if !b.sides.crosses(o.side, price) {
		return NotRejected
	}
	if b.inst.State == PostOnlyState {
		return PairPostOnly
	}
	if o.marks&markPostOnly != 0 {
		return WouldCross
	}
	return NotRejected
}

// needsMore returns the units that an order with was open lots needs beyond its hold to have open lots at price, of a
// new total.
func (b *book) needsMore(s int32, o *order, price, amount, was, open int64) fixed.U128 {
	before := b.inst.holds(o.side, b.orders.levels.At(o.level).price, was)
	return b.needsBeyond(s, o, amount, before, b.inst.holds(o.side, price, open))
}

// emitReplaced reports a replace of an order that is still on its level.
func (b *book) emitReplaced(s int32, o *order, price, amount, open int64) {
	e := b.stream.emit(EventReplaced)
	e.Order = MakeOrderID(b.id, o.n)
	e.Account = b.orders.account(o)
	e.Side = o.side
	e.Price = price
	e.Amount = amount
	e.OpenAmount = open
	e.MakerOpen = b.orders.levels.At(o.level).price
	e.Display = o.shown + b.orders.hidden(s, o)
}

func (b *book) replaceInPlace(s int32, o *order, lv *level, amount, open int64) {
	b.emitReplaced(s, o, lv.price, amount, open)
	shown := lv.shown
	b.shrink(s, o, lv, &b.sides[o.side], open)
	o.total = amount
	if lv.shown != shown {
		b.stream.level(lv)
	}
}

// reenter removes the order and enters it as a new arrival with the same slot, id and rates.
// It returns false when the part ends before.
func (b *book) reenter(s int32, o *order, price, amount, filled int64) (done bool) {
	b.emitReplaced(s, o, price, amount, amount-filled)
	t := taker{
		n: o.n, id: MakeOrderID(b.id, o.n), slot: s, owner: o.owner,
		client: b.orders.clientOf(s, o), list: b.listOf(s, o), account: b.orders.account(o),
		side: o.side, tif: GTC, cause: CauseRemainder, stp: o.stp, limit: price, left: amount - filled, filled: filled,
		makerFee: o.makerFee, takerFee: o.takerFee, discount: o.discount,
	}
	if o.marks&markPostOnly != 0 {
		t.flags = FlagPostOnly
	}
	if o.marks&markIceberg != 0 {
		t.display = b.orders.cold.At(s).display
	}
	lv := b.orders.levels.At(o.level)
	same := price == lv.price
	if same {
		t.was = lv.shown
	}
	b.detach(s, o, same)
	return b.enter(&t)
}
