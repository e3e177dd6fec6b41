package account_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

// members returns the named members of a JSON object as one text.
func members(view map[string]any, names ...string) string {
	var out []string
	for _, n := range names {
		out = append(out, fmt.Sprint(view[n]))
	}
	return strings.Join(out, " ")
}

var terms = []string{
	"type", "timeInForce", "postOnly", "selfTradePrevention", "stopPrice", "isTriggered", "displayAmount",
	"initialQuoteAmount", "filledAmount", "filledQuoteAmount", "averagePrice", "fee", "feeCurrencyCode", "dateChanged",
}

// The order view says what the order asked for and what became of it, by id and by client order id, open and ended.
func TestTheOrderViewIsComplete(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	at := func(second int64) { h.Clock.Set(servertest.StartNs + second*servertest.SecondNs) }
	const pair = `"currencyPairCode":"BTC_USDT",`
	b.Place(`{"side":"sell",` + pair + `"amount":1,"price":100}`)
	b.Place(`{"side":"sell",` + pair + `"amount":2,"price":101}`)
	check := func(id, client, want string) {
		t.Helper()
		text := a.OK("GET", "/api/orders/"+id, "").Body
		if got := members(servertest.ParseObject(t, text), terms...); got != want {
			t.Errorf("order %s:\n%s, want\n%s", id, got, want)
		}
		if client != "" {
			if got := a.OK("GET", "/api/orders/by-client-id/BTC_USDT/"+client, "").Body; got != text {
				t.Errorf("order %s of client id %s: %s", id, client, got)
			}
		}
	}
	// 1 at 100 and 2 at 101: 302 / 3 is rounded half to even at 8 digits; each fill's fee is 0.002 of what it brings.
	at(1)
	bought := a.Place(`{"side":"buy",` + pair + `"amount":4,"price":101,"displayAmount":2,"clientOrderId":"ice:1"}`)
	check(bought, "ice:1", "limit gtc false cancel_taker <nil> <nil> 2.0000 <nil> 3.0000 302.000000 100.66666667 "+
		"0.006 BTC 2026-01-01T00:00:01.0000000Z")
	at(2)
	b.Place(`{"side":"sell",` + pair + `"amount":1,"price":101}`) // the maker's fee is 0.001
	check(bought, "ice:1", "limit gtc false cancel_taker <nil> <nil> 2.0000 <nil> 4.0000 403.000000 100.75000000 "+
		"0.007 BTC 2026-01-01T00:00:02.0000000Z")
	// A stop waits, is triggered by a trade at 90, and rests.
	stop := a.Place(`{"side":"sell",` + pair + `"amount":1,"price":95,"stopPrice":90,"clientOrderId":"stop"}`)
	check(stop, "stop", "stop_limit gtc false cancel_taker 90.00 false <nil> <nil> 0.0000 0.000000 <nil> 0.0 USDT "+
		"2026-01-01T00:00:02.0000000Z")
	canceled := a.Place(`{"side":"sell",` + pair + `"amount":1,"price":75,"stopPrice":80}`)
	a.OK("DELETE", "/api/orders/"+canceled, "")
	check(canceled, "", "stop_limit gtc false cancel_taker 80.00 false <nil> <nil> 0.0000 0.000000 <nil> 0.0 USDT "+
		"2026-01-01T00:00:02.0000000Z")
	at(3)
	b.Place(`{"side":"buy",` + pair + `"amount":1,"price":90}`)
	b.Place(`{"side":"sell",` + pair + `"amount":1,"price":90,"selfTradePrevention":"none"}`)
	check(stop, "stop", "stop_limit gtc false cancel_taker 90.00 true <nil> <nil> 0.0000 0.000000 <nil> 0.0 USDT "+
		"2026-01-01T00:00:03.0000000Z")
	// A market buy by quote amount says what it was to spend.
	at(4)
	spent := a.Place(`{"side":"buy",` + pair + `"isMarket":true,"quoteAmount":50,"selfTradePrevention":"none"}`)
	check(spent, "", "market ioc false none <nil> <nil> <nil> 50.000000 0.5263 49.998500 95.00000000 0.0010526 BTC "+
		"2026-01-01T00:00:04.0000000Z")
	at(5)
	post := a.Place(`{"side":"buy",` + pair + `"amount":1,"price":10,"postOnly":true}`)
	check(post, "", "limit gtc true cancel_taker <nil> <nil> <nil> <nil> 0.0000 0.000000 <nil> 0.0 BTC "+
		"2026-01-01T00:00:05.0000000Z")
	at(6)
	a.OK("DELETE", "/api/orders/"+post, "")
	check(post, "", "limit gtc true cancel_taker <nil> <nil> <nil> <nil> 0.0000 0.000000 <nil> 0.0 BTC "+
		"2026-01-01T00:00:06.0000000Z")
	h.CheckTotals()
}

