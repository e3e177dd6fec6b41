package account_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

func TestOrdersHoldTradeAndCancel(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	id := a.Place(`{"side":"buy","isMarket":false,"currencyPairCode":"BTC_USDT","amount":"2","price":"100.5",` +
		`"clientOrderId":"c-1"}`)
	if id != "1" {
		t.Errorf("id %q", id)
	}
	// 2 x 100.5.
	if got := a.Balance("USDT"); got != "799.0 201.0" {
		t.Error(got)
	}
	h.Clock.Set(servertest.StartNs + 1_234_567_891)
	sold := b.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":0.5,"price":99}`)
	// Its hold is now 1.5 x 100.5. It gets 0.5 without 0.001 of it, the taker 50.25 without 0.002 of it.
	if got := a.Balance("USDT"); got != "799.0 150.75" {
		t.Error(got)
	}
	if got := a.Balance("BTC") + " " + b.Balance("BTC") + " " +
		b.Balance("USDT"); got != "10.4995 0.0 9.5 0.0 1050.1495 0.0" {
		t.Error(got)
	}
	view := servertest.ParseObject(t, a.OK("DELETE", "/api/orders/1", "").Body)
	if got := servertest.KeysOf(view); got != servertest.OrderMembers {
		t.Errorf("members %s", got)
	}
	want := map[string]string{
		"id": "1", "clientOrderId": "c-1", "isMarket": "false", "currencyPairCode": "BTC_USDT",
		"isBid": "true", "price": "100.50",
		"initialAmount": "2.0000", "amount": "0.0000", "quoteAmount": "0.000000",
		"date":   "2026-01-01T00:00:00.0000000Z",
		"userId": a.ID, "isCanceled": "true", "status": "PartiallyExecutedAndCanceled",
	}
	for k, w := range want {
		if got := fmt.Sprint(view[k]); got != w {
			t.Errorf("%s is %s, want %s", k, got, w)
		}
	}
	if got := a.Balance("USDT"); got != "949.75 0.0" {
		t.Error(got)
	}
	h.CheckRefusal("a closed order", a.Call("DELETE", "/api/orders/1", ""), 409, "ORDER_CLOSED", "")
	deals := servertest.ParseObject(t, b.OK("GET", "/api/orders/"+sold+"/deals", "").Body)
	d := deals["deals"].([]any)[0].(map[string]any)
	withDeals := strings.Replace(servertest.OrderMembers, "dateChanged ", "dateChanged deals ", 1)
	if got := servertest.KeysOf(deals); got != withDeals {
		t.Errorf("members %s", got)
	}
	if got := servertest.KeysOf(d); got != "currencyPairCode dealDateUtc fee feeCurrencyCode id isBuy isMaker "+
		"isUserBuyer orderId price tradeId volume" {
		t.Errorf("members %s", got)
	}
	if d["isUserBuyer"] != false || d["isMaker"] != false || d["isBuy"] != false || d["fee"] != json.Number("0.1005") ||
		d["feeCurrencyCode"] != "USDT" ||
		d["volume"] != json.Number("0.5000") || d["price"] != json.Number("100.50") ||
		d["dealDateUtc"] != "2026-01-01T00:00:01.2345678Z" {
		t.Errorf("%v", d)
	}
	mine := a.OK("GET", "/api/deals?currencyPairCode=BTC_USDT", "").Body
	if !strings.Contains(mine, `"isUserBuyer":true`) ||
		!strings.Contains(h.Send(h.Public, "GET", "/api/deals?currencyPairCode=BTC_USDT", "",
			nil).Body, `"isUserBuyer":null`) {
		t.Errorf("isUserBuyer: %s", mine)
	}
	h.CheckTotals()
}

