package binance_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/server/binance"
)

// parameter is a documented parameter of a route: a value with which the route does what it is for, and one that it
// must refuse, because a parameter that takes everything is ignored. A value that begins with # names an order or a
// list.
type parameter struct {
	name, good, bad string
	with            string // other parameters that it needs, as a query; an empty value takes one away
	code            int    // the documented refusal of good; 0: none
}

const pegged = -2010

// parameters are the documented parameters of each route but timestamp, signature and recvWindow, which
// TestBrokenSignaturesAreRefusedOnEverySignedRoute sends to all. A route that is not here has none.
var parameters = map[string][]parameter{
	"GET /api/v3/exchangeInfo": {
		{name: "symbol", good: "BTCUSDT", bad: "btc"},
		{name: "symbols", good: `["BTCUSDT"]`, bad: `["BTCUSDT"`},
		{name: "permissions", good: `["SPOT","MARGIN"]`, bad: `["SPOT"`},
		{name: "permissions", good: "TRD_GRP_004", bad: "TRD_GRP"},
		{name: "showPermissionSets", good: "false", bad: "no"},
		{name: "symbolStatus", good: "TRADING", bad: "OPEN"},
		{name: "symbolStatus", good: "TRADING", bad: "OPEN", with: "symbol=BTCUSDT", code: -1128},
		{name: "permissions", good: "SPOT", bad: "GRID", with: "symbol=BTCUSDT", code: -1128},
	},
	"GET /api/v3/executionRules": {
		{name: "symbol", good: "BTCUSDT", bad: "btc"},
		{name: "symbols", good: `["BTCUSDT"]`, bad: "BTCUSDT"},
		{name: "symbolStatus", good: "BREAK", bad: "OPEN"},
	},
	"GET /api/v3/depth": {
		{name: "symbol", good: "BTCUSDT", bad: "btc"},
		{name: "limit", good: "5", bad: "0", with: "symbol=BTCUSDT"},
		{name: "symbolStatus", good: "TRADING", bad: "OPEN", with: "symbol=BTCUSDT"},
		{name: "symbolStatus", good: "HALT", bad: "OPEN", with: "symbol=BTCUSDT", code: -1220},
	},
	"GET /api/v3/trades":                {symbolOf, limitOf},
	"GET /api/v3/historicalTrades":      {symbolOf, limitOf, fromOf("fromId")},
	"GET /api/v3/historicalBlockTrades": {symbolOf, limitOf, fromOf("fromId")},
	"GET /api/v3/aggTrades":             {symbolOf, limitOf, fromOf("fromId"), fromOf("startTime"), fromOf("endTime")},
	"GET /api/v3/klines":                klineParameters,
	"GET /api/v3/uiKlines":              klineParameters,
	"GET /api/v3/avgPrice":              {symbolOf},
	"GET /api/v3/referencePrice":        {{name: "symbol", good: "BTCUSDT", bad: "btc", code: -2043}},
	"GET /api/v3/referencePrice/calculation": {
		{name: "symbol", good: "BTCUSDT", bad: "btc", code: -2043},
		{name: "symbolStatus", good: "TRADING", bad: "OPEN", with: "symbol=BTCUSDT", code: -2043},
		{name: "symbolStatus", good: "BREAK", bad: "OPEN", with: "symbol=BTCUSDT", code: -1220},
	},
	"GET /api/v3/ticker/24hr":       tickerParameters("type"),
	"GET /api/v3/ticker/price":      tickerParameters(),
	"GET /api/v3/ticker/bookTicker": tickerParameters(),
	"GET /api/v3/ticker/tradingDay": tickerParameters("type", "timeZone"),
	"GET /api/v3/ticker":            tickerParameters("type", "windowSize"),

	"POST /api/v3/order": orderParameters("newClientOrderId"),
	"POST /api/v3/order/test": append(orderParameters("newClientOrderId"),
		parameter{name: "computeCommissionRates", good: "true", bad: "yes"}),
	"POST /api/v3/order/cancelReplace": append(orderParameters("newClientOrderId"), []parameter{
		{name: "cancelReplaceMode", good: "ALLOW_FAILURE", bad: "FAIL"},
		{name: "cancelNewClientOrderId", good: "cancel-1", bad: "%"},
		{name: "cancelOrigClientOrderId", good: "#client", bad: "%", with: "cancelOrderId="},
		{name: "cancelOrderId", good: "#order", bad: "x"},
		{name: "cancelRestrictions", good: "ONLY_NEW", bad: "ONLY_OLD"},
		{name: "orderRateLimitExceededMode", good: "CANCEL_ONLY", bad: "NOTHING"},
	}...),
	"GET /api/v3/order": namedOrder,
	"DELETE /api/v3/order": append(slices.Clone(namedOrder), cancelID,
		parameter{name: "cancelRestrictions", good: "ONLY_NEW", bad: "ONLY_OLD"}),
	"PUT /api/v3/order/amend/keepPriority": append(slices.Clone(namedOrder), cancelID,
		parameter{name: "newQty", good: "0.25", bad: "x"}),
	"GET /api/v3/order/amendments": {
		symbolOf, {name: "orderId", good: "#order", bad: "x"}, fromOf("fromExecutionId"), limitOf,
	},
	"DELETE /api/v3/openOrders": {symbolOf},
	"GET /api/v3/openOrders":    {symbolOf},
	"GET /api/v3/allOrders":     {symbolOf, fromOf("orderId"), fromOf("startTime"), fromOf("endTime"), limitOf},
	"GET /api/v3/myTrades": {
		symbolOf, fromOf("orderId"), fromOf("startTime"), fromOf("endTime"), fromOf("fromId"), limitOf,
		{name: "startTime", good: "1", bad: "x", with: "fromId=1", code: -1128},
		{name: "endTime", good: "90000000", bad: "x", with: "startTime=1", code: -1127},
	},
	"GET /api/v3/myPreventedMatches": {
		symbolOf,
		{name: "preventedMatchId", good: "1", bad: "x", with: "orderId="},
		{name: "orderId", good: "#order", bad: "x"},
		fromOf("fromPreventedMatchId"), limitOf,
	},
	"GET /api/v3/myAllocations": {
		symbolOf, fromOf("startTime"), fromOf("endTime"), fromOf("fromAllocationId"), fromOf("orderId"), limitOf,
	},
	"GET /api/v3/myFilters":          {symbolOf},
	"GET /api/v3/account":            {{name: "omitZeroBalances", good: "true", bad: "yes"}},
	"GET /api/v3/account/commission": {symbolOf},
	"GET /api/v3/orderList": {
		{name: "orderListId", good: "#list", bad: "x"},
		{name: "origClientOrderId", good: "#listClient", bad: "%", with: "orderListId="},
	},
	"DELETE /api/v3/orderList": {
		symbolOf, cancelID,
		{name: "orderListId", good: "#list", bad: "x"},
		{name: "listClientOrderId", good: "#listClient", bad: "%", with: "orderListId="},
	},
	"GET /api/v3/allOrderList": {
		fromOf("fromId"), fromOf("startTime"), fromOf("endTime"), limitOf,
		{name: "endTime", good: "90000000", bad: "x", with: "startTime=1", code: -1127},
	},
	"POST /api/v3/order/oco": append(slices.Clone(listParameters), []parameter{
		{name: "side", good: "SELL", bad: "sell"},
		{name: "quantity", good: "1", bad: "x"},
		{name: "limitClientOrderId", good: "l-1", bad: "%"},
		{name: "price", good: "120", bad: "x"},
		{name: "limitStrategyId", good: "1", bad: "x"},
		{name: "limitStrategyType", good: "1000000", bad: "1"},
		{name: "limitIcebergQty", good: "0.5", bad: "x"},
		{name: "trailingDelta", good: "100", bad: "x"},
		{name: "stopClientOrderId", good: "s-1", bad: "%"},
		{name: "stopPrice", good: "80", bad: "x"},
		{name: "stopStrategyId", good: "1", bad: "x"},
		{name: "stopStrategyType", good: "1000000", bad: "1"},
		{name: "stopLimitPrice", good: "79", bad: "x", with: "stopLimitTimeInForce=GTC"},
		{name: "stopIcebergQty", good: "0.5", bad: "x", with: "stopLimitTimeInForce=GTC&stopLimitPrice=79"},
		{name: "stopLimitTimeInForce", good: "FOK", bad: "x", with: "stopLimitPrice=79"},
	}...),
	"POST /api/v3/orderList/oco": slices.Concat(listParameters, []parameter{
		{name: "side", good: "SELL", bad: "sell"}, {name: "quantity", good: "1", bad: "x"},
	}, legParameters("above", "below")),
	"POST /api/v3/orderList/oto": slices.Concat(listParameters, workingParameters, pendingParameters,
		[]parameter{{name: "pendingQuantity", good: "1", bad: "x"}}),
	"POST /api/v3/orderList/opo": slices.Concat(listParameters, workingParameters, pendingParameters),
	"POST /api/v3/orderList/otoco": slices.Concat(listParameters, workingParameters,
		[]parameter{{name: "pendingQuantity", good: "1", bad: "x"}}, legParameters("pendingAbove", "pendingBelow")),
	"POST /api/v3/orderList/opoco": slices.Concat(listParameters, workingParameters,
		legParameters("pendingAbove", "pendingBelow")),
	"PUT /api/v3/userDataStream":    {{name: "listenKey", good: "#key", bad: "x"}},
	"DELETE /api/v3/userDataStream": {{name: "listenKey", good: "#key", bad: "x"}},
}

