package accounts

import (
	"strconv"
	"sync"
	"testing"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// testRates are the fees of the tests' pair: 0.1 % maker, 0.2 % taker.
var testRates = Rates{Maker: RateOne / 1000, Taker: RateOne / 500}

func units(n uint64) fixed.U128 { return fixed.FromU64(n) }

func TestHoldOfEachKindOfOrder(t *testing.T) {
	for _, c := range []struct {
		name             string
		p                OrderParams
		usdtHeld, btc    string
		reason           engine.Reason
		usdtFree, sample string
	}{
		{name: "limit buy: price x amount plus taker fee", p: OrderParams{Side: engine.Buy, Price: 10_000, Amount: 1_000_000}, usdtHeld: "100.2", usdtFree: "899.8", btc: "0.0"},
		{name: "stop limit buy likewise", p: OrderParams{Side: engine.Buy, Type: engine.StopLimit, Price: 10_000, Amount: 1_000_000}, usdtHeld: "100.2", usdtFree: "899.8", btc: "0.0"},
		{name: "discount counts", p: OrderParams{Side: engine.Buy, Price: 10_000, Amount: 1_000_000, Rates: Rates{Taker: RateOne / 500, Discount: RateOne / 2}}, usdtHeld: "100.1", usdtFree: "899.9", btc: "0.0"},
		{name: "no fee", p: OrderParams{Side: engine.Buy, Price: 10_000, Amount: 1_000_000, Rates: Rates{Taker: RateOne / 500, Discount: RateOne}}, usdtHeld: "100.0", usdtFree: "900.0", btc: "0.0"},
		{name: "buy by quote: that plus taker fee", p: OrderParams{Side: engine.Buy, Type: engine.Market, ByQuote: true, Quote: units(100_0000_0000)}, usdtHeld: "100.2", usdtFree: "899.8", btc: "0.0"},
		{name: "stop market buy by quote likewise", p: OrderParams{Side: engine.Buy, Type: engine.StopMarket, ByQuote: true, Quote: units(100_0000_0000)}, usdtHeld: "100.2", usdtFree: "899.8", btc: "0.0"},
		{name: "market buy by amount: all that is free", p: OrderParams{Side: engine.Buy, Type: engine.Market, Amount: 1}, usdtHeld: "999.99999999402", usdtFree: "0.00000000598", btc: "0.0"},
		{name: "sell: the amount", p: OrderParams{Side: engine.Sell, Price: 10_000, Amount: 1_500_000}, usdtHeld: "0.0", usdtFree: "1000.0", btc: "1.5"},
		{name: "market sell: the amount", p: OrderParams{Side: engine.Sell, Type: engine.Market, Amount: 2_000_000}, usdtHeld: "0.0", usdtFree: "1000.0", btc: "2.0"},
		{name: "stop market sell: the amount", p: OrderParams{Side: engine.Sell, Type: engine.StopMarket, Amount: 2_000_000}, usdtHeld: "0.0", usdtFree: "1000.0", btc: "2.0"},
		{name: "too much to buy", p: OrderParams{Side: engine.Buy, Price: 100_000, Amount: 1_000_000}, reason: engine.InsufficientFunds},
		{name: "too much to sell", p: OrderParams{Side: engine.Sell, Price: 1, Amount: 2_000_001}, reason: engine.InsufficientFunds},
		{name: "stop market buy by amount", p: OrderParams{Side: engine.Buy, Type: engine.StopMarket, Amount: 1}, reason: engine.InsufficientFunds},
		{name: "beyond 10^20", p: OrderParams{Side: engine.Buy, Price: 1 << 62, Amount: 1 << 62}, reason: engine.TotalOutOfRange},
		{name: "unknown pair", p: OrderParams{Pair: 9, Side: engine.Buy, Price: 1, Amount: 1}, reason: engine.UnknownPair},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.pair()
			u := r.user(ProfilePatch{})
			r.deposit(u, "USDT", "1000")
			r.deposit(u, "BTC", "2")
			if c.p.Account = u; c.p.Rates == (Rates{}) {
				c.p.Rates = testRates
			}
			res, reason := r.s.Reserve(c.p)
			if reason != c.reason {
				t.Fatalf("refused for %q, want %q", reason, c.reason)
			}
			if c.reason != engine.NotRejected {
				r.balance(u, "USDT", "1000.0", "0.0")
				return
			}
			want := func() {
				t.Helper()
				r.balance(u, "USDT", c.usdtFree, c.usdtHeld)
				r.balance(u, "BTC", text(dec("2").Sub(dec(c.btc))), c.btc)
				r.check()
			}
			want() // reserved
			r.s.Release(res)
			r.balance(u, "USDT", "1000.0", "0.0")
			if res, reason = r.s.Reserve(c.p); reason != engine.NotRejected {
				t.Fatal(reason)
			}
			e := acceptedEvent(r.next(0), 1, c.p, res)
			r.fold(func(f fold) { f.event(&e) })
			want() // held by the order
			if len(r.s.pending) != 0 || r.s.Counts().Unreserved != 0 {
				t.Fatal("the reservation was not taken over")
			}
			r.restart()
			want()
			r.fold(func(f fold) { f.canceled(&engine.Event{Kind: engine.EventCanceled, Pair: 0, Seq: r.next(0), Order: 1}) })
			r.balance(u, "USDT", "1000.0", "0.0")
			r.balance(u, "BTC", "2.0", "0.0")
		})
	}
}

