package accounts

import (
	"fmt"

	"tickhive/internal/fixed"
)

// check is View.Check. It adds without overflow checks, because it also judges figures
// that come from a file: sums that agree modulo 2^128 and are each below it agree.
func (s *State) check() error {
	type holdKey struct{ account, currency uint32 }
	holds := map[holdKey]fixed.I128{}
	for id, o := range s.orders {
		if o.held.Sign() < 0 {
			return fmt.Errorf("order %d holds less than nothing", id)
		}
		k := holdKey{o.account, o.currency(s.pairs[o.pair])}
		holds[k] = wrapAdd(holds[k], o.held)
	}
	audit := make([]totals, len(s.totals))
	for _, u := range s.users {
		for i := range u.rows {
			r := &u.rows[i]
			if r.held != holds[holdKey{u.n, r.currency}] {
				return fmt.Errorf("account %d: held of %s is not the sum of its orders' holds", u.n, s.currencies[r.currency])
			}
			if !u.profile.Unlimited && (r.free.Sign() < 0 || r.held.Sign() < 0) {
				return fmt.Errorf("account %d: %s is below zero", u.n, s.currencies[r.currency])
			}
			a := &audit[r.currency]
			a.free, a.held, a.pending = wrapAdd(a.free, r.free), wrapAdd(a.held, r.held), wrapAdd(a.pending, r.pending)
		}
	}
	for i, t := range s.totals {
		a := &audit[i]
		if a.free != t.free || a.held != t.held || a.pending != t.pending {
			return fmt.Errorf("the balances of %s do not add up to their totals", s.currencies[i])
		}
		if t.fees.Sign() < 0 {
			return fmt.Errorf("the fee account of %s is below zero", s.currencies[i])
		}
		if wrapAdd(wrapAdd(t.free, t.held), t.fees) != wrapAdd(t.deposited, t.withdrawn.Neg()) {
			return fmt.Errorf("%s: free + held + fees is not deposited - withdrawn", s.currencies[i])
		}
	}
	return nil
}
