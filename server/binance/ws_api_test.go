package binance_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gobinance "github.com/adshao/go-binance/v2"
)

// apiAnswer is an answer or an event of the WebSocket API.
type apiAnswer struct {
	ID     json.RawMessage
	Status int
	Result json.RawMessage
	Error  struct {
		Code int
		Msg  string
	}
	RateLimits     []struct{ Limit, Count int }
	SubscriptionID *int
	Event          userEvent
}

// request sends a request of the WebSocket API and returns the answer.
func (s *socket) request(method string, params map[string]any) (a apiAnswer) {
	s.t.Helper()
	id := strings.ReplaceAll(method, ".", "-")
	text, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	got := s.ask(string(text))
	for strings.HasPrefix(got, `{"subscriptionId"`) { // an event may come before the answer
		s.events, got = append(s.events, got), s.next()
	}
	if json.Unmarshal([]byte(got), &a) != nil || string(a.ID) != `"`+id+`"` {
		s.t.Fatal(got)
	}
	return a
}

// stamped returns parameters with the time and the key, signed.
func (u *user) stamped(sign func(string) string, params map[string]any) map[string]any {
	u.sent++
	out := map[string]any{"apiKey": u.APIKey, "timestamp": u.r.now().UnixMilli(), "recvWindow": 5000 + u.sent}
	maps.Copy(out, params)
	var text []string
	for _, name := range slices.Sorted(maps.Keys(out)) {
		text = append(text, fmt.Sprintf("%s=%v", name, out[name]))
	}
	out["signature"] = sign(strings.Join(text, "&"))
	return out
}

// Each method answers what its route answers.
func TestTheWebSocketAPIAnswersLikeREST(t *testing.T) {
	r, a, _ := funded(t)
	s := r.socket("/ws-api/v3")
	for method, target := range map[string]string{
		"ping": "ping", "time": "time", "exchangeInfo": "exchangeInfo?symbol=BTCUSDT", "depth": "depth?symbol=BTCUSDT",
		"ticker.price": "ticker/price?symbol=BTCUSDT", "klines": "klines?symbol=BTCUSDT&interval=1m",
		"trades.recent": "trades?symbol=BTCUSDT&limit=5", "ticker.book": "ticker/bookTicker?symbols=[%22BTCUSDT%22]",
	} {
		params := map[string]any{}
		if _, query, _ := strings.Cut(target, "?"); query != "" {
			for pair := range strings.SplitSeq(query, "&") {
				name, value, _ := strings.Cut(pair, "=")
				params[name] = value
			}
		}
		if method == "ticker.book" {
			params["symbols"] = []string{"BTCUSDT"}
		}
		got := s.request(method, params)
		if _, want, _ := r.get("/api/v3/" + target); got.Status != 200 || string(got.Result) != want {
			t.Errorf("%s: %d %s, REST has %s", method, got.Status, got.Result, want)
		}
		if len(got.RateLimits) != 1 || got.RateLimits[0].Limit != 6000 || got.RateLimits[0].Count == 0 {
			t.Errorf("%s: %+v", method, got.RateLimits)
		}
	}
	order := map[string]any{
		"symbol": "BTCUSDT", "side": "SELL", "type": "LIMIT", "timeInForce": "GTC", "quantity": "1", "price": "100.5",
		"newClientOrderId": "ws-1", "newOrderRespType": "RESULT",
	}
	if got := s.request("order.test", a.stamped(a.sign, order)); got.Status != 200 || string(got.Result) != "{}" {
		t.Errorf("%+v", got)
	}
	signed := a.stamped(a.sign, order)
	placed := s.request("order.place", signed)
	var o gobinance.Order
	if err := json.Unmarshal(placed.Result, &o); err != nil || o.Status != "NEW" {
		t.Fatalf("%+v %s", placed, placed.Result)
	}
	a.agrees(&o)
	twice := a.stamped(a.sign, map[string]any{
		"symbol": "BTCUSDT", "side": "SELL", "type": "LIMIT", "timeInForce": "GTC", "quantity": "1", "price": "101",
	})
	var first, second gobinance.Order
	for _, to := range []*gobinance.Order{&first, &second} {
		got := s.request("order.place", twice)
		if err := json.Unmarshal(got.Result, to); err != nil || got.Status != 200 {
			t.Fatalf("%+v", got)
		}
	}
	if first.OrderID == second.OrderID {
		t.Errorf("two equal orders of one millisecond are one: %+v", second)
	}
	for _, id := range []int64{first.OrderID, second.OrderID} {
		s.request("order.cancel", a.stamped(a.sign, map[string]any{"symbol": "BTCUSDT", "orderId": id}))
	}
	for _, method := range []string{"order.status", "openOrders.status", "allOrders", "account.status", "myTrades"} {
		params, target := map[string]any{"symbol": "BTCUSDT"}, method
		switch method {
		case "order.status":
			params["orderId"], target = o.OrderID, "order"
		case "account.status":
			params, target = nil, "account"
		case "openOrders.status":
			target = "openOrders"
		}
		var query []string
		for name, v := range params {
			query = append(query, fmt.Sprintf("%s=%v", name, v))
		}
		got := s.request(method, a.stamped(a.sign, params))
		if _, want := a.raw("GET", "/api/v3/"+target, strings.Join(query, "&")); got.Status != 200 ||
			string(got.Result) != want {
			t.Errorf("%s: %s, REST has %s", method, got.Result, want)
		}
	}
	gone := s.request("order.cancel", a.stamped(a.sign, map[string]any{"symbol": "BTCUSDT", "orderId": o.OrderID}))
	if gone.Status != 200 || !strings.Contains(string(gone.Result), `"status":"CANCELED"`) {
		t.Errorf("%+v", gone)
	}
	again := s.request("order.cancel", a.stamped(a.sign, map[string]any{"symbol": "BTCUSDT", "orderId": o.OrderID}))
	if again.Status != 400 || again.Error.Code != -2011 {
		t.Errorf("%+v", again)
	}
}