// traders returns a rig with a buyer who has 1000 USDT and a seller who has 2 BTC.
func traders(t *testing.T) (r *rig, buyer, seller uint32) {
	r = newRig(t)
	r.pair()
	buyer, seller = r.user(ProfilePatch{}), r.user(ProfilePatch{})
	r.deposit(buyer, "USDT", "1000")
	r.deposit(seller, "BTC", "2")
	return r, buyer, seller
}

// accept reserves and accepts a limit order.
func (r *rig) accept(order uint64, p OrderParams) {
	r.t.Helper()
	if p.Rates == (Rates{}) {
		p.Rates = testRates
	}
	res, reason := r.s.Reserve(p)
	if reason != engine.NotRejected {
		r.t.Fatal(reason)
	}
	e := acceptedEvent(r.next(0), order, p, res)
	r.fold(func(f fold) { f.event(&e) })
}

func TestFillsSettleAndReturnThePriceImprovement(t *testing.T) {
	r, buyer, seller := traders(t)
	r.accept(1, OrderParams{Account: seller, Side: engine.Sell, Price: 9_000, Amount: 500_000}) // 0.5 at 90
	r.accept(2, OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: 1_000_000})
	r.balance(buyer, "USDT", "899.8", "100.2")
	var fees tradeFees
	r.fold(func(f fold) {
		fees = f.trade(&engine.Event{
			Kind: engine.EventTrade, Seq: r.next(0), TimeNs: t0, Side: engine.Buy, Order: 2, Maker: 1, Account: engine.AccountID(buyer), MakerAccount: engine.AccountID(seller),
			Price: 9_000, Amount: 500_000, OpenAmount: 500_000, MakerOpen: 0,
			TakerFee: RateOne / 500, MakerFee: RateOne / 1000, MakerDiscount: RateOne / 2,
		})
	})
	// 45 changed hands; fees 0.09 (taker) and 0.0225 (maker, half off).
	if text(fees.taker) != "0.09" || text(fees.maker) != "0.0225" {
		t.Fatalf("fees %s %s", text(fees.taker), text(fees.maker))
	}
	r.balance(buyer, "USDT", "904.81", "50.1") // 0.5 at 100 plus 0.1 stay held
	r.balance(buyer, "BTC", "0.5", "0.0")
	r.balance(seller, "USDT", "44.9775", "0.0")
	r.balance(seller, "BTC", "1.5", "0.0")
	for _, v := range r.s.View().Totals() {
		if v.CurrencyCode == "USDT" && (text(v.Fees) != "0.1125" || v.Free.Add(v.Held).Add(v.Fees) != v.Deposited.Sub(v.Withdrawn)) {
			t.Fatalf("totals %+v", v)
		}
	}
	if len(r.s.orders) != 1 {
		t.Fatal("the filled order still has a hold")
	}
	r.fold(func(f fold) { // an event that is folded again changes nothing
		f.trade(&engine.Event{Kind: engine.EventTrade, Seq: 4, Side: engine.Buy, Order: 2, Maker: 1, Account: engine.AccountID(buyer), MakerAccount: engine.AccountID(seller), Price: 9_000, Amount: 500_000})
		f.canceled(&engine.Event{Kind: engine.EventCanceled, Seq: 4, Order: 2})
	})
	r.balance(buyer, "USDT", "904.81", "50.1")
}

