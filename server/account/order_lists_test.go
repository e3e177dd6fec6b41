package account_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/server/servertest"
)

// trader is a user of an exchange whose book the built-in account makes.
type trader struct {
	*servertest.Keys
	t *testing.T
}

func newTrader(t *testing.T) trader {
	_, a, _ := servertest.NewTradedExchange(t)
	return trader{a, t}
}

// trade makes a trade of the built-in account with itself.
func (k trader) trade(price string) {
	k.t.Helper()
	k.other("sell", price, "1")
	k.other("buy", price, "1")
}

// other places an order of the built-in account.
func (k trader) other(side, price, amount string) {
	k.t.Helper()
	k.Exchange.MustInternal("POST", "/orders", fmt.Sprintf(
		`{%s,"side":%q,"type":"limit","price":%s,"amount":%s}`, onBTC, side, price, amount))
}

// view returns some members of an object that a route answers.
func (k trader) view(method, target, body string, names ...string) string {
	k.t.Helper()
	return members(servertest.ParseObject(k.t, k.OK(method, target, body).Body), names...)
}

func (k trader) order(id string, names ...string) string {
	k.t.Helper()
	return k.view("GET", "/api/orders/"+id, "", names...)
}

// list places a list and returns its id and those of its orders.
func (k trader) list(body string) (id string, orders []string) {
	k.t.Helper()
	view := servertest.ParseObject(k.t, k.OK("POST", "/api/orders/lists", body).Body)
	for _, o := range view["orders"].([]any) {
		o := o.(map[string]any)
		if o["listId"] != view["id"] {
			k.t.Errorf("order %v is of list %v, want %v", o["id"], o["listId"], view["id"])
		}
		orders = append(orders, o["id"].(string))
	}
	if view["id"] != orders[0] {
		k.t.Errorf("list %v begins with order %s", view["id"], orders[0])
	}
	return orders[0], orders
}

// ends checks status and reason of each order of a list, in its view and alone.
func (k trader) ends(id, status string, want ...string) {
	k.t.Helper()
	view := servertest.ParseObject(k.t, k.OK("GET", "/api/orders/lists/"+id, "").Body)
	if view["status"] != status {
		k.t.Errorf("list %s is %v, want %s", id, view["status"], status)
	}
	orders := view["orders"].([]any)
	for i, w := range want {
		o := orders[i].(map[string]any)
		got := members(o, "status", "endReason")
		if alone := k.order(o["id"].(string), "status", "endReason"); got != w || alone != w {
			k.t.Errorf("order %d of list %s: %s, alone %s, want %s", i, id, got, alone, w)
		}
	}
	if len(orders) != len(want) {
		k.t.Errorf("list %s has %d orders, want %d", id, len(orders), len(want))
	}
}

const (
	takeLimit  = `{"side":"sell","type":"limit","postOnly":true,"amount":1,"price":110}`
	stopMarket = `{"side":"sell","type":"stop_market","amount":1,"stopPrice":90}`
	bids       = `{"side":"buy","type":"limit","amount":1,"price":95}`
)

func listOf(kind, more string, orders ...string) string {
	return fmt.Sprintf(`{"kind":%q,%s%s,"orders":[%s]}`, kind, onBTC, more, strings.Join(orders, ","))
}

