package account_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/server/servertest"
)

// A replace changes price, total amount or both of the caller's order, and the hold with it.
func TestAReplaceChangesTheOrderAndItsHold(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	id := a.Place(`{"side":"buy",` + onBTC + `,"amount":2,"price":100,"clientOrderId":"r"}`)
	h.Clock.Set(servertest.StartNs + 7*servertest.SecondNs)
	for _, c := range []struct{ body, want, usdt string }{
		{`{"price":50}`, "50.00 2.0000 2.0000", "900.0 100.0"},
		{`{"amount":"1"}`, "50.00 1.0000 1.0000", "950.0 50.0"},
		{`{"price":"60","amount":3}`, "60.00 3.0000 3.0000", "820.0 180.0"},
	} {
		view := servertest.ParseObject(t, a.OK("PATCH", "/api/orders/"+id, c.body).Body)
		if got := members(view, "price", "initialAmount", "amount"); got != c.want || a.Balance("USDT") != c.usdt ||
			view["id"] != id || view["clientOrderId"] != "r" || view["dateChanged"] != "2026-01-01T00:00:07.0000000Z" {
			t.Errorf("%s: %s, %s", c.body, got, a.Balance("USDT"))
		}
	}
	b.Place(`{"side":"sell",` + onBTC + `,"amount":1,"price":60}`)
	// A total at or below what is filled cancels the rest.
	view := servertest.ParseObject(t, a.OK("PATCH", "/api/orders/"+id+"?decimals=string", `{"amount":1}`).Body)
	if got := members(view, "status", "filledAmount", "filledQuoteAmount"); got !=
		"PartiallyExecutedAndCanceled 1.0000 60.000000" {
		t.Error(got)
	}
	open := a.Place(`{"side":"buy",` + onBTC + `,"amount":1,"price":10}`)
	for _, c := range []struct {
		who         *servertest.Keys
		id, body    string
		status      int
		code, field string
	}{
		{a, id, `{"price":1}`, 409, "ORDER_CLOSED", ""},
		{b, open, `{"price":1}`, 404, "NOT_FOUND", "orderId"},
		{b, id, `{"price":1}`, 404, "NOT_FOUND", "orderId"},
		{a, "99", `{"price":1}`, 404, "NOT_FOUND", "orderId"},
		{a, "x", `{"price":1}`, 400, "INVALID_PARAM", "orderId"},
		{a, open, `{}`, 400, "INVALID_PARAM", "price"},
		{a, open, `{"price":null}`, 400, "INVALID_PARAM", "price"},
		{a, open, `{"price":"x"}`, 400, "INVALID_PARAM", "price"},
		{a, open, `{"price":1,"side":"buy"}`, 400, "INVALID_PARAM", "side"},
		{a, open, `{"price":1.001}`, 400, "PRICE_OFF_TICK", "price"},
		{a, open, `{"price":100,"amount":100}`, 400, "INSUFFICIENT_FUNDS", ""},
	} {
		h.CheckRefusal(c.id+" "+c.body, c.who.Call("PATCH", "/api/orders/"+c.id, c.body), c.status, c.code, c.field)
	}
	a.OK("DELETE", "/api/orders/"+open, "")
	if got := a.Balance("USDT"); got != "940.0 0.0" {
		t.Errorf("held without an order: %s", got)
	}
	h.CheckTotals()
}

