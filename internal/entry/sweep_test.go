package entry_test

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
)

// An order whose command has several parts is answered once, with everything that it did: the money of a sweep, of what
// rests of it, and of a mass cancel adds up.
func TestAnOrderInPartsHoldsItsMoney(t *testing.T) {
	r := newRig(t)
	maker, taker := r.user("1", "10"), r.user("1000", "1")
	req := r.e.Acquire(maker)
	for range 900 {
		req.Commands = append(req.Commands, place(limit(engine.Sell, "1", "0.01")))
	}
	if refusal := req.Submit(); refusal != nil {
		t.Fatal(refusal)
	}
	r.e.Release(req)
	a, refusal := r.one(taker, place(limit(engine.Buy, "1", "20")))
	if refusal != "" || a.Order == 0 {
		t.Fatal(refusal)
	}
	record, notFound := r.e.Order(taker, "901")
	if notFound != nil || record.Record.Filled != 9*10_000 || record.Record.Open != 11*10_000 {
		t.Fatalf("%+v %v", record.Record, notFound)
	}
	for _, c := range []struct {
		account  engine.AccountID
		currency string
		want     string
	}{
		{taker, "USDT", "980.0 11.0"},
		{taker, "BTC", "9.982 0.0"},
		{maker, "USDT", "9.991 0.0"},
		{maker, "BTC", "1.0 0.0"},
	} {
		if got := r.balance(c.account, c.currency); got != c.want {
			t.Errorf("account %d has %s of %s, want %s", c.account, got, c.currency, c.want)
		}
	}
	req = r.e.Acquire(taker)
	for range 1000 {
		req.Commands = append(req.Commands, place(limit(engine.Buy, "0.5", "0.01")))
	}
	if refusal := req.Submit(); refusal != nil {
		t.Fatal(refusal)
	}
	r.e.Release(req)
	n, notCanceled := r.e.CancelAll(entry.MassCancel{Caller: taker, Pair: 0})
	if notCanceled != nil || n != 1001 || r.balance(taker, "USDT") != "991.0 0.0" {
		t.Errorf("%d canceled, %v, %s left", n, notCanceled, r.balance(taker, "USDT"))
	}
}