var (
	symbolOf = parameter{name: "symbol", good: "BTCUSDT", bad: "btc"}
	limitOf  = parameter{name: "limit", good: "5", bad: "0"}
	cancelID = parameter{name: "newClientOrderId", good: "new-1", bad: "%"}

	namedOrder = []parameter{
		symbolOf,
		{name: "orderId", good: "#order", bad: "x"},
		{name: "origClientOrderId", good: "#client", bad: "%", with: "orderId="},
	}
	klineParameters = []parameter{
		symbolOf, limitOf, fromOf("startTime"), fromOf("endTime"),
		{name: "timeZone", good: "+08:00", bad: "Tokyo"},
		{name: "interval", good: "3d", bad: "1y"},
	}
	listParameters = []parameter{
		symbolOf,
		{name: "listClientOrderId", good: "list-1", bad: "%"},
		{name: "newOrderRespType", good: "FULL", bad: "ALL"},
		{name: "selfTradePreventionMode", good: "NONE", bad: "ALL"},
	}
	workingParameters = append(place("working", "LIMIT", "BUY"),
		parameter{name: "workingQuantity", good: "1", bad: "x"})
	pendingParameters = append(place("pending", "LIMIT", "SELL"), []parameter{
		{name: "pendingStopPrice", good: "80", bad: "x", with: "pendingType=STOP_LOSS"},
		{name: "pendingTrailingDelta", good: "100", bad: "x", with: "pendingType=STOP_LOSS"},
	}...)
)

