package engine

// lookup returns the open order that a Cancel or Replace names, or the reason of the refusal. Another account's
// order gets the same reason as an id that does not exist.
func (b *book) lookup(cmd *Command) (s int32, o *order, r Reason) {
	n := cmd.Order.N()
	if cmd.Order.Pair() != b.id || n == 0 || n > b.lastN {
		return 0, nil, UnknownOrder
	}
	if s = b.orders.ids.get(n); s == 0 {
		return 0, nil, OrderClosed
	}
	o = b.orders.at(s)
	if cmd.Flags&FlagAllAccount == 0 && b.orders.account(o) != cmd.Account {
		return 0, nil, UnknownOrder
	}
	return s, o, NotRejected
}

func (b *book) cancel(cmd *Command) {
	s, o, r := b.lookup(cmd)
	if r == NotRejected && b.inst.State == Halted {
		r = PairHalted
	}
	if r != NotRejected {
		b.tape.refuse(cmd, r)
		return
	}
	b.cancelOpen(s, o, CauseRequest)
}

// cancelOpen ends a resting order or a waiting stop.
func (b *book) cancelOpen(s int32, o *order, cause CancelCause) {
	if o.marks&markStop != 0 {
		b.cancelStop(s, o, cause)
		return
	}
	lv := b.orders.levels.at(o.level)
	b.tape.canceled(o, b.orders.account(o), lv.price, o.shown+b.orders.hidden(s, o), cause)
	b.detach(s, o, false)
	b.forget(s, o)
}

func (b *book) cancelStop(s int32, o *order, cause CancelCause) {
	b.stops.remove(&b.orders, o)
	st := b.unpark(s, o)
	e := b.tape.canceled(o, b.orders.account(o), st.price, o.shown, cause)
	if st.flags&FlagQuote != 0 {
		e.Quote = st.quote
	}
	b.forget(s, o)
}

// cancelAll carries out one part of a mass cancel: it cancels at most the CancelAllPart oldest orders. It finds
// the orders of an account in the owner's list. For the built-in account and for all accounts it walks the
// index, from the number at which the part before stopped, so that all parts together pass each order once.
func (b *book) cancelAll(cmd *Command) {
	if b.inst.State == Halted {
		b.tape.refuse(cmd, PairHalted)
		return
	}
	bound := b.lastN
	if cmd.Order != 0 {
		switch p := cmd.Order.Pair(); {
		case p < b.id:
			bound = 0
		case p == b.id:
			bound = min(bound, cmd.Order.N())
		}
	}
	before := b.orders.count
	switch {
	case cmd.Flags&FlagAllAccount != 0:
		b.cancelEvery(bound)
	case cmd.Account == 0:
		b.cancelBuiltin(bound)
	default:
		b.cancelOwned(cmd.Account, bound)
	}
	if b.orders.count == before {
		b.tape.emit(EventNothing).Account = cmd.Account
	}
}

func (b *book) cancelEvery(bound uint64) {
	n := uint64(0)
	for range CancelAllPart {
		at, s, ok := b.orders.ids.Next(n)
		if !ok || at > bound {
			return
		}
		b.cancelOpen(s, b.orders.at(s), CauseRequest)
		n = at + 1
	}
}

func (b *book) cancelBuiltin(bound uint64) {
	for left := CancelAllPart; left > 0; {
		at, s, ok := b.orders.ids.Next(b.builtinFrom)
		if !ok || at > bound {
			return
		}
		if o := b.orders.at(s); o.owner == builtinOwner {
			b.cancelOpen(s, o, CauseRequest)
			left--
		}
		b.builtinFrom = at + 1
	}
}

func (b *book) cancelOwned(account AccountID, bound uint64) {
	ws := b.orders.owners.find(account)
	if ws == 0 {
		return
	}
	for range CancelAllPart {
		s := b.orders.owners.slots.at(ws).head
		if s == 0 {
			return
		}
		o := b.orders.at(s)
		if o.n > bound {
			return
		}
		b.cancelOpen(s, o, CauseRequest)
	}
}
