package engine

// place carries out a Place. It first answers a repeat of a remembered client id, or refuses a repeat of an open
// order's if the id is reusable. Then it checks the order's members, then the pair's state, and then enters the order.
func (b *book) place(cmd *Command) {
	var known int32
	if cmd.Client != nil {
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
	if r := b.checkMembers(cmd); r != NotRejected {
		b.stream.refuse(cmd, r)
		return
	}
	if known != 0 {
		b.stream.refuse(cmd, DuplicateClientOrderID)
		return
	}
	if r := b.checkState(cmd); r != NotRejected {
		b.stream.refuse(cmd, r)
		return
	}
	b.placeTaker(cmd)
}

// placeTaker carries out the place of an order that may match. While the check of a fill-or-kill order
// is unfinished, the order has no id, and a later part calls placeTaker again.
func (b *book) placeTaker(cmd *Command) {
	var t taker
	t.set(cmd, b.orders.owners.AddOrder(uint32(cmd.Account)))
	r, known := NotRejected, true
	if cmd.Type < StopLimit { // the check of a stop runs when it is triggered
		r, known = b.mayEnter(&t)
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
	t.n, t.client = b.accept(cmd, t.owner, t.tif)
	t.id = MakeOrderID(b.id, t.n)
	entered := false
	if cmd.Type >= StopLimit {
		if !through(b.last, cmd.Side, cmd.Stop) {
			b.park(&t, cmd)
			return
		}
		b.stream.triggered(&t, cmd.Type, cmd.Stop, cmd.Price)
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
		if cmd.Type >= StopLimit && !b.stopFits(cmd.Account) {
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

// set makes the taker of a command's order, which an owner has.
func (t *taker) set(cmd *Command, owner int32) {
	t.cause = CauseRemainder
	t.account = cmd.Account
	t.owner = owner
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
		switch {
		case t.byQuote():
			t.capped, t.money = true, cmd.Quote
		case t.flags&FlagFunded != 0 && t.side == Buy:
			t.capped, t.money = true, cmd.SpendLimit
		}
		t.setMarket()
	} else {
		t.flags &^= FlagQuote | FlagFunded
		t.display = cmd.Display
	}
	t.setEarn(cmd.EarnLimit)
}

// accept gives the order its id and remembers its client id.
func (b *book) accept(cmd *Command, owner int32, tif TimeInForce) (n uint64, client int32) {
	n, client, e := b.accepted(cmd, owner)
	e.TIF = tif
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

// accepted does the same and sets the members of the event that every order has.
func (b *book) accepted(cmd *Command, owner int32) (n uint64, client int32, e *Event) {
	b.lastN++
	n = b.lastN
	e = b.stream.emit(EventAccepted)
	if cmd.Client != nil {
		if cmd.Client.Reusable {
			b.clients.Forget(&b.orders.owners, cmd.Client.Hash)
		}
		client = b.clients.Remember(&b.orders.owners, cmd.Client.Hash, cmd.Client.Content, n, owner)
		e.Client = cmd.Client
	}
	e.Order = MakeOrderID(b.id, n)
	e.Account = cmd.Account
	e.Side = cmd.Side
	e.Type = cmd.Type
	e.STP = cmd.STP
	e.Flags = cmd.Flags
	e.TakerFee, e.MakerFee, e.TakerDiscount = cmd.TakerFee, cmd.MakerFee, cmd.Discount
	return n, client, e
}
