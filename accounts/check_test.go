package accounts

import (
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/fixed"
)

// Every other test relies on Check, so Check must find each of these changes.
func TestCheckFinds(t *testing.T) {
	one := fixed.FromI64(1)
	for name, x := range map[string]struct {
		breaks func(u *user, usdt *row, sums *sums)
		says   string
	}{
		"nothing":      {func(*user, *row, *sums) {}, ""},
		"held":         {func(_ *user, r *row, _ *sums) { r.held = r.held.Add(one) }, "held of USDT does not add up"},
		"held below 0": {func(_ *user, r *row, _ *sums) { r.held = one.Neg() }, "held of USDT is below zero"},
		"free": {
			func(_ *user, r *row, _ *sums) { r.free = r.free.Add(one) }, "USDT: free + held + fees is not",
		},
		"free below 0": {
			func(_ *user, r *row, s *sums) {
				s.withdrawn = r.free.Add(one)
				r.free = one.Neg()
			}, "account 1: USDT is below zero",
		},
		"sum of held": {
			func(_ *user, _ *row, s *sums) { s.held = s.held.Add(one) }, "held of USDT does not add up",
		},
		"fees":        {func(_ *user, _ *row, s *sums) { s.fees = one.Neg() }, "the fee account of USDT is below zero"},
		"deposits":    {func(_ *user, _ *row, s *sums) { s.deposited = s.deposited.Add(one) }, "USDT: free + held"},
		"withdrawals": {func(_ *user, _ *row, s *sums) { s.withdrawn = one }, "USDT: free + held + fees is not"},
		"debt":        {func(_ *user, _ *row, s *sums) { s.debt = one }, "USDT: the debt is not the sum"},
		"no orders":   {func(u *user, _ *row, _ *sums) { u.orders = 0 }, "USDT is held without an open order"},
		"orders":      {func(u *user, _ *row, _ *sums) { u.orders = -1 }, "account 1 has -1 open orders"},
		"unused":      {func(_ *user, _ *row, s *sums) { s.used = false }, "account 1 has a balance of USDT, which"},
	} {
		r := newRig(t)
		r.pair()
		user := r.user(ProfilePatch{})
		r.deposit(user, "USDT", "100")
		r.buys(user, 1)
		no := r.s.balances.currency("USDT")
		u := r.s.dir.mustFind(user)
		x.breaks(u, u.row(no), &r.s.balances.sums[no])
		err := r.s.Check()
		if (err == nil) != (x.says == "") || err != nil && !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: Check says %v", name, err)
		}
	}
}