// fromOf is a number at which a list begins or ends, or an order that is unknown.
func fromOf(name string) parameter { return parameter{name: name, good: "1", bad: "x"} }

// tickerParameters are the parameters of a ticker.
func tickerParameters(more ...string) []parameter {
	list := []parameter{
		{name: "symbol", good: "BTCUSDT", bad: "btc"},
		{name: "symbols", good: `["BTCUSDT"]`, bad: "BTCUSDT", with: "symbol="},
		{name: "symbolStatus", good: "TRADING", bad: "OPEN"},
		{name: "symbolStatus", good: "HALT", bad: "OPEN", with: `symbol=&symbols=["BTCUSDT"]`},
		{name: "symbolStatus", good: "HALT", bad: "OPEN", with: "symbol=BTCUSDT", code: -1220},
	}
	for _, name := range more {
		good := map[string]string{"type": "MINI", "timeZone": "-1:00", "windowSize": "59m"}[name]
		list = append(list, parameter{name: name, good: good, bad: "x"})
	}
	return list
}

// orderParameters are the parameters of an order that is no part of a list, for the sound order of soundParams.
func orderParameters(client string) []parameter {
	stop := "type=STOP_LOSS_LIMIT&side=SELL&price=80"
	return append([]parameter{
		symbolOf,
		{name: "side", good: "BUY", bad: "buy"},
		{name: "type", good: "LIMIT", bad: "limit"},
		{name: "timeInForce", good: "GTC", bad: "GTX"},
		{name: "quantity", good: "2", bad: "x"},
		{name: "quoteOrderQty", good: "10", bad: "x", with: "type=MARKET&timeInForce=&quantity=&price="},
		{name: "price", good: "91", bad: "x"},
		{name: client, good: "mine-1", bad: "%"},
		{name: "strategyId", good: "7", bad: "x"},
		{name: "strategyType", good: "1000000", bad: "999999"},
		{name: "stopPrice", good: "85", bad: "x", with: stop},
		{name: "trailingDelta", good: "100", bad: "x", with: stop},
		{name: "icebergQty", good: "0.5", bad: "x"},
		{name: "icebergQty", good: "3", bad: "x", with: "quantity=2", code: -2010},
		{name: "newOrderRespType", good: "ACK", bad: "ALL"},
		{name: "selfTradePreventionMode", good: "TRANSFER", bad: "ALL"},
	}, peg("peg")...)
}

