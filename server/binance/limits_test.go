package binance_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/server/binance"
)

// limited returns a funded rig whose limits count by the clock that it returns, in ns.
func limited(t *testing.T, change ...func(*exchange.Options)) (*rig, *user, *user, *atomic.Int64) {
	machine := new(atomic.Int64)
	machine.Store(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).UnixNano())
	change = append(change, func(o *exchange.Options) {
		o.Hooks.Binance = func(o *binance.Options) { o.MachineNs = machine.Load }
	})
	r := newRig(t, change...)
	r.Call("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":5,"minQuoteAmount":5}`)
	return r, r.user("anna"), r.user("bert"), machine
}

// reply is an answer with its headers.
type reply struct {
	status int
	body   string
	header http.Header
}

// reply signs and sends a request.
func (u *user) reply(method, path, params string) reply {
	u.r.t.Helper()
	if params != "" {
		params += "&"
	}
	u.sent++
	params += fmt.Sprintf("recvWindow=%d&timestamp=%d", 5000+u.sent, u.r.now().UnixMilli())
	status, body, header := u.exchange(method, path+"?"+params+"&signature="+url.QueryEscape(u.sign(params)))
	return reply{status, body, header}
}

// counts checks the two figures of unfilled orders in the headers.
func (a reply) counts(t *testing.T, what string, tenSeconds, day int) {
	t.Helper()
	got := a.header.Get("X-Mbx-Order-Count-10s") + " " + a.header.Get("X-Mbx-Order-Count-1d")
	if want := fmt.Sprintf("%d %d", tenSeconds, day); got != want {
		t.Errorf("%s: %d %s: unfilled orders %q, want %q", what, a.status, a.body, got, want)
	}
}

func limitOrder(side string, price int, more string) string {
	return fmt.Sprintf("symbol=BTCUSDT&side=%s&type=LIMIT&timeInForce=GTC&quantity=0.1&price=%d%s", side, price, more)
}

// An account may have 100 unfilled orders in ten seconds, whatever its keys and the way of its orders. What is refused
// does not count, and does not happen.
func TestTheLimitOfUnfilledOrders(t *testing.T) {
	r, a, b, machine := limited(t)
	key := r.Call("POST", "/users/"+a.id+"/apikeys", `{"name":"second"}`)
	second := r.withKey(a.id, key["publicKey"].(string), key["privateKey"].(string))
	for i := range 100 {
		u := []*user{a, second}[i%2]
		got := u.reply("POST", "/api/v3/order", limitOrder("BUY", 90, ""))
		if got.counts(t, "a new order", i+1, i+1); got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		if i == 50 {
			got := a.reply("POST", "/api/v3/order", limitOrder("BUY", 100_000_000, ""))
			if got.counts(t, "a refused order", 51, 51); got.status != 400 {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
	}
	const refusal = `{"code":-1015,"msg":"Too many new orders; current limit is 100 orders per 10 SECOND."}`
	for _, u := range []*user{a, second} {
		got := u.reply("POST", "/api/v3/order", limitOrder("BUY", 91, ""))
		if got.counts(t, "an order too many", 100, 100); got.status != 429 || got.body != refusal {
			t.Errorf("%d %s", got.status, got.body)
		}
		if got.header.Get("Retry-After") != "" {
			t.Error("the other exchange sends no Retry-After here")
		}
	}
	if got := a.reply("POST", "/api/v3/order/test", limitOrder("BUY", 91, "")); got.status != 200 {
		t.Errorf("a test places nothing: %d %s", got.status, got.body)
	}
	b.reply("POST", "/api/v3/order", limitOrder("BUY", 90, "")).counts(t, "another account", 1, 1)
	var open []struct{ Price string }
	if got := a.reply("GET", "/api/v3/openOrders", "symbol=BTCUSDT"); json.Unmarshal([]byte(got.body), &open) != nil ||
		len(open) != 100 || strings.Contains(got.body, `"price":"91`) {
		t.Errorf("%d open orders", len(open))
	}
	machine.Add(10e9)
	a.reply("POST", "/api/v3/order", limitOrder("BUY", 90, "")).counts(t, "ten seconds later", 1, 101)
	machine.Add(24 * 60 * 60e9)
	a.reply("POST", "/api/v3/order", limitOrder("BUY", 90, "")).counts(t, "a day later", 1, 1)
}