// A batch places, cancels and replaces in order. A refusal ends its own command alone.
func TestABatchOfTheCallersOrders(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	foreign := b.Place(`{"side":"sell",` + onBTC + `,"amount":1,"price":100}`)
	own := a.Place(`{"side":"buy",` + onBTC + `,"amount":1,"price":10}`)
	run := func(commands ...string) []map[string]any {
		t.Helper()
		var w struct{ Results []map[string]any }
		servertest.Parse(t, a.OK("POST", "/api/orders/batch",
			`{"commands":[`+strings.Join(commands, ",")+`]}`).Body, &w)
		if len(w.Results) != len(commands) {
			t.Fatalf("%d results of %d commands", len(w.Results), len(commands))
		}
		return w.Results
	}
	next := fmt.Sprint(engine.MakeOrderID(0, 5))
	got := run(
		`{"place":{"side":"buy",`+onBTC+`,"amount":1,"price":100,"clientOrderId":"b-1"}}`,
		`{"cancel":{"orderId":"`+own+`"}}`,
		`{"cancel":{"orderId":`+own+`}}`,
		`{"cancel":{"orderId":"`+foreign+`"}}`,
		`{"replace":{"orderId":"`+foreign+`","price":1}}`,
		`{"place":{"side":"buy",`+onBTC+`,"amount":1000,"price":100,"clientOrderId":"b-2"}}`,
		`{"place":{"side":"buy","currencyPairCode":"XX_YY","amount":1,"price":1}}`,
		`{"place":{"type":"limit","side":"buy",`+onBTC+`,"amount":1,"price":20}}`,
		`{"replace":{"orderId":"4","amount":"2"}}`,
		`{"place":{"side":"buy",`+onBTC+`,"amount":1,"price":100,"clientOrderId":"b-1"}}`,
		`{"place":{"side":"buy",`+onBTC+`,"amount":2,"price":100,"clientOrderId":"b-1"}}`,
		`{"place":{"side":"buy",`+onBTC+`,"isMarket":true,"quoteAmount":1}}`,
	)
	for i, want := range []string{
		"3 b-1 Completed <nil> 1.0000 100.000000",
		own + " <nil> Canceled <nil> 0.0000 0.000000",
		own + " <nil> Rejected order_closed <nil> <nil>",
		foreign + " <nil> Rejected unknown_order <nil> <nil>",
		foreign + " <nil> Rejected unknown_order <nil> <nil>",
		"<nil> b-2 Rejected insufficient_funds <nil> <nil>",
		"<nil> <nil> Rejected unknown_pair <nil> <nil>",
		"4 <nil> Created <nil> 0.0000 0.000000",
		"4 <nil> Created <nil> 0.0000 0.000000",
		"3 b-1 Completed <nil> 1.0000 100.000000",
		"<nil> b-1 Rejected duplicate_client_order_id <nil> <nil>",
		"<nil> <nil> Rejected no_liquidity <nil> <nil>",
	} {
		if text := members(got[i], "id", "clientOrderId", "status", "rejectReason", "filledAmount",
			"filledQuoteAmount"); text != want {
			t.Errorf("command %d: %s, want %s", i, text, want)
		}
	}
	if keys := servertest.KeysOf(got[0]); keys != strings.Replace(servertest.OrderMembers, "quoteAmount ",
		"quoteAmount rejectReason ", 1) {
		t.Errorf("members %s", keys)
	}
	if n := fmt.Sprint(got[8]["initialAmount"]); n != "2.0000" || a.Balance("USDT") != "860.0 40.0" {
		t.Errorf("replaced to %s, balance %s", n, a.Balance("USDT"))
	}
	// A single order that lacks money is a result, too.
	if got := run(`{"place":{"side":"buy",` + onBTC + `,"amount":1000,"price":100}}`); got[0]["rejectReason"] !=
		"insufficient_funds" {
		t.Errorf("%v", got)
	}
	// A wrong shape anywhere applies nothing.
	const buy = `{"place":{"side":"buy",` + onBTC + `,"amount":1`
	for body, field := range map[string]string{
		buy + `,"price":1}},{"place":{}}`:            "commands[1].place.side",
		buy + `}},{"cancel":{"orderId":"4"},"at":1}`: "commands[1].at",
	} {
		answer := a.Call("POST", "/api/orders/batch", `{"commands":[`+body+`]}`)
		h.CheckRefusal(body, answer, 400, "INVALID_PARAM", field)
	}
	if id := a.Place(`{"side":"buy",` + onBTC + `,"amount":1,"price":1}`); id != next {
		t.Errorf("the next order is %s, want %s", id, next)
	}
	if got := b.OK("DELETE", "/api/orders?all=true", "").Body; got != `{"canceled":0}` {
		t.Errorf("the other account's order has traded: %s", got)
	}
	a.OK("DELETE", "/api/orders?all=true", "")
	h.CheckTotals()
}