// Each kind of list is placed, read by both of its ids, and seen to its end.
func TestEachKindOfListIsPlacedAndEnds(t *testing.T) {
	k := newTrader(t)
	k.trade("100")

	oco, _ := k.list(listOf("oco", `,"clientOrderId":"oco"`, takeLimit, stopMarket))
	if got := k.Balance("BTC"); got != "9.0 1.0" {
		t.Errorf("an oco holds once: %s", got)
	}
	byID := k.OK("GET", "/api/orders/lists/"+oco, "").Body
	if got := k.OK("GET", "/api/orders/lists/by-client-id/BTC_USDT/oco", "").Body; got != byID {
		t.Errorf("by its client id %s, by its id %s", got, byID)
	}
	if got := members(servertest.ParseObject(t, byID), "id", "kind", "clientOrderId", "currencyPairCode", "status",
		"date"); got != oco+" oco oco BTC_USDT executing 2026-01-01T00:00:00.0000000Z" {
		t.Error(got)
	}
	k.ends(oco, "executing", "Created <nil>", "Created <nil>")
	k.other("buy", "110", "1")
	k.ends(oco, "done", "Completed <nil>", "Canceled list")

	oto, orders := k.list(listOf("oto", ``, bids, `{"side":"sell","type":"take_profit_limit","amount":1,"price":120,`+
		`"stopPrice":115}`))
	k.ends(oto, "executing", "Created <nil>", "Pending <nil>")
	k.other("sell", "95", "1")
	k.ends(oto, "executing", "Completed <nil>", "Created <nil>")
	k.trade("116")
	if got := k.order(orders[1], "type", "isTriggered", "status"); got != "take_profit_limit true Created" {
		t.Errorf("the released order: %s", got)
	}
	if got := k.view("DELETE", "/api/orders/lists/"+oto, "", "id", "status"); got != oto+" done" {
		t.Error(got)
	}
	k.ends(oto, "done", "Completed <nil>", "Canceled request")

	otoco, orders := k.list(listOf("otoco", ``, bids, takeLimit, stopMarket))
	k.OK("DELETE", "/api/orders/"+orders[0], "")
	k.ends(otoco, "done", "Canceled request", "Canceled request", "Canceled request")

	opo, orders := k.list(listOf("opo", `,"clientOrderId":"opo"`, bids, `{"side":"sell","type":"limit","price":120}`))
	if got := k.order(orders[1], "initialAmount", "amount", "quoteAmount"); got != "<nil> <nil> <nil>" {
		t.Errorf("the list has not given the order an amount, and it shows %s", got)
	}
	k.other("sell", "95", "1")
	// It brings 1 without a fee of 0.001 of it, which is cut to lots.
	if got := k.order(orders[1], "initialAmount", "amount", "status"); got != "0.9990 0.9990 Created" {
		t.Errorf("the order sells what arrived: %s", got)
	}
	if got := k.view("DELETE", "/api/orders/lists/by-client-id/BTC_USDT/opo", "", "id", "status"); got != opo+" done" {
		t.Error(got)
	}
	opoco, orders := k.list(listOf("opoco", ``, bids, `{"side":"sell","type":"take_profit_market","stopPrice":130}`,
		`{"side":"sell","type":"stop_limit","price":80,"stopPrice":85}`))
	k.other("sell", "95", "1")
	k.ends(opoco, "executing", "Completed <nil>", "Created <nil>", "Created <nil>")
	k.OK("DELETE", "/api/orders/"+orders[2], "")
	k.ends(opoco, "done", "Completed <nil>", "Canceled request", "Canceled request")
	k.Exchange.CheckTotals()
}