// The first fill of an order lowers the count, of a maker by more, and never below 0. A cancel, a second fill and the
// end of an order change nothing.
func TestFillsLowerTheCountOfUnfilledOrders(t *testing.T) {
	_, a, b, _ := limited(t)
	place := func(u *user, order string, count int) (o struct{ OrderID int64 }) {
		t.Helper()
		got := u.reply("POST", "/api/v3/order", order)
		if got.counts(t, order, count, count); got.status != 200 || json.Unmarshal([]byte(got.body), &o) != nil {
			t.Errorf("%s: %d %s", order, got.status, got.body)
		}
		return o
	}
	half := func(side string, price int) string {
		return strings.Replace(limitOrder(side, price, ""), "=0.1", "=0.05", 1)
	}
	place(a, limitOrder("SELL", 100, ""), 1)
	place(a, limitOrder("SELL", 101, ""), 2)
	id := place(a, limitOrder("SELL", 299, ""), 3).OrderID
	got := a.reply("DELETE", "/api/v3/order", fmt.Sprintf("symbol=BTCUSDT&orderId=%d", id))
	if got.status != 200 || got.header.Get("X-Mbx-Order-Count-10s") != "" {
		t.Errorf("a cancel: %d %s %v", got.status, got.body, got.header)
	}
	for i := range 4 {
		place(a, limitOrder("SELL", 300+i, ""), 4+i)
	}
	place(b, strings.Replace(limitOrder("BUY", 90, ""), "GTC", "FOK", 1), 1) // it expires
	place(b, half("BUY", 100), 1)                                            // a taker
	place(a, limitOrder("SELL", 304, ""), 7-5+1)
	place(b, half("BUY", 100), 1)
	place(a, limitOrder("SELL", 305, ""), 4) // the second fill changed nothing
	place(b, limitOrder("BUY", 101, ""), 1)
	place(b, limitOrder("BUY", 90, ""), 2)
	for u, count := range map[*user]int{a: 0, b: 2} {
		got := u.reply("GET", "/api/v3/rateLimit/order", "")
		want := fmt.Sprintf(`[{"rateLimitType":"ORDERS","interval":"SECOND","intervalNum":10,"limit":100,"count":%d},`+
			`{"rateLimitType":"ORDERS","interval":"DAY","intervalNum":1,"limit":200000,"count":%[1]d}]`, count)
		if got.status != 200 || got.body != want || got.header.Get("X-Mbx-Order-Count-10s") != "" {
			t.Errorf("%d %s %v, want %s", got.status, got.body, got.header, want)
		}
	}
	place(a, limitOrder("SELL", 306, ""), 1)
}

// The fills of orders that were placed before the first one here lower the count too, and those before it do not.
func TestTheCountOfUnfilledOrdersBeginsAtZero(t *testing.T) {
	r, a, b, _ := limited(t)
	r.Call("POST", "/orders", `{"accountId":"`+a.id+`","currencyPairCode":"BTC_USDT","side":"sell","type":"limit",`+
		`"price":100,"amount":1}`)
	b.reply("POST", "/api/v3/order", limitOrder("BUY", 100, "")).counts(t, "a taker", 0, 0)
	for i := range 3 {
		a.reply("POST", "/api/v3/order", limitOrder("SELL", 200, "")).counts(t, "a maker that has a fill", i+1, i+1)
	}
	r.Call("POST", "/orders", `{"accountId":"`+a.id+`","currencyPairCode":"BTC_USDT","side":"sell","type":"limit",`+
		`"price":90,"amount":1}`)
	b.reply("POST", "/api/v3/order", limitOrder("BUY", 90, "")).counts(t, "a taker", 0, 0)
	a.reply("POST", "/api/v3/order", limitOrder("SELL", 200, "")).counts(t, "a fill of another order", 1, 1)
}