// Orders are canceled by client order id, and on all pairs at once; both reach the caller's orders only.
func TestCancelsByClientIDAndOnAllPairs(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	h.MustInternal("POST", "/pairs", `{"code":"ETH_USDT","digitsPrice":2,"digitsAmount":4}`)
	h.MustInternal("POST", "/pairs", `{"code":"XRP_USDT","digitsPrice":2,"digitsAmount":4}`)
	place := func(k *servertest.Keys, pair, client string) string {
		return k.Place(fmt.Sprintf(`{"side":"buy","currencyPairCode":%q,"amount":1,"price":2,"clientOrderId":%q}`,
			pair, client))
	}
	const byID = "/api/orders/by-client-id/"
	id := place(a, "BTC_USDT", "c")
	other := place(b, "BTC_USDT", "c")
	if view := servertest.ParseObject(t, a.OK("DELETE", byID+"BTC_USDT/c", "").Body); view["id"] != id ||
		view["status"] != "Canceled" {
		t.Errorf("%v", view)
	}
	if view := servertest.ParseObject(t, b.OK("GET", "/api/orders/"+other, "").Body); view["status"] != "Created" {
		t.Errorf("another account's order is %v", view["status"])
	}
	h.CheckRefusal("again", a.Call("DELETE", byID+"BTC_USDT/c", ""), 409, "ORDER_CLOSED", "")
	h.CheckRefusal("unknown", a.Call("DELETE", byID+"BTC_USDT/d", ""), 404, "NOT_FOUND", "clientOrderId")
	h.CheckRefusal("another pair", a.Call("DELETE", byID+"ETH_USDT/c", ""), 404, "NOT_FOUND", "clientOrderId")
	h.CheckRefusal("no pair", a.Call("DELETE", byID+"XX_YY/c", ""), 404, "NOT_FOUND", "currencyPairCode")
	place(a, "BTC_USDT", "d")
	place(a, "ETH_USDT", "d")
	place(a, "ETH_USDT", "e")
	place(a, "XRP_USDT", "f")
	for query, field := range map[string]string{
		"":                                    "currencyPairCode",
		"?all=false":                          "currencyPairCode",
		"?all=yes":                            "all",
		"?all=true&all=true":                  "all",
		"?all=true&currencyPairCode=ETH_USDT": "all",
	} {
		h.CheckRefusal(query, a.Call("DELETE", "/api/orders"+query, ""), 400, "INVALID_PARAM", field)
	}
	h.MustInternal("PATCH", "/pairs/XRP_USDT", `{"state":"halted"}`)
	if got := a.OK("DELETE", "/api/orders?all=true", "").Body; got != `{"canceled":3}` {
		t.Error(got)
	}
	if got := a.Balance("USDT") + ", " + b.Balance("USDT"); got != "998.0 2.0, 998.0 2.0" {
		t.Error(got)
	}
	h.MustInternal("PATCH", "/pairs/XRP_USDT", `{"state":"online"}`)
	if got := a.OK("DELETE", "/api/orders?all=true", "").Body; got != `{"canceled":1}` ||
		a.Balance("USDT") != "1000.0 0.0" {
		t.Errorf("%s, %s", got, a.Balance("USDT"))
	}
	h.CheckTotals()
}

// Every route that answers orders or lists writes their decimals as strings when it is asked to, and refuses another
// form before it does anything.
func TestDecimalsOfChanges(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	id := a.Place(`{"side":"buy",` + onBTC + `,"amount":1,"price":10}`)
	order := `{"side":"buy",` + onBTC + `,"amount":1,"price":10}`
	leg := `{"side":"buy","amount":1,"price":10}`
	list := `{"kind":"oto",` + onBTC + `,"orders":[` + leg + `,` + leg + `]}`
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/orders/batch", `{"commands":[{"place":` + order + `}]}`},
		{"POST", "/api/orders/lists", list},
		{"PATCH", "/api/orders/" + id, `{"price":"10"}`},
		{"DELETE", "/api/orders/" + id, ""},
	} {
		before := a.OK("GET", "/api/user/orders", "").Body
		refused := a.Call(c.method, c.path+"?decimals=text", c.body)
		h.CheckRefusal(c.method+" "+c.path, refused, 400, "INVALID_PARAM", "decimals")
		if after := a.OK("GET", "/api/user/orders", "").Body; after != before {
			t.Errorf("%s %s has changed %s to %s", c.method, c.path, before, after)
		}
		if body := a.OK(c.method, c.path+"?decimals=string", c.body).Body; !strings.Contains(body, `"price":"10.00"`) {
			t.Errorf("%s %s: %s", c.method, c.path, body)
		}
	}
}