func TestReplaceAdjustsItsHoldFirst(t *testing.T) {
	r, buyer, _ := traders(t)
	r.accept(1, OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: 1_000_000})
	up, reason := r.s.ReserveReplace(ReplaceParams{Order: 1, Price: 20_000, HasPrice: true})
	if reason != engine.NotRejected {
		t.Fatal(reason)
	}
	r.balance(buyer, "USDT", "799.6", "200.4")
	r.s.Release(up) // the engine refused
	r.balance(buyer, "USDT", "899.8", "100.2")
	if _, reason = r.s.ReserveReplace(ReplaceParams{Order: 1, Amount: 10_000_000, HasAmount: true}); reason != engine.InsufficientFunds {
		t.Fatalf("%+v", reason)
	}
	if _, reason = r.s.ReserveReplace(ReplaceParams{Order: 1, Price: 30_000, Amount: 2_000_000, HasPrice: true, HasAmount: true}); reason != engine.NotRejected {
		t.Fatal(reason)
	}
	r.fold(func(f fold) {
		f.replaced(&engine.Event{Kind: engine.EventReplaced, Seq: r.next(0), Order: 1, Price: 30_000, Amount: 2_000_000, OpenAmount: 2_000_000})
	})
	r.balance(buyer, "USDT", "398.8", "601.2")
	if _, reason = r.s.ReserveReplace(ReplaceParams{Order: 1, Amount: 500_000, HasAmount: true}); reason != engine.NotRejected {
		t.Fatal(reason)
	}
	r.balance(buyer, "USDT", "398.8", "601.2") // a smaller order releases when it is replaced
	r.fold(func(f fold) {
		f.replaced(&engine.Event{Kind: engine.EventReplaced, Seq: r.next(0), Order: 1, Price: 30_000, Amount: 500_000, OpenAmount: 500_000})
	})
	r.balance(buyer, "USDT", "849.7", "150.3")
	r.fold(func(f fold) {
		f.reduced(&engine.Event{Kind: engine.EventReduced, Seq: r.next(0), Order: 1, OpenAmount: 100_000})
	})
	r.balance(buyer, "USDT", "969.94", "30.06")
	if res, reason := r.s.ReserveReplace(ReplaceParams{Order: 99, Price: 1, HasPrice: true}); reason != engine.NotRejected || res.taken {
		t.Fatal("an unknown order is for the engine to refuse")
	}
}

func TestSpendLimitIsTheMostThatIsCovered(t *testing.T) {
	p := &pairTerms{digitsPrice: 2, digitsAmount: 6}
	for _, free := range []string{"0.000000000000000001", "0.00000001", "0.0000000101", "1", "100.2", "99999999999999999999.999999999999999999"} {
		for _, rates := range []Rates{testRates, {}, {Taker: RateOne}, {Taker: 33_333_333, Discount: 1}, {Maker: 3, Taker: 2}} {
			s := spendLimit(dec(free), p, rates)
			if cost, ok := withFee(s, p, rates); !ok && !s.IsZero() || cost.Cmp(dec(free)) > 0 {
				t.Fatalf("free %s: the limit costs %s", free, text(cost))
			}
			if cost, ok := withFee(s.Add(units(1)), p, rates); ok && cost.Cmp(dec(free)) <= 0 {
				t.Fatalf("free %s: one unit more costs %s", free, text(cost))
			}
		}
	}
}

