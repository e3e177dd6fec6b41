package accounts

import (
	"errors"
	"fmt"

	"tickhive/internal/fixed"
)

// ErrOverdrawn reports a balance below zero where everything else adds up. Only the accepted loss of commands leads to
// such a balance: an account has withdrawn or sold what the lost commands had brought it.
var ErrOverdrawn = errors.New("a balance is below zero")

// check implements View.Check. The caller must hold mu.
func (s *State) check() error {
	type holdKey struct{ account, currency uint32 }
	holds := map[holdKey]fixed.I192{}
	for id, o := range s.holds.orders {
		if o.held.Sign() < 0 {
			return fmt.Errorf("order %d holds less than nothing", id)
		}
		k := holdKey{o.account, o.currency(s.holds.pairs[o.pair])}
		holds[k] = holds[k].Plus(o.held)
	}
	audit := make([]totals, len(s.balances.totals))
	below, first := 0, ""
	for _, u := range s.dir.users {
		for i := range u.rows {
			r := &u.rows[i]
			if r.held != holds[holdKey{u.n, r.currency}] {
				return fmt.Errorf("account %d: held of %s is not the sum of its orders' holds", u.n,
					s.balances.currencies[r.currency])
			}
			if !u.profile.Unlimited && r.free.Sign() < 0 { // held is a sum of holds
				if below++; below == 1 {
					first = fmt.Sprintf("%s of user %s", s.balances.currencies[r.currency], UserID(u.n))
				}
			}
			a := &audit[r.currency]
			a.free, a.held, a.pending = a.free.Add(r.free), a.held.Add(r.held), a.pending.Add(r.pending)
		}
	}
	for i, t := range s.balances.totals {
		a := &audit[i]
		if a.free != t.free || a.held != t.held || a.pending != t.pending {
			return fmt.Errorf("the balances of %s do not add up to their totals", s.balances.currencies[i])
		}
		if t.fees.Sign() < 0 {
			return fmt.Errorf("the fee account of %s is below zero", s.balances.currencies[i])
		}
		if t.free.Add(t.held).Add(t.fees) != t.deposited.Sub(t.withdrawn) {
			return fmt.Errorf("%s: free + held + fees is not deposited - withdrawn", s.balances.currencies[i])
		}
	}
	if below > 0 {
		return fmt.Errorf("%w: %s (%d such balances)", ErrOverdrawn, first, below)
	}
	return nil
}

// AboveBound names the balances above 10^20, "" without any. Only the loss of withdrawals, accepted or after a failed
// sync, leads there: the market has paid into the room that they had made. Nothing else breaks: such an account has no
// room until its balance has fallen.
func (v *View) AboveBound() string {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	above, first := 0, ""
	for _, u := range v.s.dir.users {
		for i := range u.rows {
			r := &u.rows[i]
			if !u.profile.Unlimited && r.free.Add(r.held).CmpTerm(MaxMoney) > 0 {
				if above++; above == 1 {
					first = fmt.Sprintf("%s of user %s", v.s.balances.currencies[r.currency], UserID(u.n))
				}
			}
		}
	}
	if above == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%d such balances)", first, above)
}