func TestMarketOrdersSpendWhatTheyMay(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	b.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":5,"price":100}`)
	b.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":5,"price":200}`)
	a.Place(`{"side":"buy","isMarket":true,"currencyPairCode":"BTC_USDT","quoteAmount":"150"}`)
	if got := a.Balance("BTC") + " " + a.Balance("USDT"); got != "11.497 0.0 850.0 0.0" {
		t.Error(got)
	}
	// By amount: 6 cost 3.5 x 100 and 2.5 x 200, a lot more is beyond the balance.
	h.CheckRefusal("beyond the balance", a.Call("POST", "/api/orders",
		`{"side":"buy","isMarket":true,"currencyPairCode":"BTC_USDT","amount":"6.0001","price":0}`), 400,
		"INSUFFICIENT_FUNDS", "")
	a.Place(`{"side":"buy","isMarket":true,"currencyPairCode":"BTC_USDT","amount":"6","price":0}`)
	if got := a.Balance("BTC") + " " + a.Balance("USDT"); got != "17.485 0.0 0.0 0.0" { // 6 without 0.002 of it
		t.Error(got)
	}
	var list []map[string]any
	servertest.Parse(t, a.OK("GET", "/api/user/orders", "").Body, &list)
	if len(list) != 2 || list[0]["isMarket"] != true || list[0]["price"] != nil || list[0]["quoteAmount"] != nil ||
		list[0]["status"] != "Completed" || list[1]["initialAmount"] != nil {
		t.Errorf("%v", list)
	}
	h.CheckRefusal("a stop that holds its stop price", a.Call("POST", "/api/orders",
		`{"side":"buy","isMarket":true,"currencyPairCode":"BTC_USDT","amount":1,`+
			`"stopPrice":300}`), 400, "INSUFFICIENT_FUNDS", "")
	h.CheckRefusal("nothing left", a.Call("POST", "/api/orders",
		`{"side":"buy","isMarket":true,"currencyPairCode":"BTC_USDT",`+
			`"quoteAmount":"1000"}`), 400, "INSUFFICIENT_FUNDS", "")
	h.CheckTotals()
}

func TestAPriceOutOfTheBandIsABadRequest(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	h.MustInternal("PATCH", "/pairs/BTC_USDT", `{"priceBandUp":"1.5","priceBandDown":"0.5"}`)
	b.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":1,"price":100}`)
	a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":100}`)
	for price, want := range map[string]int{"150": 200, "150.01": 400, "50": 200, "49.99": 400} {
		c := a.Call("POST", "/api/orders", `{"side":"sell","currencyPairCode":"BTC_USDT","amount":1,"price":`+price+`}`)
		if want == 400 {
			h.CheckRefusal(price, c, 400, "PRICE_OUT_OF_BAND", "price")
		} else if c.Status != want {
			t.Errorf("%s: %d %s", price, c.Status, c.Body)
		}
	}
	h.CheckTotals()
}