func TestEveryChangeOfABalanceIsTold(t *testing.T) {
	r, buyer, seller := traders(t)
	r.invite(buyer, seller)
	up := r.user(ProfilePatch{})
	r.invite(seller, up)
	seen := map[string]int{}
	r.s.OnBalance(func(account uint32, currency string) { seen[currency+"-"+strconv.Itoa(int(account))]++ })
	told := func(what string, names ...string) {
		t.Helper()
		for _, n := range names {
			if seen[n] == 0 {
				t.Fatalf("%s: %s is not told (%v)", what, n, seen)
			}
		}
		if len(seen) != len(names) {
			t.Fatalf("%s: %v", what, seen)
		}
		clear(seen)
	}
	p := OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: 1_000_000, Rates: testRates}
	res, _ := r.s.Reserve(p)
	told("reserve", "USDT-1")
	r.s.Release(res)
	told("release", "USDT-1")
	r.accept(1, p)
	told("accept", "USDT-1")
	r.fold(func(f fold) {
		f.trade(&engine.Event{
			Kind: engine.EventTrade, Seq: r.next(0), Side: engine.Sell, Order: 9, Maker: 1, Account: 0, MakerAccount: engine.AccountID(buyer), Price: 10_000, Amount: 1_000_000,
			MakerFee: RateOne / 1000,
		})
	})
	told("trade", "USDT-1", "BTC-1", "USDT-0", "BTC-0", "USDT-2", "USDT-3")
	r.deposit(seller, "EUR", "1")
	told("deposit", "EUR-2")
}

func TestMarketBuyByAmountNeedsFunds(t *testing.T) {
	r := newRig(t)
	r.pair()
	u := r.user(ProfilePatch{})
	_, reason := r.s.Reserve(OrderParams{Account: u, Side: engine.Buy, Type: engine.Market, Amount: 1, Rates: testRates})
	if reason != engine.InsufficientFunds {
		t.Fatalf("%+v", reason)
	}
}

func TestUnlimitedAccountsGoBelowZeroAndCount(t *testing.T) {
	r := newRig(t)
	r.pair()
	u := r.user(ProfilePatch{Unlimited: ptr(true)})
	r.accept(1, OrderParams{Account: u, Side: engine.Buy, Price: 10_000, Amount: 1_000_000})
	r.balance(u, "USDT", "-100.2", "100.2")
	res, reason := r.s.Reserve(OrderParams{Account: u, Side: engine.Buy, Type: engine.Market, Amount: 1, Rates: testRates})
	if reason != engine.NotRejected || res.Funded {
		t.Fatalf("%+v %+v", res, reason)
	}
	r.fold(func(f fold) { // against the built-in account, which pays no fee
		f.trade(&engine.Event{
			Kind: engine.EventTrade, Seq: r.next(0), Side: engine.Sell, Order: 2, Maker: 1, Account: 0, MakerAccount: engine.AccountID(u), Price: 10_000, Amount: 1_000_000,
			TakerFee: RateOne / 500, MakerFee: RateOne / 1000,
		})
	})
	r.balance(u, "USDT", "-100.1", "0.0")
	r.balance(u, "BTC", "1.0", "0.0")
	r.balance(0, "USDT", "100.0", "0.0")
	r.balance(0, "BTC", "-1.0", "0.0")
	r.do(Command{Kind: Withdraw, User: u, Currency: "USDT", Amount: dec("1000")})
	r.balance(u, "USDT", "-1101.1", "0.0") // 0.1 % on top
	r.restart()
	r.balance(u, "USDT", "-1101.1", "0.0")
}

// The fees of this pair do not fit into 18 digits: each fill rounds, and the sum of the
// rounded fees exceeds the rounded sum that the order holds.
func TestFeeGivesWayBeforeAFundedBalanceGoesBelowZero(t *testing.T) {
	r := newRig(t)
	r.fold(func(f fold) {
		f.pair(&engine.Event{Kind: engine.EventPair, Pair: 0, Seq: r.next(0), Instrument: &engine.Instrument{Base: "AAA", Quote: "BBB", DigitsPrice: 9, DigitsAmount: 9}})
	})
	buyer, seller := r.user(ProfilePatch{}), r.user(ProfilePatch{})
	r.deposit(seller, "AAA", "1")
	rates := Rates{Maker: 60_000_000, Taker: 60_000_000} // 0.6
	need := OrderParams{Account: buyer, Side: engine.Buy, Price: 1, Amount: 10, Rates: rates}
	r.do(Command{Kind: Deposit, User: buyer, Currency: "BBB", Amount: fixed.FromI64(16)}) // 10 plus 6: exactly the hold
	r.accept(1, need)
	r.accept(2, OrderParams{Account: seller, Side: engine.Sell, Price: 1, Amount: 10, Rates: rates})
	for i := range int64(10) { // ten fills of 1, each with a fee of 0.6 -> 1
		r.fold(func(f fold) {
			f.trade(&engine.Event{
				Kind: engine.EventTrade, Seq: r.next(0), Side: engine.Sell, Order: 2, Maker: 1, Account: engine.AccountID(seller), MakerAccount: engine.AccountID(buyer), Price: 1, Amount: 1,
				OpenAmount: 9 - i, MakerOpen: 9 - i, TakerFee: 60_000_000, MakerFee: 60_000_000,
			})
		})
	}
	if c := r.s.Counts(); c.Shortfalls == 0 || c.Overdrafts != 0 {
		t.Fatalf("%+v", c)
	}
	r.balance(buyer, "BBB", "0.0", "0.0")
}

