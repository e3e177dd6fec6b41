package account_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/server/servertest"
)

// A client reads its own change after the answer, whatever it has changed.
func TestAClientReadsItsOwnChange(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	user := "/users/" + a.ID
	internal := func(path string) string {
		got := h.CallInternal("GET", path, "")
		if got.Status != 200 {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
		return got.Body
	}
	public := func(path string) string { return a.OK("GET", path, "").Body }
	var order, key string
	for i, x := range []struct {
		change func()
		read   func() string
	}{
		{func() { h.Deposit(a, "USDT", "5") }, func() string { return a.Balance("USDT") }},
		{func() { h.Deposit(a, "USDT", "5") }, func() string { return internal("/totals") }},
		{func() {
			h.MustInternal("POST", user+"/withdrawals", `{"currencyCode":"USDT","amount":"5"}`)
		}, func() string { return a.Balance("USDT") }},
		{
			func() { order = a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10}`) },
			func() string { return a.Balance("USDT") },
		},
		{
			func() { a.OK("PATCH", "/api/orders/"+order, `{"price":11}`) },
			func() string { return a.Balance("USDT") },
		},
		{func() {
			b.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":"0.5","price":11}`)
		}, func() string { return a.Balance("BTC") }},
		{func() { a.OK("DELETE", "/api/orders/"+order, "") }, func() string { return a.Balance("USDT") }},
		{func() { h.MustInternal("PATCH", user, `{"nickname":"carol"}`) }, func() string { return internal(user) }},
		{
			func() { h.MustInternal("PATCH", user, `{"dealBidDiscountFraction":"0.25"}`) },
			func() string { return public("/api/currencies/user/commissions") },
		},
		{func() {
			key = servertest.ParseObject(t, a.OK("POST", "/api/apikeys", `{"name":"k"}`).Body)["publicKey"].(string)
		}, func() string { return public("/api/apikeys") }},
		{func() { a.OK("DELETE", "/api/apikeys/"+key, "") }, func() string { return public("/api/apikeys") }},
		{func() { h.MustInternal("POST", user+"/halt", "") }, func() string { return internal(user) }},
		{func() { h.MustInternal("DELETE", user+"/halt", "") }, func() string { return internal(user) }},
	} {
		before := x.read()
		x.change()
		if after := x.read(); after == before {
			t.Errorf("change %d: %s is read after the answer", i, after)
		}
	}
}

// The private channel brings every fill of an order that meets several makers, to the taker and to each maker, with
// the same members and in the same order as REST lists them.
func TestAPrivateChannelBringsEveryFill(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	const makers = 7
	sockets := map[*servertest.Keys]*client.Stream{a: h.Socket(), b: h.Socket()}
	for k, s := range sockets {
		if err := s.Authenticate(k.Public, k.Private, h.Now()); err != nil {
			t.Fatal(err)
		}
		for _, channel := range []string{"fills", "orders"} {
			_ = s.Send(client.Request{Op: "subscribe", Channel: channel})
			for m := servertest.Next(t, s); m["type"] != "snapshot"; {
				m = servertest.Next(t, s)
			}
		}
	}
	for i := range makers {
		b.Place(fmt.Sprintf(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":"0.1","price":%d}`, 50+i%3))
	}
	a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":2,"price":60}`) // the rest of it rests
	b.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":"0.2","price":60}`)
	for k, s := range sockets {
		last := k.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":"0.001","price":1}`)
		var fills []any
		for {
			m := servertest.Next(t, s)
			if m["channel"] == "fills" {
				fills = append(fills, m["fill"])
			} else if o, ok := m["order"].(map[string]any); ok && o["id"] == last {
				break // it comes behind everything before it
			}
		}
		var listed []any
		d := servertest.ParseObject(t, `{"list":`+k.OK("GET", "/api/user/deals?pageSize=100", "").Body+`}`)["list"]
		switch d := d.(type) {
		case []any:
			listed = d
		case map[string]any:
			t.Fatalf("%v", d)
		}
		slices.Reverse(listed) // newest first
		if len(listed) != makers+1 || !reflect.DeepEqual(fills, listed) {
			got, _ := json.Marshal(fills)
			want, _ := json.Marshal(listed)
			t.Errorf("the channel brought %d fills, REST lists %d\n%s\n%s", len(fills), len(listed), got, want)
		}
	}
}