func TestOrderRefusalsAreTheirReasonsInCapitals(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	h.MustInternal("PATCH", "/pairs/BTC_USDT", `{"minQuoteAmount":"10","maxQuoteAmount":9900}`)
	b.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":1,"price":100,"clientOrderId":"x"}`)
	const head = `{"side":"buy","currencyPairCode":"BTC_USDT",`
	for _, c := range []struct {
		body, code, field string
		status            int
	}{
		{head + `"amount":1,"price":0}`, "PRICE_NOT_POSITIVE", "price", 400},
		{head + `"amount":1,"price":-1}`, "PRICE_NOT_POSITIVE", "price", 400},
		{head + `"amount":1,"price":"1.001"}`, "PRICE_OFF_TICK", "price", 400},
		{head + `"amount":1,"price":"99999999999999999999"}`, "PRICE_OUT_OF_RANGE", "price", 400},
		{head + `"amount":0,"price":1}`, "AMOUNT_NOT_POSITIVE", "amount", 400},
		{head + `"amount":"0.00001","price":1}`, "AMOUNT_OFF_LOT", "amount", 400},
		{head + `"amount":"99999999999999999999","price":1}`, "AMOUNT_OUT_OF_RANGE", "amount", 400},
		{head + `"amount":1,"price":9}`, "BELOW_MIN_QUOTE_AMOUNT", "amount", 400},
		{head + `"amount":"100.0001","price":99}`, "ABOVE_MAX_QUOTE_AMOUNT", "amount", 400},
		{head + `"amount":100,"price":99}`, "INSUFFICIENT_FUNDS", "", 400},
		{head + `"amount":100,"price":99,"clientOrderId":"p"}`, "INSUFFICIENT_FUNDS", "", 400},
		{head + `"amount":"0.01","price":99}`, "BELOW_MIN_QUOTE_AMOUNT", "amount", 400},
		{head + `"amount":1,"price":101,"postOnly":true}`, "WOULD_CROSS", "", 409},
		{head + `"amount":2,"price":100,"timeInForce":"fok"}`, "FOK_UNFILLED", "", 409},
		{`{"side":"sell","isMarket":true,"currencyPairCode":"BTC_USDT","amount":1}`, "NO_LIQUIDITY", "", 409},
		{strings.Replace(head, "BTC_", "ETH_", 1) + `"amount":1,"price":1}`, "NOT_FOUND", "currencyPairCode", 404},
		{`{"currencyPairCode":"BTC_USDT","amount":1,"price":1}`, "INVALID_PARAM", "side", 400},
		{`{"side":"hold","currencyPairCode":"BTC_USDT","amount":1,"price":1}`, "INVALID_PARAM", "side", 400},
		{`{"side":"buy","amount":1,"price":1}`, "INVALID_PARAM", "currencyPairCode", 400},
		{`{"side":"buy","currencyPairCode":"btc_usdt","amount":1,"price":1}`, "INVALID_PARAM", "currencyPairCode", 400},
		{head + `"price":1}`, "INVALID_PARAM", "amount", 400},
		{head + `"amount":1}`, "INVALID_PARAM", "price", 400},
		{head + `"amount":1,"price":"1e3"}`, "INVALID_PARAM", "price", 400},
		{head + `"amount":1,"price":5,"isMarket":true}`, "INVALID_PARAM", "price", 400},
		{head + `"amount":1,"price":1,"timeInForce":"day"}`, "INVALID_PARAM", "timeInForce", 400},
		{head + `"amount":1,"price":1,"postOnly":true,"timeInForce":"ioc"}`, "INVALID_PARAM", "postOnly", 400},
		{head + `"amount":1,"price":1,"clientOrderId":"a b"}`, "INVALID_PARAM", "clientOrderId", 400},
		{head + `"amount":1,"price":1,"displayAmount":2}`, "INVALID_PARAM", "displayAmount", 400},
		{head + `"amount":1,"price":1,"selfTradePrevention":"maybe"}`, "INVALID_PARAM", "selfTradePrevention", 400},
		{head + `"amount":1,"price":1,"quoteAmount":1}`, "INVALID_PARAM", "quoteAmount", 400},
		{head + `"amount":1,"price":1,"accountId":"` + a.ID + `"}`, "INVALID_PARAM", "accountId", 400},
		{head + `"amount":1,"price":1,"type":"LIMIT"}`, "INVALID_PARAM", "type", 400},
	} {
		h.CheckRefusal(c.body, a.Call("POST", "/api/orders", c.body), c.status, c.code, c.field)
	}
	h.CheckRefusal("another content",
		b.Call("POST", "/api/orders", `{"side":"sell","currencyPairCode":"BTC_USDT","amount":2,"price":100,`+
			`"clientOrderId":"x"}`),
		409, "DUPLICATE_CLIENT_ORDER_ID", "clientOrderId")
	for _, state := range []string{"post_only", "cancel_only", "halted"} { // halted last: the cancels below meet it
		h.MustInternal("PATCH", "/pairs/BTC_USDT", fmt.Sprintf(`{"state":%q}`, state))
		h.CheckRefusal(state, a.Call("POST", "/api/orders", head+`"amount":1,"price":50}`), 409,
			"PAIR_"+strings.ToUpper(state), "")
	}
	h.CheckRefusal("a halted pair", b.Call("DELETE", "/api/orders/1", ""), 409, "PAIR_HALTED", "")
	h.CheckRefusal("a halted pair", b.Call("DELETE", "/api/orders?currencyPairCode=BTC_USDT", ""), 409, "PAIR_HALTED",
		"")
	if got := a.Balance("USDT") + " " + a.Balance("BTC"); got != "1000.0 0.0 10.0 0.0" {
		t.Errorf("refusals kept money: %s", got)
	}
	h.CheckTotals()
}