func TestDepositsAndWithdrawals(t *testing.T) {
	r := newRig(t)
	u := r.user(ProfilePatch{})
	for _, c := range []struct{ currency, amount, field string }{
		{"btc", "1", "currencyCode"},
		{"B", "1", "currencyCode"},
		{"ABCDEFGHIJKLM", "1", "currencyCode"},
		{"BTC", "0", "amount"},
		{"BTC", "-1", "amount"},
	} {
		for _, k := range []Kind{Deposit, Withdraw} {
			r.refused(Command{Kind: k, User: u, Currency: c.currency, Amount: dec(c.amount)}, "INVALID_PARAM", c.field)
		}
	}
	r.refused(Command{Kind: Withdraw, User: u, Currency: "BTC", Amount: dec("1")}, "INSUFFICIENT_FUNDS", "")
	res := r.do(Command{Kind: Deposit, User: u, Currency: "BTC", Amount: dec("10")})
	if text(res.Balance.Free) != "10.0" || text(res.Balance.Total) != "10.0" || res.Balance.CurrencyCode != "BTC" {
		t.Fatalf("%+v", res.Balance)
	}
	r.refused(Command{Kind: Withdraw, User: u, Currency: "BTC", Amount: dec("9.991")}, "INSUFFICIENT_FUNDS", "")
	res = r.do(Command{Kind: Withdraw, User: u, Currency: "BTC", Amount: dec("9")})
	if text(res.Commission) != "0.009" || text(res.Balance.Free) != "0.991" {
		t.Fatalf("%+v", res)
	}
	r.refused(Command{Kind: Deposit, User: u, Currency: "BTC", Amount: dec("99999999999999999999")}, "INVALID_PARAM", "amount")
	v := r.s.View().Totals()[0]
	if text(v.Free) != "0.991" || text(v.Fees) != "0.009" || text(v.Deposited) != "10.0" || text(v.Withdrawn) != "9.0" {
		t.Fatalf("%+v", v)
	}
	r.check()
}

func TestWithdrawalCommissionHasAMinimum(t *testing.T) {
	opts := testOptions()
	opts.ByCurrency = map[string]CurrencyCommissions{"BTC": {Withdrawal: CommissionRule{Percent: RateOne / 100, Minimum: dec("0.5")}}}
	r := newRig(t)
	r.s = New(opts)
	u := r.user(ProfilePatch{})
	r.deposit(u, "BTC", "1000")
	for amount, want := range map[string]string{"1": "0.5", "50": "0.5", "60": "0.6"} {
		if res := r.do(Command{Kind: Withdraw, User: u, Currency: "BTC", Amount: dec(amount)}); text(res.Commission) != want {
			t.Fatalf("%s: %s", amount, text(res.Commission))
		}
	}
	for _, c := range r.s.View().DefaultCommissions([]string{"BTC"}, nil) {
		if c.CommissionTypeCode == "2" && (text(c.Percent) != "0.01" || text(c.Minimum) != "0.5") {
			t.Fatalf("%+v", c)
		}
	}
}

