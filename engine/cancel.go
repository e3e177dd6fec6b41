package engine

import (
	"github.com/tickhive/tickhive/engine/owners"
	"github.com/tickhive/tickhive/internal/fixed"
)

// lookup returns the open order with a number that a Cancel or Replace names, or the reason why it cannot.
// Another account's order is as unknown as an id that was never issued.
func (b *book) lookup(cmd *Command, n uint64) (s int32, o *order, r Reason) {
	if cmd.Order.Pair() != b.id || n == 0 || n > b.lastN {
		return 0, nil, UnknownOrder
	}
	if s = b.orders.ids.Get(n); s == 0 {
		return 0, nil, OrderClosed
	}
	o = b.orders.at(s)
	if cmd.Flags&FlagAllAccount == 0 && b.orders.account(o) != cmd.Account {
		return 0, nil, UnknownOrder
	}
	return s, o, NotRejected
}

// openOf returns the number of an open order of the list with the number n; without one n itself, or 0 when n is the
// number of an order that is of no such list.
func (b *book) openOf(n uint64) uint64 {
	for i := range uint64(MaxListOrders) {
		s := b.orders.ids.Get(n + i)
		if s == 0 {
			continue
		}
		o := b.orders.at(s)
		if list := b.listOf(s, o); list != 0 && b.lists.at(list).n == n {
			return o.n
		}
	}
	if b.orders.ids.Get(n) != 0 {
		return 0
	}
	return n
}

func (b *book) cancel(cmd *Command) {
	n := cmd.Order.N()
	if cmd.Flags&FlagList != 0 {
		n = b.openOf(n)
	}
	s, o, r := b.lookup(cmd, n)
	if r == NotRejected && b.inst.State == Halted {
		r = PairHalted
	}
	if r != NotRejected {
		b.stream.refuse(cmd, r)
		return
	}
	if open := o.shown + b.orders.hidden(s, o); cmd.restricted(o.total > open) {
		b.stream.refuse(cmd, CancelRestricted)
		return
	}
	b.cancelOpen(s, o, cmd.cause(), cmd.Client)
}

// restricted reports whether a Cancel is not for an order that has fills, or has none.
func (cmd *Command) restricted(filled bool) bool {
	if filled {
		return cmd.Flags&FlagOnlyNew != 0
	}
	return cmd.Flags&FlagOnlyPartial != 0
}

// cause returns why the orders that a Cancel or a CancelAll names end.
func (cmd *Command) cause() CancelCause {
	if cmd.Flags&FlagOperator != 0 {
		return CauseOperator
	}
	return CauseRequest
}

// cancelOpen ends an order that is open, and with CauseRequest and CauseOperator all orders of its list. own is the id
// of the request, nil: it has none.
func (b *book) cancelOpen(s int32, o *order, cause CancelCause, own *ClientID) {
	if o.marks&(markStop|markList) != 0 {
		switch list := b.listOf(s, o); {
		case list != 0 && b.endsWhole(list, cause):
			b.cancelList(list, cause, own)
			return
		case o.marks&markStop != 0:
			b.cancelStop(s, o, cause, own)
			return
		}
	}
	lv := b.orders.levels.At(o.level)
	b.stream.canceled(o, b.orders.account(o), lv.price, o.shown+b.orders.hidden(s, o), cause).Client = own
	b.detach(s, o, false)
	b.forget(s, o, cause)
}

func (b *book) cancelStop(s int32, o *order, cause CancelCause, own *ClientID) {
	b.withdraw(s, o)
	st := b.unpark(s, o)
	e := b.stream.canceled(o, b.orders.account(o), st.price, o.shown, cause)
	e.Client = own
	if st.state == waits {
		e.Quote = b.holdOfStop(o, &st)
	}
	b.forget(s, o, cause)
}

// holdOfStop returns the money that a waiting buy at the market's price holds, in product units; 0 for any other stop.
func (b *book) holdOfStop(o *order, st *stopOrder) fixed.U128 {
	if st.hold != 0 {
		return total(st.hold, o.shown)
	}
	return st.quote
}

// cancelAll carries out a mass cancel, the oldest order first.
func (b *book) cancelAll(cmd *Command) {
	if b.inst.State == Halted {
		b.stream.refuse(cmd, PairHalted)
		return
	}
	b.cancelOn(&continuation{cmd: cmd})
}

// cancelOn cancels the orders that m selects. When the part ends before, a later one goes on.
func (b *book) cancelOn(m *continuation) {
	builtin := m.cmd.ofBuiltin()
	bound := b.cancelBound(m.cmd)
	for {
		if b.stream.spent() {
			c := b.pause()
			c.cmd, c.from, c.canceled = m.cmd.clone(), m.from, m.canceled
			return
		}
		s := b.orders.nextOf(m.cmd, m.from)
		if s == 0 || b.orders.at(s).n > bound {
			break
		}
		o := b.orders.at(s)
		if m.from = o.n + 1; builtin && o.owner != owners.Builtin {
			b.stream.visit()
			continue
		}
		b.cancelOpen(s, o, m.cmd.cause(), nil)
		m.canceled = true
	}
	if !m.canceled {
		b.stream.emit(EventNothing).Account = m.cmd.Account
	}
}

// ofBuiltin reports whether a mass cancel is of the built-in account's orders alone.
func (cmd *Command) ofBuiltin() bool { return cmd.Account == 0 && cmd.Flags&FlagAllAccount == 0 }

// cancelBound returns the number of the newest order that a mass cancel may cancel.
func (b *book) cancelBound(cmd *Command) uint64 {
	switch p := cmd.Order.Pair(); {
	case cmd.Order == 0 || p > b.id:
		return b.lastN
	case p < b.id:
		return 0
	}
	return cmd.Order.N()
}

// nextOf returns the slot of the oldest open order that a mass cancel has to end, 0: none. It
// finds an account's orders in the owner's list. For the built-in account, which has no list, and
// for all accounts it walks the index from order number from on.
func (q *openOrders) nextOf(cmd *Command, from uint64) int32 {
	if cmd.Account == 0 || cmd.Flags&FlagAllAccount != 0 {
		_, s, _ := q.ids.Next(from)
		return s
	}
	return q.owners.At(q.owners.Find(uint32(cmd.Account))).Head
}
