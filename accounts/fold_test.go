package accounts

import (
	"testing"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// foldRig returns a rig with a user of 100 USDT and 1 BTC, and a function that folds an event of the pair.
func foldRig(t *testing.T, unlimited bool) (*rig, func(e engine.Event)) {
	r := newRig(t)
	r.pair()
	r.user(ProfilePatch{Unlimited: ptr(unlimited)})
	r.deposit(1, "USDT", "100")
	r.deposit(1, "BTC", "1")
	return r, func(e engine.Event) {
		e.Seq = r.next(0)
		r.fold(func(f fold) { f.event(&e) })
	}
}

// The hold of an accepted order follows from its event alone: only a market buy by amount whose spending is limited
// holds its limit until it ends.
func TestHoldOfAnAcceptedOrder(t *testing.T) {
	five := fixed.FromU64(5e8)
	for name, x := range map[string]struct {
		e               engine.Event
		unlimited       bool
		byQuote, capped bool
		held            string
		unreserved      uint64
	}{
		"limit buy": {
			e: engine.Event{Price: 1000, Amount: 1_000_000}, held: "10.0", unreserved: 1,
		},
		"limit buy with another order's flag": {
			e: engine.Event{Price: 1000, Amount: 1_000_000, Flags: engine.FlagFunded, Quote: five}, held: "10.0",
			unreserved: 1,
		},
		"market sell": {
			e: engine.Event{
				Side: engine.Sell, Type: engine.Market, Amount: 1_000_000, Flags: engine.FlagFunded, Quote: five,
			},
			held: "1.0", unreserved: 1,
		},
		"funded buy": {
			e:    engine.Event{Type: engine.Market, Amount: 1_000_000, Flags: engine.FlagFunded, Quote: five},
			held: "5.0", capped: true, unreserved: 1,
		},
		"buy by quote": {
			e: engine.Event{Type: engine.Market, Flags: engine.FlagQuote, Quote: five}, held: "5.0", byQuote: true,
			unreserved: 1,
		},
		"funded buy by quote": {
			e:    engine.Event{Type: engine.StopMarket, Flags: engine.FlagQuote | engine.FlagFunded, Quote: five},
			held: "5.0", byQuote: true, unreserved: 1,
		},
		"buy of an unlimited account": {
			e: engine.Event{Type: engine.Market, Amount: 1_000_000}, unlimited: true, held: "0.0",
		},
	} {
		r, fold := foldRig(t, x.unlimited)
		l := &told{}
		r.s.View().Listen(l)
		x.e.Kind, x.e.Order, x.e.Account = engine.EventAccepted, 1, 1
		fold(x.e)
		o := r.s.holds.orders[1]
		if o.byQuote != x.byQuote || o.capped != x.capped || text(o.held) != x.held ||
			o.waiting != (x.e.Type == engine.StopMarket) || r.s.Counts().Unreserved != x.unreserved {
			t.Errorf("%s: %+v, %d unreserved", name, o, r.s.Counts().Unreserved)
		}
		if moved := o.held.Sign() > 0; moved != (l.balances > 0) {
			t.Errorf("%s: %d changes of balances", name, l.balances)
		}
		l.balances = 0
		fold(engine.Event{Kind: engine.EventCanceled, Order: 1})
		if r.balance(1, "USDT", "100.0", "0.0"); (o.held.Sign() == 0) == (l.balances > 0) && x.unlimited {
			t.Errorf("%s: %d changes of balances at the end", name, l.balances)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("an event of an unknown kind was folded")
		}
	}()
	_, fold := foldRig(t, false)
	fold(engine.Event{Kind: 99})
}

// The amount that an order may still bring is its earn limit less its fills; without a limit, the worth of its rest.
func TestComingOfAnOrder(t *testing.T) {
	quote := fixed.Mul64(50, 1e8)
	btc := fixed.FromU64(3_000_000)
	for name, x := range map[string]struct {
		e            engine.Event
		limit        fixed.U128
		first, later string // before and after a trade of 1 BTC at 10
	}{
		"buy": {engine.Event{Price: 1000, Amount: 2_000_000}, fixed.U128{}, "2.0", "1.0"},
		"by quote": {
			engine.Event{Type: engine.Market, Flags: engine.FlagQuote, Quote: quote}, fixed.U128{}, "0.0", "0.0",
		},
		"by quote with a limit": {
			engine.Event{Type: engine.Market, Flags: engine.FlagQuote, Quote: quote}, btc, "3.0", "2.0",
		},
		"sell": {engine.Event{Side: engine.Sell, Price: 500, Amount: 2_000_000}, fixed.U128{}, "10.0", "5.0"},
		"sell with a limit": {
			engine.Event{Side: engine.Sell, Price: 500, Amount: 2_000_000}, fixed.Mul64(30, 1e8), "30.0", "20.0",
		},
		"market sell": {
			engine.Event{Side: engine.Sell, Type: engine.Market, Amount: 2_000_000}, fixed.U128{}, "0.0", "0.0",
		},
	} {
		r, fold := foldRig(t, true)
		x.e.Kind, x.e.Order, x.e.Account = engine.EventAccepted, 1, 1
		fold(withEarn(x.e, x.limit))
		o := r.s.holds.orders[1]
		first := text(o.coming)
		trade := engine.Event{
			Kind: engine.EventTrade, Side: x.e.Side, Order: 1, Account: 1, Price: 1000, Amount: 1_000_000, Maker: 9,
			OpenAmount: 1_000_000, Quote: fixed.Mul64(40, 1e8),
		}
		if !x.limit.IsZero() || x.e.Side == engine.Buy || x.e.Type == engine.Limit {
			fold(trade)
		}
		if first != x.first || text(o.coming) != x.later {
			t.Errorf("%s: %s, then %s, want %s and %s", name, first, text(o.coming), x.first, x.later)
		}
		key := balanceKey{1, o.brought(r.s.holds.pairs[0])}
		if r.s.balances.coming[key].open != o.coming.Wide() {
			t.Errorf("%s: %s are coming", name, text(r.s.balances.coming[key].open))
		}
	}
}

// A self-trade that reduces an order releases its lots or its money, and only an order by quote gets another rest.
func TestHoldOfAReducedOrder(t *testing.T) {
	quote := func(n uint64) fixed.U128 { return fixed.Mul64(n, 1e8) }
	for name, x := range map[string]struct {
		accepted, reduced engine.Event
		held              string
		quote             fixed.U128
	}{
		"limit buy": {
			engine.Event{Price: 1000, Amount: 1_000_000}, engine.Event{OpenAmount: 600_000}, "6.0", fixed.U128{},
		},
		"buy by quote": {
			engine.Event{Type: engine.Market, Flags: engine.FlagQuote, Quote: quote(5)},
			engine.Event{Flags: engine.FlagQuote, Quote: quote(3)},
			"3.0", quote(3),
		},
		"funded buy": {
			engine.Event{Type: engine.Market, Amount: 1_000_000, Flags: engine.FlagFunded, Quote: quote(5)},
			engine.Event{Flags: engine.FlagFunded, OpenAmount: 600_000, Quote: quote(3)},
			"5.0", quote(5),
		},
	} {
		r, fold := foldRig(t, false)
		x.accepted.Kind, x.accepted.Order, x.accepted.Account = engine.EventAccepted, 1, 1
		fold(x.accepted)
		x.reduced.Kind, x.reduced.Order = engine.EventReduced, 1
		fold(x.reduced)
		o := r.s.holds.orders[1]
		if text(o.held) != x.held || o.quote != x.quote || o.open != x.reduced.OpenAmount {
			t.Errorf("%s: %+v", name, o)
		}
		x.reduced.Order, x.reduced.OpenAmount = 9, 1 // of the built-in account
		if fold(x.reduced); o.open == 1 {
			t.Errorf("%s: the event of another order has reduced it", name)
		}
	}
}

// A replaced order holds its new need; without a reservation, one that needs more is counted.
func TestHoldOfAReplacedOrder(t *testing.T) {
	for name, x := range map[string]struct {
		price, open int64
		reserve     bool
		held        string
		unreserved  uint64
	}{
		"less":          {900, 1_000_000, false, "9.0", 0},
		"as much":       {1000, 1_000_000, false, "10.0", 0},
		"more":          {1100, 1_000_000, false, "11.0", 1},
		"more reserved": {1100, 1_000_000, true, "11.0", 0},
	} {
		r, fold := foldRig(t, false)
		r.buys(1, 0) // another order on its way
		fold(engine.Event{Kind: engine.EventAccepted, Order: 1, Account: 1, Price: 1000, Amount: 1_000_000})
		before := r.s.Counts().Unreserved
		if x.reserve {
			p := ReplaceParams{Order: 1, Price: x.price, HasPrice: true}
			if held, reason := r.s.ReserveReplace(p); !held.Replaces {
				t.Fatalf("%s: %s", name, reason)
			}
		}
		e := engine.Event{Kind: engine.EventReplaced, Order: 1, Price: x.price, OpenAmount: x.open, Amount: x.open + 5}
		fold(e)
		o := r.s.holds.orders[1]
		unreserved := r.s.Counts().Unreserved - before
		if text(o.held) != x.held || o.price != x.price || o.filled != 5 || unreserved != x.unreserved {
			t.Errorf("%s: %+v, %d unreserved", name, o, unreserved)
		}
		e.Order, e.Price = 9, 1 // of the built-in account
		if fold(e); o.price != x.price || r.s.holds.waiting != 1 {
			t.Errorf("%s: the event of another order has replaced it", name)
		}
	}
}
