package engine

import "tickhive/internal/fixed"

// replace changes price and total of a resting order (docs/contract/matching.md#replace). A lower
// total at the same price, or no change, keeps the place; anything else is a new arrival under the
// old id.
func (b *book) replace(cmd *Command) {
	s, o, r := b.checkReplace(cmd)
	if r != NotRejected {
		b.stream.refuse(cmd, r)
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
		b.cancelOpen(s, o, CauseReplace, nil)
		return
	}
	if r := b.checkReplaced(cmd, s, o, price, amount, open, amount-filled); r != NotRejected {
		b.stream.refuse(cmd, r)
		return
	}
	limit := b.earnLimit(cmd, o, open)
	if price == lv.price && amount <= o.total {
		b.replaceInPlace(s, o, lv, amount, amount-filled, limit)
		return
	}
	if b.reenter(s, o, price, amount, filled, limit) {
		b.cascade()
	}
}

// checkReplace makes the checks that do not depend on the new price and total.
func (b *book) checkReplace(cmd *Command) (s int32, o *order, r Reason) {
	switch {
	case cmd.Refuse != NotRejected:
		return 0, nil, cmd.Refuse
	case cmd.Flags&FlagHasPrice != 0 && cmd.Price <= 0:
		return 0, nil, PriceNotPositive
	case cmd.Flags&FlagHasAmount != 0 && cmd.Amount <= 0:
		return 0, nil, AmountNotPositive
	}
	if s, o, r = b.lookup(cmd); r != NotRejected {
		return 0, nil, r
	}
	switch {
	case cmd.Flags&FlagUnheld != 0 && b.orders.account(o) != 0:
		r = UnknownOrder // the order did not exist yet when the accounts checked its funds
	case o.marks&markStop != 0:
		r = OrderClosed // a waiting stop is not in the book
	case b.inst.State == Halted:
		r = PairHalted
	case b.inst.State == CancelOnly:
		r = PairCancelOnly
	}
	return s, o, r
}

// checkReplaced checks whether the order may change to price and amount with the given open lots.
func (b *book) checkReplaced(cmd *Command, s int32, o *order, price, amount, was, open int64) Reason {
	if r := b.inst.CheckTotal(total(price, amount)); r != NotRejected {
		return r
	}
	if cmd.Flags&FlagUnheld != 0 && b.inst.MaxSettled().Less(total(price, amount)) {
		return TotalOutOfRange // no earlier check knows the price and total that stay unchanged
	}
	if cmd.Flags&FlagFunded != 0 && !b.fundsCover(cmd.SpendLimit, o, price, was, open) {
		return InsufficientFunds
	}
	if limit := b.earnLimit(cmd, o, was); !limit.IsZero() && limit.Less(total(price, open)) {
		return TotalOutOfRange
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
			return TooManyOrders
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

// fundsCover reports whether an order's money is enough for open lots at price. The money is what the order holds for
// its open part, was lots at the old price, and spare. The accounts computed spare before the command was sequenced.
// Since then the order may have traded or become smaller, so its new open part may need more than this money. Nothing
// overflows: a total is at most MaxTotal, and spare is the difference of two totals.
func (b *book) fundsCover(spare fixed.U128, o *order, price, was, open int64) bool {
	if o.side == Sell {
		return !fixed.FromU64(uint64(was)).Add(spare).Less(fixed.FromU64(uint64(open)))
	}
	return !total(b.orders.levels.At(o.level).price, was).Add(spare).Less(total(price, open))
}

// earnLimit returns the most that an account's sell, of which was lots are open, may bring after the replace; 0
// for no limit. It is the worth of the open part at the old price plus the limit of the command. Both are at
// most 10^20 in money, so nothing overflows.
func (b *book) earnLimit(cmd *Command, o *order, was int64) fixed.U128 {
	if cmd.Flags&FlagFunded == 0 || o.side == Buy {
		return fixed.U128{}
	}
	return total(b.orders.levels.At(o.level).price, was).AddSat(cmd.EarnLimit)
}

func (b *book) emitReplaced(o *order, price, amount, open int64, limit fixed.U128) {
	e := b.stream.emit(EventReplaced)
	e.Order = MakeOrderID(b.id, o.n)
	e.Account = b.orders.account(o)
	e.Side = o.side
	e.Price = price
	e.Amount = amount
	e.OpenAmount = open
	e.setEarnLimit(limit)
}

func (b *book) replaceInPlace(s int32, o *order, lv *level, amount, open int64, limit fixed.U128) {
	b.emitReplaced(o, lv.price, amount, open, limit)
	shown := lv.shown
	b.shrink(s, o, lv, &b.sides[o.side], open)
	o.total = amount
	if lv.shown != shown {
		b.stream.level(lv)
	}
}

// reenter removes the order and enters it as a new arrival with the same slot, id and rates.
// It returns false when the part ends before.
func (b *book) reenter(s int32, o *order, price, amount, filled int64, limit fixed.U128) (done bool) {
	b.emitReplaced(o, price, amount, amount-filled, limit)
	t := taker{
		n: o.n, id: MakeOrderID(b.id, o.n), slot: s, owner: o.owner,
		client: b.orders.clientOf(s, o), account: b.orders.account(o),
		side: o.side, tif: GTC, cause: CauseRemainder, stp: o.stp, limit: price, left: amount - filled, filled: filled,
		makerFee: o.makerFee, takerFee: o.takerFee, discount: o.discount,
	}
	if o.marks&markPostOnly != 0 {
		t.flags = FlagPostOnly
	}
	if o.marks&markIceberg != 0 {
		t.display = b.orders.cold.At(s).display
	}
	t.setEarn(limit)
	lv := b.orders.levels.At(o.level)
	same := price == lv.price
	if same {
		t.was = lv.shown
	}
	b.detach(s, o, same)
	return b.enter(&t)
}