// A list that does not fit together, or whose order is refused, is refused as a whole, and the error names the order.
func TestAListIsRefusedAsAWhole(t *testing.T) {
	k := newTrader(t)
	k.trade("100")
	for body, want := range map[string]string{
		listOf("oco", ``, takeLimit, takeLimit):                                   "400 INVALID_PARAM orders",
		listOf("oco", ``, takeLimit, bids):                                        "400 INVALID_PARAM orders[1]",
		listOf("opo", ``, bids, bids):                                             "400 INVALID_PARAM orders[1].amount",
		listOf("oto", ``, stopMarket, takeLimit):                                  "400 INVALID_PARAM orders[0]",
		listOf("oto", ``, bids, `{"side":"sell"}`):                                "400 INVALID_PARAM orders[1].price",
		strings.Replace(listOf("oto", ``, bids, bids), "BTC", "XX", 1):            "404 NOT_FOUND currencyPairCode",
		listOf("oco", ``, strings.Replace(takeLimit, "110", "99", 1), stopMarket): "409 LIST_PRICES ",
		listOf("oto", ``, strings.Replace(bids, "95", "95.001", 1), stopMarket):   "400 PRICE_OFF_TICK orders[0].price",
		listOf("oto", ``, strings.Replace(bids, "95", "9500", 1), stopMarket):     "400 INSUFFICIENT_FUNDS orders[0]",
		listOf("oto", ``, bids,
			`{"side":"sell","type":"stop_market","amount":1,"trailingDelta":9}`): "400 TRAIL_OUT_OF_RANGE " +
			"orders[1].trailingDelta",
	} {
		a := k.Call("POST", "/api/orders/lists", body)
		e := servertest.ParseObject(t, a.Body)
		field, _ := e["field"].(string)
		if got := fmt.Sprintf("%d %v %s", a.Status, e["code"], field); got != want {
			t.Errorf("%s: %s, want %s", body, a.Body, want)
		}
	}
	if got := k.OK("GET", "/api/user/orders", "").Body; got != "[]" || k.Balance("BTC") != "10.0 0.0" {
		t.Errorf("orders of refused lists: %s, balance %s", got, k.Balance("BTC"))
	}
	h := k.Exchange
	h.CheckRefusal("no list", k.Call("GET", "/api/orders/lists/77", ""), 404, "NOT_FOUND", "listId")
	h.CheckRefusal("no list", k.Call("DELETE", "/api/orders/lists/77", ""), 404, "NOT_FOUND", "listId")
	h.CheckRefusal("no id", k.Call("GET", "/api/orders/lists/x", ""), 400, "INVALID_PARAM", "listId")
	h.CheckRefusal("no client id", k.Call("GET", "/api/orders/lists/by-client-id/BTC_USDT/x", ""), 404, "NOT_FOUND",
		"clientOrderId")
	h.CheckRefusal("no pair", k.Call("DELETE", "/api/orders/lists/by-client-id/XX_YY/x", ""), 404, "NOT_FOUND",
		"currencyPairCode")
	id, orders := k.list(listOf("oco", ``, takeLimit, stopMarket))
	bob := h.User(`"nickname":"carol"`)
	for _, method := range []string{"GET", "DELETE"} {
		h.CheckRefusal("another's", bob.Call(method, "/api/orders/lists/"+id, ""), 404, "NOT_FOUND", "listId")
	}
	k.ends(id, "executing", "Created <nil>", "Created <nil>")
	k.OK("DELETE", "/api/orders/lists/"+id, "")
	h.CheckRefusal("a list that has ended", k.Call("DELETE", "/api/orders/lists/"+id, ""), 409, "ORDER_CLOSED", "")
	k.ends(id, "done", "Canceled request", "Canceled request")
	if got := k.order(orders[1], "listId"); got != id {
		t.Errorf("an order that has ended is of list %s", got)
	}
	var w struct{ Results []map[string]any }
	servertest.Parse(t, k.OK("POST", "/api/orders/batch", `{"commands":[{"placeList":`+
		listOf("oco", `,"clientOrderId":"b"`, takeLimit, stopMarket)+`},{"placeList":`+
		listOf("oco", ``, strings.Replace(takeLimit, "110", "99", 1), stopMarket)+`}]}`).Body, &w)
	if got := members(w.Results[0], "kind", "clientOrderId", "status"); got != "oco b executing" {
		t.Errorf("a list of a batch: %s", got)
	}
	if got := members(w.Results[1], "id", "status", "rejectReason"); got != "<nil> Rejected list_prices" {
		t.Errorf("a refused list of a batch: %s", got)
	}
	h.CheckRefusal("a list of a batch that does not fit", k.Call("POST", "/api/orders/batch",
		`{"commands":[{"placeList":`+listOf("oco", ``, takeLimit, bids)+`}]}`),
		400, "INVALID_PARAM", "commands[0].placeList.orders[1]")
}