// The next plan abandons a planned record that could not be written.
func TestPlanThatIsNeverAppliedIsTakenBack(t *testing.T) {
	r, buyer, seller := traders(t)
	r.do(Command{Kind: PatchUser, User: buyer, Profile: ProfilePatch{IsAmbassador: ptr(true)}})
	before := string(r.s.AppendSnapshot(nil))
	for _, cmd := range []Command{
		{Kind: Withdraw, User: buyer, Currency: "USDT", Amount: dec("999")},
		{Kind: SetInviter, User: seller, Code: inviteCode(buyer)},
		{Kind: PatchUser, User: buyer, Profile: ProfilePatch{IsAmbassador: ptr(false), SecondLevelPercent: decp("5")}},
		{Kind: Configure, Config: Config{Levels: []uint32{1}}},
		{Kind: Deposit, User: buyer, Currency: "EUR", Amount: dec("1")},
	} {
		if _, err := r.s.Plan(r.now, cmd); err != nil {
			t.Fatal(err)
		}
		if cmd.Kind == Withdraw { // no order may hold money that is being withdrawn
			if _, reason := r.s.Reserve(OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: 1_000_000}); reason == engine.NotRejected {
				t.Fatal("an order took what a withdrawal has taken")
			}
		}
		if string(r.s.AppendSnapshot(nil)) != before {
			t.Fatalf("kind %d leaves something behind", cmd.Kind)
		}
		if _, reject := r.try(Command{Kind: DeleteKey, User: buyer}); reject == nil {
			t.Fatal("an unknown key was deleted")
		}
		r.check()
	}
	if _, reject := r.try(Command{Kind: Withdraw, User: buyer, Currency: "USDT", Amount: dec("999")}); reject != nil {
		t.Fatal(reject)
	}
}

func TestRecordsNameTheEnginePositionAndSettlementIsNoRecord(t *testing.T) {
	r, buyer, _ := traders(t)
	rec, err := r.s.Plan(r.now, Command{Kind: Withdraw, User: buyer, Currency: "USDT", Amount: dec("1")})
	if err != nil || rec.EnginePos != r.pos || !rec.RestsOnEngine() {
		t.Fatalf("%+v %v", rec, err)
	}
	r.s.Apply(&rec)
	r.s.AppendSnapshot(nil)
	if r.s.ReflectsSeq() != r.pos || r.s.PairSeq(0) != 1 || r.s.LastNs() != t0 {
		t.Fatal("the state does not say what it reflects")
	}
	r.fold(func(f fold) { f.event(&engine.Event{Kind: engine.EventNothing, Seq: r.next(0)}) })
	if r.s.ReflectsSeq() != r.pos-1 || r.s.EnginePos() != r.pos || r.s.PairSeq(0) != 2 {
		t.Fatal("the other log may drop only what a snapshot holds")
	}
	fresh := New(testOptions())
	if fresh.EnginePos() >= rec.EnginePos || r.s.EnginePos() < rec.EnginePos {
		t.Fatal("the record does not say what it had seen")
	}
}

func TestHoldsOfOrdersThatTheEngineLostAreReleased(t *testing.T) {
	r, buyer, _ := traders(t)
	r.accept(1, OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: 1_000_000})
	r.accept(2, OrderParams{Account: buyer, Side: engine.Buy, Price: 20_000, Amount: 1_000_000})
	if n := r.s.ReleaseUnknown(func(id uint64) bool { return id == 2 }); n != 1 {
		t.Fatal(n)
	}
	r.balance(buyer, "USDT", "799.6", "200.4")
	r.check()
}

// Many handlers reserve and release while the engine folds, never more than the free balance.
func TestReservationsFromManyGoroutines(t *testing.T) {
	r, buyer, _ := traders(t)
	p := OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: 1_000_000, Rates: testRates} // 100.2 each
	var wg sync.WaitGroup
	accepted := make(chan Reservation, 10_000)
	for range 8 {
		wg.Go(func() {
			for i := range 300 {
				res, reason := r.s.Reserve(p)
				switch {
				case reason != engine.NotRejected:
				case i%3 == 0:
					accepted <- res
				default:
					r.s.Release(res)
				}
				b := r.s.View().Balance(buyer, "USDT")
				if b.Free.Sign() < 0 || b.Total != sum("1000") {
					t.Errorf("free %s, total %s", text(b.Free), text(b.Total))
				}
			}
		})
	}
	go func() { wg.Wait(); close(accepted) }()
	order, pos, open := uint64(0), r.pos, uint64(1)
	for range accepted {
		order++
		pos++
		f := beginFold(r.s, pos)
		f.accepted(&engine.Event{Kind: engine.EventAccepted, Seq: engine.Seq(order + 1), Order: engine.OrderID(order), Account: engine.AccountID(buyer), Side: engine.Buy, Price: 10_000, Amount: 1_000_000, MakerFee: testRates.Maker, TakerFee: testRates.Taker, TakerDiscount: testRates.Discount})
		f.end()
		if order-open > 5 {
			pos++
			f = beginFold(r.s, pos)
			f.canceled(&engine.Event{Kind: engine.EventCanceled, Seq: engine.Seq(order + 1), Order: engine.OrderID(open)})
			f.end()
			f = beginFold(r.s, pos)
			f.s.finish(f.s.orders[open], f.s.pairs[0])
			f.end()
			open++
		}
	}
	r.check()
	if c := r.s.Counts(); c.Unreserved != 0 || len(r.s.pending) != 0 || order < 9 {
		t.Fatalf("%+v, %d pending after %d orders", c, len(r.s.pending), order)
	}
}