// The orders of a list count each.
func TestOrderListsCountEachOrder(t *testing.T) {
	_, a, _, _ := limited(t)
	const both = "&aboveType=LIMIT_MAKER&abovePrice=120&belowType=STOP_LOSS&belowStopPrice=80"
	const working = "symbol=BTCUSDT&workingType=LIMIT&workingSide=BUY&workingTimeInForce=GTC&workingPrice=90" +
		"&workingQuantity=1&pendingSide=SELL"
	pending := strings.NewReplacer("above", "pendingAbove", "below", "pendingBelow").Replace(both)
	count := 0
	for _, l := range []struct {
		path, params string
		orders       int
	}{
		{"order/oco", "symbol=BTCUSDT&side=SELL&quantity=1&price=120&stopPrice=80", 2},
		{"orderList/oco", "symbol=BTCUSDT&side=SELL&quantity=1" + both, 2},
		{"orderList/oto", working + "&pendingType=MARKET&pendingQuantity=1", 2},
		{"orderList/otoco", working + "&pendingQuantity=1" + pending, 3},
		{"orderList/opo", working + "&pendingType=MARKET", 2},
		{"orderList/opoco", working + pending, 3},
	} {
		count += l.orders
		got := a.reply("POST", "/api/v3/"+l.path, l.params)
		if got.counts(t, l.path, count, count); got.status != 200 {
			t.Errorf("%s: %d %s", l.path, got.status, got.body)
		}
		got = a.reply("POST", "/api/v3/"+l.path, strings.NewReplacer("uantity=1", "uantity=1000000").Replace(l.params))
		if got.counts(t, l.path, count, count); got.status != 400 {
			t.Errorf("%s: %d %s", l.path, got.status, got.body)
		}
	}
	for range 99 - count {
		a.reply("POST", "/api/v3/order", limitOrder("BUY", 50, ""))
	}
	got := a.reply("POST", "/api/v3/orderList/oco", "symbol=BTCUSDT&side=SELL&quantity=1"+both)
	if got.counts(t, "a list that does not fit", 99, 99); got.status != 429 {
		t.Errorf("%d %s", got.status, got.body)
	}
	a.reply("POST", "/api/v3/order", limitOrder("BUY", 50, "")).counts(t, "an order that fits", 100, 100)
}

// Of an account with too many unfilled orders, a cancelReplace does nothing or only cancels.
func TestCancelReplaceBeyondTheLimitOfOrders(t *testing.T) {
	_, a, _, _ := limited(t)
	var orders [3]struct{ OrderID int64 }
	for i := range 100 {
		got := a.reply("POST", "/api/v3/order", limitOrder("BUY", 50, ""))
		if i < len(orders) && json.Unmarshal([]byte(got.body), &orders[i]) != nil {
			t.Fatal(got.body)
		}
	}
	replace := func(id int64, mode, exceeded string) reply {
		return a.reply("POST", "/api/v3/order/cancelReplace", limitOrder("BUY", 60, "&cancelReplaceMode="+mode+
			exceeded+"&cancelOrderId="+strconv.FormatInt(id, 10)))
	}
	const tooMany = `{"code":-1015,"msg":"Too many new orders; current limit is 100 orders per 10 SECOND."}`
	const refused = `"newOrderResponse":` + tooMany + `}}`
	const only = "&orderRateLimitExceededMode=CANCEL_ONLY"
	for _, mode := range []string{"STOP_ON_FAILURE", "ALLOW_FAILURE"} {
		for _, exceeded := range []string{"", "&orderRateLimitExceededMode=DO_NOTHING"} {
			if got := replace(orders[0].OrderID, mode, exceeded); got.status != 429 || got.body != tooMany {
				t.Errorf("%s%s: %d %s", mode, exceeded, got.status, got.body)
			}
		}
	}
	status := func(id int64) string {
		var o struct{ Status string }
		got := a.reply("GET", "/api/v3/order", "symbol=BTCUSDT&orderId="+strconv.FormatInt(id, 10))
		if json.Unmarshal([]byte(got.body), &o) != nil {
			t.Error(got.body)
		}
		return o.Status
	}
	if got := status(orders[0].OrderID); got != "NEW" {
		t.Errorf("DO_NOTHING made the order %s", got)
	}
	for _, c := range []struct {
		mode              string
		id                int64
		status            int
		begin, end, after string
	}{
		{"STOP_ON_FAILURE", orders[1].OrderID, 429, `{"code":-2021,`, refused, "CANCELED"},
		{"ALLOW_FAILURE", orders[2].OrderID, 409, `{"code":-2021,`, refused, "CANCELED"},
		{"STOP_ON_FAILURE", 12345, 429, `{"code":-2022,`, `"newOrderResponse":null}}`, ""},
		{"ALLOW_FAILURE", 12345, 400, `{"code":-2022,`, refused, ""},
	} {
		got := replace(c.id, c.mode, only)
		if got.status != c.status || !strings.HasPrefix(got.body, c.begin) || !strings.HasSuffix(got.body, c.end) {
			t.Errorf("%s: %d %s", c.mode, got.status, got.body)
		}
		if got := status(c.id); got != c.after {
			t.Errorf("%s: the order is %q", c.mode, got)
		}
	}
	got := a.reply("GET", "/api/v3/openOrders", "symbol=BTCUSDT")
	if strings.Contains(got.body, `"price":"60`) {
		t.Error(got.body)
	}
}

