package accounts

import (
	"math/bits"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/mix"
)

// heldList is what the ledger remembers of an open order list of a user: two orders of which one cancels the other hold
// the larger need once, orders that pend hold nothing, and what the working order of an opo brings stays held for them.
// Every other hold follows from the events of its order alone.
type heldList struct {
	id      engine.OrderID
	kind    engine.ListKind
	begun   bool          // no order pends
	shared  bool          // two orders hold the larger need once
	needs   [2]fixed.I128 // of each of them
	brought fixed.I128    // held for the pending orders
}

// need returns what two orders hold together.
func (l *heldList) need() fixed.I128 {
	if l.needs[0].Cmp(l.needs[1]) < 0 {
		return l.needs[1]
	}
	return l.needs[0]
}

// place returns the place of a leg, which is no working order.
func (l *heldList) place(id engine.OrderID) int { return int(id-l.id) - l.kind.Leg() }

// mix mixes a list for the digest.
func (l *heldList) mix(user uint32) uint64 {
	state := uint64(l.kind)
	if l.begun {
		state |= 1 << 8
	}
	if l.shared {
		state |= 1 << 9
	}
	h := mix.Of4(uint64(user)<<32|mixLists, uint64(l.id), state, l.brought.Lo)
	h = mix.Of4(h, uint64(l.brought.Hi), l.needs[0].Lo, uint64(l.needs[0].Hi))
	return mix.Of4(h, l.needs[1].Lo, uint64(l.needs[1].Hi)+bits.RotateLeft64(state, 13), 0)
}

// list returns the open list of an order of a user, nil: the order is of none.
func (u *user) list(id engine.OrderID) *heldList {
	for i := range u.lists {
		if l := &u.lists[i]; id >= l.id && id < l.id+engine.MaxListOrders && l.has(id) {
			return l
		}
	}
	return nil
}

// has reports whether the list has the order at its place.
func (l *heldList) has(id engine.OrderID) bool { return int(id-l.id) < l.kind.Orders() }

// change changes a list of a user.
func (s *State) change(u *user, l *heldList, edit func()) {
	before := l.mix(u.n)
	edit()
	s.digest.lists += l.mix(u.n) - before
}

// beginList adds a list of a user.
func (s *State) beginList(e *engine.Event) {
	if e.Account == 0 {
		return
	}
	u := s.dir.mustFind(uint32(e.Account))
	at, _ := slices.BinarySearchFunc(u.lists, e.Order, func(l heldList, id engine.OrderID) int {
		return int(int64(l.id) - int64(id))
	})
	l := heldList{id: e.Order, kind: e.List, begun: !e.List.Works()}
	u.lists = slices.Insert(u.lists, at, l)
	s.digest.lists += l.mix(u.n)
}

// endList forgets a list of a user, whose last order has ended.
func (s *State) endList(e *engine.Event) {
	if e.Account == 0 {
		return
	}
	u := s.dir.mustFind(uint32(e.Account))
	for i := range u.lists {
		if l := &u.lists[i]; l.id == e.Order {
			s.giveBack(u, l, s.balances.pair(e.Pair).base)
			s.digest.lists -= l.mix(u.n)
			u.lists = slices.Delete(u.lists, i, i+1)
			return
		}
	}
}

// share sets the need of one of two orders of a list, which hold the larger one together.
func (s *State) share(u *user, currency uint32, l *heldList, id engine.OrderID, need fixed.I128) {
	before := l.need()
	s.change(u, l, func() { l.needs[l.place(id)], l.shared = need, true })
	s.balances.hold(u, currency, l.need().SubWrap(before))
}

// acceptedOfList takes the hold of a new order of a list; one that pends holds nothing.
func (s *State) acceptedOfList(e *engine.Event, p *pair, u *user) {
	switch l := u.list(e.Order); {
	case l == nil || e.Status == engine.Pending:
	case l.kind.Pairs() && !l.kind.Works():
		s.share(u, p.spends(e.Side), l, e.Order, p.holds(e))
	default:
		s.balances.hold(u, p.spends(e.Side), p.holds(e))
	}
}

// released takes the hold of an order that its list has kept back. The first one of the list frees what the working
// order has brought.
func (s *State) released(e *engine.Event) {
	if e.Account == 0 {
		return
	}
	p, u := s.balances.pair(e.Pair), s.dir.mustFind(uint32(e.Account))
	l := u.list(e.Order)
	if l == nil {
		return
	}
	s.giveBack(u, l, p.base)
	s.change(u, l, func() { l.begun = true })
	if l.kind.Pairs() {
		s.share(u, p.spends(e.Side), l, e.Order, p.holds(e))
		return
	}
	s.balances.hold(u, p.spends(e.Side), p.holds(e))
}

// giveBack frees what the working order of a list has brought.
func (s *State) giveBack(u *user, l *heldList, base uint32) {
	if l.brought.Sign() == 0 {
		return
	}
	s.balances.hold(u, base, l.brought.Neg())
	s.change(u, l, func() { l.brought = fixed.I128{} })
}

// canceledOfList releases what an order of a list holds, and reports whether that was not the order's own hold: the
// orders that pend hold nothing, and the end of one of two orders leaves the need of the other.
func (s *State) canceledOfList(e *engine.Event, p *pair, u *user) (done bool) {
	l := u.list(e.Order)
	if l == nil {
		return false
	}
	if !l.begun {
		s.giveBack(u, l, p.base)
		return e.Order != l.id
	}
	if !l.shared || l.kind.Works() && e.Order == l.id {
		return false
	}
	other := l.needs[1-l.place(e.Order)]
	s.balances.hold(u, p.spends(e.Side), other.SubWrap(l.need()))
	s.change(u, l, func() { l.shared, l.needs = false, [2]fixed.I128{} })
	return true
}

// changedOfList changes the need of an order of a list by what a reduction or a replace has changed, and reports
// whether the order does not hold it alone.
func (s *State) changedOfList(e *engine.Event, p *pair, u *user, by fixed.I128) (done bool) {
	l := u.list(e.Order)
	switch {
	case l == nil || l.kind.Works() && e.Order == l.id:
		return false
	case !l.begun:
		return true
	case !l.shared:
		return false
	}
	s.share(u, p.spends(e.Side), l, e.Order, l.needs[l.place(e.Order)].AddWrap(by))
	return true
}

// bring holds what the working order of an opo has received.
func (s *State) bring(u *user, id engine.OrderID, base uint32, received fixed.I128) {
	l := u.list(id)
	if l == nil || l.id != id || !l.kind.Brings() {
		return
	}
	s.balances.hold(u, base, received)
	s.change(u, l, func() { l.brought = l.brought.AddWrap(received) })
}