// What is wrong with a request is in its answer, and the connection goes on.
func TestErrorsOfTheWebSocketAPI(t *testing.T) {
	r, a, _ := funded(t)
	s := r.socket("/ws-api/v3?returnRateLimits=false")
	const bad = `,"status":400,"error":{"code":`
	for request, want := range map[string]string{
		`[]`: `{"id":null` + bad + `-1135,"msg":"Invalid JSON Request: ` +
			`a request is one object."}}`,
		`{"id`:                          `{"id":null` + bad + `-1135,"msg":"Invalid JSON Request"}}`,
		`{"id":1,"method":"nope"}`:      `{"id":1` + bad + `-1020,`,
		`{"id":{},"method":"ping"}`:     `{"id":null` + bad + `-1135,"msg":"Invalid 'id' in JSON request; `,
		`{"id":"a\"b","method":"ping"}`: `{"id":null` + bad + `-1135,"msg":"Invalid 'id' in JSON request; `,
		`{"id":1.5,"method":"ping"}`:    `{"id":null` + bad + `-1135,"msg":"Invalid 'id' in JSON request; `,
		`{"id":2,"method":"ping","x":1}`: `{"id":2` + bad + `-1135,"msg":"Invalid JSON Request: ` +
			`too many parameters."}}`,
		`{"id":2,"method":"ping","id":2}`: `{"id":2` + bad + `-1135,"msg":"Invalid JSON Request: duplicate field ` +
			"`id`" + `."}}`,
		`{"id":2}`:                             `{"id":2` + bad + `-1135,"msg":"Invalid 'method' in JSON request; `,
		`{"id":2,"method":5}`:                  `{"id":2` + bad + `-1135,"msg":"Invalid 'method' in JSON request; `,
		`{"id":2,"method":"ping","params":[]}`: `{"id":2` + bad + `-1135,"msg":"Invalid 'params' in JSON request; `,

		`{"id":2,"method":"v3/ping"}`:                          `{"id":2,"status":200,"result":{}}`,
		`{"id":2,"method":"v4/ping"}`:                          `{"id":2` + bad + `-1020,`,
		`{"id":2,"method":"v3/session.status"}`:                `{"id":2,"status":200,"result":{"apiKey":null,`,
		`{"method":"ping"}`:                                    `{"id":null,"status":200,"result":{}}`,
		`{"id":null,"method":"ping"}`:                          `{"id":null,"status":200,"result":{}}`,
		`{"id":6,"method":"myTrades"}`:                         `{"id":6,"status":401,"error":{"code":-2014,`,
		`{"id":3,"method":"ping","params":{"x":1}}`:            `{"id":3` + bad + `-1104,`,
		`{"id":4,"method":"depth","params":{}}`:                `{"id":4` + bad + `-1102,`,
		`{"id":5,"method":"depth","params":{"symbol":{}}}`:     `{"id":5` + bad + `-1100,`,
		`{"id":7,"method":"myTrades","params":{"apiKey":"a"}}`: `{"id":7` + bad + `-1102,`,

		`{"id":8,"method":"userDataStream.subscribe"}`:   `{"id":8,"status":401,"error":{"code":-2015,`,
		`{"id":9,"method":"userDataStream.unsubscribe"}`: `{"id":9,"status":200,"result":{}}`,

		`{"id":10,"method":"ping","params":{"returnRateLimits":true}}`: `{"id":10,"status":200,"result":{},` +
			`"rateLimits":`,
		`{"id":11,"method":"userDataStream.unsubscribe","params":{"subscriptionId":5}}`: `{"id":11` + bad + `-1130,`,
	} {
		if got := s.ask(request); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", request, got, want)
		}
	}
	if got := s.request("session.logon", a.stamped(a.sign, nil)); got.Error.Code != -4056 {
		t.Errorf("%+v", got)
	}
	s = r.socket("/ws-api/v3")
	for _, request := range []string{`[]`, `{"id":1,"method":"nope"}`, `{"id":1,"method":"ping"}`} {
		if got := s.ask(request); !strings.Contains(got, `,"rateLimits":[{"rateLimitType":"REQUEST_WEIGHT",`) {
			t.Errorf("%s: %s has no rateLimits", request, got)
		}
	}
}