// Answers over a socket have the figures of both limits; a refusal says when to come back.
func TestLimitsOfASocket(t *testing.T) {
	r, a, _, machine := limited(t)
	s := r.socket("/ws-api/v3")
	params := map[string]any{
		"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "timeInForce": "GTC", "quantity": "1", "price": "50",
	}
	place := func() string {
		b, err := json.Marshal(map[string]any{"id": 1, "method": "order.place", "params": a.stamped(a.sign, params)})
		if err != nil {
			t.Fatal(err)
		}
		return s.ask(string(b))
	}
	figures := func(orders, weight int) string {
		return fmt.Sprintf(`"rateLimits":[{"rateLimitType":"ORDERS","interval":"SECOND","intervalNum":10,"limit":100,`+
			`"count":%d},{"rateLimitType":"ORDERS","interval":"DAY","intervalNum":1,"limit":200000,"count":%[1]d},`+
			`{"rateLimitType":"REQUEST_WEIGHT","interval":"MINUTE","intervalNum":1,"limit":6000,"count":%d}]}`,
			orders, weight)
	}
	for i := range 100 {
		if got := place(); !strings.HasSuffix(got, figures(i+1, 2)) { // 2 for the connection
			t.Fatal(got)
		}
	}
	now := machine.Load() / 1e6
	want := fmt.Sprintf(`{"id":1,"status":429,"error":{"code":-1015,"msg":"Too many new orders; current limit is 100 `+
		`orders per 10 SECOND.","data":{"serverTime":%d,"retryAfter":%d}},`, now, now+10_000) + figures(100, 3)
	if got := place(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	got := s.request("account.rateLimits.orders", a.stamped(a.sign, nil))
	if len(got.RateLimits) != 1 || got.RateLimits[0].Count != 43 ||
		!strings.Contains(string(got.Result), `"limit":200000,"count":100}]`) {
		t.Errorf("%+v %s", got, got.Result)
	}
	if got := s.ask(`{"id":1,"method":"ping"}`); strings.Contains(got, "ORDERS") {
		t.Error(got)
	}
	for range 23 { // 23 x 250 and 44 leave less than 250
		r.get("/api/v3/depth?symbol=BTCUSDT&limit=5000")
	}
	want = fmt.Sprintf(`"data":{"serverTime":%d,"retryAfter":%d}}`, now, now+60_000)
	got2 := s.ask(`{"id":1,"method":"depth","params":{"symbol":"BTCUSDT","limit":5000}}`)
	if !strings.Contains(got2, `"status":429,"error":{"code":-1003,`) || !strings.Contains(got2, want) {
		t.Error(got2)
	}
}

// rate.allow lifts the limit of orders; the figures go on.
func TestRateAllowLiftsTheLimitOfOrders(t *testing.T) {
	_, a, _, _ := limited(t, func(o *exchange.Options) { o.Rate.Allow = []string{"127.0.0.1"} })
	for i := range 120 {
		got := a.reply("POST", "/api/v3/order", limitOrder("BUY", 50, ""))
		if got.counts(t, "an order", i+1, i+1); got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
}
