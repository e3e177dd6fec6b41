package accounts

import (
	"testing"

	"tickhive/engine"
)

// wholes returns a buyer and a seller of a pair without fractions, each with 100 FOO.
func wholes(t *testing.T) (r *rig, a, b uint32) {
	r = newRig(t)
	r.fold(func(f fold) {
		f.pair(&engine.Event{Kind: engine.EventPair, Seq: r.next(0), Instrument: &engine.Instrument{Base: "FOO", Quote: "BAR"}})
	})
	a, b = r.user(ProfilePatch{}), r.user(ProfilePatch{})
	r.deposit(a, "FOO", "100")
	r.deposit(b, "FOO", "100")
	return r, a, b
}

// sell sells 10 FOO to the built-in account at the market; it returns false when refused.
func (r *rig) sell(order uint64, account uint32, bid int64) bool {
	r.t.Helper()
	p := OrderParams{Account: account, Side: engine.Sell, Type: engine.Market, Amount: 10, Touch: bid}
	if _, reason := r.s.Reserve(p); reason != engine.NotRejected {
		if reason != engine.TotalOutOfRange {
			r.t.Fatalf("%+v", reason)
		}
		return false
	}
	r.fold(func(f fold) {
		f.accepted(&engine.Event{Kind: engine.EventAccepted, Seq: r.next(0), Order: engine.OrderID(order), Account: engine.AccountID(account), Side: engine.Sell, Type: engine.Market, Amount: 10})
		f.trade(&engine.Event{Kind: engine.EventTrade, Seq: r.next(0), Side: engine.Sell, Order: engine.OrderID(order), Account: engine.AccountID(account), Price: bid, Amount: 10})
	})
	r.restart()
	return true
}

// The proceeds of a sale count at the best bid, not at the order's own price, because no
// balance may exceed 10^20.
func TestProceedsBeyondABalanceAreRefusedBeforeTheTrade(t *testing.T) {
	r, a, _ := wholes(t)
	if !r.sell(1, a, 9e18) || r.sell(2, a, 9e18) || !r.sell(3, a, 1e18) || r.sell(4, a, 1) {
		t.Error("what is taken in is not what fits")
	}
	r.balance(a, "BAR", "100000000000000000000.0", "0.0")
	limit := OrderParams{Account: a, Side: engine.Sell, Price: 1, Amount: 1, Touch: 9e18}
	if _, reason := r.s.Reserve(limit); reason != engine.TotalOutOfRange {
		t.Errorf("%+v", reason)
	}
}

// The built-in account trades without reservations: its balance is limited when the orders of
// other accounts are reserved.
func TestTheBuiltinAccountStaysWithinABalance(t *testing.T) {
	r, a, b := wholes(t)
	if !r.sell(1, a, 9e18) || r.sell(2, b, 9e18) || !r.sell(3, b, 1e18) || r.sell(4, b, 1) {
		t.Error("what is taken in is not what fits")
	}
	r.balance(0, "BAR", "-100000000000000000000.0", "0.0")
}

// A market buy by quote counts as bringing the amount that its money buys at the best ask.
func TestABuyByQuoteBringsWhatItsMoneyBuys(t *testing.T) {
	r, a, _ := wholes(t)
	r.deposit(a, "BAR", "1000")
	p := OrderParams{Account: a, Side: engine.Buy, Type: engine.Market, ByQuote: true, Quote: units(1000), Touch: 1}
	r.do(Command{Kind: Deposit, User: a, Currency: "FOO", Amount: MaxMoney.Sub(dec("1099"))})
	if _, reason := r.s.Reserve(p); reason != engine.TotalOutOfRange {
		t.Errorf("%+v", reason)
	}
	p.Touch = 2
	if _, reason := r.s.Reserve(p); reason != engine.NotRejected {
		t.Error(reason)
	}
}

// Resting orders count together: each of two asks fits the balance alone, but not both, nor an
// ask and a deposit. Orders that ended no longer count.
func TestWhatOpenOrdersMayBringCounts(t *testing.T) {
	r, a, _ := wholes(t)
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
	if _, reason := r.s.ReserveReplace(ReplaceParams{Order: 1, Price: 8e18, HasPrice: true}); reason != engine.NotRejected {
		t.Fatal("its own rest does not count against a replace")
	}
	r.fold(func(f fold) {
		f.replaced(&engine.Event{Kind: engine.EventReplaced, Seq: r.next(0), Order: 1, Price: 8e18, Amount: 10, OpenAmount: 10})
		f.reduced(&engine.Event{Kind: engine.EventReduced, Seq: r.next(0), Order: 1, OpenAmount: 1})
	})
	wants(engine.NotRejected)
	r.fold(func(f fold) { f.canceled(&engine.Event{Kind: engine.EventCanceled, Seq: r.next(0), Order: 1}) })
	if len(r.s.coming) != 0 {
		t.Errorf("%v is expected of nothing", r.s.coming)
	}
	r.do(deposit)
}
