package accounts

import (
	"math"
	"testing"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// cent is the pair of the tests below: 2 digits of the price, 6 of the amount.
func cent() *pairTerms { return &pairTerms{base: 0, quote: 1, digitsPrice: 2, digitsAmount: 6} }

// The best price at which an order is likely to trade is the touch, or the stop price where that is better.
func TestBestPrice(t *testing.T) {
	for _, x := range []struct {
		side              engine.Side
		touch, stop, want int64
	}{
		{engine.Buy, 0, 0, 0},
		{engine.Buy, 7, 0, 7},
		{engine.Buy, 0, 5, 5},
		{engine.Buy, 7, 5, 5},
		{engine.Buy, 5, 7, 5},
		{engine.Buy, 1, 7, 1},
		{engine.Sell, 0, 5, 5},
		{engine.Sell, 7, 5, 7},
		{engine.Sell, 5, 7, 7},
		{engine.Sell, 7, 0, 7},
	} {
		if got := (&orderHold{side: x.side}).bestPrice(x.touch, x.stop); got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
	}
}

// An order brings and gives at most its amount at its own price, or at the touch.
func TestMoves(t *testing.T) {
	const btc = 1_000_000 // lots
	most := int64(1e14)   // 10^14 ticks x 10^14 lots are 10^20 USDT
	quote := func(n uint64) fixed.U128 { return fixed.Mul64(n, 1e8) }
	above := fixed.Mul64(1e14, 1e14).Add(fixed.FromU64(1))
	for name, x := range map[string]struct {
		o             orderHold
		touch         int64
		brings, gives string
		ok            bool
	}{
		"sell":                {orderHold{side: engine.Sell, price: 300, open: 2 * btc}, 0, "6.0", "2.0", true},
		"sell into the touch": {orderHold{side: engine.Sell, price: 300, open: 2 * btc}, 500, "10.0", "2.0", true},
		"sell beyond": {
			orderHold{side: engine.Sell, price: most + 1, open: most},
			0, "",
			"100000000.0", false,
		},
		"buy":                 {orderHold{price: 300, open: 2 * btc}, 500, "2.0", "6.0", true},
		"buy beyond":          {orderHold{price: most + 1, open: most}, 0, "100000000.0", "", false},
		"market buy":          {orderHold{typ: engine.Market, open: 2 * btc}, 500, "2.0", "10.0", true},
		"by quote":            {orderHold{byQuote: true, quote: quote(9)}, 300, "3.0", "9.0", true},
		"by quote at nothing": {orderHold{byQuote: true, quote: quote(9)}, 0, "0.0", "9.0", true},
		"by quote beyond":     {orderHold{byQuote: true, quote: above}, 300, "0.0", "", false},
		"funded buy":          {orderHold{byQuote: true, quote: quote(9), open: 2 * btc}, 300, "2.0", "9.0", true},
		"funded buy beyond": {
			orderHold{byQuote: true, quote: above, open: 2 * btc}, 300, "2.0", "", false,
		},
	} {
		brings, gives, ok := x.o.moves(cent(), x.touch)
		if ok != x.ok || x.brings != "" && text(brings) != x.brings || x.gives != "" && text(gives) != x.gives {
			t.Errorf("%s: brings %s, gives %s, %t", name, text(brings), text(gives), ok)
		}
	}
}

// Values that the engine's event does not carry do not count in a reservation's key.
func TestNormalize(t *testing.T) {
	quote := fixed.FromU64(9)
	for name, x := range map[string]struct{ was, is OrderParams }{
		"limit": {OrderParams{Price: 1, Amount: 2, Quote: quote}, OrderParams{Price: 1, Amount: 2}},
		"limit quote": {
			OrderParams{Price: 1, Amount: 2, ByQuote: true, Quote: quote}, OrderParams{Price: 1, Amount: 2},
		},
		"market": {
			OrderParams{Type: engine.Market, Price: 1, Amount: 2}, OrderParams{Type: engine.Market, Amount: 2},
		},
		"market quote": {
			OrderParams{Type: engine.Market, Price: 1, Amount: 2, ByQuote: true, Quote: quote},
			OrderParams{Type: engine.Market, ByQuote: true, Quote: quote},
		},
		"market sell": {
			OrderParams{Type: engine.StopMarket, Side: engine.Sell, Amount: 2, ByQuote: true, Quote: quote},
			OrderParams{Type: engine.StopMarket, Side: engine.Sell, Amount: 2},
		},
	} {
		if x.was.normalize(); x.was != x.is {
			t.Errorf("%s: %+v, want %+v", name, x.was, x.is)
		}
	}
	r := newRig(t)
	r.pair()
	user := r.user(ProfilePatch{})
	r.deposit(user, "BTC", "1")
	held, _ := r.s.Reserve(OrderParams{
		Account: user, Side: engine.Sell, Type: engine.Market, Price: 7, Amount: 1_000_000,
	})
	r.s.Release(held)
	if held.key.price != 0 || held.amount != dec("1") {
		t.Errorf("%+v", held)
	}
}

// An order without price or amount reserves nothing: the engine refuses it. One of the built-in account reserves
// nothing either, but may not move more than 10^20.
func TestNothingIsReserved(t *testing.T) {
	r := newRig(t)
	r.pair()
	user := r.user(ProfilePatch{})
	r.deposit(user, "USDT", "100")
	for name, x := range map[string]struct {
		p    OrderParams
		want engine.Reason
	}{
		"price below 0":  {OrderParams{Account: user, Price: -1, Amount: 1}, engine.NotRejected},
		"amount below 0": {OrderParams{Account: user, Price: 1, Amount: -1}, engine.NotRejected},
		"no amount":      {OrderParams{Account: user, Price: 1}, engine.NotRejected},
		"no price":       {OrderParams{Account: user, Amount: 1}, engine.NotRejected},
		"built-in":       {OrderParams{Price: 1e14, Amount: 1e14}, engine.NotRejected},
		"built-in above": {OrderParams{Price: 1e14 + 1, Amount: 1e14}, engine.TotalOutOfRange},
		"pair":           {OrderParams{Pair: 7, Price: 1, Amount: 1}, engine.UnknownPair},
	} {
		if held, reason := r.s.Reserve(x.p); reason != x.want || held.taken || r.s.holds.waiting != 0 {
			t.Errorf("%s: %s, %+v", name, reason, held)
		}
	}
}

// set makes the free balance of an account what no deposit makes it.
func (r *rig) set(user uint32, currency, free string) {
	no := r.s.balances.currency(currency)
	u := r.s.dir.mustFind(user)
	want := MaxMoney.Wide()
	if free != maxUSDT { // which is too long for a decimal
		want = sum(free)
	}
	r.s.balances.credit(u, no, want.Sub(u.row(no).free))
}

const (
	maxUSDT   = "100000000000000000000" // 10^20
	belowUSDT = "99999999999999999990"
)

// No balance that an order moves may leave 10^20 on either side of zero, each to the last unit.
func TestOrdersKeepBalancesInBounds(t *testing.T) {
	fee := Rates{Maker: RateOne / 10, Taker: RateOne / 10}
	buy := OrderParams{Side: engine.Buy, Price: 1000, Amount: 1_000_000}   // 10 USDT for 1 BTC
	sell := OrderParams{Side: engine.Sell, Price: 1000, Amount: 1_000_000} // the other way
	huge := OrderParams{Side: engine.Buy, Price: 1e14, Amount: 1e14}
	withFees := func(p OrderParams) OrderParams { p.Rates = fee; return p }
	for name, x := range map[string]struct {
		p         OrderParams
		touch     int64
		unlimited bool
		set       [2]string // USDT and BTC of the account
		builtin   [2]string
		want      engine.Reason
	}{
		"room for what it brings": {p: sell, set: [2]string{belowUSDT, "1"}},
		"no room":                 {p: sell, set: [2]string{belowUSDT + ".1", "1"}, want: engine.TotalOutOfRange},
		"no room at the touch": {
			p: sell, touch: 2000,
			set: [2]string{belowUSDT, "1"}, want: engine.TotalOutOfRange,
		},
		"touch beyond": {
			p: OrderParams{Side: engine.Sell, Price: 1, Amount: 1e12}, touch: 1e17,
			set: [2]string{"0", "1000000"}, want: engine.TotalOutOfRange,
		},
		"overdrawn":  {p: huge, set: [2]string{"-5", "0"}, want: engine.InsufficientFunds},
		"fee beyond": {p: withFees(huge), set: [2]string{maxUSDT, "0"}, want: engine.TotalOutOfRange},
		"no fee":     {p: huge, set: [2]string{maxUSDT, "0"}},
		"unlimited":  {p: buy, unlimited: true, set: [2]string{"-" + belowUSDT, "0"}},
		"unlimited too deep": {
			p: buy, unlimited: true,
			set: [2]string{"-" + belowUSDT + ".1", "0"}, want: engine.TotalOutOfRange,
		},
		"unlimited fee too deep": {
			p: withFees(buy), unlimited: true,
			set: [2]string{"-" + belowUSDT, "0"}, want: engine.TotalOutOfRange,
		},
		"unlimited fee": {
			p: withFees(buy), unlimited: true,
			set: [2]string{"-99999999999999999989", "0"},
		},
		"unlimited at market": {
			p: OrderParams{Type: engine.Market, Amount: 1_000_000}, touch: 1000, unlimited: true,
			set: [2]string{"-" + belowUSDT, "0"},
		},
		"unlimited at market, too deep": {
			p: OrderParams{Type: engine.Market, Amount: 1_000_000}, touch: 1000, unlimited: true,
			set: [2]string{"-" + belowUSDT + ".1", "0"}, want: engine.TotalOutOfRange,
		},
		"built-in gets it": {p: buy, set: [2]string{"10", "0"}, builtin: [2]string{belowUSDT, "0"}},
		"built-in gets too much": {
			p:   buy,
			set: [2]string{"10", "0"}, builtin: [2]string{belowUSDT + ".1", "0"}, want: engine.TotalOutOfRange,
		},
		"built-in gives it": {p: sell, set: [2]string{"0", "1"}, builtin: [2]string{"-" + belowUSDT, "0"}},
		"built-in gives too much": {
			p:   sell,
			set: [2]string{"0", "1"}, builtin: [2]string{"-" + belowUSDT + ".1", "0"}, want: engine.TotalOutOfRange,
		},
		"all that it has":  {p: buy, set: [2]string{"10", "0"}},
		"more than it has": {p: buy, set: [2]string{"9.9", "0"}, want: engine.InsufficientFunds},
		"funded": {
			p: OrderParams{Type: engine.Market, Amount: 1_000_000}, touch: 1000,
			set: [2]string{"10", "0"},
		},
		"nothing to spend": {
			p: OrderParams{Type: engine.Market, Amount: 1_000_000}, touch: 1000,
			set: [2]string{"0", "0"}, want: engine.InsufficientFunds,
		},
		"quote without room": {
			p:   OrderParams{Type: engine.Market, ByQuote: true, Quote: fixed.FromU64(1)},
			set: [2]string{"1", maxUSDT}, want: engine.TotalOutOfRange,
		},
		"quote with a little room": {
			p:   OrderParams{Type: engine.Market, ByQuote: true, Quote: fixed.FromU64(1)},
			set: [2]string{"1", belowUSDT},
		},
		"stop buy without a quote": {
			p:   OrderParams{Type: engine.StopMarket, Amount: 1, Stop: 5},
			set: [2]string{"9", "0"}, want: engine.InsufficientFunds,
		},
		"stop with a better price": {
			p:   OrderParams{Type: engine.StopLimit, Side: engine.Sell, Price: 1, Stop: 2000, Amount: 1_000_000},
			set: [2]string{belowUSDT, "1"}, want: engine.TotalOutOfRange,
		},
		"stop with the other price": {
			p:   OrderParams{Type: engine.StopLimit, Side: engine.Sell, Price: 1, Stop: 1000, Amount: 1_000_000},
			set: [2]string{belowUSDT, "1"},
		},
	} {
		r := newRig(t)
		r.pair()
		user := r.user(ProfilePatch{Unlimited: ptr(x.unlimited)})
		for i, currency := range []string{"USDT", "BTC"} {
			r.set(user, currency, x.set[i])
			if x.builtin[i] != "" {
				r.set(0, currency, x.builtin[i])
			}
		}
		x.p.Account, x.p.Touch = user, x.touch
		held, reason := r.s.Reserve(x.p)
		if reason != x.want || held.taken != (x.want == engine.NotRejected) {
			t.Errorf("%s: %q, want %q", name, reason, x.want)
		}
		if !held.taken {
			continue
		}
		if limit, _ := moneyOf(held.EarnLimit, 8-2*int(1-x.p.Side)); !held.EarnLimit.IsZero() && held.coming != limit {
			t.Errorf("%s: %s are coming, the limit is %s", name, text(held.coming), text(limit))
		}
		in := balanceKey{user, held.in}
		if r.s.balances.coming[in].pending != held.coming.Wide() {
			t.Errorf("%s: %s are coming", name, text(r.s.balances.coming[in].pending))
		}
		r.s.Release(held)
		if r.s.balances.coming[in] != (coming{}) || r.s.holds.waiting != 0 || len(r.s.holds.pending) != 0 {
			t.Errorf("%s: the reservation leaves something", name)
		}
	}
}

// A replace reserves what the order needs, and may bring, beyond what it has.
func TestReserveReplace(t *testing.T) {
	const buyer, seller = 1, 2
	r := newRig(t)
	r.pair()
	r.user(ProfilePatch{})
	r.user(ProfilePatch{})
	r.deposit(buyer, "USDT", "1000")
	r.deposit(seller, "BTC", "10")
	place := func(order uint64, p OrderParams) {
		held, reason := r.s.Reserve(p)
		if reason != engine.NotRejected {
			t.Fatal(reason)
		}
		r.fold(func(f fold) {
			e := acceptedEvent(r.next(0), order, p, held)
			f.event(&e)
		})
	}
	place(1, OrderParams{Account: buyer, Side: engine.Buy, Price: 1000, Amount: 10_000_000})  // 10 BTC at 10
	place(2, OrderParams{Account: seller, Side: engine.Sell, Price: 2000, Amount: 2_000_000}) // 2 BTC at 20
	place(3, OrderParams{Account: seller, Side: engine.Sell, Type: engine.StopMarket, Stop: 500, Amount: 1_000_000})
	place(4, OrderParams{
		Account: buyer, Side: engine.Buy, Price: 1000, Amount: 1_000_000, Rates: Rates{Taker: RateOne / 10},
	})
	r.fold(func(f fold) { // the built-in account sells 4 BTC to the buyer; the stop has been triggered
		f.event(&engine.Event{
			Kind: engine.EventTrade, Seq: r.next(0), Side: engine.Sell, Price: 1000, Amount: 4_000_000, Order: 8,
			Maker: 1, MakerAccount: buyer, MakerOpen: 6_000_000, Status: engine.Completed,
		})
		f.event(&engine.Event{Kind: engine.EventTriggered, Seq: r.next(0), Order: 3})
	})
	r.set(seller, "USDT", "99900000000000000000") // 10^17 below the bound
	units := func(n uint64) fixed.U128 { return fixed.Mul64(n, 1e8) }
	for name, x := range map[string]struct {
		p        ReplaceParams
		replaces bool
		held     string // more than now
		spend    fixed.U128
		coming   string // more than now
		want     engine.Reason
	}{
		"unknown":      {p: ReplaceParams{Order: 9, Price: 1, HasPrice: true}},
		"market order": {p: ReplaceParams{Order: 3, Price: 1, HasPrice: true}},
		"more": {
			p:        ReplaceParams{Order: 1, Amount: 12_000_000, HasAmount: true},
			replaces: true, held: "20.0", spend: units(20), coming: "2.0",
		},
		"less": {
			p:        ReplaceParams{Order: 1, Amount: 9_000_000, HasAmount: true},
			replaces: true, held: "0.0", coming: "0.0",
		},
		"dearer": {
			p:        ReplaceParams{Order: 1, Price: 1100, HasPrice: true},
			replaces: true, held: "6.0", spend: units(6), coming: "0.0",
		},
		"filled": {
			p:        ReplaceParams{Order: 1, Amount: 4_000_000, HasAmount: true},
			replaces: true, held: "0.0", coming: "0.0",
		},
		"too dear": {p: ReplaceParams{Order: 1, Price: 100_000, HasPrice: true}, want: engine.InsufficientFunds},
		"beyond": {
			p:    ReplaceParams{Order: 1, Price: 1e14, Amount: 2e14, HasPrice: true, HasAmount: true},
			want: engine.TotalOutOfRange,
		},
		"sell more": {
			p:        ReplaceParams{Order: 2, Amount: 3_000_000, HasAmount: true},
			replaces: true, held: "1.0", spend: fixed.FromU64(1_000_000),
		},
		"sell nothing": {p: ReplaceParams{Order: 2, HasAmount: true}, replaces: true, held: "0.0", coming: "0.0"},
		"sell at 0":    {p: ReplaceParams{Order: 2, HasPrice: true}, replaces: true, held: "0.0", coming: "0.0"},
		"sell beyond the bound at the touch": {
			p:    ReplaceParams{Order: 2, Amount: 3_000_000, HasAmount: true, Bid: math.MaxInt64},
			want: engine.TotalOutOfRange,
		},
		"sell beside a high bid": {
			p:        ReplaceParams{Order: 2, Amount: 3_000_000, HasAmount: true, Bid: 1e16},
			replaces: true, held: "1.0", spend: fixed.FromU64(1_000_000),
		},
		"sell beside a high ask": {
			p:        ReplaceParams{Order: 2, Amount: 3_000_000, HasAmount: true, Ask: math.MaxInt64},
			replaces: true, held: "1.0",
			spend: fixed.FromU64(1_000_000),
		},
	} {
		held, reason := r.s.ReserveReplace(x.p)
		if reason != x.want || held.Replaces != x.replaces {
			t.Errorf("%s: %q, %+v", name, reason, held)
			continue
		}
		if !held.Replaces {
			continue
		}
		if text(held.amount) != x.held || held.SpendLimit != x.spend ||
			x.coming != "" && text(held.coming) != x.coming {
			t.Errorf("%s: holds %s, spends %v, brings %s", name, text(held.amount), held.SpendLimit, text(held.coming))
		}
		in := uint32(x.p.Order - 1) // BTC of order 1, USDT of order 2
		if held.in != in && held.coming.Sign() != 0 {
			t.Errorf("%s: brings currency %d", name, held.in)
		}
		if nothing := x.p.Order == 2 && x.held == "0.0"; nothing && !held.EarnLimit.IsZero() {
			t.Errorf("%s: may bring %v", name, held.EarnLimit)
		}
		if coming := r.s.balances.coming[balanceKey{uint32(x.p.Order), held.in}]; coming.pending != held.coming.Wide() {
			t.Errorf("%s: %s are coming", name, text(coming.pending))
		}
		if _, again := r.s.ReserveReplace(x.p); again != engine.InsufficientFunds {
			t.Errorf("%s: a second replace: %q", name, again)
		}
		r.s.Release(held)
	}
	// The order and its fee together are beyond 10^20.
	r.set(0, "USDT", "0")
	_, reason := r.s.ReserveReplace(ReplaceParams{
		Order: 4, Price: 1e14, Amount: 1e14, HasPrice: true, HasAmount: true,
	})
	if reason != engine.TotalOutOfRange {
		t.Errorf("%q", reason)
	}
	// An account that owes something may still make an order smaller.
	r.set(buyer, "USDT", "-5")
	held, reason := r.s.ReserveReplace(ReplaceParams{Order: 1, Amount: 9_000_000, HasAmount: true})
	if reason != engine.NotRejected {
		t.Errorf("%q", reason)
	}
	r.s.Release(held)
}
