package accounts

import (
	"testing"

	"tickhive/accounts/accrual"
	"tickhive/engine"
	"tickhive/internal/fixed"
)

// near returns a user whose balance is 10^20 - left.
func near(t *testing.T, left string) (r *rig, user uint32) {
	r = newRig(t)
	r.fold(func(f fold) {
		f.pair(&engine.Event{
			Kind: engine.EventPair, Pair: 0, Seq: r.next(0),
			Instrument: &engine.Instrument{Base: "AA", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 2},
		})
	})
	user = r.user(ProfilePatch{})
	r.deposit(user, "USDT", text(MaxMoney.Sub(dec(left))))
	r.deposit(user, "AA", "1000")
	return r, user
}

// A deposit on its way keeps its room until it is released: an order that is checked meanwhile does not get the room.
func TestADepositOnItsWayKeepsItsRoom(t *testing.T) {
	for _, applied := range []bool{true, false} {
		r, u := near(t, "100")
		sell := OrderParams{Account: u, Side: engine.Sell, Price: 10_00, Amount: 6_00}
		deposit := Command{Kind: Deposit, User: u, Currency: "USDT", Amount: dec("50")}
		aside, reject := r.s.SetAside(&deposit)
		if reject != nil {
			t.Fatal(reject)
		}
		if _, reason := r.s.Reserve(sell); reason != engine.TotalOutOfRange {
			t.Errorf("an order took the room of a deposit: %v", reason)
		}
		if applied {
			r.do(deposit)
		}
		aside.Release()
		res, reason := r.s.Reserve(sell)
		if (reason != engine.NotRejected) != applied {
			t.Errorf("applied %t: %v", applied, reason)
		}
		r.s.Release(res)
		if len(r.s.balances.coming) != 0 {
			t.Errorf("%v is still expected", r.s.balances.coming)
		}
		r.check()
	}
}

// The earn limit of an order counts as coming until the order ends, less each fill, and a
// snapshot restores it. For an order without a limit, the worth of its remainder counts.
func TestWhatAnOrderMayBringIsExpectedUntilItEnds(t *testing.T) {
	r, u := near(t, "1000")
	k := balanceKey{u, r.s.balances.currencyNo["USDT"]}
	expected := func(want string) {
		t.Helper()
		if got := r.s.balances.coming[k]; text(got.open) != want || got.pending.Sign() != 0 {
			t.Errorf("%s is expected of open orders, %s of others; want %s", text(got.open), text(got.pending), want)
		}
	}
	r.accept(1, OrderParams{Account: u, Side: engine.Sell, Type: engine.StopMarket, Amount: 1_00, Stop: 200_00})
	expected("200.0")
	r.restart()
	expected("200.0")
	r.fold(func(f fold) {
		f.triggered(&engine.Event{Kind: engine.EventTriggered, Seq: r.next(0), Order: 1})
		f.trade(&engine.Event{
			Kind: engine.EventTrade, Seq: r.next(0), Side: engine.Sell, Order: 1,
			Account: engine.AccountID(u), Price: 150_00, Amount: 40, OpenAmount: 60,
		})
	})
	expected("140.0")
	r.fold(func(f fold) { f.canceled(&engine.Event{Kind: engine.EventCanceled, Seq: r.next(0), Order: 1}) })
	expected("0.0")
	r.fold(func(f fold) { // an event of a program before limits
		f.accepted(&engine.Event{
			Kind: engine.EventAccepted, Seq: r.next(0), Order: 2, Account: engine.AccountID(u),
			Side: engine.Sell, Price: 10_00, Amount: 5_00,
		})
	})
	expected("50.0")
	r.restart()
	expected("50.0")
	// The earn limit of a replace limits the amount that the order may bring beyond its worth.
	res, reason := r.s.ReserveReplace(ReplaceParams{Order: 2, Price: 20_00, HasPrice: true})
	if reason != engine.NotRejected || text(atMost(moneyOf(res.EarnLimit, 4))) != "50.0" {
		t.Fatalf("%+v %v", res, reason)
	}
	r.fold(func(f fold) {
		e := withEarn(engine.Event{
			Kind: engine.EventReplaced, Seq: r.next(0), Order: 2, Price: 20_00, Amount: 5_00,
			OpenAmount: 5_00,
		}, fixed.FromU64(100_00_00))
		f.replaced(&e)
	})
	expected("100.0")
	r.fold(func(f fold) { f.canceled(&engine.Event{Kind: engine.EventCanceled, Seq: r.next(0), Order: 2}) })
	if len(r.s.balances.coming) != 0 {
		t.Errorf("%v is still expected", r.s.balances.coming)
	}
	r.check()
}

