package accounts

import (
	"errors"
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
		if errors.Is(err, ErrOverdrawn) {
			t.Errorf("%s: %v is no balance below zero", name, err)
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

// Balances below zero, and above the bound, are named: the first one, and how many there are. An unlimited account may
// have any balance.
func TestBalancesOutOfBoundsAreNamed(t *testing.T) {
	r := newRig(t)
	one, two, free := r.user(ProfilePatch{}), r.user(ProfilePatch{}), r.user(ProfilePatch{Unlimited: ptr(true)})
	r.adjust(free, "USDT", "-5")
	r.adjust(one, "USDT", maxUSDT)
	r.adjust(two, "BTC", "0")
	r.check()
	if got := r.s.AboveBound(); got != "" {
		t.Errorf("%q is above the bound", got)
	}
	r.adjust(one, "USDT", "-1")
	r.adjust(two, "BTC", "-2")
	r.adjust(two, "USDT", "3")
	err := r.s.Check()
	if want := "USDT of user " + UserID(one).String() + " (2 such balances)"; !errors.Is(err, ErrOverdrawn) ||
		!strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	r.adjust(one, "USDT", "0")
	above := fixed.FromI64(1).Wide()
	no := r.s.balances.currency("USDT")
	for _, n := range []uint32{free, two, one} {
		r.adjust(n, "USDT", maxUSDT)
		r.s.balances.credit(r.s.dir.mustFind(n), no, above)
	}
	if got, want := r.s.AboveBound(), "USDT of user "+UserID(one).String()+" (2 such balances)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// What an order holds counts too.
	u := r.s.dir.mustFind(two)
	u.row(no).free, u.row(no).held = MaxMoney.Wide(), above
	u = r.s.dir.mustFind(one)
	u.row(no).free, u.row(no).held = MaxMoney.Wide().Sub(above), above
	if got, want := r.s.AboveBound(), "USDT of user "+UserID(two).String()+" (1 such balances)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.user(ProfilePatch{}) // takes the lock: no check has kept it
}
