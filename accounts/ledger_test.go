package accounts

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// ledgerRig returns a rig with BTC_USDT, 2 and 4 digits, of assets with 8, and user 1 with 1,000 USDT and 10 BTC.
func ledgerRig(t *testing.T) *rig {
	r := newRig(t)
	r.addPair(engine.Instrument{
		Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 4, BaseDigits: 8, QuoteDigits: 8,
	})
	r.user(ProfilePatch{})
	r.deposit(1, "USDT", "1000")
	r.deposit(1, "BTC", "10")
	return r
}

// product returns an amount of the quote in product units of ledgerRig's pair.
func product(text string) fixed.U128 {
	units, _ := dec(text).Abs().DivMod64(fixed.Pow10[12])
	return units
}

// Each event of an order changes what its account holds as docs/contract/trading.md#balances-and-holds says; the order
// of the table ends, so all of it is free again but what it has spent.
func TestHoldsFollowFromEvents(t *testing.T) {
	const (
		accepted, trade = engine.EventAccepted, engine.EventTrade
		canceled        = engine.EventCanceled
		replaced        = engine.EventReplaced
		reduced         = engine.EventReduced
		triggered       = engine.EventTriggered
		sell            = engine.Sell
		market, stop    = engine.Market, engine.StopMarket
		quote           = engine.FlagQuote
	)
	type step struct {
		e    engine.Event
		want string // held USDT and BTC
	}
	for name, steps := range map[string][]step{
		"limit buy": {
			{engine.Event{Kind: accepted, Price: 100_00, Amount: 2_0000}, "200 0"},
			{engine.Event{Kind: trade, Price: 90_00, Amount: 5000, OpenAmount: 1_5000, Display: 100_00}, "150 0"},
			{engine.Event{Kind: reduced, Price: 90_00, Amount: 1000, Display: 100_00}, "140 0"},
			{engine.Event{Kind: canceled, Price: 100_00, Amount: 1_4000}, "0 0"},
		},
		"limit sell": {
			{engine.Event{Kind: accepted, Side: sell, Price: 100_00, Amount: 2_0000}, "0 2"},
			{engine.Event{
				Kind: trade, Side: sell, Price: 110_00, Amount: 5000, OpenAmount: 1_5000, Display: 100_00,
			}, "0 1.5"},
			{engine.Event{Kind: reduced, Side: sell, Price: 110_00, Amount: 1000, Display: 100_00}, "0 1.4"},
			{engine.Event{Kind: canceled, Side: sell, Price: 100_00, Amount: 1_4000}, "0 0"},
		},
		"filled at once": {
			{engine.Event{Kind: accepted, Price: 100_00, Amount: 2_0000}, "200 0"},
			{engine.Event{Kind: trade, Price: 90_00, Amount: 2_0000, Display: 100_00}, "0 0"},
		},
		"replaced buy": {
			{engine.Event{Kind: accepted, Price: 100_00, Amount: 2_0000}, "200 0"},
			{engine.Event{
				Kind: replaced, Price: 110_00, Amount: 3_0000, OpenAmount: 3_0000, MakerOpen: 100_00, Display: 2_0000,
			}, "330 0"},
			{engine.Event{
				Kind: replaced, Price: 50_00, Amount: 1_0000, OpenAmount: 1_0000, MakerOpen: 110_00, Display: 3_0000,
			}, "50 0"},
			{engine.Event{Kind: canceled, Price: 50_00, Amount: 1_0000}, "0 0"},
		},
		"replaced sell": {
			{engine.Event{Kind: accepted, Side: sell, Price: 100_00, Amount: 2_0000}, "0 2"},
			{engine.Event{
				Kind: replaced, Side: sell, Price: 110_00, Amount: 3_0000, OpenAmount: 3_0000, MakerOpen: 100_00,
				Display: 2_0000,
			}, "0 3"},
			{engine.Event{Kind: canceled, Side: sell, Price: 110_00, Amount: 3_0000}, "0 0"},
		},
		"market sell": {
			{engine.Event{Kind: accepted, Side: sell, Type: market, Amount: 2_0000}, "0 2"},
			{engine.Event{Kind: trade, Side: sell, Price: 90_00, Amount: 5000, OpenAmount: 1_5000}, "0 1.5"},
			{engine.Event{Kind: reduced, Side: sell, Price: 90_00, Amount: 5000}, "0 1"},
			{engine.Event{Kind: canceled, Side: sell, Amount: 1_0000}, "0 0"},
		},
		"market buy by amount": {
			{engine.Event{Kind: accepted, Type: market, Amount: 2_0000, Quote: product("160")}, "160 0"},
			{engine.Event{Kind: trade, Price: 100_00, Amount: 5000, OpenAmount: 1_5000}, "110 0"},
			{engine.Event{Kind: reduced, Price: 100_00, Amount: 5000}, "110 0"}, // it holds nothing for these lots
			{engine.Event{Kind: trade, Price: 110_00, Amount: 1_0000}, "0 0"},
		},
		"market buy by amount that ends early": {
			{engine.Event{Kind: accepted, Type: market, Amount: 2_0000, Quote: product("210")}, "210 0"},
			{engine.Event{Kind: canceled, Amount: 2_0000, Quote: product("210")}, "0 0"},
		},
		"market buy by quote": {
			{engine.Event{Kind: accepted, Type: market, Flags: quote, Quote: product("300")}, "300 0"},
			{engine.Event{
				Kind: trade, Flags: quote, Price: 100_00, Amount: 1_0000, Quote: product("200"),
			}, "200 0"},
			{engine.Event{Kind: reduced, Flags: quote, Price: 90_00, Amount: 1_0000, Quote: product("110")}, "110 0"},
			{engine.Event{Kind: canceled, Quote: product("110")}, "0 0"},
		},
		"market sell by quote": {
			{engine.Event{
				Kind: accepted, Side: sell, Type: market, Flags: quote, Quote: product("300"), OpenAmount: 3_0000,
			}, "0 3"},
			{engine.Event{
				Kind: trade, Side: sell, Flags: quote, Price: 100_00, Amount: 1_0000, Quote: product("200"),
			}, "0 2"},
			{engine.Event{ // it holds nothing for these lots
				Kind: reduced, Side: sell, Flags: quote, Price: 90_00, Amount: 1_0000, Quote: product("110"),
			}, "0 2"},
			{engine.Event{
				Kind: trade, Side: sell, Flags: quote, Price: 50_00, Amount: 2_0000, Quote: product("10"),
			}, "0 0"},
			{engine.Event{Kind: canceled, Side: sell, Quote: product("10")}, "0 0"},
		},
		"waiting market sell by quote": {
			{engine.Event{
				Kind: accepted, Side: sell, Type: stop, Flags: quote, MakerOpen: 120_00, Quote: product("240"),
			}, "0 0"},
			{engine.Event{Kind: triggered, Side: sell, Type: stop, MakerOpen: 120_00, Amount: 2_0000}, "0 2"},
			{engine.Event{
				Kind: trade, Side: sell, Flags: quote, Price: 120_00, Amount: 2_0000, Quote: product("0"),
			}, "0 0"},
			{engine.Event{Kind: canceled, Side: sell}, "0 0"},
		},
		"limit sell that a replace ends": {
			{engine.Event{Kind: accepted, Side: sell, Price: 100_00, Amount: 2_0000}, "0 2"},
			{engine.Event{Kind: canceled, Side: sell, Price: 100_00, Amount: 2_0000, OpenAmount: 1_0000}, "0 0"},
		},
		"waiting market buy by amount, less": {
			{engine.Event{
				Kind: accepted, Type: stop, Amount: 2_0000, MakerOpen: 120_00, Quote: product("240"),
			}, "240 0"},
			{engine.Event{
				Kind: triggered, Type: stop, MakerOpen: 115_00, Display: 120_00, OpenAmount: 2_0000,
				Quote: product("230"),
			}, "230 0"},
			{engine.Event{Kind: trade, Price: 115_00, Amount: 2_0000}, "0 0"},
		},
		"waiting market buy by amount, more": {
			{engine.Event{
				Kind: accepted, Type: stop, Amount: 2_0000, MakerOpen: 120_00, Quote: product("240"),
			}, "240 0"},
			{engine.Event{
				Kind: triggered, Type: stop, MakerOpen: 120_00, Display: 120_00, OpenAmount: 2_0000,
				Quote: product("1000"),
			}, "1000 0"},
			{engine.Event{Kind: canceled, Amount: 2_0000, Quote: product("1000")}, "0 0"},
		},
		"waiting market buy by quote": {
			{engine.Event{Kind: accepted, Type: stop, Flags: quote, MakerOpen: 120_00, Quote: product("240")}, "240 0"},
			{engine.Event{Kind: triggered, Type: stop, MakerOpen: 120_00}, "240 0"},
			{engine.Event{Kind: canceled, Quote: product("240")}, "0 0"},
		},
		"waiting limit buy": {
			{engine.Event{
				Kind: accepted, Type: engine.StopLimit, Price: 100_00, Amount: 2_0000, MakerOpen: 120_00,
			}, "200 0"},
			{engine.Event{
				Kind: triggered, Type: engine.StopLimit, Price: 100_00, MakerOpen: 120_00, OpenAmount: 2_0000,
			}, "200 0"},
			{engine.Event{Kind: canceled, Price: 100_00, Amount: 2_0000}, "0 0"},
		},
		"waiting market sell": {
			{engine.Event{Kind: accepted, Side: sell, Type: stop, Amount: 2_0000, MakerOpen: 80_00}, "0 2"},
			{engine.Event{Kind: triggered, Side: sell, Type: stop, MakerOpen: 80_00, OpenAmount: 2_0000}, "0 2"},
			{engine.Event{Kind: canceled, Side: sell, Amount: 2_0000}, "0 0"},
		},
	} {
		for _, account := range []engine.AccountID{1, 0} {
			r := ledgerRig(t)
			for i, s := range steps {
				s.e.Order, s.e.Account = 1, account
				if account == 0 { // holds nothing
					s.want = "0 0"
				}
				r.fold(s.e)
				v := r.s.View()
				got := fmt.Sprint(
					short(v.Balance(uint32(account), "USDT").Held), " ", short(v.Balance(uint32(account), "BTC").Held),
				)
				if got != s.want {
					t.Errorf("%s of account %d: held %s after event %d, want %s", name, account, got, i, s.want)
				}
			}
			if n := r.s.dir.users[account].orders; n != 0 {
				t.Errorf("%s: account %d has %d open orders", name, account, n)
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("an event of an unknown kind was folded")
		}
	}()
	ledgerRig(t).fold(engine.Event{Kind: 99})
}

func short(v fixed.I192) string {
	b := fixed.AppendShortest192(nil, v, fixed.Scale)
	if n := len(b); string(b[n-2:]) == ".0" {
		b = b[:n-2]
	}
	return string(b)
}

// A maker pays exactly its hold, whatever the taker is; its order ends with its last lot.
func TestMakersPayTheirHolds(t *testing.T) {
	for side, want := range map[engine.Side]string{engine.Buy: "900 0 10.9", engine.Sell: "1090 0 9"} {
		r := ledgerRig(t)
		r.fold(engine.Event{
			Kind: engine.EventAccepted, Order: 1, Account: 1, Side: side, Price: 100_00, Amount: 1_0000,
		})
		for open := int64(7500); open >= 0; open -= 2500 {
			r.fold(engine.Event{
				Kind: engine.EventTrade, Order: 2, Maker: 1, MakerAccount: 1, Side: side.Opposite(), Price: 100_00,
				Amount: 2500, OpenAmount: 9, MakerOpen: open, MakerFee: RateOne / 10, TakerFee: RateOne, Display: 90_00,
			})
		}
		usdt, btc := r.s.View().Balance(1, "USDT"), r.s.View().Balance(1, "BTC")
		got := fmt.Sprint(short(usdt.Free), " ", short(usdt.Held.Add(btc.Held)), " ", short(btc.Free))
		if got != want || r.s.dir.users[1].orders != 0 {
			t.Errorf("%s: %s, want %s", side, got, want)
		}
	}
}

// An account that trades with itself pays two fees and keeps the rest.
func TestATradeOfOneAccount(t *testing.T) {
	r := ledgerRig(t)
	r.fold(traded(engine.Event{
		Account: 1, MakerAccount: 1, Price: 100_00, Amount: 1_0000, MakerFee: RateOne / 10, TakerFee: RateOne / 5,
	})...)
	r.balance(1, "USDT", "990.0", "0.0")
	r.balance(1, "BTC", "9.8", "0.0")
}

// A trade between orders of the built-in account moves money, but leaves no fee.
func TestTradeOfTheBuiltinAccountAlone(t *testing.T) {
	r := ledgerRig(t)
	r.fold(traded(engine.Event{Price: 100_00, Amount: 1_0000, MakerFee: 5, TakerFee: RateOne})...)
	r.balance(0, "USDT", "0.0", "0.0")
	r.balance(0, "BTC", "0.0", "0.0")
}

// Digits come from the first pair or from the asset, and stay once there is a pair or a balance.
func TestDigitsOfCurrencies(t *testing.T) {
	r := newRig(t)
	digits := func(code string, want int, use bool) {
		t.Helper()
		if d, used := r.s.Digits(code); d != want || used != use {
			t.Errorf("%s has %d digits, used %t; want %d, %t", code, d, used, want, use)
		}
	}
	digits("BTC", 8, false)
	r.asset("BTC", 3)
	digits("BTC", 3, false)
	if all := r.s.View().Totals(); len(all) != 0 {
		t.Errorf("an asset alone has totals: %+v", all)
	}
	r.deposit(r.user(ProfilePatch{}), "EUR", "1")
	reader := r.s.View().currenciesShown()
	r.asset("BTC", 5)
	if digits("BTC", 5, false); reader[0] != (accrual.Currency{Code: "BTC", Digits: 3}) {
		t.Errorf("what a reader has has changed: %v", reader)
	}
	r.restart()
	digits("BTC", 5, false)
	r.addPair(engine.Instrument{Base: "BTC", Quote: "USDT", BaseDigits: 5, QuoteDigits: 2})
	digits("BTC", 5, true)
	digits("USDT", 2, true)
	digits("EUR", 8, true)
	r.restart()
	for _, code := range []string{"BTC", "USDT", "EUR"} {
		r.s.Fold([]engine.Event{{
			Kind: engine.EventAsset, Control: &engine.ControlRecord{Asset: &engine.Asset{Symbol: code, Digits: 1}},
		}})
	}
	r.addPair(engine.Instrument{Base: "BTC", Quote: "USDT", DigitsPrice: 1, BaseDigits: 1, QuoteDigits: 1}) // known
	digits("BTC", 5, true)
	digits("USDT", 2, true)
	digits("EUR", 8, true)
	for _, v := range r.s.View().Totals() {
		if want, _ := r.s.Digits(v.CurrencyCode); v.Digits != want {
			t.Errorf("%+v", v)
		}
	}
}

// An order is covered by what is free; nobody's is, while what is owed of a currency is beyond the bound.
func TestCover(t *testing.T) {
	r := ledgerRig(t)
	r.user(ProfilePatch{Unlimited: ptr(true)})
	r.buys(1, 1) // of 100 USDT
	most := MaxUnits.Abs()
	covers := func(a engine.AccountID, side engine.Side, need fixed.U128, want engine.Reason) {
		t.Helper()
		if got := r.s.Cover(a, 0, side, need); got != want {
			t.Errorf("account %d, %s of %v: %q, want %q", a, side, need, got, want)
		}
	}
	for _, x := range []struct {
		side engine.Side
		free uint64
	}{{engine.Buy, 900e8}, {engine.Sell, 10e8}} {
		covers(1, x.side, fixed.FromU64(x.free), engine.NotRejected)
		covers(1, x.side, fixed.FromU64(x.free+1), engine.InsufficientFunds)
		covers(1, x.side, fixed.U128{Hi: 1 << 63}, engine.InsufficientFunds)
		if free := r.s.Free(1, 0, x.side); free != fixed.FromU64(x.free) {
			t.Errorf("%v of %s are free", free, x.side)
		}
		for _, a := range []engine.AccountID{0, 2} {
			covers(a, x.side, most, engine.NotRejected)
			covers(a, x.side, most.Add(fixed.FromU64(1)), engine.TotalOutOfRange)
			if free := r.s.Free(a, 0, x.side); free != most {
				t.Errorf("account %d may spend %v", a, free)
			}
		}
	}
	usdt := r.s.balances.currency("USDT")
	owe := func(account uint32, amount fixed.I128) {
		r.s.balances.move(r.s.dir.users[account], usdt, amount.Neg(), fixed.I128{})
	}
	owe(2, MaxUnits.Sub(fixed.FromI64(5)))
	owe(0, fixed.FromI64(3))
	covers(2, engine.Buy, fixed.FromU64(2), engine.NotRejected)
	covers(2, engine.Buy, fixed.FromU64(3), engine.TotalOutOfRange)
	if free := r.s.Free(0, 0, engine.Buy); free != fixed.FromU64(2) {
		t.Errorf("the built-in account may spend %v", free)
	}
	owe(0, fixed.FromI64(3))
	for _, side := range []engine.Side{engine.Buy, engine.Sell} {
		for a := range engine.AccountID(3) {
			covers(a, side, fixed.U128{}, engine.TotalOutOfRange)
		}
	}
	if free := r.s.Free(0, 0, engine.Buy); !free.IsZero() {
		t.Errorf("the built-in account may spend %v", free)
	}
	owe(0, fixed.FromI64(-1))
	covers(1, engine.Buy, fixed.FromU64(1), engine.NotRejected)
	owe(0, fixed.FromI64(-100)) // it has more than nothing, and owes nothing
	covers(2, engine.Buy, fixed.FromU64(5), engine.NotRejected)
	covers(2, engine.Buy, fixed.FromU64(6), engine.TotalOutOfRange)
}

// The discount of an order is its side's, and all of the fee without commissions.
func TestDiscountOfAnOrder(t *testing.T) {
	r := ledgerRig(t)
	r.do(Command{Kind: PatchUser, User: 1, Profile: ProfilePatch{
		DealBidDiscount: decp("0.25"), DealAskDiscount: decp("0.5"),
	}})
	want := func(a engine.AccountID, buy, sell uint32) {
		t.Helper()
		if b, s := r.s.Discount(a, engine.Buy), r.s.Discount(a, engine.Sell); b != buy || s != sell {
			t.Errorf("account %d: %d and %d, want %d and %d", a, b, s, buy, sell)
		}
	}
	want(1, RateOne/4, RateOne/2)
	want(0, 0, 0)
	r.do(Command{Kind: PatchUser, User: 1, Profile: ProfilePatch{NoTradeCommissions: ptr(true)}})
	want(1, RateOne, RateOne)
}

// A fold allocates nothing, whatever the event.
func TestAFoldAllocatesNothing(t *testing.T) {
	r := ledgerRig(t)
	r.user(ProfilePatch{})
	r.deposit(2, "BTC", "10")
	r.s.View()
	events := traded(engine.Event{
		Account: 1, MakerAccount: 2, Price: 100_00, Amount: 100, TakerFee: RateOne / 1000, MakerFee: RateOne / 1000,
	})
	order := engine.Event{Kind: engine.EventAccepted, Order: 3, Account: 1, Price: 100_00, Amount: 10}
	reduced, canceled := order, order
	reduced.Kind, reduced.Amount, reduced.Display = engine.EventReduced, 5, 100_00
	canceled.Kind, canceled.Amount = engine.EventCanceled, 5
	events = append(events, order, reduced, canceled, engine.Event{Kind: engine.EventLevel})
	r.folds(events...)
	if n := testing.AllocsPerRun(100, func() { r.s.Fold(events) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	r.check()
}

// BenchmarkLedger measures the money of one order: it is covered, accepted and canceled, or it trades with the order
// before.
func BenchmarkLedger(b *testing.B) {
	for _, accounts := range []int{100, 20_000} {
		for _, trades := range []bool{false, true} {
			b.Run(fmt.Sprintf("accounts=%d/trades=%t", accounts, trades), func(b *testing.B) {
				benchmarkLedger(b, accounts, trades)
			})
		}
	}
}

func benchmarkLedger(b *testing.B, accounts int, trades bool) {
	r := newRig(b)
	r.folds(engine.Event{Kind: engine.EventPair, Instrument: &engine.Instrument{
		Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 6, BaseDigits: 8, QuoteDigits: 8,
	}})
	for range accounts {
		n := r.user(ProfilePatch{})
		r.deposit(n, "USDT", "1000000000000000")
		r.deposit(n, "BTC", "1000000000000000")
	}
	// The accounts of the orders, in an order without a pattern.
	next := uint32(1)
	who := func() engine.AccountID {
		next = next*1664525 + 1013904223
		return engine.AccountID(uint64(next)*uint64(accounts)>>32) + 1
	}
	need := fixed.FromU64(100e8)
	events := make([]engine.Event, 0, 4)
	b.ReportAllocs()
	before := cpuNs(b)
	for i := 0; b.Loop(); i++ {
		e := engine.Event{
			Kind: engine.EventAccepted, Order: engine.OrderID(i), Account: who(), Side: engine.Side(i & 1),
			Price: 100_00, Amount: 1_000_000, OpenAmount: 1_000_000, TakerFee: RateOne / 1000, MakerFee: RateOne / 1000,
		}
		if r.s.Cover(e.Account, 0, e.Side, need) != engine.NotRejected {
			b.Fatal("refused")
		}
		e.TakerDiscount = r.s.Discount(e.Account, e.Side)
		events = append(events, e)
		switch {
		case !trades:
			e.Kind = engine.EventCanceled
			r.s.Fold(append(events, e))
			events = events[:0]
		case i&1 == 0:
			r.s.Fold(events)
		default:
			maker := &events[0]
			e.Kind, e.Display, e.OpenAmount, e.MakerAccount = engine.EventTrade, e.Price, 0, maker.Account
			e.MakerDiscount = maker.TakerDiscount
			r.s.Fold(append(events[1:], e))
			events = events[:0]
		}
	}
	b.ReportMetric(float64(cpuNs(b)-before)/float64(b.N), "cpu-ns/order")
}

// cpuNs returns the CPU time of this process, which other processes do not change.
func cpuNs(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
