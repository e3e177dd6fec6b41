package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// kind is a case of client/testdata/kinds.json; client/js/kinds.mjs says what it means.
type kind struct {
	Name  string
	Order *client.OrderRequest
	List  *struct {
		Kind   string
		Orders []client.OrderRequest
	}
	Refused             string
	Waits, Trades       []string
	Cancel, CancelFirst bool
	Ends                [][2]*string // status and endReason of each order
	Amounts             []string     // filled of each order
}

// The Go client places each kind of order and list at the program and sees it to its end.
func TestGoClientSeesEachKindOfOrder(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(harness.SourceTree + "/client/testdata/kinds.json")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []kind
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(&kinds); err != nil || len(kinds) == 0 {
		t.Fatalf("%d kinds: %v", len(kinds), err)
	}
	in := harness.Start(t, "--pairs", "none", "--sim", "off")
	const pair = "GOA_USDT"
	in.Call(200, "POST", "/pairs", `{"code":"`+pair+`","digitsPrice":2,"digitsAmount":3}`)
	user := in.Call(200, "POST", "/users", `{}`)["id"].(string)
	for _, code := range strings.Split(pair, "_") {
		in.Call(200, "POST", "/users/"+user+"/deposits", `{"currencyCode":"`+code+`","amount":10000}`)
	}
	key := in.Call(200, "POST", "/users/"+user+"/apikeys", `{"name":"kinds"}`)
	c := &client.Client{Base: in.Public, PublicKey: key["publicKey"].(string), PrivateKey: key["privateKey"].(string)}
	order := func(side, price, amount, more string) {
		in.Call(200, "POST", "/orders", fmt.Sprintf(`{"currencyPairCode":%q,"side":%q,"type":"limit","price":%q,`+
			`"amount":%q%s}`, pair, side, price, amount, more))
	}
	order("buy", "90", "1000", "") // these two take whatever triggers
	order("sell", "110", "1000", "")
	trade := func(price string) {
		order("sell", price, "1", "")
		order("buy", price, "2", `,"timeInForce":"ioc"`)
	}
	for _, k := range kinds {
		t.Run(k.Name, func(t *testing.T) {
			trade("100")
			k.see(t, c, pair, trade)
		})
	}
}

// see takes one kind to its end.
func (k *kind) see(t *testing.T, c *client.Client, pair string, trade func(price string)) {
	ids, err := k.place(t, c, pair)
	if k.Refused != "" {
		if !client.IsCode(err, k.Refused) {
			t.Errorf("%v, want %s", err, k.Refused)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	orders := func() (all []client.Order) {
		for _, id := range ids {
			o, err := c.Order(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, o)
		}
		return all
	}
	for _, price := range k.Waits {
		trade(price)
		if !slices.ContainsFunc(orders(), func(o client.Order) bool {
			return o.Status == "Created" || o.Status == "Pending"
		}) {
			t.Errorf("at %s it has ended", price)
		}
	}
	for _, price := range k.Trades {
		trade(price)
	}
	if k.Cancel {
		if l, err := c.CancelList(t.Context(), ids[0]); err != nil || l.Status != "done" {
			t.Errorf("%+v: %v", l, err)
		}
	}
	if k.CancelFirst {
		if _, err := c.CancelOrder(t.Context(), ids[0]); err != nil {
			t.Error(err)
		}
	}
	if len(ids) != len(k.Ends) {
		t.Fatalf("%d orders, want %d", len(ids), len(k.Ends))
	}
	for i, o := range orders() {
		word := func(s *string) string {
			if s == nil {
				return "-"
			}
			return *s
		}
		if got, want := o.Status+" "+word(o.EndReason), word(k.Ends[i][0])+" "+word(k.Ends[i][1]); got != want {
			t.Errorf("order %d: %s, want %s", i, got, want)
		}
		if o.EndReason == nil && len(k.Amounts) > 0 && string(o.FilledAmount) != k.Amounts[i] {
			t.Errorf("order %d: %s is filled, want %s", i, o.FilledAmount, k.Amounts[i])
		}
		if k.List == nil && o.ListID != nil || k.List != nil && word(o.ListID) != ids[0] {
			t.Errorf("order %d is of the list %s, want %s", i, word(o.ListID), ids[0])
		}
	}
	if k.List != nil {
		if l, err := c.List(t.Context(), ids[0]); err != nil || l.Kind != k.List.Kind || l.Status != "done" {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

// place places the order or the list and returns the ids of its orders.
func (k *kind) place(t *testing.T, c *client.Client, pair string) (ids []string, err error) {
	if k.List == nil {
		o := *k.Order
		o.Pair = pair
		id, err := c.PlaceOrder(t.Context(), o)
		return []string{id}, err
	}
	l, err := c.PlaceList(t.Context(), client.ListRequest{Kind: k.List.Kind, Pair: pair, Orders: k.List.Orders})
	for _, o := range l.Orders {
		ids = append(ids, o.ID)
	}
	return ids, err
}
