package engine_test

import (
	"math"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/internal/fixed"
)

// A replace needs what its new open part holds beyond the old one, at the time when it is applied, and the account's
// other money may pay for it.
func TestAReplaceNeedsWhatItHoldsMore(t *testing.T) {
	for _, c := range []struct {
		name          string
		side          engine.Side
		trade, reduce int64 // lots of 10 at 100 that are gone before the replace
		price, amount int64
		needs         int64 // product units of a buy, lots of a sell
	}{
		{name: "a higher price of a bid", side: engine.Buy, price: 150, needs: 500},
		{name: "a higher price after a fill", side: engine.Buy, trade: 4, price: 150, needs: 300},
		{name: "a higher price after a decrement", side: engine.Buy, reduce: 4, price: 150, needs: 300},
		{name: "more lots at half the price", side: engine.Buy, price: 50, amount: 20, needs: 0},
		{
			name: "more lots at half the price after a fill", side: engine.Buy, trade: 9, price: 50, amount: 20,
			needs: 450,
		},
		{name: "the old total after a decrement", side: engine.Buy, reduce: 5, amount: 10, needs: 500},
		{name: "fewer lots", side: engine.Buy, amount: 3, needs: 0},
		{name: "more lots of an ask", side: engine.Sell, amount: 12, needs: 2},
		{name: "more lots of an ask after a fill", side: engine.Sell, trade: 4, amount: 12, needs: 2},
		{name: "the old total of an ask after a decrement", side: engine.Sell, reduce: 5, amount: 10, needs: 5},
		{name: "another price of an ask", side: engine.Sell, price: 150, needs: 0},
	} {
		for short := range min(c.needs, 1) + 1 {
			m := newMarket(t, engine.Options{}, enginetest.Instrument())
			p := m.fund()
			p.give(7, 20, 2000)
			o := place(c.side, 100, 10)
			o.Account = 7
			m.do(o)
			other := place(c.side.Opposite(), 100, 0)
			if other.Amount = c.trade; c.trade > 0 {
				m.do(other)
			}
			if other.Amount = c.reduce; c.reduce > 0 {
				other.Account, other.TIF, other.STP = 7, engine.IOC, engine.Decrement
				m.do(other)
			}
			p.give(7, c.needs-short, c.needs-short)
			r := engine.Command{
				Kind: engine.Replace, Order: 1, Price: c.price, Amount: c.amount, Flags: engine.FlagAllAccount,
			}
			if c.price != 0 {
				r.Flags |= engine.FlagHasPrice
			}
			if c.amount != 0 {
				r.Flags |= engine.FlagHasAmount
			}
			if short == 1 {
				m.mustReject(r, engine.InsufficientFunds)
			} else if e := m.do(r); e[0].Kind != engine.EventReplaced {
				t.Errorf("%s: %v", c.name, kinds(e))
			}
		}
	}
}

// A halted account replaces nothing, not even to what is filled; an operator cancels its orders.
func TestAHaltedAccountReplacesNothing(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	p := m.fund()
	own := place(engine.Sell, 100, 5)
	own.Account = 7
	m.do(own)
	m.do(place(engine.Buy, 100, 2))
	p.halted[7] = true
	for _, amount := range []int64{1, 3, 5, 6} {
		m.mustReject(engine.Command{
			Kind: engine.Replace, Order: 1, Amount: amount, Flags: engine.FlagHasAmount | engine.FlagAllAccount,
		}, engine.AccountHalted)
	}
	m.mustReject(own, engine.AccountHalted)
	if e := m.do(engine.Command{Kind: engine.Cancel, Order: 1, Account: 7}); e[0].Kind != engine.EventCanceled {
		t.Errorf("%v", kinds(e))
	}
}

