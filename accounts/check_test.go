package accounts

import (
	"strings"
	"testing"

	"tickhive/internal/fixed"
)

// Every other test relies on Check, so Check must find each of these changes.
func TestCheckFinds(t *testing.T) {
	one := fixed.FromI64(1).Wide()
	for name, x := range map[string]struct {
		breaks func(s *State, u *user, usdt *row, sums *totals)
		says   string
	}{
		"nothing": {func(*State, *user, *row, *totals) {}, ""},
		"order": {
			func(s *State, _ *user, _ *row, _ *totals) { s.holds.orders[1].held = fixed.FromI64(-1) },
			"order 1 holds less",
		},
		"held": {
			func(_ *State, _ *user, r *row, _ *totals) { r.held = r.held.Add(one) },
			"held of USDT is not the sum",
		},
		"free": {
			func(_ *State, _ *user, r *row, _ *totals) { r.free = r.free.Add(one) },
			"USDT do not add up",
		},
		"aside": {
			func(s *State, u *user, r *row, _ *totals) {
				s.holds.asides[7] = aside{balanceKey{u.n, r.currency}, dec("1"), dec("0")}
			},
			"reserved of USDT is not the sum",
		},
		"pending": {
			func(_ *State, _ *user, r *row, _ *totals) { r.pending = r.pending.Add(one) },
			"reserved of USDT is not the sum",
		},
		"sum of free": {
			func(_ *State, _ *user, _ *row, t *totals) { t.free = t.free.Add(one) },
			"USDT do not add up",
		},
		"sum of held": {
			func(_ *State, _ *user, _ *row, t *totals) { t.held = t.held.Add(one) },
			"USDT do not add up",
		},
		"fees": {
			func(_ *State, _ *user, _ *row, t *totals) { t.fees = one.Neg() },
			"the fee account of USDT is below zero",
		},
		"deposits": {
			func(_ *State, _ *user, _ *row, t *totals) { t.deposited = t.deposited.Add(one) },
			"USDT: free + held + fees is not",
		},
		"withdrawals": {
			func(_ *State, _ *user, _ *row, t *totals) { t.withdrawn = one },
			"USDT: free + held + fees is not",
		},
	} {
		r := newRig(t)
		r.pair()
		user := r.user(ProfilePatch{})
		r.deposit(user, "USDT", "100")
		r.buys(user, 1)
		no := r.s.balances.currency("USDT")
		u := r.s.dir.mustFind(user)
		x.breaks(r.s, u, u.row(no), &r.s.balances.sums[no].totals)
		err := r.s.Check()
		if (err == nil) != (x.says == "") || err != nil && !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: Check says %v", name, err)
		}
	}
}

// An order that holds nothing is sound.
func TestCheckTakesAnOrderWithoutAHold(t *testing.T) {
	r, fold := foldRig(t, true)
	fold(acceptedEvent(0, 1, OrderParams{Account: 1, Type: 1, Amount: 1}, Reservation{}))
	r.check()
}

// adjust sets a balance, and the sums with it.
func (r *rig) adjust(user uint32, currency, free string) {
	no := r.s.balances.currency(currency)
	before := r.s.balances.sums[no].free
	r.set(user, currency, free)
	t := &r.s.balances.sums[no]
	t.deposited = t.deposited.Add(t.free.Sub(before))
}

// A balance of a funded account below zero is broken. An unlimited account may have any balance.
func TestCheckFindsABalanceBelowZero(t *testing.T) {
	r := newRig(t)
	one, free := r.user(ProfilePatch{}), r.user(ProfilePatch{Unlimited: ptr(true)})
	r.adjust(free, "USDT", "-5")
	r.adjust(one, "USDT", maxUSDT)
	r.check()
	r.adjust(one, "USDT", "-1")
	if err := r.s.Check(); err == nil || err.Error() != "account 1: USDT is below zero" {
		t.Error(err)
	}
	r.user(ProfilePatch{}) // takes the lock: no check has kept it
}