// A session signs once: orders, queries and a user data stream need no signature afterwards, and none works after
// the logout.
func TestSession(t *testing.T) {
	r, a, _ := funded(t)
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key := r.Call("POST", "/users/"+a.id+"/apikeys", `{"name":"ed","ed25519PublicKey":"`+
		base64.StdEncoding.EncodeToString(public)+`"}`)
	u := r.withKey(a.id, key["publicKey"].(string), "")
	sign := func(text string) string {
		return base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte(text)))
	}
	s := r.socket("/ws-api/v3")
	now := func(params map[string]any) map[string]any {
		out := map[string]any{"timestamp": r.now().UnixMilli()}
		maps.Copy(out, params)
		return out
	}
	if got := s.request("account.status", now(nil)); got.Error.Code != -2014 {
		t.Errorf("before the logon: %+v", got)
	}
	on := s.request("session.logon", u.stamped(sign, nil))
	if on.Status != 200 || !strings.Contains(string(on.Result), u.APIKey) {
		t.Fatalf("%+v %s", on, on.Result)
	}
	if got := s.request("account.status", map[string]any{"timestamp": 5}); got.Error.Code != -1021 {
		t.Errorf("an old timestamp: %+v", got)
	}
	if got := s.request("userDataStream.subscribe", nil); string(got.Result) != `{"subscriptionId":0}` {
		t.Fatalf("%+v", got)
	}
	if got := s.request("session.subscriptions", nil); string(got.Result) != `[{"subscriptionId":0}]` {
		t.Errorf("%s", got.Result)
	}
	placed := s.request("order.place", now(map[string]any{
		"symbol": "BTCUSDT", "side": "SELL", "type": "LIMIT", "timeInForce": "GTC", "quantity": "1", "price": "100.5",
	}))
	if placed.Status != 200 {
		t.Fatalf("%+v", placed)
	}
	event := func() userEvent {
		t.Helper()
		var e apiAnswer
		if len(s.events) == 0 {
			s.events = append(s.events, s.next())
		}
		text := s.events[0]
		if s.events = s.events[1:]; json.Unmarshal([]byte(text), &e) != nil || e.SubscriptionID == nil {
			t.Fatal(text)
		}
		return e.Event
	}
	if e := event(); e.text("e") != "executionReport" || e.text("x") != "NEW" {
		t.Errorf("%s", e)
	}
	if e := event(); e.text("e") != "outboundAccountPosition" {
		t.Errorf("%s", e)
	}
	if got := s.request("session.logout", nil); !strings.Contains(string(got.Result), `"apiKey":null`) {
		t.Errorf("%s", got.Result)
	}
	if e := event(); e.text("e") != "eventStreamTerminated" {
		t.Errorf("behind the logout: %s", e)
	}
	subscribed := s.request("userDataStream.subscribe.signature", u.stamped(sign, nil))
	if string(subscribed.Result) != `{"subscriptionId":1}` {
		t.Errorf("%+v", subscribed)
	}
	if got := s.request("userDataStream.unsubscribe", map[string]any{"subscriptionId": 1}); got.Status != 200 {
		t.Errorf("%+v", got)
	}
	if e := event(); e.text("e") != "eventStreamTerminated" {
		t.Errorf("behind the end of the subscription: %s", e)
	}
	r.Call("POST", "/users/"+a.id+"/deposits", `{"currencyCode":"BTC","amount":"1"}`)
	if got := s.request("account.status", now(nil)); got.Error.Code != -2014 {
		t.Errorf("behind the logout: %+v", got)
	}
}

