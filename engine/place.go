package engine

import "github.com/tickhive/tickhive/internal/fixed"

// place carries out a Place. It first answers a repeat of a remembered client id, or refuses a repeat of an open
// order's if the id is reusable. Then it checks the order's members, then the money of its account, then the pair's
// state, and then enters the order.
func (b *book) place(cmd *Command) {
	var known int32
	if cmd.Client.Named() {
		if known = b.clients.Find(cmd.Client.Hash); known != 0 {
			switch e := b.clients.At(known); {
			case cmd.Client.Reusable && e.Open():
				b.stream.refuse(cmd, DuplicateClientOrderID)
				return
			case cmd.Client.Reusable:
				known = 0 // the order takes the id over when it is accepted
			case e.Content == cmd.Client.Content:
				b.stream.refuse(cmd, NotRejected).Order = MakeOrderID(b.id, e.Order())
				return
			}
		}
	}
	if cmd.Flags&FlagFollows != 0 && b.stream.refused == b.stream.seq {
		b.stream.refuse(cmd, CancelFailed)
		return
	}
	r := b.checkMembers(cmd)
	if r == NotRejected {
		r = b.coverPlace(cmd)
	}
	if r != NotRejected {
		b.stream.refuse(cmd, r)
		return
	}
	if known != 0 {
		b.stream.refuse(cmd, DuplicateClientOrderID)
		return
	}
	if r := b.checkState(cmd, &alone); r != NotRejected {
		b.stream.refuse(cmd, r)
		return
	}
	b.placeTaker(cmd)
}

// placeAgain goes on with a place in a later part. Nothing is held for an order that is not accepted, so its account
// may have spent the money meanwhile.
func (b *book) placeAgain(cmd *Command) {
	if r := b.coverPlace(cmd); r != NotRejected {
		b.scan = scan{}
		b.stream.refuse(cmd, r)
		return
	}
	b.placeTaker(cmd)
}

// placeTaker carries out the place of an order that may match. While the walk of a fill-or-kill order or of a market
// buy is unfinished, the order has no id, and a later part calls placeTaker again.
func (b *book) placeTaker(cmd *Command) {
	var t taker
	t.set(cmd, b.orders.owners.AddOrder(uint32(cmd.Account)))
	r, known := NotRejected, true
	switch {
	case !cmd.Type.Waits(): // the check of a waiting order runs when it is triggered
		if r, known = b.mayEnter(&t); r == NotRejected && t.asks() {
			r, known = b.payAhead(&t)
		}
	case cmd.Flags&FlagStrict != 0 && cmd.Trail == 0 && through(b.last, cmd.Type.direction(cmd.Side), cmd.Stop):
		r = WouldTrigger
	}
	if r != NotRejected && known && cmd.Flags&FlagExpire != 0 && t.expires(r) {
		b.accept(cmd, &t)
		b.cancelTaker(&t)
		return
	}
	if r != NotRejected {
		b.orders.owners.DropOrder(t.owner)
		if known {
			b.stream.refuse(cmd, r)
		} else {
			b.pause().cmd = cmd.clone()
		}
		return
	}
	b.accept(cmd, &t)
	entered := false
	if cmd.Type.Waits() {
		if cmd.Trail != 0 || !through(b.last, cmd.Type.direction(cmd.Side), cmd.Stop) {
			b.park(&t, cmd)
			return
		}
		t.typ, t.stop = cmd.Type, cmd.Stop
		entered = b.enterStop(&t)
	} else {
		entered = b.enter(&t)
	}
	if entered {
		b.cascade()
	}
}

// expires reports whether an order with FlagExpire that the book refuses for a reason is accepted and canceled instead,
// and sets the cause.
func (t *taker) expires(r Reason) bool {
	switch {
	case r == FOKUnfilled:
		t.cause = CauseFOK
		return true
	case r == NoLiquidity && !t.byQuote():
		t.cause = CauseNoLiquidity
		return true
	}
	return false
}

// payAhead sets the money of a market buy by amount to what the amount costs, and the hold of a market sell by quote
// amount to the lots that it will sell, which the account must have. The answer is not known yet when the part ends
// before.
func (b *book) payAhead(t *taker) (r Reason, known bool) {
	_, cost, known := b.reach(t)
	switch {
	case !known:
		return NoLiquidity, false
	case t.side == Sell:
		t.sells = int64(cost.Lo)
		return b.cover(t.account, Sell, b.inst.BaseUnits(t.sells)), true
	case b.inst.MaxSettled().Less(cost):
		return TotalOutOfRange, true
	}
	t.money = cost
	return b.cover(t.account, Buy, b.inst.QuoteUnits(cost)), true
}

// checkMembers checks the members of an order (status 400).
func (b *book) checkMembers(cmd *Command) Reason {
	if r := b.inst.CheckMembers(cmd, b.last, b.opts.IcebergSlices); r != NotRejected {
		return r
	}
	if !cmd.Type.AtMarket() && (cmd.TIF == GTC || cmd.Type.Waits()) && !b.roomFor(cmd.Side, cmd.Amount) {
		return AmountOutOfRange
	}
	return NotRejected
}