// Orders of another account do not exist, by id and by client order id; a malformed name is 400.
func TestNoOrderOfAnotherAccountIsFound(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	id := a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10,"clientOrderId":"mine"}`)
	a.OK("GET", "/api/orders/"+id, "")
	a.OK("GET", "/api/orders/by-client-id/BTC_USDT/mine", "")
	for target, want := range map[string]string{
		"/api/orders/" + id:                                            "404 NOT_FOUND orderId",
		"/api/orders/99":                                               "404 NOT_FOUND orderId",
		"/api/orders/x":                                                "400 INVALID_PARAM orderId",
		"/api/orders/by-client-id/BTC_USDT/mine":                       "404 NOT_FOUND clientOrderId",
		"/api/orders/by-client-id/BTC_USDT/other":                      "404 NOT_FOUND clientOrderId",
		"/api/orders/by-client-id/XX_YY/mine":                          "404 NOT_FOUND currencyPairCode",
		"/api/orders/by-client-id/nonsense/mine":                       "400 INVALID_PARAM currencyPairCode",
		"/api/orders/by-client-id/BTC_USDT/a,b":                        "400 INVALID_PARAM clientOrderId",
		"/api/orders/by-client-id/BTC_USDT/" + strings.Repeat("a", 65): "400 INVALID_PARAM clientOrderId",
	} {
		var status int
		var code, field string
		fmt.Sscan(want, &status, &code, &field)
		h.CheckRefusal(target, b.Call("GET", target, ""), status, code, field)
	}
}

// Following X-Next-Cursor reads every row once, while newer ones arrive; the last page has none.
func TestCursorsReadEveryRowOnce(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	const pair = `"currencyPairCode":"BTC_USDT",`
	big := a.Place(`{"side":"buy",` + pair + `"amount":10,"price":50}`)
	for range 12 {
		b.Place(`{"side":"sell",` + pair + `"amount":0.5,"price":50}`)
	}
	for range 11 {
		a.Place(`{"side":"buy",` + pair + `"amount":0.1,"price":10}`)
	}
	pages := func(route string, meanwhile func()) (ids []string) {
		cursor := ""
		for page := 1; ; page++ {
			target := route
			if cursor != "" {
				target += "&cursor=" + cursor
			}
			got := a.OK("GET", target, "")
			var rows []struct{ ID, OrderID string }
			servertest.Parse(t, got.Body, &rows)
			for _, r := range rows {
				ids = append(ids, r.ID)
			}
			meanwhile()
			if cursor = got.Header.Get("X-Next-Cursor"); cursor == "" {
				if page != 4 {
					t.Errorf("%s: %d pages", route, page)
				}
				return ids
			}
		}
	}
	once := func(ids []string, want int) {
		t.Helper()
		seen := map[string]bool{}
		for _, id := range ids {
			seen[id] = true
		}
		if len(ids) != want || len(seen) != want {
			t.Errorf("%d rows, %d different, want %d: %v", len(ids), len(seen), want, ids)
		}
	}
	once(pages("/api/user/orders?pageSize=3", func() {
		a.Place(`{"side":"buy",` + pair + `"amount":0.1,"price":11}`)
	}), 12)
	once(pages("/api/user/deals?pageSize=3", func() {
		b.Place(`{"side":"sell",` + pair + `"amount":0.5,"price":11}`)
	}), 12)
	// The fills of one order alone, which has more since.
	of := pages("/api/user/deals?pageSize=5&orderId="+big, func() {})
	once(of, 16)
	for target, field := range map[string]string{
		"/api/user/orders?cursor=1":                      "cursor",
		"/api/user/orders?cursor=1.01":                   "cursor",
		"/api/user/orders?cursor=x.1":                    "cursor",
		"/api/user/orders?cursor=1.2.3":                  "cursor",
		"/api/user/deals?cursor=1.2":                     "cursor",
		"/api/user/deals?cursor=1.2.3&pageNumber=1":      "cursor",
		"/api/user/deals?cursor=1.2.3&cursor=1.2.3":      "cursor",
		"/api/user/deals?cursor=1.2.3&orderId=" + big:    "cursor",
		"/api/user/deals?orderId=x":                      "orderId",
		"/api/user/orders?cursor=99999999999999999999.1": "cursor",
	} {
		h.CheckRefusal(target, a.Call("GET", target, ""), 400, "INVALID_PARAM", field)
	}
	h.CheckRefusal("deals of another's order", b.Call("GET", "/api/user/deals?orderId="+big, ""), 404, "NOT_FOUND",
		"orderId")
}

// The deals of an order with more than 1,000 are its newest; a header says so, and the list of deals has the others.
func TestTheDealsOfAnOrderAreNotCutSilently(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	const pair = `"currencyPairCode":"BTC_USDT",`
	id := a.Place(`{"side":"buy",` + pair + `"amount":9,"price":10}`)
	one := fmt.Sprintf(`{"place":{"accountId":%q,`+pair+`"side":"sell","type":"limit","price":10,"amount":"0.001"}}`,
		b.ID)
	h.CallInternal("POST", "/orders/batch", `{"commands":[`+strings.Repeat(one+",", 999)+one+`]}`)
	got := a.OK("GET", "/api/orders/"+id+"/deals", "")
	if deals := servertest.ParseObject(t, got.Body)["deals"].([]any); len(deals) != 1000 ||
		got.Header.Get("X-Truncated") != "" {
		t.Errorf("%d deals, X-Truncated %q", len(deals), got.Header.Get("X-Truncated"))
	}
	h.CallInternal("POST", "/orders/batch", `{"commands":[`+one+`]}`)
	got = a.OK("GET", "/api/orders/"+id+"/deals", "")
	view := servertest.ParseObject(t, got.Body)
	if deals := view["deals"].([]any); len(deals) != 1000 || got.Header.Get("X-Truncated") != "true" {
		t.Errorf("%d deals, X-Truncated %q", len(deals), got.Header.Get("X-Truncated"))
	}
	// 1,001 x 0.001 x 0.001: the fee counts every fill.
	if got := members(view, "filledAmount", "filledQuoteAmount", "averagePrice", "fee"); got !=
		"1.0010 10.010000 10.00000000 0.001001" {
		t.Error(got)
	}
	rows := 0
	for cursor := "start"; cursor != ""; {
		target := "/api/user/deals?orderId=" + id
		if cursor != "start" {
			target += "&cursor=" + cursor
		}
		page := a.OK("GET", target, "")
		rows += strings.Count(page.Body, `"tradeId"`)
		cursor = page.Header.Get("X-Next-Cursor")
	}
	if rows != 1001 {
		t.Errorf("the list has %d deals", rows)
	}
}
