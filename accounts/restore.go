package accounts

import (
	"errors"

	"tickhive/accounts/auth"
	"tickhive/internal/fixed"
)

// addAccount adds a decoded account.
func (w *snapshot) addAccount(u *user) {
	switch {
	case u.n == 0:
		w.s.dir.users[0] = u
	case w.s.dir.taken(u.profile.Nickname, nil):
		w.Fail("the nickname %q twice", u.profile.Nickname)
	default:
		w.s.dir.register(u)
	}
}

// addOrder adds a decoded open order. An order with an earn limit reserves the limit as its room.
func (w *snapshot) addOrder(o *orderHold) {
	p := w.s.holds.pairs[o.pair]
	if p == nil || o.held.Cmp(MaxMoney) > 0 || o.coming.Sign() < 0 || o.coming.Cmp(MaxMoney) > 0 ||
		o.price < 0 || o.open < 0 || o.filled < 0 {
		w.Fail("order %d is out of range", o.id)
		return
	}
	limit := o.coming
	o.coming = fixed.I128{}
	w.s.holds.add(o)
	w.s.holds.expectOf(o, p, limit)
}

// addReceived adds the decoded accruals of a receiver.
func (w *snapshot) addReceived(r *receivedBy) {
	u := w.s.dir.users[r.to]
	if !u.received.Empty() {
		w.Fail("the accruals of user %d twice", r.to)
	}
	u.received = r.Received
	w.s.referral.commandAccruals += len(u.received.Others)
}

// complete computes the state that snapshots do not contain: sums, counts of the tree, owners of links, the
// index of keys.
func (s *State) complete() error {
	links := 0
	for _, u := range s.dir.users {
		links += len(u.links)
	}
	s.dir.linkOwner = make([]linkRef, links)
	for _, u := range s.dir.users {
		for i, l := range u.links {
			if l.number < 1 || l.number > uint64(links) || s.dir.linkOwner[l.number-1].owner != 0 || u.n == 0 {
				return errors.New("link numbers are not dense")
			}
			s.dir.linkOwner[l.number-1] = linkRef{owner: u.n, index: i}
		}
	}
	s.balances.sumUp(s.dir.users)
	for _, o := range s.holds.orders {
		s.holds.expectRest(o, s.holds.pairs[o.pair])
	}
	if err := s.dir.countTree(); err != nil {
		return err
	}
	kept := make([]int, len(s.dir.users))
	for _, n := range s.referral.dealQueue {
		kept[n]++
	}
	for _, u := range s.dir.users {
		if kept[u.n] != len(u.received.Deals) {
			return errors.New("the queue of deal accruals does not match them")
		}
	}
	for _, u := range s.dir.users {
		if err := auth.CheckTree(u.keys); err != nil {
			return err
		}
	}
	s.keys.AddAll(func(yield func(*auth.Key) bool) {
		for _, u := range s.dir.users {
			for _, k := range u.keys {
				if !yield(k) {
					return
				}
			}
		}
	})
	if err := s.check(); !errors.Is(err, ErrOverdrawn) {
		return err
	}
	return nil // an accepted loss had led there before the snapshot
}
