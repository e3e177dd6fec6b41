package accounts

import (
	"strconv"
	"sync"
	"testing"

	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

// testRates are the fees of the tests' pair: 0.1 % maker, 0.2 % taker.
var testRates = Rates{Maker: RateOne / 1000, Taker: RateOne / 500}

func units(n uint64) fixed.U128 { return fixed.FromU64(n) }

func TestHoldOfEachKindOfOrder(t *testing.T) {
	for _, c := range []struct {
		name             string
		p                OrderParams
		usdtHeld, btc    string
		code             refuse.Code
		field            string
		usdtFree, sample string
	}{
		{name: "limit buy: price x amount plus taker fee", p: OrderParams{Side: Buy, Price: 10_000, Amount: 1_000_000}, usdtHeld: "100.2", usdtFree: "899.8", btc: "0.0"},
		{name: "stop limit buy likewise", p: OrderParams{Side: Buy, Type: StopLimit, Price: 10_000, Amount: 1_000_000}, usdtHeld: "100.2", usdtFree: "899.8", btc: "0.0"},
		{name: "discount counts", p: OrderParams{Side: Buy, Price: 10_000, Amount: 1_000_000, Rates: Rates{Taker: RateOne / 500, Discount: RateOne / 2}}, usdtHeld: "100.1", usdtFree: "899.9", btc: "0.0"},
		{name: "no fee", p: OrderParams{Side: Buy, Price: 10_000, Amount: 1_000_000, Rates: Rates{Taker: RateOne / 500, Discount: RateOne}}, usdtHeld: "100.0", usdtFree: "900.0", btc: "0.0"},
		{name: "buy by quote: that plus taker fee", p: OrderParams{Side: Buy, Type: Market, ByQuote: true, Quote: units(100_0000_0000)}, usdtHeld: "100.2", usdtFree: "899.8", btc: "0.0"},
		{name: "stop market buy by quote likewise", p: OrderParams{Side: Buy, Type: StopMarket, ByQuote: true, Quote: units(100_0000_0000)}, usdtHeld: "100.2", usdtFree: "899.8", btc: "0.0"},
		{name: "market buy by amount: all that is free", p: OrderParams{Side: Buy, Type: Market, Amount: 1}, usdtHeld: "999.99999999402", usdtFree: "0.00000000598", btc: "0.0"},
		{name: "sell: the amount", p: OrderParams{Side: Sell, Price: 10_000, Amount: 1_500_000}, usdtHeld: "0.0", usdtFree: "1000.0", btc: "1.5"},
		{name: "market sell: the amount", p: OrderParams{Side: Sell, Type: Market, Amount: 2_000_000}, usdtHeld: "0.0", usdtFree: "1000.0", btc: "2.0"},
		{name: "stop market sell: the amount", p: OrderParams{Side: Sell, Type: StopMarket, Amount: 2_000_000}, usdtHeld: "0.0", usdtFree: "1000.0", btc: "2.0"},
		{name: "too much to buy", p: OrderParams{Side: Buy, Price: 100_000, Amount: 1_000_000}, code: "INSUFFICIENT_FUNDS"},
		{name: "too much to sell", p: OrderParams{Side: Sell, Price: 1, Amount: 2_000_001}, code: "INSUFFICIENT_FUNDS"},
		{name: "stop market buy by amount", p: OrderParams{Side: Buy, Type: StopMarket, Amount: 1}, code: "INVALID_PARAM", field: "quoteAmount"},
		{name: "beyond 10^20", p: OrderParams{Side: Buy, Price: 1 << 62, Amount: 1 << 62}, code: "TOTAL_OUT_OF_RANGE"},
		{name: "unknown pair", p: OrderParams{Pair: 9, Side: Buy, Price: 1, Amount: 1}, code: "NOT_FOUND", field: "currencyPairCode"},
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
			res, reject := r.s.Reserve(c.p)
			if c.code != "" {
				if reject == nil || reject.Code != c.code || reject.Field != c.field {
					t.Fatalf("%+v", reject)
				}
				r.balance(u, "USDT", "1000.0", "0.0")
				return
			}
			if reject != nil {
				t.Fatal(reject)
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
			if res, reject = r.s.Reserve(c.p); reject != nil {
				t.Fatal(reject)
			}
			e := OrderAccepted{
				Pair: 0, Seq: r.next(0), Order: 1, Account: u, Side: c.p.Side, Type: c.p.Type, ByQuote: c.p.ByQuote, Price: c.p.Price,
				Amount: c.p.Amount, Quote: c.p.Quote, Rates: c.p.Rates, Funded: res.Funded, Earn: res.EarnLimit,
			}
			if res.Funded {
				e.Quote = res.SpendLimit
			}
			r.fold(func(f Fold) { f.Accepted(e) })
			want() // held by the order
			if len(r.s.pending) != 0 || r.s.Counts().Unreserved != 0 {
				t.Fatal("the reservation was not taken over")
			}
			r.restart()
			want()
			r.fold(func(f Fold) { f.Canceled(OrderCanceled{Pair: 0, Seq: r.next(0), Order: 1}) })
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
	res, reject := r.s.Reserve(p)
	if reject != nil {
		r.t.Fatal(reject)
	}
	r.fold(func(f Fold) {
		f.Accepted(OrderAccepted{
			Seq: r.next(0), Order: order, Account: p.Account, Side: p.Side, Type: p.Type, ByQuote: p.ByQuote,
			Price: p.Price, Amount: p.Amount, Quote: p.Quote, Rates: p.Rates, Earn: res.EarnLimit,
		})
	})
}

func TestFillsSettleAndReturnThePriceImprovement(t *testing.T) {
	r, buyer, seller := traders(t)
	r.accept(1, OrderParams{Account: seller, Side: Sell, Price: 9_000, Amount: 500_000}) // 0.5 at 90
	r.accept(2, OrderParams{Account: buyer, Side: Buy, Price: 10_000, Amount: 1_000_000})
	r.balance(buyer, "USDT", "899.8", "100.2")
	var fees TradeFees
	r.fold(func(f Fold) {
		fees = f.Trade(Trade{
			Seq: r.next(0), TimeNs: t0, TakerSide: Buy, Taker: 2, Maker: 1, TakerAccount: buyer, MakerAccount: seller,
			Price: 9_000, Amount: 500_000, TakerOpen: 500_000, MakerOpen: 0,
			TakerRate: RateOne / 500, MakerRate: RateOne / 1000, MakerDiscount: RateOne / 2,
		})
	})
	// 45 changed hands; fees 0.09 (taker) and 0.0225 (maker, half off).
	if text(fees.Taker) != "0.09" || text(fees.Maker) != "0.0225" {
		t.Fatalf("fees %s %s", text(fees.Taker), text(fees.Maker))
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
	r.fold(func(f Fold) { // an event that is folded again changes nothing
		f.Trade(Trade{Seq: 4, TakerSide: Buy, Taker: 2, Maker: 1, TakerAccount: buyer, MakerAccount: seller, Price: 9_000, Amount: 500_000})
		f.Canceled(OrderCanceled{Seq: 4, Order: 2})
	})
	r.balance(buyer, "USDT", "904.81", "50.1")
}

func TestReplaceAdjustsItsHoldFirst(t *testing.T) {
	r, buyer, _ := traders(t)
	r.accept(1, OrderParams{Account: buyer, Side: Buy, Price: 10_000, Amount: 1_000_000})
	up, reject := r.s.ReserveReplace(ReplaceParams{Order: 1, Price: 20_000, HasPrice: true})
	if reject != nil {
		t.Fatal(reject)
	}
	r.balance(buyer, "USDT", "799.6", "200.4")
	r.s.Release(up) // the engine refused
	r.balance(buyer, "USDT", "899.8", "100.2")
	if _, reject = r.s.ReserveReplace(ReplaceParams{Order: 1, Amount: 10_000_000, HasAmount: true}); reject == nil || reject.Code != "INSUFFICIENT_FUNDS" {
		t.Fatalf("%+v", reject)
	}
	if _, reject = r.s.ReserveReplace(ReplaceParams{Order: 1, Price: 30_000, Amount: 2_000_000, HasPrice: true, HasAmount: true}); reject != nil {
		t.Fatal(reject)
	}
	r.fold(func(f Fold) {
		f.Replaced(OrderReplaced{Seq: r.next(0), Order: 1, Price: 30_000, Amount: 2_000_000, Open: 2_000_000})
	})
	r.balance(buyer, "USDT", "398.8", "601.2")
	if _, reject = r.s.ReserveReplace(ReplaceParams{Order: 1, Amount: 500_000, HasAmount: true}); reject != nil {
		t.Fatal(reject)
	}
	r.balance(buyer, "USDT", "398.8", "601.2") // a smaller order releases when it is replaced
	r.fold(func(f Fold) {
		f.Replaced(OrderReplaced{Seq: r.next(0), Order: 1, Price: 30_000, Amount: 500_000, Open: 500_000})
	})
	r.balance(buyer, "USDT", "849.7", "150.3")
	r.fold(func(f Fold) { f.Reduced(OrderReduced{Seq: r.next(0), Order: 1, Open: 100_000}) })
	r.balance(buyer, "USDT", "969.94", "30.06")
	if res, reject := r.s.ReserveReplace(ReplaceParams{Order: 99, Price: 1, HasPrice: true}); reject != nil || res.taken {
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
	p := OrderParams{Account: buyer, Side: Buy, Price: 10_000, Amount: 1_000_000, Rates: testRates}
	res, _ := r.s.Reserve(p)
	told("reserve", "USDT-1")
	r.s.Release(res)
	told("release", "USDT-1")
	r.accept(1, p)
	told("accept", "USDT-1")
	r.fold(func(f Fold) {
		f.Trade(Trade{
			Seq: r.next(0), TakerSide: Sell, Taker: 9, Maker: 1, TakerAccount: 0, MakerAccount: buyer, Price: 10_000, Amount: 1_000_000,
			MakerRate: RateOne / 1000,
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
	_, reject := r.s.Reserve(OrderParams{Account: u, Side: Buy, Type: Market, Amount: 1, Rates: testRates})
	if reject == nil || reject.Code != "INSUFFICIENT_FUNDS" {
		t.Fatalf("%+v", reject)
	}
}

func TestUnlimitedAccountsGoBelowZeroAndCount(t *testing.T) {
	r := newRig(t)
	r.pair()
	u := r.user(ProfilePatch{Unlimited: ptr(true)})
	r.accept(1, OrderParams{Account: u, Side: Buy, Price: 10_000, Amount: 1_000_000})
	r.balance(u, "USDT", "-100.2", "100.2")
	res, reject := r.s.Reserve(OrderParams{Account: u, Side: Buy, Type: Market, Amount: 1, Rates: testRates})
	if reject != nil || res.Funded {
		t.Fatalf("%+v %+v", res, reject)
	}
	r.fold(func(f Fold) { // against the built-in account, which pays no fee
		f.Trade(Trade{
			Seq: r.next(0), TakerSide: Sell, Taker: 2, Maker: 1, TakerAccount: 0, MakerAccount: u, Price: 10_000, Amount: 1_000_000,
			TakerRate: RateOne / 500, MakerRate: RateOne / 1000,
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
	r.fold(func(f Fold) {
		f.Pair(PairAdded{Pair: 0, Seq: r.next(0), Base: "AAA", Quote: "BBB", DigitsPrice: 9, DigitsAmount: 9})
	})
	buyer, seller := r.user(ProfilePatch{}), r.user(ProfilePatch{})
	r.deposit(seller, "AAA", "1")
	rates := Rates{Maker: 60_000_000, Taker: 60_000_000} // 0.6
	need := OrderParams{Account: buyer, Side: Buy, Price: 1, Amount: 10, Rates: rates}
	r.do(Command{Kind: Deposit, User: buyer, Currency: "BBB", Amount: fixed.FromI64(16)}) // 10 plus 6: exactly the hold
	r.accept(1, need)
	r.accept(2, OrderParams{Account: seller, Side: Sell, Price: 1, Amount: 10, Rates: rates})
	for i := range int64(10) { // ten fills of 1, each with a fee of 0.6 -> 1
		r.fold(func(f Fold) {
			f.Trade(Trade{
				Seq: r.next(0), TakerSide: Sell, Taker: 2, Maker: 1, TakerAccount: seller, MakerAccount: buyer, Price: 1, Amount: 1,
				TakerOpen: 9 - i, MakerOpen: 9 - i, TakerRate: 60_000_000, MakerRate: 60_000_000,
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
			if _, reject := r.s.Reserve(OrderParams{Account: buyer, Side: Buy, Price: 10_000, Amount: 1_000_000}); reject == nil {
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
	r.fold(func(f Fold) { f.Seen(0, r.next(0)) })
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
	r.accept(1, OrderParams{Account: buyer, Side: Buy, Price: 10_000, Amount: 1_000_000})
	r.accept(2, OrderParams{Account: buyer, Side: Buy, Price: 20_000, Amount: 1_000_000})
	if n := r.s.ReleaseUnknown(func(id uint64) bool { return id == 2 }); n != 1 {
		t.Fatal(n)
	}
	r.balance(buyer, "USDT", "799.6", "200.4")
	r.check()
}

// Many handlers reserve and release while the engine folds, never more than the free balance.
func TestReservationsFromManyGoroutines(t *testing.T) {
	r, buyer, _ := traders(t)
	p := OrderParams{Account: buyer, Side: Buy, Price: 10_000, Amount: 1_000_000, Rates: testRates} // 100.2 each
	var wg sync.WaitGroup
	accepted := make(chan Reservation, 10_000)
	for range 8 {
		wg.Go(func() {
			for i := range 300 {
				res, reject := r.s.Reserve(p)
				switch {
				case reject != nil:
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
		f := r.s.BeginFold(pos)
		f.Accepted(OrderAccepted{Seq: order + 1, Order: order, Account: buyer, Side: Buy, Price: 10_000, Amount: 1_000_000, Rates: testRates})
		f.End()
		if order-open > 5 {
			pos++
			f = r.s.BeginFold(pos)
			f.Canceled(OrderCanceled{Seq: order + 1, Order: open})
			f.End()
			f = r.s.BeginFold(pos)
			f.s.finish(f.s.orders[open], f.s.pairs[0])
			f.End()
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
	p := OrderParams{Account: buyer, Side: Buy, Price: 10_000, Amount: 1_000_000, Rates: testRates}
	q := OrderParams{Account: seller, Side: Sell, Price: 10_000, Amount: 1_000_000, Rates: testRates}
	seq, id := uint64(1), uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		if _, reject := r.s.Reserve(p); reject != nil {
			b.Fatal(reject)
		}
		sell, reject := r.s.Reserve(q)
		if reject != nil {
			b.Fatal(reject)
		}
		f := r.s.BeginFold(seq)
		f.Accepted(OrderAccepted{Seq: seq + 1, Order: id + 1, Account: buyer, Side: Buy, Price: 10_000, Amount: 1_000_000, Rates: testRates})
		f.Accepted(OrderAccepted{Seq: seq + 2, Order: id + 2, Account: seller, Side: Sell, Price: 10_000, Amount: 1_000_000, Rates: testRates, Earn: sell.EarnLimit})
		f.Trade(Trade{
			Seq: seq + 3, TakerSide: Sell, Taker: id + 2, Maker: id + 1, TakerAccount: seller, MakerAccount: buyer,
			Price: 10_000, Amount: 1_000_000, TakerRate: RateOne / 500, MakerRate: RateOne / 1000,
		})
		f.End()
		seq, id = seq+3, id+2
	}
}

// A Replaced event takes over its reservation however the order has changed meanwhile: here a
// replace of the price alone, while a decrement makes the order smaller.
func TestAReplaceTakesItsReservationOverAfterADecrement(t *testing.T) {
	r, buyer, _ := traders(t)
	r.accept(1, OrderParams{Account: buyer, Side: Buy, Price: 10_000, Amount: 5_000_000})
	r.balance(buyer, "USDT", "499.0", "501.0")
	res, reject := r.s.ReserveReplace(ReplaceParams{Order: 1, Price: 15_000, HasPrice: true})
	if reject != nil || res.SpendLimit != units(250_0000_0000) {
		t.Fatalf("%+v, %+v", res, reject)
	}
	r.fold(func(f Fold) {
		f.Reduced(OrderReduced{Seq: r.next(0), Order: 1, Open: 3_000_000})
		f.Replaced(OrderReplaced{Seq: r.next(0), Order: 1, Price: 15_000, Amount: 3_000_000, Open: 3_000_000})
	})
	r.balance(buyer, "USDT", "549.1", "450.9")
	r.fold(func(f Fold) { f.Canceled(OrderCanceled{Seq: r.next(0), Order: 1}) })
	r.balance(buyer, "USDT", "1000.0", "0.0")
	if len(r.s.pending) != 0 || r.s.waiting != 0 || r.s.Counts().Unreserved != 0 {
		t.Fatal("the reservation stayed")
	}
}

// An order has at most one replace on its way, also where the replace needs no more money: its
// event must not end the reservation of another replace.
func TestAnOrderHasOneReplaceOnItsWay(t *testing.T) {
	r, buyer, _ := traders(t)
	r.accept(1, OrderParams{Account: buyer, Side: Buy, Price: 10_000, Amount: 5_000_000})
	down, reject := r.s.ReserveReplace(ReplaceParams{Order: 1, Price: 5_000, HasPrice: true})
	if reject != nil || !down.Replaces || !down.SpendLimit.IsZero() {
		t.Fatalf("%+v, %+v", down, reject)
	}
	up := ReplaceParams{Order: 1, Price: 15_000, HasPrice: true}
	if _, reject = r.s.ReserveReplace(up); reject == nil || reject.Code != "INSUFFICIENT_FUNDS" {
		t.Fatalf("%+v", reject)
	}
	r.s.Release(down)
	if _, reject = r.s.ReserveReplace(up); reject != nil {
		t.Fatal(reject)
	}
	r.balance(buyer, "USDT", "248.5", "751.5")
}

// An order without a fee reserves the whole free balance. While it is on its way, the last
// rounded fee of another order takes 10^-18 of it, and the fee account gives that back.
func TestRoundedFeesNeverOverdrawAnotherOrder(t *testing.T) {
	r := newRig(t)
	r.fold(func(f Fold) {
		f.Pair(PairAdded{Pair: 0, Seq: r.next(0), Base: "AAA", Quote: "BBB", DigitsPrice: 9, DigitsAmount: 9})
	})
	buyer := r.user(ProfilePatch{})
	rates := Rates{Maker: 60_000_000, Taker: 60_000_000} // 0.6
	r.do(Command{Kind: Deposit, User: buyer, Currency: "BBB", Amount: fixed.FromI64(13)})
	r.accept(1, OrderParams{Account: buyer, Side: Buy, Price: 1, Amount: 2, Rates: rates}) // holds 3
	next := OrderParams{Account: buyer, Side: Buy, Price: 1, Amount: 10}
	if _, reject := r.s.Reserve(next); reject != nil {
		t.Fatal(reject)
	}
	buys := func(order uint64, rate uint32, open int64) {
		t.Helper()
		r.fold(func(f Fold) {
			f.Trade(Trade{
				Seq: r.next(0), TakerSide: Sell, Taker: 99, Maker: order, MakerAccount: buyer, Price: 1, Amount: 1, MakerOpen: open, MakerRate: rate,
			})
		})
	}
	buys(1, 60_000_000, 1)
	buys(1, 60_000_000, 0) // 0.6 -> 1 twice, where 1.2 -> 1 was held
	r.fold(func(f Fold) {
		f.Accepted(OrderAccepted{Seq: r.next(0), Order: 2, Account: buyer, Side: Buy, Price: 1, Amount: 10})
	})
	for open := int64(9); open >= 0; open-- {
		buys(2, 0, open)
	}
	if c := r.s.Counts(); c.Overdrafts != 0 {
		t.Fatalf("%+v", c)
	}
	r.balance(buyer, "BBB", "0.0", "0.0")
}