// peg are the parameters of a pegged order, which no pair has.
func peg(place string) []parameter {
	return []parameter{
		{name: place + "PriceType", good: "PRIMARY_PEG", bad: "x", code: pegged},
		{name: place + "OffsetType", good: "PRICE_LEVEL", bad: "x", code: pegged},
		{name: place + "OffsetValue", good: "1", bad: "x", code: pegged},
	}
}

// place are the parameters of an order of a list with a limit.
func place(name, kind, side string) []parameter {
	limit := fmt.Sprintf("%sType=%s&%sPrice=90&%sTimeInForce=GTC", name, kind, name, name)
	if side == "SELL" {
		limit = strings.Replace(limit, "=90", "=120", 1)
	}
	return append([]parameter{
		{name: name + "Type", good: "LIMIT_MAKER", bad: "LIMITED", with: limit + "&" + name + "TimeInForce="},
		{name: name + "Side", good: side, bad: "x"},
		{name: name + "ClientOrderId", good: name + "-1", bad: "%"},
		{name: name + "Price", good: "99", bad: "x", with: limit},
		{name: name + "IcebergQty", good: "0.5", bad: "x", with: limit},
		{name: name + "TimeInForce", good: "GTC", bad: "x", with: limit},
		{name: name + "StrategyId", good: "1", bad: "x"},
		{name: name + "StrategyType", good: "1000000", bad: "1"},
	}, peg(name+"Peg")...)
}

