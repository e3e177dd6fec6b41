package engine

// place carries out a Place. It first answers a repeat of a remembered client id, then checks
// the order's members, then the pair's state, and then enters the order.
func (b *book) place(cmd *Command) {
	var known int32
	if cmd.Client != nil {
		if known = b.clients.Find(cmd.Client.Hash); known != 0 {
			if e := b.clients.At(known); e.Content == cmd.Client.Content {
				b.tape.refuse(cmd, NotRejected).Order = MakeOrderID(b.id, e.Order())
				return
			}
		}
	}
	if r := b.checkMembers(cmd); r != NotRejected {
		b.tape.refuse(cmd, r)
		return
	}
	if known != 0 {
		b.tape.refuse(cmd, DuplicateClientOrderID)
		return
	}
	if r := b.checkState(cmd); r != NotRejected {
		b.tape.refuse(cmd, r)
		return
	}
	if cmd.Type == Limit && cmd.TIF == GTC && !b.sides.crosses(cmd.Side, cmd.Price) {
		b.placeResting(cmd)
		return
	}
	b.placeTaker(cmd)
}

// placeTaker carries out the place of an order that may match. While the check of a fill-or-kill order
// is unfinished, the order has no id, and a later part calls placeTaker again.
func (b *book) placeTaker(cmd *Command) {
	var t taker
	b.makeTaker(&t, cmd)
	r, known := b.checkBook(cmd, &t)
	if r != NotRejected {
		b.orders.owners.DropOrder(t.owner)
		if known {
			b.tape.refuse(cmd, r)
		} else {
			b.pause().cmd = cmd.clone()
		}
		return
	}
	t.n, t.client = b.accept(cmd, t.owner, t.tif)
	t.id = MakeOrderID(b.id, t.n)
	entered := false
	if cmd.Type >= StopLimit {
		if !through(b.last, cmd.Side, cmd.Stop) {
			b.park(&t, cmd)
			return
		}
		b.tape.triggered(&t, cmd.Type, cmd.Stop, cmd.Price)
		entered = b.enterTriggered(&t)
	} else {
		entered = b.enter(&t)
	}
	if entered {
		b.cascade()
	}
}

func (t OrderType) market() bool { return t == Market || t == StopMarket }

// checkMembers checks the conditions that do not depend on the book (status 400).
func (b *book) checkMembers(cmd *Command) Reason {
	if cmd.Refuse != NotRejected {
		return cmd.Refuse
	}
	if cmd.Type >= StopLimit && cmd.Stop <= 0 {
		return PriceNotPositive
	}
	if cmd.Type.market() {
		return b.inst.checkMarket(cmd)
	}
	if cmd.Price <= 0 {
		return PriceNotPositive
	}
	if cmd.Amount <= 0 || cmd.Display < 0 {
		return AmountNotPositive
	}
	if d := cmd.Display; d > cmd.Amount || d > 0 && cmd.Amount/d > b.opts.IcebergSlices {
		return AmountOutOfRange
	}
	if r := b.inst.CheckTotal(total(cmd.Price, cmd.Amount)); r != NotRejected {
		return r
	}
	if !cmd.EarnLimit.IsZero() && cmd.Side == Sell && cmd.EarnLimit.Less(total(cmd.Price, cmd.Amount)) {
		return TotalOutOfRange
	}
	if (cmd.TIF == GTC || cmd.Type == StopLimit) && !b.roomFor(cmd.Side, cmd.Amount) {
		return AmountOutOfRange
	}
	return NotRejected
}

// checkMarket checks the amount of a market order.
func (i *Instrument) checkMarket(cmd *Command) Reason {
	if cmd.Flags&FlagQuote == 0 {
		if cmd.Amount <= 0 {
			return AmountNotPositive
		}
		return NotRejected
	}
	if cmd.Quote.IsZero() || cmd.Side != Buy {
		return AmountNotPositive
	}
	return i.CheckTotal(cmd.Quote)
}

// checkState checks whether the pair takes new orders, and more orders of this account
// (status 409).
func (b *book) checkState(cmd *Command) Reason {
	if s := b.inst.State; s != Online {
		switch {
		case s == Halted:
			return PairHalted
		case s == CancelOnly:
			return PairCancelOnly
		case cmd.Flags&FlagPostOnly == 0:
			return PairPostOnly
		}
	}
	if cmd.Client != nil && !b.clients.HasRoom() || b.lastN == 1<<orderIDBits-1 {
		return TooManyOrders
	}
	if cmd.Type >= StopLimit || cmd.Type == Limit && cmd.TIF == GTC {
		if b.orders.count >= b.opts.OpenOrders {
			return TooManyOrders
		}
		if cmd.Account != 0 && b.orders.openOf(cmd.Account) >= b.opts.AccountOrders {
			return TooManyOrders
		}
		if cmd.Type >= StopLimit && cmd.Rules >= 1 && !b.stopFits(cmd.Account) {
			return TooManyOrders
		}
		if d := cmd.Display; d > 0 && !cmd.Type.market() && pieces(cmd.Amount-d, d) > b.opts.PairSlices-b.slices {
			return TooManyOrders
		}
	}
	return NotRejected
}

