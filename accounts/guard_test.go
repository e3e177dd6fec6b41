package accounts

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
)

// A halted account is refused every order and replace. Its open orders are counted, also after a restart.
func TestHalt(t *testing.T) {
	r := newRig(t)
	r.pair()
	one, two := r.user(ProfilePatch{}), r.user(ProfilePatch{})
	r.deposit(one, "USDT", "100")
	r.deposit(two, "USDT", "100")
	for i := range 3 {
		r.buys(one, engine.OrderID(i+1))
	}
	r.canceled(one, 3)
	r.buys(two, 4)
	if open, halted := r.s.HaltedOrders(one); open != 0 || halted || len(r.s.HaltedUsers()) != 0 {
		t.Errorf("%d open, halted %t before the halt", open, halted)
	}
	if res := r.do(Command{Kind: SetHalt, User: one, Halted: true}); res.User.Number != one {
		t.Errorf("the result is of user %d", res.User.Number)
	}
	if open, halted := r.s.HaltedOrders(two); open != 0 || halted {
		t.Errorf("user %d is halted", two)
	}
	if _, halted := r.s.HaltedOrders(99); halted {
		t.Error("an unknown user is halted")
	}
	check := func() {
		t.Helper()
		if open, halted := r.s.HaltedOrders(one); open != 2 || !halted {
			t.Errorf("%d open, halted %t", open, halted)
		}
		if users := r.s.HaltedUsers(); !slices.Equal(users, []uint32{one}) {
			t.Errorf("halted users %v", users)
		}
		for _, need := range []uint64{0, 1, 1 << 63} {
			if reason := r.s.Cover(engine.AccountID(one), 0, engine.Buy, fixed.FromU64(need)); reason !=
				engine.AccountHalted {
				t.Errorf("an order is refused with %s", reason)
			}
		}
		if reason := r.s.Cover(engine.AccountID(two), 0, engine.Buy, fixed.FromU64(1)); reason != engine.NotRejected {
			t.Errorf("another user is refused with %s", reason)
		}
	}
	check()
	r.restart()
	check()
	r.canceled(one, 1)
	r.canceled(one, 2)
	if users := r.s.HaltedUsers(); len(users) != 0 {
		t.Errorf("halted users %v without orders", users)
	}
	r.do(Command{Kind: SetHalt, User: one})
	if reason := r.s.Cover(engine.AccountID(one), 0, engine.Buy, fixed.FromU64(1)); reason != engine.NotRejected {
		t.Errorf("a user is refused with %s after the halt", reason)
	}
}

// A switch fires at the time of its last setting. It is set for a second to a day, or turned off; a fired switch is
// turned off only if it was not set again.
func TestDeadMansSwitch(t *testing.T) {
	r := newRig(t)
	v := func() *State { return r.s }
	users := []uint32{r.user(ProfilePatch{}), r.user(ProfilePatch{}), r.user(ProfilePatch{})}
	set := func(user uint32, timeout time.Duration) int64 {
		t.Helper()
		return r.do(Command{Kind: SetSwitch, User: user, Timeout: timeout}).DeadlineNs
	}
	fired := func(nowNs int64) (all []Deadline) {
		v().Fired(nowNs, func(d Deadline) bool { all = append(all, d); return len(all) < 2 })
		return all
	}
	if shown := r.s.View(); v().NextSwitch(0) != 0 || shown.SwitchOf(users[0]) != 0 || shown.SwitchOf(99) != 0 ||
		fired(math.MaxInt64) != nil {
		t.Error("a switch is armed")
	}
	for _, timeout := range []time.Duration{MinSwitch - 1, MaxSwitch + 1, -1} {
		r.refused(Command{Kind: SetSwitch, User: users[0], Timeout: timeout}, refuse.InvalidParam, "timeoutMs")
	}
	_, reject := r.try(Command{Kind: SetSwitch, User: users[0], Timeout: 1})
	if want := "timeoutMs must be 0, or 1000 to 86400000."; reject == nil || reject.Message != want {
		t.Errorf("%v, want %q", reject, want)
	}
	day, hour := t0+int64(MaxSwitch), t0+int64(time.Hour)
	if set(users[0], MaxSwitch) != day || set(users[1], time.Hour) != hour || set(users[2], time.Hour) != hour {
		t.Error("a switch has another deadline")
	}
	check := func() {
		t.Helper()
		if got := r.s.View().SwitchOf(users[0]); got != day {
			t.Errorf("the switch of user 1 fires at %d, want %d", got, day)
		}
		for _, x := range []struct{ now, next int64 }{
			{0, hour}, {hour - 1, hour}, {hour, day}, {day - 1, day}, {day, 0},
		} {
			if got := v().NextSwitch(x.now); got != x.next {
				t.Errorf("after %d: next at %d, want %d", x.now, got, x.next)
			}
		}
		both := []Deadline{{hour, users[1]}, {hour, users[2]}}
		if fired(hour-1) != nil || !slices.Equal(fired(hour), both) || !slices.Equal(fired(math.MaxInt64), both) {
			t.Errorf("%v fire", fired(hour))
		}
	}
	check()
	r.restart()
	check()
	// The switch of the second user is set again, at the shortest time; only its new deadline counts.
	r.now += int64(time.Minute)
	again := set(users[1], MinSwitch)
	if again != t0+int64(time.Minute+time.Second) || v().NextSwitch(0) != again {
		t.Errorf("set again: %d", again)
	}
	if all := fired(hour); !slices.Equal(all, []Deadline{{again, users[1]}, {hour, users[2]}}) {
		t.Errorf("%v fire", all)
	}
	r.refused(Command{Kind: SetSwitch, User: users[1], FiredNs: hour}, refuse.Conflict, "")
	if set(users[2], 0) != 0 || r.s.View().SwitchOf(users[2]) != 0 {
		t.Error("a switch cannot be turned off")
	}
	r.do(Command{Kind: SetSwitch, User: users[1], FiredNs: again})
	if got := v().NextSwitch(0); got != day {
		t.Errorf("next at %d, want %d", got, day)
	}
}
