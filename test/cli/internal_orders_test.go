package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tickhive/tickhive/test/harness"
)

// orderKeys lists the members of the Order object, in no particular order.
var orderKeys = strings.Fields(`orderId clientOrderId accountId currencyPairCode side type timeInForce price amount
	quoteAmount stopPrice displayAmount postOnly selfTradePrevention status filledAmount remainingAmount
	decrementedAmount filledQuoteAmount averagePrice createdAtNs seq fills rejectReason
	trailingDelta strictTrigger expireUnfilled trailingTimeNs endReason listId preventedMatchId strategyId
	strategyType`)

// unlimited creates a user whose balances may be negative and returns the id.
func unlimited(in *harness.Instance) string {
	in.T.Helper()
	return in.Call(200, "POST", "/users", `{"unlimited":true}`)["id"].(string)
}

// expect compares members of a response by their printed form; "null" is null.
func expect(t testing.TB, m map[string]any, want map[string]string) {
	t.Helper()
	for k, w := range want {
		got := fmt.Sprint(m[k])
		if m[k] == nil {
			got = "null"
		}
		if got != w {
			t.Errorf("%s is %s, want %s", k, got, w)
		}
	}
}

func TestAnOrderAnswersEveryMember(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("BTC_USDT")
	m := in.Call(200, "POST", "/orders",
		`{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":"65000.5","amount":0.125}`)
	if len(m) != len(orderKeys) {
		t.Errorf("%d members, want %d: %v", len(m), len(orderKeys), m)
	}
	for _, k := range orderKeys {
		if _, ok := m[k]; !ok {
			t.Errorf("no member %s", k)
		}
	}
	expect(t, m, map[string]string{
		"orderId": "1", "clientOrderId": "null", "accountId": harness.BuiltinUUID, "currencyPairCode": "BTC_USDT",
		"side": "buy", "type": "limit", "timeInForce": "gtc", "price": "65000.50", "amount": "0.12500000",
		"quoteAmount": "null", "stopPrice": "null", "displayAmount": "null", "postOnly": "false",
		"selfTradePrevention": "none", "status": "Created", "filledAmount": "0.00000000",
		"remainingAmount": "0.12500000", "filledQuoteAmount": "0.0000000000", "averagePrice": "null",
		"createdAtNs": "1767225600000000000", "seq": "3", "fills": "[]", "rejectReason": "null",
	})
	id := unlimited(in)
	taker := in.Call(200, "POST", "/orders", `{"accountId":"`+strings.ToUpper(id)+`","currencyPairCode":"BTC_USDT",`+
		`"side":"sell",
		"type":"market","amount":"0.2","clientOrderId":"t-1"}`)
	expect(t, taker, map[string]string{
		"orderId": "2", "clientOrderId": "t-1", "accountId": id, "type": "market",
		"timeInForce": "ioc", "price": "null", "amount": "0.20000000", "selfTradePrevention": "cancel_taker",
		"status": "PartiallyExecutedAndCanceled", "filledAmount": "0.12500000", "remainingAmount": "0.07500000",
		"filledQuoteAmount": "8125.0625000000", "averagePrice": "65000.50000000",
		"fills": "[map[amount:0.12500000 fee:8.1250625 feeCurrencyCode:USDT isMaker:false price:65000.50 tradeId:1]]",
	})
	got := in.Call(200, "GET", "/orders/1", "")
	expect(t, got, map[string]string{
		"status": "Completed", "remainingAmount": "0.00000000", "averagePrice": "65000.50000000",
		"fills": "[map[amount:0.12500000 fee:0.0 feeCurrencyCode:BTC isMaker:true price:65000.50 tradeId:1]]",
		"seq":   fmt.Sprint(taker["seq"]),
	})
	same := in.Call(200, "GET", "/orders/2", "")
	if d := cmp.Diff(taker, same); d != "" {
		t.Error(d)
	}
	if a := in.Do("GET", in.Internal+"/orders/1?decimals=string", ""); !strings.Contains(a.Body, `"price":"65000.50"`) {
		t.Errorf("%s", a.Body)
	}
}