// stopFits reports whether one more stop of an account may wait.
func (b *book) stopFits(id AccountID) bool {
	if b.stops.parked.InUse() >= b.opts.PairStops {
		return false
	}
	return id == 0 || int(b.orders.owners.At(b.orders.owners.Find(uint32(id))).Stops) < b.opts.AccountStops
}

// checkBook checks the order's conditions (its type, time in force, post-only) against the
// book. For a stop this check runs when it is triggered instead.
func (b *book) checkBook(cmd *Command, t *taker) (r Reason, known bool) {
	if cmd.Type >= StopLimit {
		return NotRejected, true
	}
	return b.mayEnter(t)
}

// mayEnter checks whether a taker may enter the book at this point. The answer is not known yet
// when the part ends before the check of a fill-or-kill taker does.
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
		fills, known := b.fillable(t)
		if !fills {
			return FOKUnfilled, known
		}
	}
	return NotRejected, true
}

// makeTaker sets the taker from the command and counts one more open order of its owner.
func (b *book) makeTaker(t *taker, cmd *Command) {
	t.cause = CauseRemainder
	t.account = cmd.Account
	t.owner = b.orders.owners.AddOrder(uint32(cmd.Account))
	t.side = cmd.Side
	t.tif = cmd.TIF
	t.stp = cmd.STP
	t.flags = cmd.Flags
	t.limit = cmd.Price
	t.left = cmd.Amount
	t.makerFee = cmd.MakerFee
	t.takerFee = cmd.TakerFee
	t.discount = cmd.Discount
	if cmd.Type.market() {
		t.setMoney(cmd.Flags, cmd)
		t.setMarket()
	} else {
		t.flags &^= FlagQuote | FlagFunded
		t.display = cmd.Display
	}
	t.setEarn(cmd.EarnLimit)
}

func (t *taker) setMoney(flags uint8, cmd *Command) {
	switch {
	case flags&FlagQuote != 0:
		t.capped, t.money = true, cmd.Quote
	case flags&FlagFunded != 0 && cmd.Side == Buy:
		t.capped, t.money = true, cmd.SpendLimit
	}
}

// placeResting lets an order rest that matches nothing. Half of all orders are of this kind, so it avoids the
// cost of a taker.
func (b *book) placeResting(cmd *Command) {
	owner := b.orders.owners.AddOrder(uint32(cmd.Account))
	n, client := b.accept(cmd, owner, GTC)
	s, o := b.orders.add(n, owner, cmd.Side)
	o.total = cmd.Amount
	o.stp = cmd.STP
	o.makerFee, o.takerFee, o.discount = cmd.MakerFee, cmd.TakerFee, cmd.Discount
	lv := b.enqueue(s, o, cmd.Price, cmd.Amount, cmd.Display, client, cmd.Flags)
	b.tape.level(lv)
}

// accept assigns the order its id and remembers its client id.
func (b *book) accept(cmd *Command, owner int32, tif TimeInForce) (n uint64, client int32) {
	b.lastN++
	n = b.lastN
	if cmd.Client != nil {
		client = b.clients.Remember(&b.orders.owners, cmd.Client.Hash, cmd.Client.Content, n, owner)
	}
	e := b.tape.emit(EventAccepted)
	e.Order = MakeOrderID(b.id, n)
	e.Account = cmd.Account
	e.Side = cmd.Side
	e.Type = cmd.Type
	e.TIF = tif
	e.STP = cmd.STP
	e.Flags = cmd.Flags
	e.TakerFee = cmd.TakerFee
	e.MakerFee = cmd.MakerFee
	e.TakerDiscount = cmd.Discount
	if cmd.Client != nil {
		e.Client = cmd.Client
	}
	if !cmd.EarnLimit.IsZero() {
		e.setEarnLimit(cmd.EarnLimit)
	}
	if cmd.Type >= StopLimit {
		e.MakerOpen = cmd.Stop
	}
	if !cmd.Type.market() {
		e.Price = cmd.Price
		e.Display = cmd.Display
	} else if cmd.Flags&FlagQuote != 0 {
		e.Quote = cmd.Quote
		return n, client
	} else if cmd.Flags&FlagFunded != 0 && cmd.Side == Buy {
		e.Quote = cmd.SpendLimit // only the event tells the accounts what the order may spend
	}
	e.Amount = cmd.Amount
	e.OpenAmount = cmd.Amount
	return n, client
}