// Pages of lists go on behind a cursor, whatever has happened since, and are of one status.
func TestPagesOfLists(t *testing.T) {
	k := newTrader(t)
	var all []string
	for range 7 {
		id, _ := k.list(listOf("oto", ``, strings.Replace(bids, "1,", "0.1,", 1), stopMarket))
		all = append([]string{id}, all...)
	}
	for _, i := range []int{0, 3, 4} {
		k.OK("DELETE", "/api/orders/lists/"+all[i], "")
	}
	walk := func(query string) (got string) {
		for cursor := ""; ; {
			a := k.OK("GET", "/api/user/lists?pageSize=2&"+query+cursor, "")
			var rows []struct {
				ID     string
				Orders []any
			}
			servertest.Parse(t, a.Body, &rows)
			for _, r := range rows {
				if got += r.ID + " "; len(r.Orders) != 2 {
					t.Errorf("list %s has %d orders", r.ID, len(r.Orders))
				}
			}
			next := a.Header.Get("X-Next-Cursor")
			if next == "" {
				return got
			}
			cursor = "&cursor=" + next
		}
	}
	text := func(of ...int) (s string) {
		for _, i := range of {
			s += all[i] + " "
		}
		return s
	}
	for query, want := range map[string]string{
		"":                          text(0, 1, 2, 3, 4, 5, 6),
		"status=all":                text(0, 1, 2, 3, 4, 5, 6),
		"status=executing":          text(1, 2, 5, 6),
		"status=done":               text(0, 3, 4),
		"currencyPairCode=BTC_USDT": text(0, 1, 2, 3, 4, 5, 6),
		"endDate=2025-12-31":        "",
	} {
		if got := walk(query); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	h := k.Exchange
	h.CheckRefusal("status", k.Call("GET", "/api/user/lists?status=active", ""), 400, "INVALID_PARAM", "status")
	h.CheckRefusal("cursor", k.Call("GET", "/api/user/lists?cursor=1.2.3", ""), 400, "INVALID_PARAM", "cursor")
}

// A trailing stop tracks the market and triggers; its stop and its distance can be replaced while it waits.
func TestATrailingStopAndAReplaceOfIt(t *testing.T) {
	k := newTrader(t)
	k.trade("100")
	k.other("buy", "50", "5")
	id := k.Place(`{"side":"sell",` + onBTC + `,"type":"stop_market","amount":1,"trailingDelta":1000}`)
	const names = "stopPrice trailingDelta trailingTime isTriggered status endReason"
	show := func() string { return k.order(id, strings.Fields(names)...) }
	if got := show(); got != "<nil> 1000 2026-01-01T00:00:00.0000000Z false Created <nil>" {
		t.Error(got)
	}
	k.trade("120")
	if got := k.view("PATCH", "/api/orders/"+id, `{"trailingDelta":500}`, strings.Fields(names)...); got !=
		"<nil> 500 2026-01-01T00:00:00.0000000Z false Created <nil>" {
		t.Errorf("replaced: %s", got)
	}
	k.trade("115")
	if got := show(); !strings.HasSuffix(got, "false Created <nil>") {
		t.Errorf("at 115, with 114 to be reached: %s", got)
	}
	k.trade("114")
	if got := show(); got != "<nil> 500 2026-01-01T00:00:00.0000000Z true Completed <nil>" {
		t.Error(got)
	}
	wait := k.Place(`{"side":"sell",` + onBTC + `,"price":30,"amount":1,"stopPrice":40}`)
	if got := k.view("PATCH", "/api/orders/"+wait, `{"stopPrice":45,"price":35,"amount":2}`, "stopPrice", "price",
		"initialAmount", "isTriggered"); got != "45.00 35.00 2.0000 false" {
		t.Errorf("a stop that waits is replaced: %s", got)
	}
	h := k.Exchange
	h.CheckRefusal("a strict stop", k.Call("POST", "/api/orders", `{"side":"sell",`+onBTC+
		`,"price":60,"amount":1,"stopPrice":200,"strictTrigger":true}`), 409, "WOULD_TRIGGER", "stopPrice")
	for _, delta := range []string{"0", "9", "2001", "-1", "99999999"} {
		h.CheckRefusal("a delta of "+delta, k.Call("POST", "/api/orders", `{"side":"sell",`+onBTC+
			`,"type":"stop_market","amount":1,"trailingDelta":`+delta+`}`), 400, "TRAIL_OUT_OF_RANGE", "trailingDelta")
	}
}

// A cancel can be restricted to orders without a deal, or with one.
func TestARestrictedCancel(t *testing.T) {
	k := newTrader(t)
	h := k.Exchange
	id := k.Place(`{"side":"buy",` + onBTC + `,"price":50,"amount":3,"clientOrderId":"c"}`)
	target := "/api/orders/" + id + "?onlyIf="
	h.CheckRefusal("no deal", k.Call("DELETE", target+"partial", ""), 409, "CANCEL_RESTRICTED", "")
	h.CheckRefusal("a word", k.Call("DELETE", target+"old", ""), 400, "INVALID_PARAM", "onlyIf")
	k.other("sell", "50", "1")
	h.CheckRefusal("a deal", k.Call("DELETE", target+"new", ""), 409, "CANCEL_RESTRICTED", "")
	h.CheckRefusal("a deal", k.Call("DELETE", "/api/orders/by-client-id/BTC_USDT/c?onlyIf=new", ""), 409,
		"CANCEL_RESTRICTED", "")
	if a := h.CallInternal("DELETE", "/orders/"+id+"?onlyIf=new", ""); a.Status != 409 ||
		!strings.Contains(a.Body, "CANCEL_RESTRICTED") {
		t.Errorf("an operator's cancel: %d %s", a.Status, a.Body)
	}
	if got := k.view("DELETE", target+"partial", "", "status", "endReason"); got !=
		"PartiallyExecutedAndCanceled request" {
		t.Error(got)
	}
}

// What self-trade prevention has prevented is listed, and the orders say their newest match.
func TestPreventedMatches(t *testing.T) {
	k := newTrader(t)
	maker := k.Place(`{"side":"sell",` + onBTC + `,"price":120,"amount":1}`)
	taker := k.Place(`{"side":"buy",` + onBTC + `,"price":121,"amount":2}`)
	if got := k.order(taker, "status", "endReason", "preventedMatchId"); got != "Canceled self_trade 1" {
		t.Errorf("the taker: %s", got)
	}
	if got := k.order(maker, "status", "endReason", "preventedMatchId"); got != "Created <nil> 1" {
		t.Errorf("the maker: %s", got)
	}
	second := k.Place(`{"side":"buy",` + onBTC + `,"price":121,"amount":2,"selfTradePrevention":"decrement"}`)
	list := func(query string) (out string) {
		var rows []map[string]any
		servertest.Parse(t, k.OK("GET", "/api/user/prevented-matches?currencyPairCode=BTC_USDT"+query, "").Body, &rows)
		for _, r := range rows {
			out += members(r, "id", "takerOrderId", "makerOrderId", "takerSide", "price", "takerAmount", "makerAmount",
				"selfTradePrevention") + "; "
		}
		return out
	}
	one := "1 " + taker + " " + maker + " buy 120.00 2.0000 0.0000 cancel_taker; "
	two := "2 " + second + " " + maker + " buy 120.00 1.0000 1.0000 decrement; "
	for query, want := range map[string]string{
		"": one + two, "&from=2": two, "&pageSize=1": one, "&orderId=" + second: two, "&orderId=" + maker: one + two,
		"&from=3": "", "&orderId=" + taker + "&from=2": "",
	} {
		if got := list(query); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	h := k.Exchange
	h.CheckRefusal("no pair", k.Call("GET", "/api/user/prevented-matches", ""),
		400, "INVALID_PARAM", "currencyPairCode")
	h.CheckRefusal("no order", k.Call("GET", "/api/user/prevented-matches?currencyPairCode=BTC_USDT&orderId=99", ""),
		404, "NOT_FOUND", "orderId")
	if got := h.User(`"nickname":"eve"`).OK("GET", "/api/user/prevented-matches?currencyPairCode=BTC_USDT",
		"").Body; got != "[]" {
		t.Errorf("another user sees %s", got)
	}
}

// A sale by quote amount, an order that expires at once, a take profit, and labels.
func TestOtherOrdersToTheirEnd(t *testing.T) {
	k := newTrader(t)
	none := k.Place(`{"side":"sell",` + onBTC + `,"isMarket":true,"amount":1,"expireUnfilled":true}`)
	if got := k.order(none, "status", "endReason", "expireUnfilled"); got != "Canceled no_liquidity true" {
		t.Error(got)
	}
	fok := k.Place(`{"side":"sell",` + onBTC + `,"price":100,"timeInForce":"fok","amount":1,"expireUnfilled":true}`)
	if got := k.order(fok, "status", "endReason"); got != "Canceled fok" {
		t.Error(got)
	}
	k.other("buy", "100", "3")
	sold := k.Place(`{"side":"sell",` + onBTC + `,"isMarket":true,"quoteAmount":150,"strategyId":-7}`)
	if got := k.order(sold, "status", "filledAmount", "filledQuoteAmount", "initialQuoteAmount", "endReason",
		"strategyId", "strategyType"); got != "Completed 1.5000 150.000000 150.000000 <nil> -7 <nil>" {
		t.Error(got)
	}
	profit := k.Place(`{"side":"sell",` + onBTC + `,"type":"take_profit_market","amount":1,"stopPrice":105}`)
	if got := k.order(profit, "status", "isTriggered", "stopPrice"); got != "Created false 105.00" {
		t.Error(got)
	}
	k.trade("106")
	if got := k.order(profit, "status", "isTriggered", "filledAmount"); got != "Completed true 1.0000" {
		t.Error(got)
	}
	operator := k.Place(`{"side":"buy",` + onBTC + `,"price":10,"amount":1}`)
	k.Exchange.CallInternal("DELETE", "/orders/"+operator, "")
	if got := k.order(operator, "status", "endReason"); got != "Canceled operator" {
		t.Error(got)
	}
	h := k.Exchange
	k.Place(`{"side":"buy",` + onBTC + `,"price":10,"amount":1,"clientOrderId":"r","clientIdScope":"open"}`)
	h.CheckRefusal("an open order's id", k.Call("POST", "/api/orders", `{"side":"buy",`+onBTC+
		`,"price":10,"amount":1,"clientOrderId":"r","clientIdScope":"open"}`), 409, "DUPLICATE_CLIENT_ORDER_ID",
		"clientOrderId")
	k.OK("DELETE", "/api/orders/by-client-id/BTC_USDT/r", "")
	again := k.Place(`{"side":"buy",` + onBTC + `,"price":11,"amount":1,"clientOrderId":"r","clientIdScope":"open"}`)
	if got := k.view("GET", "/api/orders/by-client-id/BTC_USDT/r", "", "id"); got != again {
		t.Errorf("the id is that of order %s, want %s", got, again)
	}
}

// The channel orders has the lists that execute in its snapshot, and a message when a list begins and ends.
func TestListsOfTheStream(t *testing.T) {
	k := newTrader(t)
	before, _ := k.list(listOf("oto", ``, strings.Replace(bids, "1,", "0.1,", 1), stopMarket))
	s := k.Exchange.Socket()
	if err := s.Authenticate(k.Public, k.Private, k.Exchange.Now()); err != nil {
		t.Fatal(err)
	}
	_ = s.Send(client.Request{Op: "subscribe", Channel: "orders"})
	_ = s.SetReadDeadline(time.Now().Add(20 * time.Second)) // a message that is lost ends the test
	m := servertest.Next(t, s)
	for m["type"] != "snapshot" {
		m = servertest.Next(t, s)
	}
	lists := m["lists"].([]any)
	if len(lists) != 1 || members(lists[0].(map[string]any), "id", "kind", "status", "orderIds") !=
		fmt.Sprintf("%s oto executing [%s %d]", before, before, 2) {
		t.Fatalf("%v", lists)
	}
	next := func() (orders []string, list string) { // until a message of a list
		for {
			m := servertest.Next(t, s)
			if l, ok := m["list"].(map[string]any); ok {
				return orders, members(l, "id", "status")
			}
			orders = append(orders, members(m["order"].(map[string]any), "id", "status", "endReason", "listId"))
		}
	}
	id, ids := k.list(listOf("oto", ``, strings.Replace(bids, "1,", "0.1,", 1), stopMarket))
	orders, list := next()
	if got := strings.Join(orders, "; "); got != fmt.Sprintf("%s Created <nil> %s; %s Pending <nil> %s", id, id, ids[1],
		id) || list != id+" executing" {
		t.Errorf("it begins: %s, %s", got, list)
	}
	k.OK("DELETE", "/api/orders/lists/"+id, "")
	orders, list = next()
	if got := strings.Join(orders, "; "); !strings.Contains(got, id+" Canceled request "+id) || len(orders) != 2 ||
		list != id+" done" {
		t.Errorf("it ends: %s, %s", got, list)
	}
}

// An operator places, reads and cancels the lists of every account, and sees their orders among the stops of the book.
func TestListsOfTheInternalAPI(t *testing.T) {
	k := newTrader(t)
	k.trade("100")
	h := k.Exchange
	own := strings.Replace(listOf("oco", `,"clientOrderId":"o"`, takeLimit, stopMarket),
		"{", `{"accountId":"`+k.ID+`",`, 1)
	l := h.MustInternal("POST", "/orders/lists", own)
	id := fmt.Sprint(l["listId"])
	if got := members(l, "kind", "clientOrderId", "accountId", "status"); got != "oco o "+k.ID+" executing" {
		t.Error(got)
	}
	first := l["orders"].([]any)[0].(map[string]any)
	if got := members(first, "listId", "status", "endReason", "rejectReason"); got != id+" Created <nil> <nil>" {
		t.Error(got)
	}
	trail := h.MustInternal("POST", "/orders", `{"accountId":"`+k.ID+`",`+onBTC+
		`,"side":"sell","type":"stop_market","amount":1,"trailingDelta":1000}`)
	if fmt.Sprint(trail["trailingDelta"]) != "1000" || fmt.Sprint(trail["trailingTimeNs"]) == "<nil>" {
		t.Errorf("%v", trail)
	}
	var stops []string
	for _, s := range servertest.ParseObject(t, h.CallInternal("GET", "/book/BTC_USDT", "").Body)["stops"].([]any) {
		stops = append(stops, members(s.(map[string]any),
			"side", "type", "stopPrice", "trailingDelta", "extreme", "listId"))
	}
	if got := strings.Join(stops, "; "); got != "sell stop_market 90.00 <nil> <nil> "+id+
		"; sell stop_market 90.00 1000 100.00 <nil>" {
		t.Errorf("stops %s", got)
	}
	byID := h.CallInternal("GET", "/orders/lists/"+id, "").Body
	if got := h.CallInternal("GET", "/orders/lists/by-client-id/BTC_USDT/o?accountId="+k.ID, "").Body; got != byID {
		t.Errorf("%s, want %s", got, byID)
	}
	h.CheckRefusal("the built-in account's", h.CallInternal("GET", "/orders/lists/by-client-id/BTC_USDT/o", ""), 404,
		"NOT_FOUND", "clientOrderId")
	h.CheckRefusal("no account", h.CallInternal("GET",
		"/orders/lists/by-client-id/BTC_USDT/o?accountId=6ba7b810-9dad-11d1-80b4-00c04fd430c8", ""), 404, "NOT_FOUND",
		"accountId")
	h.CheckRefusal("no account", h.CallInternal("POST", "/orders/lists", strings.Replace(own, k.ID,
		"6ba7b810-9dad-11d1-80b4-00c04fd430c8", 1)), 404, "NOT_FOUND", "accountId")
	h.CheckRefusal("prices", h.CallInternal("POST", "/orders/lists", listOf("oco", ``,
		strings.Replace(takeLimit, "110", "99", 1), stopMarket)), 409, "LIST_PRICES", "")
	h.CheckRefusal("the form", h.CallInternal("POST", "/orders/lists", listOf("oco", ``, takeLimit, bids)), 400,
		"INVALID_PARAM", "orders[1]")
	h.CallInternal("DELETE", "/orders/lists/by-client-id/BTC_USDT/o?accountId="+k.ID, "")
	k.ends(id, "done", "Canceled operator", "Canceled operator")
	h.CheckRefusal("ended", h.CallInternal("DELETE", "/orders/lists/"+id, ""), 409, "ORDER_CLOSED", "")
	h.CheckRefusal("none", h.CallInternal("DELETE", "/orders/lists/99", ""), 404, "NOT_FOUND", "listId")
}
