package cli

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

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
	o := order(c.ChangeOrder(ctx, id, client.Change{Amount: "0.01"}))
	if *o.InitialAmount != "0.01000" || *o.Price != "20000.00" {
		t.Errorf("%+v", o)
	}
	var b client.Batch
	for range 3 {
		b.Place(client.OrderRequest{Side: "buy", Pair: "ETH_USDT", Amount: "1", Price: "1500"})
	}
	b.Place(client.OrderRequest{Side: "buy", IsMarket: true, Pair: "BTC_USDT", QuoteAmount: "100"})
	b.Change(id, client.Change{Price: "20001"})
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
	ordersArePaged(t, c)
	if o := order(c.CancelOrderByClientID(ctx, "BTC_USDT", "go-1")); !o.IsCanceled {
		t.Errorf("%+v", o)
	}
	if n, err := c.CancelAll(ctx, ""); n != 3 || err != nil {
		t.Errorf("%d canceled: %v", n, err)
	}
	switchFires(t, c)
	rsaKeyTrades(t, c)
}

// ordersArePaged reads the five orders by two.
func ordersArePaged(t *testing.T, c client.Client) {
	t.Helper()
	rows, cursor := 0, ""
	for {
		page, next, err := c.Orders(t.Context(), client.ListQuery{PageSize: 2, Cursor: cursor})
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
}

// switchFires sets the dead man's switch and turns it off.
func switchFires(t *testing.T, c client.Client) {
	t.Helper()
	ctx := t.Context()
	fires, err := c.CancelAllAfter(ctx, time.Minute)
	if now, clock := c.Time(ctx); err != nil || clock != nil || fires.UnixMilli()-now > time.Minute.Milliseconds() ||
		fires.UnixMilli() < now {
		t.Errorf("fires at %s, now %d: %v, %v", fires, now, err, clock)
	}
	if fires, err = c.CancelAllAfter(ctx, 0); err != nil || !fires.IsZero() {
		t.Errorf("fires at %s: %v", fires, err)
	}
}

// rsaKeyTrades places an order with an RSA key and cancels it if it has no deal.
func rsaKeyTrades(t *testing.T, c client.Client) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	inPEM := func(label string, raw []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: raw}))
	}
	var made struct {
		PublicKey string `json:"publicKey"`
	}
	_, err = c.Do(t.Context(), "POST", "/api/apikeys", map[string]any{
		"name": "rsa", "canTrade": true, "rsaPublicKey": inPEM("PUBLIC KEY", public),
	}, &made)
	if err != nil {
		t.Fatal(err)
	}
	c.PublicKey, c.PrivateKey = made.PublicKey, inPEM("PRIVATE KEY", private)
	id, err := c.PlaceOrder(t.Context(), client.OrderRequest{
		Side: "buy", Pair: "BTC_USDT", Amount: "0.01", Price: "20000",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CancelOrderIf(t.Context(), id, "partial"); !client.IsCode(err, client.CodeCancelRestricted) {
		t.Errorf("an order without a deal is partial: %v", err)
	}
	if o, err := c.CancelOrderIf(t.Context(), id, "new"); err != nil || o.Status != "Canceled" {
		t.Errorf("%+v: %v", o, err)
	}
}