func TestOrdersOfEachType(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("BTC_USDT")
	in.Limit("BTC_USDT", "sell", "100", "1")
	in.Limit("BTC_USDT", "sell", "101", "1")
	m := in.Call(200, "POST", "/orders",
		`{"currencyPairCode":"BTC_USDT","side":"buy","type":"market","quoteAmount":"150.5"}`)
	expect(t, m, map[string]string{
		"amount": "null", "remainingAmount": "null", "quoteAmount": "150.5000000000", "status": "Completed",
		"filledAmount": "1.50000000", "filledQuoteAmount": "150.5000000000", "averagePrice": "100.33333333",
	})
	m = in.Call(200, "POST", "/orders",
		`{"currencyPairCode":"BTC_USDT","side":"sell","type":"stop_limit","price":99,"stopPrice":99.5,"amount":1}`)
	expect(t, m, map[string]string{"status": "Created", "stopPrice": "99.50", "price": "99.00", "type": "stop_limit"})
	m = in.Call(200, "POST", "/orders",
		`{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":90,"amount":10,"displayAmount":1}`)
	expect(t, m, map[string]string{"displayAmount": "1.00000000", "remainingAmount": "10.00000000"})
	book := in.Do("GET", in.Internal+"/book/BTC_USDT", "").Body
	for _, want := range []string{
		`"state":"online"`, `"bids":[{"price":90.00,"amount":1.00000000,"orders":[{"orderId":5,"accountId":"` +
			harness.BuiltinUUID +
			`","amount":1.00000000,"hiddenAmount":9.00000000}]}]`,
		`"asks":[{"price":101.00,"amount":0.50000000,`,
		`"stops":[{"orderId":4,"side":"sell","type":"stop_limit","stopPrice":99.50,"trailingDelta":null,` +
			`"extreme":null,"listId":null}]`,
		`"timeNs":1767225600000000000`,
	} {
		if !strings.Contains(book, want) {
			t.Errorf("no %s in %s", want, book)
		}
	}
}

