package entry_test

import (
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
)

// A refused order of a user says the limit that it broke as a number, in the pair's own units.
func TestARefusedOrderSaysItsLimit(t *testing.T) {
	r := newRig(t)
	u := r.user("2000", "10")
	r.limits(func(in *engine.Instrument) {
		tenfold(in)
		in.HasMinQuote, in.MinQuote.Lo = true, 5_500_000 // 5.5 USDT
		in.MaxQuote = fixed.FromU64(1_000_000_000)       // 1000 USDT
	})
	r.placed(0, limit(engine.Sell, "100.05", "1"))
	r.placed(0, limit(engine.Buy, "100.05", "1"))
	quote := func(amount string) entry.Place {
		return entry.Place{Pair: []byte("BTC_USDT"), Type: engine.Market, TIF: engine.IOC, Quote: []byte(amount)}
	}
	stop := limit(engine.Sell, "100", "1")
	stop.Type, stop.Stop = engine.StopLimit, []byte("99.001")
	iceberg := limit(engine.Buy, "100", "1")
	iceberg.Display = []byte("2")
	message := func(p entry.Place) string {
		req := r.e.Acquire(u)
		defer r.e.Release(req)
		*req.One() = place(p)
		if refusal := req.SubmitOne(); refusal != nil {
			return refusal.Field + ": " + refusal.Message
		}
		return ""
	}
	const band = "The price must be between 10.01 and 1000.50 USDT, by the last trade at 100.05."
	for _, c := range []struct {
		order       entry.Place
		field, want string
	}{
		{limit(engine.Buy, "100.001", "1"), "price", "A price in BTC_USDT has at most 2 decimals."},
		{stop, "price", "A price in BTC_USDT has at most 2 decimals."},
		{limit(engine.Buy, "100", "0.00001"), "amount", "An amount in BTC_USDT has at most 4 decimals."},
		{quote("10.0000001"), "quoteAmount", "A total in BTC_USDT has at most 6 decimals."},
		{iceberg, "displayAmount", "The amount that an iceberg order shows must not be larger than its amount."},
		{limit(engine.Buy, "11", "0.4999"), "amount", "Price times amount must be at least 5.5 USDT."},
		{quote("5.49"), "quoteAmount", "Price times amount must be at least 5.5 USDT."},
		{limit(engine.Buy, "100.01", "10"), "amount", "Price times amount must be at most 1000 USDT."},
		{limit(engine.Buy, "10", "1"), "price", band},
		{limit(engine.Sell, "1000.51", "0.1"), "price", band},
	} {
		if got := message(c.order); got != c.field+": "+c.want {
			t.Errorf("%s x %s %s: %q, want %q for %s", c.order.Price, c.order.Amount, c.order.Quote,
				got, c.want, c.field)
		}
	}
	most := limit(engine.Buy, "9000000000.01", "1")
	for _, c := range []struct{ name, price, amount, want string }{
		{"default price", "9000000000.01", "1", "price: The price must be at most 9000000000 USDT."},
		{
			"a price beyond the type", "1" + strings.Repeat("0", 19), "1",
			"price: The price must be at most 9000000000 USDT.",
		},
		{"default amount", "1", "9000000000.0001", "amount: The amount must be at most 9000000000 BTC."},
	} {
		if got := message(limit(engine.Buy, c.price, c.amount)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	r.limits(func(in *engine.Instrument) { in.MaxPrice, in.MaxAmount = 1000_50, 6_5000 })
	if got, want := message(most), "price: The price must be at most 1000.5 USDT."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := message(limit(engine.Sell, "10.01", "6.5001")),
		"amount: The amount must be at most 6.5 BTC."; got !=
		want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, edge := range []string{"10.01", "1000.50"} { // what the message allows is accepted
		r.placed(u, limit(engine.Sell, edge, "0.6"))
	}
	for price, want := range map[string]string{ // a band of one side
		"10":     "The price must be at least 10.01 USDT, by the last trade at 100.05.",
		"100.06": "The price must be at most 100.05 USDT, by the last trade at 100.05.",
	} {
		r.limits(func(in *engine.Instrument) {
			if in.BandUp, in.BandDown = 0, engine.RateOne/10; price != "10" {
				in.BandUp, in.BandDown = engine.RateOne, 0
			}
		})
		if got := message(limit(engine.Sell, price, "1")); got != "price: "+want {
			t.Errorf("%s: %q, want %q", price, got, want)
		}
	}
	r.limits(func(in *engine.Instrument) { in.BandUp, in.BandDown = 0, 0 })
	u = r.user("20", "0.1")
	for side, currency := range map[engine.Side]string{engine.Buy: "USDT", engine.Sell: "BTC"} {
		got, want := message(limit(side, "100", "0.5")), ": The free balance in "+currency+" does not cover the order."
		if got != want {
			t.Errorf("%s: %q, want %q", side, got, want)
		}
	}
}

// Every reason for which the engine refuses an order has a row in the table of errors, with its text.
func TestEveryReasonOfAnOrderHasARow(t *testing.T) {
	for r := engine.NotRejected + 1; r <= engine.CancelFailed; r++ {
		if r == engine.PairExists || r == engine.InvalidPair || r == engine.AssetInUse || r == engine.PairInUse {
			continue
		}
		if row := refuse.RowOf(entry.Code(r)); row.Code != entry.Code(r) || row.Order == "" {
			t.Errorf("%s has no row in internal/refuse/table.go", r)
		}
	}
}
