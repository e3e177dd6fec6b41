package cli

import (
	"context"
	"testing"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// The Go client runs each of its trading methods against the program.
func TestGoClientTrades(t *testing.T) {
	t.Parallel()
	in := harness.Start(t, "--backfill", "3h")
	user := in.Call(200, "POST", "/users", `{"nickname":"go"}`)["id"].(string)
	in.Call(200, "POST", "/users/"+user+"/deposits", `{"currencyCode":"USDT","amount":100000}`)
	key := in.Call(200, "POST", "/users/"+user+"/apikeys", `{"name":"go"}`)
	c := client.Client{Base: in.Public, PublicKey: key["publicKey"].(string), PrivateKey: key["privateKey"].(string)}
	ctx := context.Background()
	order := func(o client.Order, err error) client.Order {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	id, err := c.PlaceOrder(ctx, client.OrderRequest{
		Side: "buy", Pair: "BTC_USDT", Amount: "0.02", Price: "20000", ClientOrderID: "go-1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if o := order(c.Order(ctx, id)); o.Type != "limit" || o.TimeInForce != "gtc" || o.Fee == nil ||
		o.DateChanged == "" {
		t.Errorf("%+v", o)
	}
	if o := order(c.OrderByClientID(ctx, "BTC_USDT", "go-1")); o.ID != id {
		t.Errorf("%+v", o)
	}
	if o := order(c.ReplaceOrder(ctx, id, "", "0.01")); *o.InitialAmount != "0.01000" || *o.Price != "20000.00" {
		t.Errorf("%+v", o)
	}
	var b client.Batch
	for range 3 {
		b.Place(client.OrderRequest{Side: "buy", Pair: "ETH_USDT", Amount: "1", Price: "1500"})
	}
	b.Place(client.OrderRequest{Side: "buy", IsMarket: true, Pair: "BTC_USDT", QuoteAmount: "100"})
	b.Replace(id, "20001", "")
	b.Cancel("1")
	got, err := c.SendBatch(ctx, &b)
	if err != nil || len(got) != 6 {
		t.Fatalf("%d results: %v", len(got), err)
	}
	for i, r := range got[:5] {
		if r.RejectReason != nil {
			t.Errorf("command %d: %s", i, *r.RejectReason)
		}
	}
	if r := got[5]; r.Status != "Rejected" || r.RejectReason == nil || *r.RejectReason != "unknown_order" {
		t.Errorf("%+v", r)
	}
	fills, next, err := c.Fills(ctx, client.ListQuery{OrderID: got[3].ID})
	if err != nil || len(fills) == 0 || next != "" || fills[0].OrderID != got[3].ID || fills[0].IsMaker ||
		fills[0].Fee == "" {
		t.Errorf("%+v %q %v", fills, next, err)
	}
	rows, cursor := 0, ""
	for {
		page, next, err := c.Orders(ctx, client.ListQuery{PageSize: 2, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		rows += len(page)
		if cursor = next; cursor == "" {
			break
		}
	}
	if rows != 5 {
		t.Errorf("%d orders listed", rows)
	}
	if o := order(c.CancelOrderByClientID(ctx, "BTC_USDT", "go-1")); !o.IsCanceled {
		t.Errorf("%+v", o)
	}
	if n, err := c.CancelAll(ctx, ""); n != 3 || err != nil {
		t.Errorf("%d canceled: %v", n, err)
	}
}