func TestRefusalsAre200WithAReason(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Call(200, "POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":4,"minQuoteAmount":10}`)
	in.Limit("BTC_USDT", "sell", "100", "1")
	order := func(rest string) string {
		return `{"currencyPairCode":"BTC_USDT","side":"buy",` + rest + `}`
	}
	seq := 0
	for _, c := range []struct{ body, reason string }{
		{`"type":"limit","price":0,"amount":1`, "price_not_positive"},
		{`"type":"limit","price":-0.001,"amount":1`, "price_not_positive"},
		{`"type":"limit","price":99.999,"amount":1`, "price_off_tick"},
		{`"type":"limit","price":99999999999999999999,"amount":1`, "price_out_of_range"},
		{`"type":"limit","price":99.5,"amount":0`, "amount_not_positive"},
		{`"type":"limit","price":99.5,"amount":-1`, "amount_not_positive"},
		{`"type":"limit","price":99.5,"amount":0.00001`, "amount_off_lot"},
		{`"type":"limit","price":99.5,"amount":99999999999999999999`, "amount_out_of_range"},
		{`"type":"limit","price":9000000000.01,"amount":1`, "price_out_of_range"},
		{`"type":"limit","price":99.5,"amount":9000000000.0001`, "amount_out_of_range"},
		{`"type":"limit","price":99.5,"amount":0.1`, "below_min_quote_amount"},
		{`"type":"market","quoteAmount":9.99`, "below_min_quote_amount"},
		{`"type":"limit","price":100,"amount":1,"postOnly":true`, "would_cross"},
		{`"type":"limit","price":100,"amount":1.5,"timeInForce":"fok"`, "fok_unfilled"},
		{`"type":"stop_limit","price":100,"stopPrice":0,"amount":1`, "price_not_positive"},
		{`"type":"limit","price":99.999,"amount":0.00001`, "price_off_tick"},
		{`"type":"limit","price":99.5,"amount":1,"displayAmount":0.00001`, "amount_off_lot"},
	} {
		m := in.Call(200, "POST", "/orders", order(c.body))
		expect(t, m, map[string]string{
			"orderId": "null", "status": "Rejected", "rejectReason": c.reason,
			"filledAmount": "0.0000", "fills": "[]",
		})
		if len(m) != len(orderKeys) {
			t.Errorf("%d members: %v", len(m), m)
		}
		now := 0
		if _, err := fmt.Sscan(fmt.Sprint(m["seq"]), &now); err != nil || now <= seq {
			t.Errorf("%s: seq %v after %d", c.body, m["seq"], seq)
		}
		seq = now
	}
	m := in.Call(200, "POST", "/orders", `{"currencyPairCode":"BTC_USDT","side":"sell","type":"market","amount":1}`)
	expect(t, m, map[string]string{"rejectReason": "no_liquidity"})
	for state, reason := range map[string]string{
		"halted": "pair_halted", "cancel_only": "pair_cancel_only",
		"post_only": "pair_post_only",
	} {
		in.Call(200, "PATCH", "/pairs/BTC_USDT", fmt.Sprintf(`{"state":%q}`, state))
		expect(t, in.Call(200, "POST", "/orders", order(`"type":"limit","price":99,"amount":1`)),
			map[string]string{"rejectReason": reason})
	}
	if got := in.Call(200, "GET", "/orders/1", ""); got["status"] != "Created" {
		t.Errorf("%v", got)
	}
}

func TestARepeatedClientOrderIDGivesTheFirstAnswer(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("BTC_USDT")
	const body = `{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":100,"amount":1,` +
		`"clientOrderId":"a.b:c_d-1"}`
	first := in.Do("POST", in.Internal+"/orders", body)
	in.Limit("BTC_USDT", "sell", "100", "0.4")
	again := in.Do("POST", in.Internal+"/orders",
		strings.Replace(body, `"price":100`, `"price":"100.00","timeInForce":"gtc","postOnly":false`, 1))
	if first.Status != 200 || first.Body != again.Body {
		t.Errorf("%s\n%s", first.Body, again.Body)
	}
	expect(t, in.Call(200, "GET", "/orders/1", ""),
		map[string]string{"status": "PartiallyCompleted", "clientOrderId": "a.b:c_d-1"})
	other := in.Call(200, "POST", "/orders", strings.Replace(body, `"amount":1`, `"amount":2`, 1))
	expect(t, other, map[string]string{
		"status": "Rejected", "rejectReason": "duplicate_client_order_id",
		"orderId": "null",
	})
	in.Pair("ETH_USDT")
	expect(t, in.Call(200, "POST", "/orders", strings.Replace(body, "BTC", "ETH", 1)),
		map[string]string{"status": "Created"})
	expect(t, in.Call(200, "POST", "/orders", strings.Replace(body, `{`, `{"accountId":"`+unlimited(in)+`",`, 1)),
		map[string]string{"status": "Created"})
}

func TestBrokenOrdersAre400AndChangeNothing(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("BTC_USDT")
	for _, c := range []struct{ body, field string }{
		{``, ""},
		{`{}`, "currencyPairCode"},
		{`{"currencyPairCode":"btc","side":"buy"}`, "currencyPairCode"},
		{`{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":1e3,"amount":1}`, "price"},
		{`{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":1,"amount":1,"amount":1}`, "amount"},
		{`{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":1,"amount":1} x`, ""},
		{`{"currencyPairCode":"BTC_USDT","side":"buy","type":"market","price":1,"amount":1}`, "price"},
		{
			`{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":1,"amount":1,"displayAmount":2}`,
			"displayAmount",
		},
	} {
		in.Refuse(400, "INVALID_PARAM", c.field, "POST", "/orders", c.body)
	}
	in.Refuse(404, "NOT_FOUND", "currencyPairCode", "POST", "/orders",
		`{"currencyPairCode":"XX_YY","side":"buy","type":"limit","price":1,"amount":1}`)
	in.Refuse(413, "PAYLOAD_TOO_LARGE", "", "POST", "/orders", strings.Repeat(" ", 4<<20+1))
	a := in.Do("POST", in.Internal+"/orders",
		`{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":1,"amount":1}`, "Content-Type",
		"text/plain")
	if a.Status != 200 {
		t.Errorf("JSON whatever the media type: %d %s", a.Status, a.Body)
	}
	expect(t, harness.Object(t, a.Body), map[string]string{"orderId": "1", "seq": "3"})
	if a := in.Do("PUT", in.Internal+"/orders", ""); a.Status != 405 || a.Header.Get("Allow") == "" {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	if a := in.Do("GET", in.Internal+"/orders/1", "", "X-Request-Id",
		"my-id_1"); a.Header.Get("X-Request-Id") != "my-id_1" {
		t.Errorf("%v", a.Header)
	}
}

func TestCancelAndReplaceOneOrder(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("BTC_USDT")
	in.Limit("BTC_USDT", "buy", "100", "2")
	in.Limit("BTC_USDT", "sell", "100", "0.5")
	expect(t, in.Call(200, "PATCH", "/orders/1", `{"amount":1.5}`), map[string]string{
		"orderId": "1", "amount": "1.50000000", "filledAmount": "0.50000000", "remainingAmount": "1.00000000",
		"status": "PartiallyCompleted",
	})
	expect(t, in.Call(200, "PATCH", "/orders/1", `{"price":"99.5"}`),
		map[string]string{"price": "99.50", "orderId": "1"})
	expect(t, in.Call(200, "PATCH", "/orders/1", `{}`), map[string]string{"price": "99.50"})
	in.Refuse(400, "PRICE_OFF_TICK", "price", "PATCH", "/orders/1", `{"price":99.999}`)
	in.Refuse(400, "INVALID_PARAM", "side", "PATCH", "/orders/1", `{"side":"buy"}`)
	expect(t, in.Call(200, "DELETE", "/orders/1", ""), map[string]string{
		"status": "PartiallyExecutedAndCanceled", "remainingAmount": "1.00000000", "filledAmount": "0.50000000",
	})
	for _, method := range []string{"DELETE", "PATCH"} {
		in.Refuse(409, "ORDER_CLOSED", "", method, "/orders/1", `{}`)
		in.Refuse(404, "NOT_FOUND", "id", method, "/orders/77", `{}`)
		in.Refuse(404, "NOT_FOUND", "id", method, "/orders/9007199254740991", `{}`)
		in.Refuse(404, "NOT_FOUND", "id", method, "/orders/-5", `{}`)
		in.Refuse(400, "INVALID_PARAM", "id", method, "/orders/x", `{}`)
	}
	in.Refuse(404, "NOT_FOUND", "id", "GET", "/orders/77", "")
	stop := in.Call(200, "POST", "/orders",
		`{"currencyPairCode":"BTC_USDT","side":"sell","type":"stop_market","stopPrice":90,"amount":1}`)
	expect(t, in.Call(200, "PATCH", fmt.Sprintf("/orders/%s", stop["orderId"]), `{"amount":2,"stopPrice":"89.5"}`),
		map[string]string{"status": "Created", "amount": "2.00000000", "stopPrice": "89.50"})
	expect(t, in.Call(200, "DELETE", fmt.Sprintf("/orders/%s", stop["orderId"]), ""),
		map[string]string{"status": "Canceled"})
}

func TestMassCancelTakesTheOrdersThatWereOpen(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("BTC_USDT")
	in.Pair("ETH_USDT")
	account := unlimited(in)
	var b strings.Builder
	for i := range 1000 {
		pair, who := "BTC_USDT", ""
		if i%4 == 0 {
			pair = "ETH_USDT"
		}
		if i%2 == 0 {
			who = `"accountId":"` + account + `",`
		}
		fmt.Fprintf(&b, `,{"place":{%s"currencyPairCode":%q,"side":"buy","type":"limit","price":%d,"amount":1}}`, who,
			pair, 100+i)
	}
	in.Call(200, "POST", "/orders/batch", `{"commands":[`+b.String()[1:]+`]}`)
	in.Refuse(400, "INVALID_PARAM", "accountId", "DELETE", "/orders", "")
	in.Refuse(400, "INVALID_PARAM", "accountId", "DELETE", "/orders?accountId=7", "")
	in.Refuse(400, "INVALID_PARAM", "currencyPairCode", "DELETE", "/orders?currencyPairCode=btc", "")
	in.Refuse(400, "INVALID_PARAM", "currencyPairCode", "DELETE",
		"/orders?currencyPairCode=BTC_USDT&currencyPairCode=BTC_USDT", "")
	in.Refuse(404, "NOT_FOUND", "currencyPairCode", "DELETE", "/orders?currencyPairCode=XX_YY", "")
	in.Refuse(404, "NOT_FOUND", "accountId", "DELETE", "/orders?accountId=6ba7b810-9dad-11d1-80b4-00c04fd430c9", "")
	expect(t, in.Call(200, "DELETE", "/orders?currencyPairCode=ETH_USDT&accountId="+harness.BuiltinUUID, ""),
		map[string]string{"canceled": "0"})
	expect(t, in.Call(200, "DELETE", "/orders?currencyPairCode=ETH_USDT&accountId="+account, ""),
		map[string]string{"canceled": "250"})
	expect(t, in.Call(200, "DELETE", "/orders?accountId="+account, ""), map[string]string{"canceled": "250"})
	expect(t, in.Call(200, "DELETE", "/orders?currencyPairCode=BTC_USDT", ""), map[string]string{"canceled": "500"})
	expect(t, in.Call(200, "DELETE", "/orders?currencyPairCode=BTC_USDT", ""), map[string]string{"canceled": "0"})
	if book := in.Do("GET", in.Internal+"/book/BTC_USDT", "").Body; !strings.Contains(book, `"bids":[],"asks":[]`) {
		t.Errorf("%.300s", book)
	}
}

func TestAnOrderIsAnsweredHoweverFewClosedOnesAreKept(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t, "--set", "orders.closed_kept=1", "--set", "orders.fills_kept=2")
	in.Pair("BTC_USDT")
	for range 5 {
		in.Limit("BTC_USDT", "sell", "100", "1")
	}
	expect(t, in.Limit("BTC_USDT", "buy", "100", "5"),
		map[string]string{"orderId": "6", "status": "Completed", "filledAmount": "5.00000000"})
	in.Refuse(404, "NOT_FOUND", "id", "GET", "/orders/5", "")
	in.Limit("BTC_USDT", "sell", "101", "1")
	in.Limit("BTC_USDT", "sell", "102", "1")
	in.Limit("BTC_USDT", "buy", "99", "2")
	expect(t, in.Call(200, "PATCH", "/orders/9", `{"price":102}`),
		map[string]string{"status": "Completed", "filledAmount": "2.00000000"})
}
