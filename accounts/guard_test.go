package accounts

import (
	"math"
	"slices"
	"testing"
	"time"

	"tickhive/engine"
	"tickhive/internal/refuse"
)

// buys lets a user's order of 0.01 BTC at 100 USDT wait for the engine, or rest under an order id.
func (r *rig) buys(user uint32, order uint64) Reservation {
	r.t.Helper()
	p := OrderParams{Account: user, Side: engine.Buy, Price: 10_000, Amount: 10_000}
	held, reason := r.s.Reserve(p)
	if reason != engine.NotRejected {
		r.t.Fatalf("user %d: %s", user, reason)
	}
	if order != 0 {
		r.fold(func(f fold) {
			e := acceptedEvent(r.next(0), order, p, held)
			f.event(&e)
		})
	}
	return held
}

// canceled ends an order.
func (r *rig) canceled(order uint64) {
	r.t.Helper()
	r.fold(func(f fold) {
		f.event(&engine.Event{Kind: engine.EventCanceled, Seq: r.next(0), Order: engine.OrderID(order)})
	})
}

// A halted account is refused every order and replace. The view counts its open orders and the coming ones, also after
// a restart.
func TestHalt(t *testing.T) {
	r := newRig(t)
	r.pair()
	v := func() *State { return r.s }
	one, two := r.user(ProfilePatch{}), r.user(ProfilePatch{})
	r.deposit(one, "USDT", "100")
	r.deposit(two, "USDT", "100")
	for i := range uint64(3) {
		r.buys(one, i+1)
	}
	r.canceled(3)
	r.buys(two, 4)
	first, second := r.buys(one, 0), r.buys(one, 0)
	if open, n, halted := v().HaltedOrders(one); open != 0 || n != 0 || halted || len(v().HaltedUsers()) != 0 {
		t.Errorf("%d open, %d coming, halted %t before the halt", open, n, halted)
	}
	if res := r.do(Command{Kind: SetHalt, User: one, Halted: true}); res.User.Number != one {
		t.Errorf("the result is of user %d", res.User.Number)
	}
	r.s.Release(Reservation{}) // of an order that reserved nothing
	r.s.Release(first)
	if _, n, _ := v().HaltedOrders(one); n != 1 {
		t.Errorf("%d orders are coming, want 1", n)
	}
	r.s.Release(second)
	if open, n, halted := v().HaltedOrders(one); open != 2 || n != 0 || !halted {
		t.Errorf("%d open, %d coming, halted %t", open, n, halted)
	}
	if open, _, halted := v().HaltedOrders(two); open != 0 || halted {
		t.Errorf("user %d is halted", two)
	}
	if _, _, halted := v().HaltedOrders(99); halted {
		t.Error("an unknown user is halted")
	}
	check := func() {
		t.Helper()
		if users := v().HaltedUsers(); !slices.Equal(users, []uint32{one}) {
			t.Errorf("halted users %v", users)
		}
		_, reason := r.s.Reserve(OrderParams{Account: one, Side: engine.Buy, Price: 1, Amount: 1})
		_, replace := r.s.ReserveReplace(ReplaceParams{Order: 1, Price: 1, HasPrice: true})
		if reason != engine.AccountHalted || replace != engine.AccountHalted {
			t.Errorf("an order is refused with %s, a replace with %s", reason, replace)
		}
		if _, reason := r.s.Reserve(OrderParams{Account: two, Side: engine.Buy, Price: 1, Amount: 1}); reason != 0 {
			t.Errorf("another user is refused with %s", reason)
		}
	}
	check()
	r.s.Release(r.buys(two, 0))
	r.restart()
	check()
	r.canceled(1)
	r.canceled(2)
	if users := v().HaltedUsers(); len(users) != 0 {
		t.Errorf("halted users %v without orders", users)
	}
	r.do(Command{Kind: SetHalt, User: one})
	if r.buys(one, 0); r.s.dir.user(one).reserved != 1 {
		t.Errorf("%d orders are coming", r.s.dir.user(one).reserved)
	}
}

// The most orders on their way to the engine are bounded.
func TestReservationsAreBounded(t *testing.T) {
	r := newRig(t)
	r.pair()
	user := r.user(ProfilePatch{})
	r.deposit(user, "USDT", "100")
	r.s.holds.waiting = MaxReservations - 1
	r.buys(user, 0)
	p := OrderParams{Account: user, Side: engine.Buy, Price: 1, Amount: 1}
	if _, reason := r.s.Reserve(p); reason != engine.TooManyOrders {
		t.Errorf("%s", reason)
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

// Holding tells an order that rests from a stop that waits, until it has triggered.
func TestHolding(t *testing.T) {
	r := newRig(t)
	r.pair()
	user := r.user(ProfilePatch{})
	r.deposit(user, "USDT", "100")
	r.buys(user, 1)
	p := OrderParams{Account: user, Side: engine.Buy, Type: engine.StopLimit, Price: 9_000, Stop: 9_500, Amount: 10_000}
	held, _ := r.s.Reserve(p)
	event := func(e engine.Event) {
		r.fold(func(f fold) { f.event(&e) })
	}
	event(acceptedEvent(r.next(0), 2, p, held))
	check := func(order uint64, holds, waits bool) {
		t.Helper()
		if h, w := r.s.Holding(order); h != holds || w != waits {
			t.Errorf("order %d holds %t, waits %t", order, h, w)
		}
	}
	check(1, true, false)
	check(2, true, true)
	check(3, false, false)
	res, reason := r.s.ReserveReplace(ReplaceParams{Order: 2, Price: 1, HasPrice: true})
	if res.Replaces || reason != engine.NotRejected {
		t.Errorf("a waiting stop is replaced: %+v, %s", res, reason)
	}
	event(engine.Event{Kind: engine.EventTriggered, Seq: r.next(0), Order: 9}) // not of a user
	check(2, true, true)
	event(engine.Event{Kind: engine.EventTriggered, Seq: r.next(0), Order: 2})
	check(2, true, false)
	r.canceled(2)
	check(2, false, false)
	event(engine.Event{Kind: engine.EventLevel, Pair: 9, Seq: 99}) // of a pair without orders
	event(engine.Event{Kind: engine.EventPair, Seq: r.next(0), Instrument: &engine.Instrument{Base: "X", Quote: "Y"}})
	if p := r.s.holds.pairs[0]; p.digitsPrice != 2 {
		t.Errorf("a known pair has changed: %+v", p)
	}
	check(1, true, false)
	r.canceled(1)
	check(1, false, false)
	r.balance(user, "USDT", "100.0", "0.0")
}