func TestNobodySeesOrTouchesAnothersThings(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	open := a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10,"clientOrderId":"same"}`)
	closed := a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":11}`)
	a.OK("DELETE", "/api/orders/"+closed, "")
	for _, id := range []string{open, closed, "99", "68719476737", "9007199254740993"} {
		h.CheckRefusal("cancel "+id, b.Call("DELETE", "/api/orders/"+id, ""), 404, "NOT_FOUND", "orderId")
		h.CheckRefusal("deals of "+id, b.Call("GET", "/api/orders/"+id+"/deals", ""), 404, "NOT_FOUND", "orderId")
	}
	h.CheckRefusal("no id", b.Call("DELETE", "/api/orders/abc", ""), 400, "INVALID_PARAM", "orderId")
	h.CheckRefusal("user info", b.Call("GET", "/api/affiliate/"+a.ID+"/user-info", ""), 403, "FORBIDDEN", "")
	h.CheckRefusal("user info", b.Call("GET", "/api/affiliate/nonsense/user-info", ""), 403, "FORBIDDEN", "")
	if got := b.OK("DELETE", "/api/orders?currencyPairCode=BTC_USDT", "").Body; got != `{"canceled":0}` {
		t.Error(got)
	}
	for _, route := range []string{"/api/user/orders", "/api/user/deals"} {
		if got := b.OK("GET", route, "").Body; got != "[]" {
			t.Errorf("%s: %s", route, got)
		}
	}
	// A client order id is one account's own.
	if other := b.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10,` +
		`"clientOrderId":"same"}`); other == open {
		t.Error("two accounts share a client order id")
	}
	if got := a.OK("DELETE", "/api/orders?currencyPairCode=BTC_USDT", "").Body; got != `{"canceled":1}` {
		t.Error(got)
	}
	h.CheckRefusal("no pair", a.Call("DELETE", "/api/orders", ""), 400, "INVALID_PARAM", "currencyPairCode")
	h.CheckRefusal("an unknown pair", a.Call("DELETE", "/api/orders?currencyPairCode=XX_YY", ""), 404,
		"NOT_FOUND", "currencyPairCode")
}

func TestListsPageAndFilter(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	for i := range 5 {
		h.Clock.Set(servertest.StartNs + int64(i)*servertest.SecondNs + 50)
		a.Place(fmt.Sprintf(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":%d}`, 10+i))
	}
	a.OK("DELETE", "/api/orders/2", "")
	b.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":2,"price":13}`)
	ids := func(query string) string {
		var list []struct{ ID string }
		servertest.Parse(t, a.OK("GET", "/api/user/orders"+query, "").Body, &list)
		var out []string
		for _, o := range list {
			out = append(out, o.ID)
		}
		return strings.Join(out, " ")
	}
	for query, want := range map[string]string{
		"": "5 4 3 2 1", "?status=all": "5 4 3 2 1", "?status=active": "3 1", "?status=canceled": "2",
		"?pageSize=2": "5 4", "?pageSize=2&pageNumber=3": "1", "?pageSize=2" +
			"&pageNumber=4": "", "?pageNumber=9223372036854775807": "",
		"?currencyPairCode=BTC_USDT&pageSize=1": "5",
		"?sinceDate=2026-01-01T00:00:03":        "5 4", "?endDate=2026-01-01T00:00:01": "2 1",
		"?sinceDate=2026-01-01T00:00:01&endDate=2026-01-01T00:00:01": "2",
	} {
		if got := ids(query); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	for query, field := range map[string]string{
		"?status=open": "status", "?pageSize=0": "pageSize", "?pageSize=101": "pageSize", "?pageNumber=0": "pageNumber",
		"?pageNumber=x":         "pageNumber",
		"?currencyPairCode=bad": "currencyPairCode", "?sinceDate=x": "sinceDate", "?endDate=2026-13-01": "endDate",
		"?sinceDate=2026-01-02&endDate=2026-01-01": "sinceDate", "?status=all" +
			"&status=all": "status", "?decimals=x": "decimals",
	} {
		h.CheckRefusal(query, a.Call("GET", "/api/user/orders"+query, ""), 400, "INVALID_PARAM", field)
		if field != "status" {
			h.CheckRefusal(query, a.Call("GET", "/api/user/deals"+query, ""), 400, "INVALID_PARAM", field)
		}
	}
	h.CheckRefusal("unknown pair", a.Call("GET", "/api/user/orders?currencyPairCode=AA_BB", ""), 404,
		"NOT_FOUND", "currencyPairCode")
	var deals []struct {
		Price       json.Number
		IsUserBuyer *bool
	}
	servertest.Parse(t, a.OK("GET", "/api/user/deals?decimals=number", "").Body, &deals)
	if len(deals) != 2 || deals[0].Price != "13.00" || deals[1].Price != "14.00" ||
		deals[0].IsUserBuyer == nil || !*deals[0].IsUserBuyer {
		t.Errorf("%+v", deals)
	}
	servertest.Parse(t, b.OK("GET", "/api/user/deals?pageSize=1&pageNumber=2", "").Body, &deals)
	if len(deals) != 1 || deals[0].Price != "14.00" || *deals[0].IsUserBuyer {
		t.Errorf("%+v", deals)
	}
	if got := a.OK("GET", "/api/user/orders?pageSize=1&decimals=string",
		"").Body; !strings.Contains(got, `"price":"14.00"`) {
		t.Error(got)
	}
}

