package accounts

import (
	"slices"
	"strings"

	"tickhive/internal/fixed"
)

// BalanceView is one balance of an account.
type BalanceView struct {
	CurrencyCode      string
	Free, Held, Total fixed.I192
}

// TotalView is one row of GET /totals: Free + Held + Fees = Deposited - Withdrawn.
type TotalView struct {
	CurrencyCode                           string
	Free, Held, Fees, Deposited, Withdrawn fixed.I192
}

// view returns a balance without the money that is not durable yet.
func (b *balances) view(u *user, currency uint32) BalanceView {
	return b.viewWithout(u, currency, b.arriving[balanceKey{u.n, currency}])
}

// viewWithout returns a balance without some of its money. The answer to a record, which waits until the record
// is durable, leaves nothing out.
func (b *balances) viewWithout(u *user, currency uint32, hidden fixed.I192) BalanceView {
	out := BalanceView{CurrencyCode: b.currencies[currency]}
	if r := u.find(currency); r != nil {
		// The rounding of a fee may have used some 10^-18 of a reservation, so show the smaller amount.
		free, pending := r.free.Sub(hidden), r.pending
		if !u.profile.Unlimited {
			if r.free.Sign() >= 0 { // an overdrawn balance is shown
				free = positive(free)
			}
			pending = least(pending, positive(free))
		}
		out.Free, out.Held = free.Sub(pending), r.held.Add(pending)
		out.Total = free.Add(r.held)
	}
	return out
}

// Balances returns the balances of an account that are not zero, by currency code.
func (v *View) Balances(n uint32) []BalanceView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	out := []BalanceView{}
	u := v.s.dir.user(n)
	if u == nil {
		return out
	}
	for i := range u.rows {
		b := v.s.balances.view(u, u.rows[i].currency)
		if b.Free.Sign() != 0 || b.Held.Sign() != 0 {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b BalanceView) int { return strings.Compare(a.CurrencyCode, b.CurrencyCode) })
	return out
}

// Settled returns the balances of an account without reservations: what records and events have made of them, so
// they change with an order's events and not with its request. Balances that are zero are listed too.
func (v *View) Settled(n uint32) []BalanceView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	u := v.s.dir.user(n)
	if u == nil {
		return nil
	}
	out := make([]BalanceView, 0, len(u.rows))
	for i := range u.rows {
		r := &u.rows[i]
		free := r.free.Sub(v.s.balances.arriving[balanceKey{u.n, r.currency}])
		out = append(out, BalanceView{
			CurrencyCode: v.s.balances.currencies[r.currency], Free: free, Held: r.held, Total: free.Add(r.held),
		})
	}
	slices.SortFunc(out, func(a, b BalanceView) int { return strings.Compare(a.CurrencyCode, b.CurrencyCode) })
	return out
}

// Balance returns one balance, zeros where there is none.
func (v *View) Balance(n uint32, currencyCode string) BalanceView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	u, c := v.s.dir.user(n), v.s.balances.currencyNo
	if i, known := c[currencyCode]; known && u != nil {
		return v.s.balances.view(u, i)
	}
	return BalanceView{CurrencyCode: currencyCode}
}

// Totals returns the sums over all accounts, the built-in one included, by currency code.
func (v *View) Totals() []TotalView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	out := make([]TotalView, 0, len(v.s.balances.totals))
	for i, t := range v.s.balances.totals {
		for _, k := range v.s.balances.arrivingKeys {
			if k.currency == uint32(i) {
				hidden := v.s.balances.arriving[k]
				t.free, t.deposited = t.free.Sub(hidden), t.deposited.Sub(hidden)
			}
		}
		out = append(out, TotalView{
			CurrencyCode: v.s.balances.currencies[i], Free: t.free.Sub(t.pending), Held: t.held.Add(t.pending),
			Fees: t.fees, Deposited: t.deposited, Withdrawn: t.withdrawn,
		})
	}
	slices.SortFunc(out, func(a, b TotalView) int { return strings.Compare(a.CurrencyCode, b.CurrencyCode) })
	return out
}
