package entry_test

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
)

// An order is found by its client order id: by its own account, in its own pair, open and ended.
func TestAnOrderIsFoundByItsClientID(t *testing.T) {
	r := newRig(t)
	r.pair("ETH_USDT", 2, 4)
	a, b := r.user("100", ""), r.user("100", "")
	p := limit(engine.Buy, "1", "1")
	p.Client = []byte("x:1")
	id := r.placed(a, p)
	other := r.placed(b, p)
	r.placed(a, limit(engine.Buy, "1", "1"))
	for _, c := range []struct {
		caller       engine.AccountID
		pair, client string
		want         engine.OrderID
		field        string
	}{
		{a, "BTC_USDT", "x:1", id, ""},
		{b, "BTC_USDT", "x:1", other, ""},
		{a, "ETH_USDT", "x:1", 0, "clientOrderId"},
		{a, "BTC_USDT", "x:2", 0, "clientOrderId"},
		{0, "BTC_USDT", "x:1", 0, "clientOrderId"},
		{a, "XX_YY", "x:1", 0, "currencyPairCode"},
	} {
		got, refusal := r.e.ClientOrder(c.caller, c.pair, c.client)
		field := ""
		if refusal != nil {
			if field = refusal.Field; refusal.Code != "NOT_FOUND" {
				t.Errorf("%+v: %v", c, refusal)
			}
		}
		if got.Record.ID != c.want || field != c.field {
			t.Errorf("%+v: order %d, field %q", c, got.Record.ID, field)
		}
	}
	if _, refusal := r.one(a, entry.Command{Kind: entry.CancelOrder, Order: id}); refusal != "" {
		t.Fatal(refusal)
	}
	if got, refusal := r.e.ClientOrder(a, "BTC_USDT", "x:1"); refusal != nil || got.Record.Status != engine.Canceled {
		t.Errorf("ended: %v %v", got.Record.Status, refusal)
	}
}

// With Records, the answers of a signed request hold new orders with their fills; without, the id alone. The answer of
// a repeated client order id is the first one.
func TestAnswersHoldNewOrdersWhenAsked(t *testing.T) {
	r := newRig(t)
	maker, taker := r.user("", "5"), r.user("100", "")
	r.placed(maker, limit(engine.Sell, "1", "2"))
	p := limit(engine.Buy, "1", "3")
	p.Client = []byte("c")
	for _, records := range []bool{true, false, true} {
		req := r.e.Acquire(taker)
		req.Records = records
		*req.One() = place(p)
		if refusal := req.SubmitOne(); refusal != nil {
			t.Fatal(refusal)
		}
		a := req.Answers[0]
		if a.Order != 2 || a.Found != records {
			t.Errorf("order %d, found %v, want %v", a.Order, a.Found, records)
		}
		if records && (len(a.Record.Fills) != 1 || a.Record.Filled != 20_000 || !a.Record.FeeKnown) {
			t.Errorf("%+v", a.Record)
		}
		r.e.Release(req)
		r.deposit(maker, "BTC", "1")
		r.placed(maker, limit(engine.Sell, "1", "0.1")) // changes the order, and not its first answer
	}
}

// A batch of one order that lacks money answers with the reason, as a longer one does.
func TestABatchOfOneOrderThatLacksMoneySaysSo(t *testing.T) {
	r := newRig(t)
	poor := r.user("1", "")
	for n := 1; n <= 2; n++ {
		req := r.e.Acquire(poor)
		for range n {
			req.Commands = append(req.Commands, place(limit(engine.Buy, "1", "5")))
		}
		if refusal := req.Submit(); refusal != nil {
			t.Fatal(refusal)
		}
		for i := range req.Answers {
			if a := &req.Answers[i]; a.Reason != engine.InsufficientFunds || a.Found {
				t.Errorf("%d orders: %q", n, a.Reason)
			}
		}
		r.e.Release(req)
	}
}

// A change of another account's order answers with nothing of it.
func TestARefusedChangeTellsNothingOfAnotherAccountsOrder(t *testing.T) {
	r := newRig(t)
	a, b := r.user("10", ""), r.user("10", "")
	id := r.placed(a, limit(engine.Buy, "1", "1"))
	req := r.e.Acquire(b)
	defer r.e.Release(req)
	req.Commands = append(req.Commands, entry.Command{Kind: entry.CancelOrder, Order: id}, replace(id, "2", ""))
	if refusal := req.Submit(); refusal != nil {
		t.Fatal(refusal)
	}
	for i := range req.Answers {
		if a := &req.Answers[i]; a.Reason != engine.UnknownOrder || a.Found || a.Record.ID != 0 {
			t.Errorf("%q %v %+v", a.Reason, a.Found, a.Record)
		}
	}
}