// The unmodified client places and is notified over its own WebSocket API; the figures are the native API's.
func TestGoBinanceOverTheWebSocketAPI(t *testing.T) {
	r, a, b := funded(t)
	ws := "ws" + strings.TrimPrefix(r.base, "http")
	gobinance.BaseWsApiMainURL, gobinance.BaseWsMainURL = ws+"/ws-api/v3", ws+"/ws"
	events := make(chan *gobinance.WsUserDataEvent, 100)
	handle := func(e *gobinance.WsUserDataEvent) { events <- e }
	_, stop, err := gobinance.WsUserDataServeSignature(a.APIKey, a.SecretKey, "HMAC", a.TimeOffset, handle,
		func(err error) { t.Log(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(stop) })
	for len(events) == 0 { // the client does not wait for the answer to its subscription
		r.Call("POST", "/users/"+a.id+"/deposits", `{"currencyCode":"BTC","amount":"1"}`)
	}
	key, err := b.NewStartUserStreamService().Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own := make(chan *gobinance.WsUserDataEvent, 100)
	_, stopOwn, err := gobinance.WsUserDataServe(key, func(e *gobinance.WsUserDataEvent) { own <- e }, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(stopOwn) })
	orders, err := gobinance.NewOrderCreateWsService(b.APIKey, b.SecretKey)
	if err != nil {
		t.Fatal(err)
	}
	orders.TimeOffset = b.TimeOffset
	place := func(side gobinance.SideType, amount string) *gobinance.CreateOrderWsResponse {
		t.Helper()
		res, err := orders.SyncDo("r"+amount, gobinance.NewOrderCreateWsRequest().Symbol("BTCUSDT").Side(side).
			Type("LIMIT").TimeInForce("GTC").Quantity(amount).Price("100").NewOrderRespType("RESULT"))
		if err != nil || res.Error != nil {
			t.Fatal(err, res)
		}
		return res
	}
	rest := place("SELL", "2")
	if _, err := a.NewCreateOrderService().Symbol("BTCUSDT").Side("BUY").Type("MARKET").Quantity("0.5").
		Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := func(c chan *gobinance.WsUserDataEvent, x string) *gobinance.WsOrderUpdate {
		for e := range c {
			if e.Event == "executionReport" && e.OrderUpdate.ExecutionType == x {
				return &e.OrderUpdate
			}
		}
		return nil
	}
	trade, fill := next(events, "TRADE"), next(own, "TRADE")
	if trade.Status != "FILLED" || trade.IsMaker || !fill.IsMaker || fill.Status != "PARTIALLY_FILLED" ||
		fill.Id != rest.Result.OrderID || trade.TradeId != 1 || fill.FilledVolume != "0.50000" {
		t.Errorf("%+v\n%+v", trade, fill)
	}
	fills, _, err := a.native.Fills(t.Context(), listAll())
	if err != nil {
		t.Fatal(err)
	}
	r.equal("fee", trade.FeeCost, json.Number(fills[0].Fee))
	r.equal("price", trade.LatestPrice, json.Number(fills[0].Price))
	r.equal("amount", trade.LatestVolume, json.Number(fills[0].Volume))
}
