package engine

import "tickhive/engine/owners"

// Almost all orders are ordinary: limit orders, good till canceled, without a reserve or an earn limit, that no check
// refuses. express carries out an ordinary order in one pass. It makes no taker and skips the checks that cannot apply.
// Its rules are the rules of place, match and rest, and these functions go on with an order that stops being ordinary
// while express carries it out.

// ordinary is an order that express carries out.
type ordinary struct {
	cmd           *Command
	owner, client int32
	n             uint64
	left          int64
}

// express carries out the Place of an ordinary order. For any other order it changes nothing and returns false.
func (b *book) express(cmd *Command) bool {
	x := ordinary{cmd: cmd, left: cmd.Amount}
	crosses := b.sides.crosses(cmd.Side, cmd.Price)
	if !cmd.allowed(b) || crosses && cmd.Flags&FlagPostOnly != 0 {
		return false
	}
	x.owner = b.orders.owners.AddOrder(uint32(cmd.Account))
	if x.owner != owners.Builtin && int(b.orders.owners.At(x.owner).Open) > b.opts.AccountOrders {
		b.orders.owners.DropOrder(x.owner)
		return false
	}
	n, client, e := b.accepted(cmd, x.owner)
	x.n, x.client = n, client
	e.Price, e.Amount, e.OpenAmount = cmd.Price, cmd.Amount, cmd.Amount
	if crosses {
		if found := x.take(b); found != 0 {
			t := taker{n: n, id: MakeOrderID(b.id, n), client: client, found: found}
			t.set(cmd, x.owner)
			t.left, t.filled = x.left, cmd.Amount-x.left
			if b.enter(&t) {
				b.cascade()
			}
			return true
		}
	}
	if x.left > 0 {
		x.rest(b)
	} else {
		b.releaseNew(x.owner, client)
	}
	if crosses {
		b.cascade()
	}
	return true
}

// allowed reports whether place accepts the order and has nothing special to do for it, except what depends on its
// account and on the touch.
func (cmd *Command) allowed(b *book) bool {
	return cmd.Type == Limit && cmd.TIF == GTC && cmd.Refuse == NotRejected && cmd.Display == 0 && cmd.Price > 0 &&
		cmd.Amount > 0 && cmd.EarnLimit.IsZero() && b.inst.State == Online &&
		b.inst.CheckTotal(total(cmd.Price, cmd.Amount)) == NotRejected && b.roomFor(cmd.Side, cmd.Amount) &&
		b.orders.count < b.opts.OpenOrders && b.lastN != 1<<orderIDBits-1 &&
		(cmd.Client == nil || b.clients.HasRoom())
}

// take lets the order take what its limit reaches. It stops before a maker for which more is to be done than to trade,
// and before the part ends: it then returns what the maker's level showed before the order took from it, else 0.
func (x *ordinary) take(b *book) (found int64) {
	cmd, owner, left := x.cmd, x.owner, x.left
	opp := &b.sides[cmd.Side&1^1]
	for left > 0 && b.sides.crosses(cmd.Side, cmd.Price) {
		ls := opp.best
		lv := b.orders.levels.At(ls)
		shown := lv.shown
		for left > 0 && lv.head != 0 {
			s := lv.head
			o := b.orders.at(s)
			if o.marks&markIceberg != 0 || o.owner == owner && cmd.STP != SelfTradeNone || b.stream.spent() {
				x.left = left
				return shown
			}
			q := min(left, o.shown)
			left -= q
			o.shown -= q
			lv.shown -= q
			opp.open -= q
			e := b.emitTrade(s, o, lv.price, q)
			e.Side = cmd.Side
			e.Flags = cmd.Flags &^ (FlagQuote | FlagFunded)
			e.Account = cmd.Account
			e.Order = MakeOrderID(b.id, x.n)
			e.TakerFee, e.TakerDiscount = cmd.TakerFee, cmd.Discount
			e.OpenAmount = left
			if e.Status = PartiallyCompleted; left == 0 {
				e.Status = Completed
			}
			if o.shown == 0 {
				b.orders.dequeue(o, lv)
				b.forget(s, o)
			}
		}
		b.stream.level(lv)
		if lv.count == 0 {
			opp.remove(&b.orders.levels, ls)
		}
	}
	x.left = left
	return 0
}

// rest puts the lots that are left into the book.
func (x *ordinary) rest(b *book) {
	cmd := x.cmd
	s, o := b.orders.add(x.n, x.owner, cmd.Side)
	o.total = cmd.Amount
	o.shown = x.left
	o.stp = cmd.STP
	o.makerFee, o.takerFee, o.discount = cmd.MakerFee, cmd.TakerFee, cmd.Discount
	o.marks = 0
	if cmd.Flags&FlagPostOnly != 0 {
		o.marks = markPostOnly
	}
	if x.client != 0 {
		o.marks |= markClient
		b.orders.cold.At(s).client = x.client
	}
	b.stream.level(b.append(s, o, cmd.Price, 0))
}