func BenchmarkReserveFoldTrade(b *testing.B) {
	r := newRig(b)
	r.pair()
	buyer, seller := r.user(ProfilePatch{}), r.user(ProfilePatch{})
	up := r.user(ProfilePatch{})
	r.invite(buyer, up)
	r.s.maxDealAccruals = 100_000
	r.deposit(buyer, "USDT", "10000000000000000")
	r.deposit(seller, "BTC", "100000000000000")
	p := OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: 1_000_000, Rates: testRates}
	q := OrderParams{Account: seller, Side: engine.Sell, Price: 10_000, Amount: 1_000_000, Rates: testRates}
	seq, id := uint64(1), uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		if _, reason := r.s.Reserve(p); reason != engine.NotRejected {
			b.Fatal(reason)
		}
		sell, reason := r.s.Reserve(q)
		if reason != engine.NotRejected {
			b.Fatal(reason)
		}
		f := beginFold(r.s, seq)
		bought, sold := acceptedEvent(engine.Seq(seq+1), id+1, p, Reservation{}), acceptedEvent(engine.Seq(seq+2), id+2, q, sell)
		f.accepted(&bought)
		f.accepted(&sold)
		f.trade(&engine.Event{
			Kind: engine.EventTrade, Seq: engine.Seq(seq + 3), Side: engine.Sell, Order: engine.OrderID(id + 2), Maker: engine.OrderID(id + 1), Account: engine.AccountID(seller), MakerAccount: engine.AccountID(buyer),
			Price: 10_000, Amount: 1_000_000, TakerFee: RateOne / 500, MakerFee: RateOne / 1000,
		})
		f.end()
		seq, id = seq+3, id+2
	}
}

// A Replaced event takes over its reservation however the order has changed meanwhile: here a
// replace of the price alone, while a decrement makes the order smaller.
func TestAReplaceTakesItsReservationOverAfterADecrement(t *testing.T) {
	r, buyer, _ := traders(t)
	r.accept(1, OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: 5_000_000})
	r.balance(buyer, "USDT", "499.0", "501.0")
	res, reason := r.s.ReserveReplace(ReplaceParams{Order: 1, Price: 15_000, HasPrice: true})
	if reason != engine.NotRejected || res.SpendLimit != units(250_0000_0000) {
		t.Fatalf("%+v, %+v", res, reason)
	}
	r.fold(func(f fold) {
		f.reduced(&engine.Event{Kind: engine.EventReduced, Seq: r.next(0), Order: 1, OpenAmount: 3_000_000})
		f.replaced(&engine.Event{Kind: engine.EventReplaced, Seq: r.next(0), Order: 1, Price: 15_000, Amount: 3_000_000, OpenAmount: 3_000_000})
	})
	r.balance(buyer, "USDT", "549.1", "450.9")
	r.fold(func(f fold) { f.canceled(&engine.Event{Kind: engine.EventCanceled, Seq: r.next(0), Order: 1}) })
	r.balance(buyer, "USDT", "1000.0", "0.0")
	if len(r.s.pending) != 0 || r.s.waiting != 0 || r.s.Counts().Unreserved != 0 {
		t.Fatal("the reservation stayed")
	}
}