// The second order's money is the first one's hold: it must still be a repeat and no
// refusal, however the fifty meet.
func TestFiftyPostsOfOneClientOrderIDAreOneOrder(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	for round := range 5 {
		body := fmt.Sprintf(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":"10","price":100,`+
			`"clientOrderId":"r-%d"}`, round)
		answers := make([]servertest.Answer, 50)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if i%2 == 0 {
					answers[i] = a.Call("POST", "/api/orders", body)
					return
				}
				in := h.Send(h.Internal, "POST", "/internal/v1/orders", fmt.Sprintf(
					`{"accountId":%q,"side":"buy","type":"limit","currencyPairCode":"BTC_USDT","amount":"10",`+
						`"price":100,"clientOrderId":"r-%d"}`, a.ID, round), nil)
				answers[i] = servertest.Answer{Status: in.Status, Header: nil, Body: in.Body}
			}()
		}
		wg.Wait()
		for i := range answers {
			if answers[i].Status != 200 || answers[i].Body != answers[i%2].Body {
				t.Fatalf("answer %d: %d %s; the first: %s", i, answers[i].Status, answers[i].Body, answers[i%2].Body)
			}
		}
		if got := a.Balance("USDT"); got != "0.0 1000.0" {
			t.Fatalf("round %d: %s", round, got)
		}
		if got := a.OK("DELETE", "/api/orders?currencyPairCode=BTC_USDT", "").Body; got != `{"canceled":1}` {
			t.Fatal(got)
		}
		// The id is remembered; the money of the repeat is not kept.
		if again := a.Call("POST", "/api/orders", body); again.Body != answers[0].Body {
			t.Fatal(again.Body)
		}
		if got := a.Balance("USDT"); got != "1000.0 0.0" {
			t.Fatalf("round %d, after the cancel: %s", round, got)
		}
	}
	h.CheckTotals()
}

func TestACancelAgainstAFillHasOneWinner(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	canceled, filled := 0, 0
	for range 60 {
		id := a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":"0.01","price":100}`)
		var wg sync.WaitGroup
		var cancel, sell servertest.Answer
		wg.Add(2)
		go func() { defer wg.Done(); cancel = a.Call("DELETE", "/api/orders/"+id, "") }()
		go func() {
			defer wg.Done()
			sell = b.Call("POST", "/api/orders",
				`{"side":"sell","currencyPairCode":"BTC_USDT","amount":"0.01","price":100,"timeInForce":"ioc"}`)
		}()
		wg.Wait()
		if sell.Status != 200 {
			t.Fatalf("%s", sell.Body)
		}
		var list []struct{ Status string }
		servertest.Parse(t, a.OK("GET", "/api/user/orders?pageSize=1", "").Body, &list)
		switch {
		case cancel.Status == 200 && list[0].Status == "Canceled":
			canceled++
		case cancel.Status == 409 && list[0].Status == "Completed":
			filled++
		default:
			t.Fatalf("cancel %d, order %s", cancel.Status, list[0].Status)
		}
	}
	t.Logf("%d canceled, %d filled", canceled, filled)
	// Each fill brings 0.01 without the maker's fee of 0.001 of it.
	want := fmt.Sprintf("%d.%05d", 10+filled*999/100_000, filled*999%100_000)
	got := strings.TrimSuffix(a.Balance("BTC"), " 0.0")
	if strings.TrimRight(got, "0") != strings.TrimRight(want, "0") {
		t.Errorf("%s BTC after %d fills", got, filled)
	}
	if held := a.Balance("USDT"); !strings.HasSuffix(held, " 0.0") {
		t.Errorf("held: %s", held)
	}
	h.CheckTotals()
}