// legParameters are the parameters of the two orders of an OCO that sells.
func legParameters(above, below string) []parameter {
	take := above + "Type=TAKE_PROFIT_LIMIT&" + above + "StopPrice=110&" + above + "TimeInForce=GTC"
	stop := below + "Type=STOP_LOSS_LIMIT&" + below + "Price=79&" + below + "TimeInForce=GTC"
	list := []parameter{
		{name: above + "Type", good: "LIMIT_MAKER", bad: "LIMIT"},
		{name: below + "Type", good: "STOP_LOSS", bad: "MARKET"},
		{name: above + "Price", good: "121", bad: "x"},
		{name: below + "Price", good: "78", bad: "x", with: stop},
		{name: above + "StopPrice", good: "111", bad: "x", with: take},
		{name: below + "StopPrice", good: "81", bad: "x"},
		{name: above + "TimeInForce", good: "IOC", bad: "x", with: take},
		{name: below + "TimeInForce", good: "IOC", bad: "x", with: stop},
		{name: above + "TrailingDelta", good: "100", bad: "x", with: take},
		{name: below + "TrailingDelta", good: "100", bad: "x"},
		{name: above + "IcebergQty", good: "0.5", bad: "x"},
		{name: below + "IcebergQty", good: "0.5", bad: "x", with: stop},
	}
	for _, leg := range []string{above, below} {
		list = append(list, []parameter{
			{name: leg + "ClientOrderId", good: leg + "-1", bad: "%"},
			{name: leg + "StrategyId", good: "1", bad: "x"},
			{name: leg + "StrategyType", good: "1000000", bad: "1"},
		}...)
		list = append(list, peg(leg+"Peg")...)
	}
	return list
}

// Every documented parameter of every documented route and method is honoured, or refused with the documented code:
// none is unknown, and none is ignored.
func TestEveryDocumentedParameter(t *testing.T) {
	r, signers := matrix(t, func(o *exchange.Options) {
		o.Engine.AccountLists, o.Engine.AccountOrders, o.Engine.AccountStops = 10_000, 10_000, 10_000
	})
	r.Limit("BTC_USDT", "buy", "100", "1")
	r.Limit("BTC_USDT", "sell", "100", "1")
	r.Limit("BTC_USDT", "sell", "101", "1000") // for orders at the market's price
	s := signers["HMAC"]
	for _, money := range []string{`"BTC","amount":"100000"`, `"USDT","amount":"10000000"`} {
		r.Call("POST", "/users/"+s.id+"/deposits", `{"currencyCode":`+money+`}`)
	}
	socket, sent := r.socket("/ws-api/v3?returnRateLimits=false"), 0
	for _, route := range binance.Routes() {
		name := route.Method + " " + route.Path
		base := func() [][2]string {
			switch {
			case route.Open:
				return openParams(route.Path)
			case route.Keyed:
				return s.soundParams(name, s.listenKey())
			}
			return s.soundParams(name, "")
		}
		for _, p := range parameters[name] {
			for _, api := range []bool{false, true} {
				if api && route.API == "" {
					continue
				}
				for _, good := range []bool{true, false} {
					sent++
					a := s.attempt(base(), api)
					s.change(a, &p, good)
					code, body := s.codeOf(route, a, socket)
					switch {
					case good && code != p.code:
						t.Errorf("%s, API %t, %s=%s with %q: %s, want %d", name, api, p.name, p.good, p.with, body,
							p.code)
					case !good && (code == 0 || code == -1104 || code == -1020):
						t.Errorf("%s, API %t, %s=%s with %q: %s, want a refusal", name, api, p.name, p.bad, p.with,
							body)
					}
				}
			}
		}
	}
	if sent < 900 {
		t.Errorf("%d requests", sent)
	}
}

// openParams returns the parameters with which openCalls asks a route.
func openParams(path string) (params [][2]string) {
	for _, target := range openCalls {
		if query, ok := strings.CutPrefix(target, path+"?"); ok {
			for pair := range strings.SplitSeq(query, "&") {
				name, value, _ := strings.Cut(pair, "=")
				params = append(params, [2]string{name, value})
			}
		}
	}
	return params
}

// change sets a parameter, and those that it needs.
func (s *signer) change(a *attempt, p *parameter, good bool) {
	a.with(p.with)
	value := p.bad
	if good {
		value = p.good
	}
	switch value {
	case "#order", "#list", "#key":
		return // of the sound parameters
	case "#client", "#listClient":
		value = s.freshClient(value == "#listClient")
	}
	if strings.HasSuffix(p.name, "ClientOrderId") && value == p.good {
		value += fmt.Sprint(s.sent) // no open order has it
	}
	a.set(p.name, value)
}

