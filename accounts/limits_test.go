package accounts

import (
	"testing"

	"tickhive/internal/refuse"
)

// wholes returns a buyer and a seller of a pair without fractions, each with 100 FOO.
func wholes(t *testing.T) (r *rig, a, b uint32) {
	r = newRig(t)
	r.fold(func(f Fold) { f.Pair(PairAdded{Seq: r.next(0), Base: "FOO", Quote: "BAR"}) })
	a, b = r.user(ProfilePatch{}), r.user(ProfilePatch{})
	r.deposit(a, "FOO", "100")
	r.deposit(b, "FOO", "100")
	return r, a, b
}

// sell sells 10 FOO to the built-in account at the market; it returns false when refused.
func (r *rig) sell(order uint64, account uint32, bid int64) bool {
	r.t.Helper()
	p := OrderParams{Account: account, Side: Sell, Type: Market, Amount: 10, Touch: bid}
	if _, reject := r.s.Reserve(p); reject != nil {
		if reject.Code != "TOTAL_OUT_OF_RANGE" {
			r.t.Fatalf("%+v", reject)
		}
		return false
	}
	r.fold(func(f Fold) {
		f.Accepted(OrderAccepted{Seq: r.next(0), Order: order, Account: account, Side: Sell, Type: Market, Amount: 10})
		f.Trade(Trade{Seq: r.next(0), TakerSide: Sell, Taker: order, TakerAccount: account, Price: bid, Amount: 10})
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
	limit := OrderParams{Account: a, Side: Sell, Price: 1, Amount: 1, Touch: 9e18}
	if _, reject := r.s.Reserve(limit); reject == nil || reject.Code != "TOTAL_OUT_OF_RANGE" {
		t.Errorf("%+v", reject)
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
	p := OrderParams{Account: a, Side: Buy, Type: Market, ByQuote: true, Quote: units(1000), Touch: 1}
	r.do(Command{Kind: Deposit, User: a, Currency: "FOO", Amount: MaxMoney.Sub(dec("1099"))})
	if _, reject := r.s.Reserve(p); reject == nil || reject.Code != "TOTAL_OUT_OF_RANGE" {
		t.Errorf("%+v", reject)
	}
	p.Touch = 2
	if _, reject := r.s.Reserve(p); reject != nil {
		t.Error(reject)
	}
}

// Resting orders count together: each of two asks fits the balance alone, but not both, nor an
// ask and a deposit. Orders that ended no longer count.
func TestWhatOpenOrdersMayBringCounts(t *testing.T) {
	r, a, _ := wholes(t)
	ask := OrderParams{Account: a, Side: Sell, Price: 9e18, Amount: 10}
	r.accept(1, ask)
	wants := func(code refuse.Code) {
		t.Helper()
		got := refuse.Code("")
		res, reject := r.s.Reserve(ask)
		if reject != nil {
			got = reject.Code
		}
		if r.s.Release(res); got != code {
			t.Fatalf("a second ask: %q, want %q", got, code)
		}
	}
	deposit := Command{Kind: Deposit, User: a, Currency: "BAR", Amount: dec("20000000000000000000")}
	wants("TOTAL_OUT_OF_RANGE")
	r.refused(deposit, "INVALID_PARAM", "amount")
	r.restart()
	wants("TOTAL_OUT_OF_RANGE")
	if _, reject := r.s.ReserveReplace(ReplaceParams{Order: 1, Price: 8e18, HasPrice: true}); reject != nil {
		t.Fatal("its own rest does not count against a replace")
	}
	r.fold(func(f Fold) {
		f.Replaced(OrderReplaced{Seq: r.next(0), Order: 1, Price: 8e18, Amount: 10, Open: 10})
		f.Reduced(OrderReduced{Seq: r.next(0), Order: 1, Open: 1})
	})
	wants("")
	r.fold(func(f Fold) { f.Canceled(OrderCanceled{Seq: r.next(0), Order: 1}) })
	if len(r.s.coming) != 0 {
		t.Errorf("%v is expected of nothing", r.s.coming)
	}
	r.do(deposit)
}