// An accrual is paid as far as the receiver has room, less what the receiver's open orders may
// bring; the rest stays a fee.
func TestAnAccrualIsPaidAsFarAsThereIsRoom(t *testing.T) {
	r, u := near(t, "55")
	below := r.user(ProfilePatch{Unlimited: ptr(true)})
	r.invite(below, u)
	r.rates(Config{Levels: []uint32{RateOne / 5}})
	r.accept(1, OrderParams{Account: u, Side: engine.Sell, Price: 10_00, Amount: 5_00})
	r.fold(func(f fold) {
		f.trade(&engine.Event{
			Kind: engine.EventTrade, Seq: r.next(0), Side: engine.Buy, Order: 9,
			Account: engine.AccountID(below), Price: 100_00, Amount: 1_00, TakerFee: RateOne,
		})
	})
	if got := r.s.View().Accruals(u).Summary(accrual.Filter{}); len(got) != 1 || text(got[0].Amount) != "5.0" {
		t.Errorf("%v, want 5.0", got)
	}
	r.check()
	r.adds()
}

// wholes returns a user with 100 FOO, and a pair without fractions.
func wholes(t *testing.T) (r *rig, a uint32) {
	r = newRig(t)
	r.fold(func(f fold) {
		f.pair(&engine.Event{
			Kind: engine.EventPair, Seq: r.next(0),
			Instrument: &engine.Instrument{Base: "FOO", Quote: "BAR"},
		})
	})
	a = r.user(ProfilePatch{})
	r.deposit(a, "FOO", "100")
	return r, a
}

// Resting orders count together: each of two asks fits the balance alone, but not both, nor an
// ask and a deposit. Orders that ended no longer count.
func TestWhatOpenOrdersMayBringCounts(t *testing.T) {
	r, a := wholes(t)
	ask := OrderParams{Account: a, Side: engine.Sell, Price: 9e18, Amount: 10}
	r.accept(1, ask)
	wants := func(want engine.Reason) {
		t.Helper()
		res, got := r.s.Reserve(ask)
		if r.s.Release(res); got != want {
			t.Fatalf("a second ask: %q, want %q", got, want)
		}
	}
	deposit := Command{Kind: Deposit, User: a, Currency: "BAR", Amount: dec("20000000000000000000")}
	wants(engine.TotalOutOfRange)
	r.refused(deposit, "INVALID_PARAM", "amount")
	r.restart()
	wants(engine.TotalOutOfRange)
	if _, reason := r.s.ReserveReplace(ReplaceParams{
		Order: 1, Price: 8e18,
		HasPrice: true,
	}); reason != engine.NotRejected {
		t.Fatal("its own rest does not count against a replace")
	}
	r.fold(func(f fold) {
		f.replaced(&engine.Event{
			Kind: engine.EventReplaced, Seq: r.next(0), Order: 1, Price: 8e18, Amount: 10,
			OpenAmount: 10,
		})
		f.reduced(&engine.Event{Kind: engine.EventReduced, Seq: r.next(0), Order: 1, OpenAmount: 1})
	})
	wants(engine.NotRejected)
	r.fold(func(f fold) { f.canceled(&engine.Event{Kind: engine.EventCanceled, Seq: r.next(0), Order: 1}) })
	if len(r.s.balances.coming) != 0 {
		t.Errorf("%v is expected of nothing", r.s.balances.coming)
	}
	r.do(deposit)
}
