package cli

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// The Go client's private stream begins with what happens from now on, and after a restart of its program with the
// cursor that the program has kept: it tells the fills of meanwhile, which order has ended, and what is open.
func TestAPrivateStreamContinuesFromItsCursor(t *testing.T) {
	t.Parallel()
	in := harness.Start(t, "--pairs", "none", "--sim", "off", "--quiet", "--set", "rate.allow=127.0.0.1")
	c := harness.NewPrivateMarket(t, in).User
	f := follower{t: t, c: c, p: c.PrivateStream(nil)}
	f.buy("1") // before the stream
	f.until("snapshot", "balances")
	if at, ok := f.p.Cursor(); !ok || len(f.fills) > 0 || at.Pairs["AA_USDT"].TradeID != 1 {
		t.Errorf("the stream begins at %+v, %t, with the fills %v", at, ok, f.fills)
	}
	resting, err := c.PlaceOrder(t.Context(), client.OrderRequest{
		Side: "buy", Pair: "AA_USDT", Amount: "1", Price: "50",
	})
	if err != nil {
		t.Fatal(err)
	}
	f.buy("2")
	f.untilFills("2 false", "2 false")
	f.until("update", "balances")
	kept, _ := f.p.Cursor()
	raw, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	f.p.Close()
	f.buy("3")
	if _, err := c.CancelOrder(t.Context(), resting); err != nil {
		t.Fatal(err)
	}
	f.buy("4")
	f.untilFills("3 true", "3 true", "4 true", "4 true") // the same stream opens its line again
	if e := f.until("update", "orders"); e.Order.ID != resting || e.Order.Status != "Canceled" {
		t.Errorf("%+v", e.Order)
	}
	f.p.Close()
	list, leg := f.oco()

	var cursor client.Cursor
	if err := json.Unmarshal(raw, &cursor); err != nil {
		t.Fatal(err)
	}
	again := follower{t: t, c: c, p: c.PrivateStream(&cursor)}
	defer again.p.Close()
	again.untilFills("3 true", "3 true", "4 true", "4 true", "5 true", "5 true")
	if e := again.until("snapshot", "fills"); !e.Complete {
		t.Error("fills are said to be missing")
	}
	if e := again.until("snapshot", "orders"); len(e.Orders) != 0 {
		t.Errorf("%+v are open", e.Orders)
	}
	again.until("snapshot", "balances")
	for _, id := range again.orders {
		if again.ended[id] != "Completed" {
			t.Errorf("order %s is %q", id, again.ended[id])
		}
	}
	if again.ended[leg] != "Canceled" || again.ended["list "+list] != "done" || again.ended[resting] != "" {
		t.Errorf("%s and %s, not %s: %v", list, leg, resting, again.ended)
	}
	other := cursor
	other.Date, other.Pairs = "2020-01-01T00:00:00.0000000Z", map[string]client.Position{
		"AA_USDT": {Date: "2020-01-01T00:00:00.0000000Z", TradeID: 99, OrderIDs: []string{"1"}},
	}
	older := follower{t: t, c: c, p: c.PrivateStream(&other)}
	defer older.p.Close()
	older.untilFills("1 true", "1 true", "2 true", "2 true", "3 true", "3 true", "4 true", "4 true",
		"5 true", "5 true")
	if e := older.until("snapshot", "fills"); e.Complete {
		t.Error("the fill of the cursor is not there, and nothing is said to be missing")
	}
}

// A private stream whose key is wrong ends with the error of the exchange.
func TestAPrivateStreamNeedsAKey(t *testing.T) {
	t.Parallel()
	in := harness.Start(t, "--pairs", "none", "--sim", "off", "--quiet", "--set", "rate.allow=127.0.0.1")
	c := *harness.NewPrivateMarket(t, in).User
	c.PrivateKey = "wrong"
	p := c.PrivateStream(nil)
	if e, err := p.Next(t.Context()); !client.IsCode(err, client.CodeUnauthorized) {
		t.Errorf("%+v: %v", e, err)
	}
	if e, err := p.Next(t.Context()); err != nil || e.Type != "lost" || e.Reason == nil {
		t.Errorf("%+v: %v", e, err)
	}
}

// follower reads a private stream, and lets its user trade with itself.
type follower struct {
	t      *testing.T
	c      *client.Client
	p      *client.PrivateStream
	fills  []string          // amount, and whether it was missed
	orders []string          // ids of the orders of all fills
	ended  map[string]string // last status of the orders and lists, by id
}

// oco makes a trade with an order of a list, of which the other one ends by it.
func (f *follower) oco() (list, other string) {
	f.t.Helper()
	l, err := f.c.PlaceList(f.t.Context(), client.ListRequest{
		Kind: "oco", Pair: "AA_USDT", Orders: []client.OrderRequest{
			{Side: "sell", Amount: "5", Price: "110", PostOnly: true, SelfTradePrevention: "none"},
			{Side: "sell", Amount: "5", Type: "stop_market", StopPrice: "50"},
		},
	})
	if err != nil || len(l.Orders) != 2 {
		f.t.Fatalf("%+v: %v", l, err)
	}
	_, err = f.c.PlaceOrder(f.t.Context(), client.OrderRequest{
		Side: "buy", Pair: "AA_USDT", Amount: "5", Price: "110", SelfTradePrevention: "none",
	})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, o := range l.Orders {
		if o.StopPrice != nil {
			other = o.ID
		}
	}
	return l.ID, other
}

// buy makes a trade, which is two fills.
func (f *follower) buy(amount client.Decimal) {
	f.t.Helper()
	for _, side := range []string{"sell", "buy"} {
		_, err := f.c.PlaceOrder(f.t.Context(), client.OrderRequest{
			Side: side, Pair: "AA_USDT", Amount: amount, Price: "100", SelfTradePrevention: "none",
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// until reads up to an event.
func (f *follower) until(kind, channel string) *client.Event {
	f.t.Helper()
	for {
		e := f.next()
		if e.Type == kind && e.Channel == channel {
			return e
		}
	}
}

func (f *follower) next() *client.Event {
	f.t.Helper()
	e, err := f.p.Next(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	switch {
	case e.Order != nil && e.Order.Status != "Created":
		f.note(e.Order.ID, e.Order.Status)
	case e.List != nil && e.List.Status == "done":
		f.note("list "+e.List.ID, e.List.Status)
	case e.Fill != nil:
		f.orders = append(f.orders, e.Fill.OrderID)
		f.fills = append(f.fills, fmt.Sprint(e.Fill.Volume[:1], " ", e.Missed))
	}
	return e
}

func (f *follower) note(id, status string) {
	if f.ended == nil {
		f.ended = map[string]string{}
	}
	f.ended[id] = status
}

// untilFills reads as many fills as are wanted.
func (f *follower) untilFills(want ...string) {
	f.t.Helper()
	for f.fills = nil; len(f.fills) < len(want); {
		f.next()
	}
	if fmt.Sprint(f.fills) != fmt.Sprint(want) {
		f.t.Errorf("fills %v, want %v", f.fills, want)
	}
}