// CheckMembers checks the members of an order as far as they depend on nothing but the pair, the price of its last
// trade (0: none) and the most slices of an iceberg.
func (i *Instrument) CheckMembers(cmd *Command, last, slices int64) Reason {
	if cmd.Refuse != NotRejected {
		return cmd.Refuse
	}
	if cmd.Type.Waits() && (cmd.Stop != 0 || cmd.Trail == 0) {
		if r := i.checkPrice(cmd.Stop); r != NotRejected {
			return r
		}
	}
	if cmd.Trail != 0 && (!cmd.Type.Waits() || !validTrail(cmd.Trail)) {
		return TrailOutOfRange
	}
	if cmd.Type.AtMarket() {
		return i.checkMarket(cmd, last)
	}
	if r := i.checkPrice(cmd.Price); r != NotRejected {
		return r
	}
	if cmd.Amount <= 0 || cmd.Display < 0 {
		return AmountNotPositive
	}
	if d := cmd.Display; d > cmd.Amount || d > 0 && cmd.Amount/d > slices || cmd.Amount > i.LargestAmount() {
		return AmountOutOfRange
	}
	if r := i.CheckTotal(total(cmd.Price, cmd.Amount)); r != NotRejected {
		return r
	}
	if i.OutOfBand(cmd.Price, last) {
		return PriceOutOfBand
	}
	return NotRejected
}

// checkPrice checks a price of an order, in ticks.
func (i *Instrument) checkPrice(price int64) Reason {
	switch {
	case price <= 0:
		return PriceNotPositive
	case price > i.LargestPrice():
		return PriceOutOfRange
	}
	return NotRejected
}

// checkMarket checks the amount of a market order.
func (i *Instrument) checkMarket(cmd *Command, last int64) Reason {
	if cmd.Flags&FlagQuote == 0 {
		switch {
		case cmd.Amount <= 0:
			return AmountNotPositive
		case cmd.Amount > i.LargestAmount():
			return AmountOutOfRange
		case cmd.Side == Buy && cmd.Type.Waits():
			return i.checkHold(cmd, last)
		}
		return NotRejected
	}
	if cmd.Quote.IsZero() {
		return AmountNotPositive
	}
	return i.CheckTotal(cmd.Quote)
}

// checkHold checks what a market buy by amount holds while it waits.
func (i *Instrument) checkHold(cmd *Command, last int64) Reason {
	switch price, ok := cmd.holdPrice(last); {
	case price == 0 && ok: // what it costs is not known before the first trade
		return PriceNotPositive
	case !ok || i.MaxSettled().Less(total(price, cmd.Amount)):
		return TotalOutOfRange
	}
	return NotRejected
}

// checkState checks whether the pair takes new orders, and more orders of this account
// (status 409), behind the ones of its list.
func (b *book) checkState(cmd *Command, a *ahead) Reason {
	if r := b.inst.CheckState(cmd); r != NotRejected {
		return r
	}
	if cmd.Client.Named() && !b.clients.HasRoom(a.named) || b.lastN+uint64(a.orders) >= 1<<orderIDBits-1 {
		return TooManyOrders
	}
	waits := cmd.Type.Waits() || a.kept
	if waits || cmd.Type == Limit && cmd.TIF == GTC {
		if b.orders.count+a.orders >= b.opts.OpenOrders {
			return TooManyOrders
		}
		if cmd.Account != 0 && b.orders.openOf(cmd.Account)+a.orders >= b.opts.AccountOrders {
			return TooManyOrders
		}
		if waits && !b.stopFits(cmd.Account, a.waiting) {
			return TooManyStops
		}
		if n := b.slicesAhead(cmd); n > 0 && n+a.slices > b.opts.PairSlices-b.slices {
			return TooManySlices
		}
	}
	return NotRejected
}

// CheckState returns the reason for which the state of the pair refuses an order.
func (i *Instrument) CheckState(cmd *Command) Reason {
	switch {
	case i.State == Delisted:
		return UnknownPair
	case i.State == Halted:
		return PairHalted
	case i.State == CancelOnly:
		return PairCancelOnly
	case i.State == PostOnlyState && cmd.Flags&FlagPostOnly == 0:
		return PairPostOnly
	}
	return NotRejected
}

// slicesAhead returns the number of slices that the reserve of an order will have if it rests without a trade.
func (b *book) slicesAhead(cmd *Command) int64 {
	if cmd.Display <= 0 || cmd.Type.AtMarket() {
		return 0
	}
	return pieces(cmd.Amount-cmd.Display, cmd.Display)
}

// stopFits reports whether one more stop of an account may wait, behind some of its list.
func (b *book) stopFits(id AccountID, ahead int) bool {
	if b.stops.parked.InUse()+ahead >= b.opts.PairStops {
		return false
	}
	return id == 0 || int(b.orders.owners.At(b.orders.owners.Find(uint32(id))).Stops)+ahead < b.opts.AccountStops
}

