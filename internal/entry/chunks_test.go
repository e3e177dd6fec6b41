package entry_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/entry"
	"tickhive/internal/refuse"
)

// A batch of an operator spends what its own earlier orders bring. It is submitted in as few
// parts as that takes.
func TestABatchSpendsWhatItsEarlierOrdersBring(t *testing.T) {
	const sell, buy = engine.Sell, engine.Buy
	market := func(side engine.Side, amount string) entry.Place {
		p := limit(side, "", amount)
		p.Type, p.TIF, p.Price = engine.Market, engine.IOC, nil
		return p
	}
	const none, lacking = engine.NotRejected, engine.InsufficientFunds
	for _, c := range []struct {
		name      string
		usdt, btc string // of the user before
		commands  []entry.Command
		parts     []int
		reasons   []engine.Reason
		balances  string // USDT; BTC afterwards
	}{
		{"independent orders are one part", "100", "2", []entry.Command{
			place(limit(sell, "200", "1")), place(limit(buy, "10", "1")),
		}, []int{2}, []engine.Reason{none, none}, "89.98 10.02; 1.0 1.0"},
		{"a sale pays for the buy behind it", "", "2", []entry.Command{
			place(limit(sell, "100", "1")), place(limit(buy, "50", "1")),
		}, []int{1, 1}, []engine.Reason{none, none}, "49.7 50.1; 1.0 0.0"},
		{"an order that rests brings nothing", "", "2", []entry.Command{
			place(limit(sell, "200", "1")), place(limit(buy, "50", "1")),
		}, []int{1, 1}, []engine.Reason{none, lacking}, "0.0 0.0; 1.0 1.0"},
		{"the first order lacks money", "", "2", []entry.Command{
			place(limit(buy, "50", "1")), place(limit(sell, "100", "1")),
		}, []int{2}, []engine.Reason{lacking, none}, "99.8 0.0; 1.0 0.0"},
		{"a market buy by amount spends all that is free then", "", "2", []entry.Command{
			place(limit(sell, "100", "1")), place(market(buy, "0.1")), place(limit(buy, "10", "1")),
		}, []int{1, 1, 1}, []engine.Reason{none, none, none}, "69.5396 10.02; 1.1 0.0"},
		{"a replace of an order of the batch", "1000", "", []entry.Command{
			place(limit(buy, "10", "1")), replace(engine.MakeOrderID(0, 4), "20", "2"),
		}, []int{1, 1}, []engine.Reason{none, none}, "959.92 40.08; 0.0 0.0"},
		{"two replaces of one order", "1000", "", []entry.Command{
			place(limit(buy, "10", "1")),
			replace(engine.MakeOrderID(0, 4), "20", ""), replace(engine.MakeOrderID(0, 4), "30", ""),
		}, []int{1, 1, 1}, []engine.Reason{none, none, none}, "969.94 30.06; 0.0 0.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			u := r.user(c.usdt, c.btc)
			r.placed(0, limit(buy, "100", "1"))   // the bid of the market
			r.placed(0, limit(sell, "202", "1"))  // and its asks
			r.placed(0, limit(sell, "203", "10")) // order 3
			r.parts = nil
			req := r.e.Acquire(0)
			defer r.e.Release(req)
			for _, cmd := range c.commands {
				cmd.Place.Account = accounts.UserID(uint32(u))
				req.Commands = append(req.Commands, cmd)
			}
			if refusal := req.Submit(); refusal != nil {
				t.Fatal(refusal)
			}
			var reasons []engine.Reason
			for i := range req.Answers {
				reasons = append(reasons, req.Answers[i].Reason)
			}
			if !slices.Equal(r.parts, c.parts) || !slices.Equal(reasons, c.reasons) {
				t.Errorf("parts %v, refused for %q, want %v and %q", r.parts, reasons, c.parts, c.reasons)
			}
			if got := r.balance(u, "USDT") + "; " + r.balance(u, "BTC"); got != c.balances {
				t.Errorf("balances %s, want %s", got, c.balances)
			}
			if n := r.state.Counts(); n.Unreserved != 0 || n.Overdrafts != 0 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// A part that the engine did not get gives its money back. Where the outcome is unknown, the
// money stays reserved, because the next start may find the orders.
func TestAFailedPartGivesItsMoneyBack(t *testing.T) {
	for _, c := range []struct {
		err  error
		code refuse.Code
		most int64 // ticks: the highest price at which the money left buys 1 BTC
	}{
		{sequencer.ErrBusy, refuse.Unavailable, 99_80}, // 100 without 0.2 %
		{sequencer.ErrStopping, refuse.Unavailable, 99_80},
		{errors.New("disk full"), refuse.Unavailable, 99_80},
		{fmt.Errorf("%w: sync", sequencer.ErrOutcomeUnknown), refuse.OutcomeUnknown, 89_80}, // 89.98
	} {
		r := newRig(t)
		u := r.user("100", "")
		r.fail = c.err
		if _, refusal := r.one(u, place(limit(engine.Buy, "10", "1"))); refusal != string(c.code)+" " {
			t.Errorf("%v: %s", c.err, refusal)
		}
		if got := r.balance(u, "USDT"); got != "100.0 0.0" {
			t.Errorf("%v: balance %s is shown for an order that is not in the engine", c.err, got)
		}
		for price, reason := range map[int64]engine.Reason{
			c.most: engine.NotRejected, c.most + 1: engine.InsufficientFunds,
		} {
			p := accounts.OrderParams{
				Account: uint32(u), Side: engine.Buy, Price: price, Amount: 10_000,
				Rates: accounts.Rates{Taker: 200_000},
			}
			held, got := r.state.Reserve(p)
			if r.state.Release(held); got != reason {
				t.Errorf("%v: an order at %d: %v, want %v", c.err, price, got, reason)
			}
		}
	}
}

// A single signed order that lacks money is not sequenced, unless it may repeat an order.
func TestAnOrderThatLacksMoneyIsSequencedOnlyWithAClientID(t *testing.T) {
	r := newRig(t)
	u := r.user("", "")
	r.parts = nil
	order := limit(engine.Buy, "10", "1")
	if _, refusal := r.one(u, place(order)); refusal != "INSUFFICIENT_FUNDS " || r.parts != nil {
		t.Errorf("%s, %v submitted", refusal, r.parts)
	}
	order.Client = []byte("mine")
	if _, refusal := r.one(u, place(order)); refusal != "INSUFFICIENT_FUNDS " || len(r.parts) != 1 {
		t.Errorf("with a client id: %s, %v submitted", refusal, r.parts)
	}
	order.Account, order.Client = accounts.UserID(uint32(u)), nil
	a, refusal := r.one(0, place(order))
	if refusal != "" || a.Reason != engine.InsufficientFunds || len(r.parts) != 2 {
		t.Errorf("by an operator: %s %q, %v submitted", refusal, a.Reason, r.parts)
	}
}

// A repeated client order id is answered with the first order and holds nothing.
func TestARepeatedOrderHoldsNothing(t *testing.T) {
	r := newRig(t)
	u := r.user("100", "")
	order := limit(engine.Buy, "10", "1")
	order.Client = []byte("mine")
	first := r.placed(u, order)
	if again := r.placed(u, order); again != first || r.balance(u, "USDT") != "89.98 10.02" {
		t.Errorf("order %d, want %d; balance %s", again, first, r.balance(u, "USDT"))
	}
	order.Price = []byte("11")
	if _, refusal := r.one(u, place(order)); refusal != "DUPLICATE_CLIENT_ORDER_ID clientOrderId" {
		t.Errorf("another order with its id: %s", refusal)
	}
}
