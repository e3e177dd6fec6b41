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

func (b *balances) view(u *user, currency uint32) BalanceView {
	out := BalanceView{CurrencyCode: b.currencies[currency]}
	if r := u.find(currency); r != nil {
		// The rounding of a fee may have used some 10^-18 of a reservation, so show the smaller amount.
		pending := r.pending
		if !u.profile.Unlimited {
			pending = least(pending, positive(r.free))
		}
		out.Free, out.Held = r.free.Sub(pending), r.held.Add(pending)
		out.Total = r.total()
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
		out = append(out, TotalView{
			CurrencyCode: v.s.balances.currencies[i], Free: t.free.Sub(t.pending), Held: t.held.Add(t.pending),
			Fees: t.fees, Deposited: t.deposited, Withdrawn: t.withdrawn,
		})
	}
	slices.SortFunc(out, func(a, b TotalView) int { return strings.Compare(a.CurrencyCode, b.CurrencyCode) })
	return out
}