// Between two parts of a place nothing is held for it. What its account has lost or whether it was halted meanwhile is
// judged when the order is accepted.
func TestMoneyIsJudgedWhenAPausedOrderIsAccepted(t *testing.T) {
	const asks = 200
	for name, c := range map[string]struct {
		cmd  engine.Command
		left int64 // of the money, after the first part
		halt bool
		want engine.Reason
	}{
		"fill-or-kill": {
			engine.Command{Price: 100, Amount: asks, TIF: engine.FOK}, 100 * asks, false, engine.NotRejected,
		},
		"fill-or-kill, a unit spent": {
			engine.Command{Price: 100, Amount: asks, TIF: engine.FOK}, 100*asks - 1, false, engine.InsufficientFunds,
		},
		"market": {engine.Command{Type: engine.Market, Amount: asks}, 100 * asks, false, engine.NotRejected},
		"market, a unit spent": {
			engine.Command{Type: engine.Market, Amount: asks}, 100*asks - 1, false, engine.InsufficientFunds,
		},
		"market, halted": {engine.Command{Type: engine.Market, Amount: asks}, 100 * asks, true, engine.AccountHalted},
	} {
		t.Run(name, func(t *testing.T) {
			core := engine.NewCore(engine.Options{PartEvents: engine.MinPartEvents})
			p := newPurse(t)
			core.SetFunds(p)
			apply := func(cmd engine.Command) []engine.Event {
				cmd.First = true
				events := core.Apply(&cmd, nil)
				p.checkFolded(events)
				return events
			}
			inst := enginetest.Instrument()
			apply(engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &inst})
			p.give(7, 0, 1_000_000)
			apply(engine.Command{Price: 1, Amount: 1, Account: 7}) // the walk reads every order
			for range asks {
				apply(engine.Command{Side: engine.Sell, Price: 100, Amount: 1})
			}
			cmd := c.cmd
			cmd.Account, cmd.STP = 7, engine.CancelBoth
			events := apply(cmd)
			if len(events) != 0 || !core.Unfinished(0) {
				t.Fatalf("the walk is done at once: %v", kinds(events))
			}
			p.give(7, 0, c.left)
			p.halted[7] = c.halt
			for core.Unfinished(0) {
				events = append(events, apply(engine.Command{Kind: engine.Continue})...)
			}
			if events[0].Reason != c.want || (c.want == 0) != (events[0].Kind == engine.EventAccepted) {
				t.Fatalf("%+v", events[0])
			}
			if err := core.Check(); err != nil {
				t.Fatal(err)
			}
			if err := p.agree(core, p.sums()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A market buy may not cost more than the largest order; a triggered one ends there.
func TestMarketBuysBeyondTheLargestOrder(t *testing.T) {
	const price = 1e11 // 10^12 lots at it are the largest order
	book := func() *market {
		m := newMarket(t, engine.Options{}, enginetest.Instrument())
		m.fund()
		for range 2 {
			m.do(place(engine.Sell, price, 1e12))
		}
		return m
	}
	buy := engine.Command{Account: 7, Type: engine.Market, Amount: 1e12}
	m := book()
	if e := m.do(buy)[0]; e.Kind != engine.EventAccepted || e.Quote != fixed.Mul64(price, 1e12) {
		t.Errorf("%+v", e)
	}
	m = book()
	buy.Amount++
	m.mustReject(buy, engine.TotalOutOfRange)
	buy.Type, buy.Stop = engine.StopMarket, price
	m.mustReject(buy, engine.TotalOutOfRange)
	buy.Stop = price / 2
	m.do(buy)
	buy.Account = 0 // it holds nothing and is not limited
	m.do(buy)
	events := m.do(place(engine.Buy, price, 1))
	ended := map[engine.AccountID]engine.CancelCause{}
	bought := map[engine.AccountID]int64{}
	for _, e := range events {
		if e.Kind == engine.EventCanceled {
			ended[e.Account] = e.Cause
		} else if e.Kind == engine.EventTrade {
			bought[e.Account] += e.Amount
		}
	}
	if ended[7] != engine.CauseFunds || bought[7] != 1e12 || ended[0] != engine.CauseRemainder || bought[0] != 1e12 {
		t.Errorf("%v, %v", ended, bought)
	}
}

// fundsOf answers what a test says.
type fundsOf struct {
	*purse
	free   fixed.U128
	needs  []fixed.U128
	digits map[string]int
}

func (f *fundsOf) Cover(a engine.AccountID, p engine.PairID, s engine.Side, need fixed.U128) engine.Reason {
	f.needs = append(f.needs, need)
	return f.purse.Cover(a, p, s, need)
}

func (f *fundsOf) Free(engine.AccountID, engine.PairID, engine.Side) fixed.U128 { return f.free }

func (f *fundsOf) Digits(currency string) (int, bool) {
	d, ok := f.digits[currency]
	return d, ok
}

// What is asked is in units of the asset, and free units buy whole product units alone.
func TestMoneyIsAskedInUnits(t *testing.T) {
	core := engine.NewCore(engine.Options{})
	f := &fundsOf{purse: newPurse(t), digits: map[string]int{"BTC": 5, "USDT": 9}}
	core.SetFunds(f)
	apply := func(cmd engine.Command) []engine.Event {
		cmd.First = true
		return core.Apply(&cmd, nil)
	}
	inst := engine.Instrument{Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 3}
	apply(engine.Command{Kind: engine.AddPair, Instrument: &inst})
	for _, x := range []struct {
		cmd  engine.Command
		want uint64
	}{
		{engine.Command{Price: 3, Amount: 7}, 21 * 10_000},
		{engine.Command{Side: engine.Sell, Price: 50, Amount: 7}, 7 * 100},
		{engine.Command{Type: engine.Market, Flags: engine.FlagQuote, Quote: fixed.FromU64(33)}, 33 * 10_000},
		{engine.Command{Type: engine.StopLimit, Stop: 90, Price: 4, Amount: 7}, 28 * 10_000},
		{engine.Command{Type: engine.StopMarket, Stop: 90, Amount: 2}, 180 * 10_000},
		{engine.Command{Side: engine.Sell, Type: engine.Market, Amount: 2}, 2 * 100},
	} {
		f.needs = nil
		x.cmd.Account = 7
		apply(x.cmd)
		if len(f.needs) != 1 || f.needs[0] != fixed.FromU64(x.want) {
			t.Errorf("%+v asks for %v, want %d", x.cmd, f.needs, x.want)
		}
	}
	f.needs = nil
	apply(engine.Command{Side: engine.Sell, Price: 60, Amount: 9})
	apply(engine.Command{Type: engine.Market, Amount: 5, Account: 7}) // halts, then 5 lots at 50
	if want := fixed.FromU64(250 * 10_000); len(f.needs) != 3 || !f.needs[1].IsZero() || f.needs[2] != want {
		t.Errorf("a market buy asks for %v", f.needs)
	}

	apply(engine.Command{Kind: engine.CancelAll, Flags: engine.FlagAllAccount})
	apply(engine.Command{Type: engine.StopMarket, Stop: 90, Amount: 2, Account: 7})
	for range 3 {
		apply(engine.Command{Side: engine.Sell, Price: 120, Amount: 1})
	}
	f.free = fixed.FromU64(59*10_000 + 9_999) // 180 + 59 units of the product: less than two lots at 120
	events := apply(engine.Command{Price: 120, Amount: 1})
	last := events[len(events)-1]
	if last.Kind != engine.EventCanceled || last.Cause != engine.CauseFunds || last.Amount != 1 ||
		last.Quote != fixed.FromU64(119) || last.Status != engine.PartiallyExecutedAndCanceled {
		t.Errorf("%v %+v", kinds(events), last)
	}
}

// The digits of an asset come from its configuration, its pairs or its balances; without any it has eight, or as many
// as its first pair needs. They change only while nothing has amounts in its unit.
func TestDigitsOfAssets(t *testing.T) {
	core := engine.NewCore(engine.Options{})
	f := &fundsOf{purse: newPurse(t), digits: map[string]int{"EUR": 4}}
	core.SetFunds(f)
	add := func(code string, price, amount int) engine.Event {
		in := engine.Instrument{Code: code, DigitsPrice: price, DigitsAmount: amount, BaseDigits: 1, QuoteDigits: 1}
		in.Base, in.Quote = code[:3], code[4:]
		return core.Apply(&engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &in}, nil)[0]
	}
	set := func(symbol string, digits int) engine.Reason {
		return core.Apply(&engine.Command{
			Kind: engine.SetAsset, Pair: engine.ControlPair,
			Control: &engine.ControlRecord{Asset: &engine.Asset{Symbol: symbol, Digits: digits}},
		}, nil)[0].Reason
	}
	digits := func(currency string, want int, known bool) {
		t.Helper()
		if d, ok := core.Digits(currency); d != want || ok != known {
			t.Errorf("%s has %d digits, known: %t", currency, d, ok)
		}
	}
	digits("ETH", 0, false)
	if in := add("ETH_BTC", 5, 6).Instrument; in.BaseDigits != 8 || in.QuoteDigits != 11 {
		t.Errorf("%+v", in)
	}
	digits("BTC", 11, true)
	for _, x := range []struct {
		code          string
		price, amount int
		want          engine.Reason
	}{
		{"SOL_BTC", 5, 6, engine.NotRejected},
		{"ADA_BTC", 6, 6, engine.InvalidPair}, // 12 digits of 11
		{"ETH_XYZ", 5, 9, engine.InvalidPair}, // 9 digits of 8
		{"ADA_EUR", 1, 3, engine.NotRejected},
		{"LTC_EUR", 2, 3, engine.InvalidPair},
	} {
		if e := add(x.code, x.price, x.amount); e.Reason != x.want {
			t.Errorf("%s: %+v", x.code, e)
		}
	}
	for _, x := range []struct {
		symbol string
		digits int
		want   engine.Reason
	}{
		{"BTC", 12, engine.AssetInUse},
		{"BTC", 11, engine.NotRejected},
		{"EUR", 5, engine.AssetInUse},
		{"USD", 2, engine.NotRejected},
		{"USD", 3, engine.NotRejected}, // neither a pair nor a balance
	} {
		if r := set(x.symbol, x.digits); r != x.want {
			t.Errorf("%s with %d digits: %s", x.symbol, x.digits, r)
		}
	}
	f.digits["USD"] = 3 // a balance
	if set("USD", 2) != engine.AssetInUse || set("USD", 3) != engine.NotRejected {
		t.Error("the digits of an asset with balances change")
	}
	if in := add("BTC_USD", 1, 2).Instrument; in == nil || in.BaseDigits != 11 || in.QuoteDigits != 3 {
		t.Errorf("%+v", in)
	}
	digits("USD", 3, true)
	digits("EUR", 4, true)
	if e := f.purse.folded; engine.Seq(len(e)) == 0 || e[len(e)-1].Kind != engine.EventPair {
		t.Errorf("%d events of assets and pairs were folded", len(e))
	}
}

// The largest order, price and amount of a pair.
func TestLargestOrders(t *testing.T) {
	tens := func(n int) fixed.U128 {
		if n > 19 {
			return fixed.Mul64(fixed.Pow10[19], fixed.Pow10[n-19])
		}
		return fixed.FromU64(fixed.Pow10[n])
	}
	for _, x := range []struct {
		price, amount, base, quote int
		settled                    fixed.U128
		mostPrice, mostAmount      int64
	}{
		{0, 0, 8, 8, tens(21), 9e9, 9e9},
		{2, 5, 8, 8, tens(28), 9e11, 9e14},
		{2, 6, 8, 8, engine.MaxTotal, 9e11, 9e15}, // 2^96 is below 10^29
		{2, 4, 8, 8, tens(27), 9e11, 9e13},
		{0, 0, 18, 18, tens(11), 9e9, 9e9},
		{9, 9, 18, 18, engine.MaxTotal, 9e18, 9e18},
		{10, 8, 8, 18, engine.MaxTotal, math.MaxInt64, 9e17},
	} {
		in := engine.Instrument{
			Code: "AA_BB", Base: "AA", Quote: "BB", DigitsPrice: x.price, DigitsAmount: x.amount,
			BaseDigits: x.base, QuoteDigits: x.quote,
		}
		if err := in.Validate(); err != nil {
			t.Fatal(err)
		}
		if in.MaxSettled() != x.settled || in.LargestPrice() != x.mostPrice || in.LargestAmount() != x.mostAmount {
			t.Errorf("%+v: total %v, price %d, amount %d", x, in.MaxSettled(), in.LargestPrice(), in.LargestAmount())
		}
		if most := in.BaseUnits(in.LargestAmount()); tens(29).Less(most) || tens(29).Less(in.QuoteUnits(x.settled)) {
			t.Errorf("%+v: more than 10^29 units", x)
		}
		in.MaxPrice, in.MaxAmount = 5, 6
		if in.LargestPrice() != 5 || in.LargestAmount() != 6 {
			t.Errorf("%+v", in)
		}
	}
	in := engine.Instrument{DigitsPrice: 2, DigitsAmount: 3, BaseDigits: 5, QuoteDigits: 9}
	base, quote := in.Received(engine.Buy, 7, 11), in.Received(engine.Sell, 7, 11)
	if base != fixed.FromU64(1100) || quote != fixed.FromU64(770_000) {
		t.Errorf("%v and %v", base, quote)
	}
}