// mayEnter checks whether a taker may enter the book at this point. The answer is not known yet
// when the part ends before the walk of a fill-or-kill taker does.
func (b *book) mayEnter(t *taker) (r Reason, known bool) {
	switch {
	case t.market:
		if b.sides[t.side.Opposite()].best == 0 {
			return NoLiquidity, true
		}
	case t.flags&FlagPostOnly != 0:
		if b.sides.crosses(t.side, t.limit) {
			return WouldCross, true
		}
	case t.tif == FOK:
		fills, _, known := b.reach(t)
		if !fills {
			return FOKUnfilled, known
		}
	}
	return NotRejected, true
}

// set makes the taker of a command's order, which an owner has.
func (t *taker) set(cmd *Command, owner int32) {
	t.cause = CauseRemainder
	t.account = cmd.Account
	t.owner = owner
	t.side = cmd.Side
	t.tif = cmd.TIF
	t.stp = cmd.STP
	t.flags = cmd.Flags & (FlagPostOnly | FlagQuote)
	t.limit = cmd.Price
	t.left = cmd.Amount
	if cmd.Type.AtMarket() {
		t.setMarket(cmd.Quote)
	} else {
		t.flags &^= FlagQuote
		t.display = cmd.Display
	}
}

// accept gives the order its id and its rates, and remembers its client id. The built-in account pays no fees.
func (b *book) accept(cmd *Command, t *taker) *Event {
	if t.account != 0 {
		t.makerFee, t.takerFee = b.inst.MakerFee, b.inst.TakerFee
		if f := b.ledger.funds; f != nil {
			t.discount = f.Discount(t.account, t.side)
		}
	}
	b.lastN++
	t.n = b.lastN
	t.id = MakeOrderID(b.id, t.n)
	e := b.stream.emit(EventAccepted)
	if e.Client = cmd.Client; cmd.Client.Named() {
		if cmd.Client.Reusable {
			b.clients.Forget(&b.orders.owners, cmd.Client.Hash)
		}
		t.client = b.clients.Remember(&b.orders.owners, cmd.Client.Hash, cmd.Client.Content, t.n, t.owner)
	}
	e.Order = t.id
	e.Account = cmd.Account
	e.Side = cmd.Side
	e.Type = cmd.Type
	e.TIF = t.tif
	e.STP = cmd.STP
	e.Flags = cmd.Flags
	e.TakerFee, e.MakerFee, e.TakerDiscount = t.takerFee, t.makerFee, t.discount
	if cmd.Type.Waits() {
		e.MakerOpen, e.Trail = cmd.Stop, cmd.Trail
	}
	if !cmd.Type.AtMarket() {
		e.Price = cmd.Price
		e.Display = cmd.Display
	} else {
		if cmd.Type.Waits() && t.byAmount() {
			t.hold, _ = cmd.holdPrice(b.last)
			t.money = total(t.hold, cmd.Amount)
		}
		if e.Quote = t.money; t.byQuote() {
			e.OpenAmount = t.sells
			return e
		}
	}
	e.Amount = cmd.Amount
	e.OpenAmount = cmd.Amount
	return e
}

// coverPlace asks whether the account of a place may hold what the order holds when it is accepted. For a market buy by
// amount that is known later (payAhead).
func (b *book) coverPlace(cmd *Command) Reason {
	if b.ledger.funds == nil {
		return NotRejected
	}
	b.fold()
	return b.ledger.funds.Cover(cmd.Account, b.id, cmd.Side, b.inst.needs(cmd, b.last))
}

// needs returns the units of what it spends that an order holds when it is accepted or released. For a market buy by
// amount that is known later (payAhead): 0.
func (i *Instrument) needs(cmd *Command, last int64) fixed.U128 {
	switch {
	case cmd.Side == Sell && cmd.Type.AtMarket() && cmd.Flags&FlagQuote != 0: // payAhead
		return fixed.U128{}
	case cmd.Side == Sell:
		return i.BaseUnits(cmd.Amount)
	case !cmd.Type.AtMarket():
		return i.QuoteUnits(total(cmd.Price, cmd.Amount))
	case cmd.Flags&FlagQuote != 0:
		return i.QuoteUnits(cmd.Quote)
	case cmd.Type.Waits():
		price, _ := cmd.holdPrice(last)
		return i.QuoteUnits(total(price, cmd.Amount))
	}
	return fixed.U128{}
}

// cover asks whether an account may place an order that needs that many more units of what it spends.
func (b *book) cover(a AccountID, s Side, need fixed.U128) Reason {
	if b.ledger.funds == nil {
		return NotRejected
	}
	b.fold()
	return b.ledger.funds.Cover(a, b.id, s, need)
}

// fold folds the events of the command so far, before Funds is asked.
func (b *book) fold() { b.ledger.fold(b.stream.out[:b.stream.n]) }