// An order has at most one replace on its way, also where the replace needs no more money: its
// event must not end the reservation of another replace.
func TestAnOrderHasOneReplaceOnItsWay(t *testing.T) {
	r, buyer, _ := traders(t)
	r.accept(1, OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: 5_000_000})
	down, reason := r.s.ReserveReplace(ReplaceParams{Order: 1, Price: 5_000, HasPrice: true})
	if reason != engine.NotRejected || !down.Replaces || !down.SpendLimit.IsZero() {
		t.Fatalf("%+v, %+v", down, reason)
	}
	up := ReplaceParams{Order: 1, Price: 15_000, HasPrice: true}
	if _, reason = r.s.ReserveReplace(up); reason != engine.InsufficientFunds {
		t.Fatalf("%+v", reason)
	}
	r.s.Release(down)
	if _, reason = r.s.ReserveReplace(up); reason != engine.NotRejected {
		t.Fatal(reason)
	}
	r.balance(buyer, "USDT", "248.5", "751.5")
}

// An order without a fee reserves the whole free balance. While it is on its way, the last
// rounded fee of another order takes 10^-18 of it, and the fee account gives that back.
func TestRoundedFeesNeverOverdrawAnotherOrder(t *testing.T) {
	r := newRig(t)
	r.fold(func(f fold) {
		f.pair(&engine.Event{Kind: engine.EventPair, Pair: 0, Seq: r.next(0), Instrument: &engine.Instrument{Base: "AAA", Quote: "BBB", DigitsPrice: 9, DigitsAmount: 9}})
	})
	buyer := r.user(ProfilePatch{})
	rates := Rates{Maker: 60_000_000, Taker: 60_000_000} // 0.6
	r.do(Command{Kind: Deposit, User: buyer, Currency: "BBB", Amount: fixed.FromI64(13)})
	r.accept(1, OrderParams{Account: buyer, Side: engine.Buy, Price: 1, Amount: 2, Rates: rates}) // holds 3
	next := OrderParams{Account: buyer, Side: engine.Buy, Price: 1, Amount: 10}
	if _, reason := r.s.Reserve(next); reason != engine.NotRejected {
		t.Fatal(reason)
	}
	buys := func(order uint64, rate uint32, open int64) {
		t.Helper()
		r.fold(func(f fold) {
			f.trade(&engine.Event{
				Kind: engine.EventTrade, Seq: r.next(0), Side: engine.Sell, Order: 99, Maker: engine.OrderID(order), MakerAccount: engine.AccountID(buyer), Price: 1, Amount: 1, MakerOpen: open, MakerFee: rate,
			})
		})
	}
	buys(1, 60_000_000, 1)
	buys(1, 60_000_000, 0) // 0.6 -> 1 twice, where 1.2 -> 1 was held
	r.fold(func(f fold) {
		f.accepted(&engine.Event{Kind: engine.EventAccepted, Seq: r.next(0), Order: 2, Account: engine.AccountID(buyer), Side: engine.Buy, Price: 1, Amount: 10})
	})
	for open := int64(9); open >= 0; open-- {
		buys(2, 0, open)
	}
	if c := r.s.Counts(); c.Overdrafts != 0 {
		t.Fatalf("%+v", c)
	}
	r.balance(buyer, "BBB", "0.0", "0.0")
}

func TestAFoldOfATradeAllocatesNothing(t *testing.T) {
	r, buyer, _ := traders(t)
	const lots = 1_000_000
	r.accept(1, OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: lots})
	seq, open := r.next(0), int64(lots)
	events := make([]engine.Event, 3)
	if n := testing.AllocsPerRun(100, func() {
		open--
		events[0] = engine.Event{
			Kind: engine.EventTrade, Seq: seq, Side: engine.Sell, Order: 2, Maker: 1, MakerAccount: engine.AccountID(buyer),
			Price: 10_000, Amount: 1, MakerOpen: open, MakerFee: testRates.Maker,
		}
		events[1] = engine.Event{Kind: engine.EventLevel, Seq: seq + 1, Price: 10_000, Amount: open}
		events[2] = engine.Event{Kind: engine.EventReduced, Seq: seq + 2, Order: 1, OpenAmount: open - 1}
		open--
		r.s.FoldEvents(events, r.pos+uint64(seq))
		seq += 3
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	r.check()
}