// with sets the parameters of a query; an empty value takes a parameter away.
func (a *attempt) with(query string) {
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(pair, "="); name != "" {
			if a.drop(name); value != "" {
				a.set(name, value)
			}
		}
	}
}

// freshClient places an order or a list with a client id and returns the id.
func (s *signer) freshClient(list bool) string {
	s.r.t.Helper()
	path, name, id := "/api/v3/order", "newClientOrderId", fmt.Sprintf("fresh-%d", s.sent)
	if list {
		path, name = "/api/v3/orderList/oto", "listClientOrderId"
	}
	a := s.attempt(s.soundParams("POST "+path, ""), false)
	a.set(name, id)
	if status, body := s.send("POST", path+"?"+s.finish(a).query()); status != 200 {
		s.r.t.Fatal(body)
	}
	return id
}

func (s *signer) listenKey() string {
	var k struct{ ListenKey string }
	_, body := s.send("POST", "/api/v3/userDataStream")
	if err := json.Unmarshal([]byte(body), &k); err != nil || k.ListenKey == "" {
		s.r.t.Fatal(body)
	}
	return k.ListenKey
}

// codeOf sends a request and returns the code of its refusal, 0 for none.
func (s *signer) codeOf(route binance.Route, a *attempt, socket *socket) (code int, body string) {
	s.r.t.Helper()
	if route.Open || route.Keyed {
		a.drop("timestamp")
		a.drop("recvWindow")
	} else {
		s.finish(a)
	}
	if a.api {
		if route.Open {
			a.key = ""
		}
		body = socket.ask(a.message(route.API))
		var answer apiAnswer
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			s.r.t.Fatal(body)
		}
		return answer.Error.Code, body
	}
	if route.Open { // parameters are not encoded in what is signed
		query := url.Values{}
		for _, p := range a.params {
			query.Set(p[0], p[1])
		}
		_, body = s.send(route.Method, route.Path+"?"+query.Encode())
	} else {
		_, body = s.send(route.Method, route.Path+"?"+a.query())
	}
	var refused struct{ Code int }
	if strings.HasPrefix(body, `{"code"`) && json.Unmarshal([]byte(body), &refused) != nil {
		s.r.t.Fatal(body)
	}
	return refused.Code, body
}

// Of a parameter in both the query and the body, the query's value counts; twice in one of them is -1101.
func TestTheQueryWins(t *testing.T) {
	r, signers := matrix(t)
	s := signers["HMAC"]
	send := func(query, body string) string {
		query += fmt.Sprintf("&timestamp=%d", r.now().UnixMilli())
		query += "&signature=" + s.sign(query+body)
		req, err := http.NewRequest("POST", r.base+"/api/v3/order?"+query, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-MBX-APIKEY", s.APIKey)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var text json.RawMessage
		if err := json.NewDecoder(res.Body).Decode(&text); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const order = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC"
	for _, c := range [][3]string{
		{order + "&price=90", "price=91&quantity=2", `"price":"90.00","origQty":"2.00000"`},
		{order, "price=91&quantity=2", `"price":"91.00","origQty":"2.00000"`},
		{order + "&price=90", "price=91&price=92&quantity=2", `"price":"90.00"`},
		{order + "&price=90&price=90", "quantity=2", `{"code":-1101,"msg":"Duplicate values for parameter 'price' `},
		{order, "price=91&quantity=2&quantity=2", `{"code":-1101,"msg":"Duplicate values for parameter 'quantity' `},
		{order + "&price=90", "quantity=2&colour=red", `{"code":-1104,`},
	} {
		if got := send(c[0], c[1]); !strings.Contains(got, c[2]) {
			t.Errorf("?%s %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
