package binance_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/server/binance"
)

// weighed is a request with its documented weight: the sound request of its route with other parameters, as
// attempt.with reads them. An accepted order has the weight 0, and a refused one 1.
type weighed struct {
	with   string
	weight int
}

// documentedWeights are the weights of each route of the public documentation, and of its method of the WebSocket API.
var documentedWeights = map[string][]weighed{
	"GET /api/v3/ping":         {{"", 1}},
	"GET /api/v3/time":         {{"", 1}},
	"GET /api/v3/exchangeInfo": {{"", 20}, {"symbol=BTCUSDT", 20}},
	"GET /api/v3/depth": {
		{"", 5},
		{"limit=1", 5},
		{"limit=100", 5},
		{"limit=101", 25},
		{"limit=500", 25},
		{"limit=501", 50},
		{"limit=1000", 50},
		{"limit=1001", 250},
		{"limit=5000", 250},
		{"limit=9999", 250},
	},
	"GET /api/v3/trades":                {{"", 25}, {"limit=1000", 25}},
	"GET /api/v3/historicalTrades":      {{"", 25}, {"fromId=1", 25}},
	"GET /api/v3/historicalBlockTrades": {{"", 25}},
	"GET /api/v3/aggTrades":             {{"", 4}},
	"GET /api/v3/klines":                {{"", 2}, {"limit=1000", 2}},
	"GET /api/v3/uiKlines":              {{"", 2}},
	"GET /api/v3/avgPrice":              {{"", 2}},
	"GET /api/v3/ticker/24hr": {
		{"", 2},
		{"type=MINI", 2},
		{"symbol=NOTHERE", 2},
		{"symbol=", 80},
		symbolsOf(1, 2), symbolsOf(20, 2), symbolsOf(21, 40), symbolsOf(100, 40), symbolsOf(101, 80),
	},
	"GET /api/v3/ticker/tradingDay": {
		{"", 4}, symbolsOf(1, 4), symbolsOf(2, 8), symbolsOf(50, 200), symbolsOf(51, 200), symbolsOf(100, 200),
	},
	"GET /api/v3/ticker/price":      {{"", 2}, {"symbol=", 4}, symbolsOf(1, 4), symbolsOf(2, 4), symbolsOf(101, 4)},
	"GET /api/v3/ticker/bookTicker": {{"", 2}, {"symbol=", 4}, symbolsOf(1, 4), symbolsOf(2, 4), symbolsOf(101, 4)},
	"GET /api/v3/ticker": {
		{"", 4}, {"windowSize=7d", 4}, symbolsOf(2, 8), symbolsOf(50, 200), symbolsOf(51, 200), symbolsOf(100, 200),
	},
	"GET /api/v3/executionRules": {
		{"", 40},
		{"symbol=BTCUSDT", 2},
		symbolsOf(2, 4), symbolsOf(20, 40), symbolsOf(21, 40),
		{"symbolStatus=TRADING", 40},
	},
	"GET /api/v3/referencePrice":             {{"symbol=BTCUSDT", 2}},
	"GET /api/v3/referencePrice/calculation": {{"symbol=BTCUSDT", 2}},

	"POST /api/v3/order":                   {{"", 0}, {"price=0.001", 1}},
	"POST /api/v3/order/test":              {{"", 1}, {"computeCommissionRates=true", 20}},
	"GET /api/v3/order":                    {{"", 4}},
	"DELETE /api/v3/order":                 {{"", 1}},
	"POST /api/v3/order/cancelReplace":     {{"", 0}, {"price=0.001", 1}},
	"PUT /api/v3/order/amend/keepPriority": {{"", 4}},
	"GET /api/v3/order/amendments":         {{"", 4}},
	"POST /api/v3/order/oco":               {{"", 0}, {"stopPrice=130", 1}},
	"POST /api/v3/orderList/oco":           {{"", 0}, {"belowStopPrice=130", 1}},
	"POST /api/v3/orderList/oto":           {{"", 0}, {"workingPrice=0.001", 1}},
	"POST /api/v3/orderList/otoco":         {{"", 0}, {"workingPrice=0.001", 1}},
	"POST /api/v3/orderList/opo":           {{"", 0}, {"workingPrice=0.001", 1}},
	"POST /api/v3/orderList/opoco":         {{"", 0}, {"workingPrice=0.001", 1}},
	"GET /api/v3/orderList":                {{"", 4}},
	"DELETE /api/v3/orderList":             {{"", 1}},
	"GET /api/v3/openOrderList":            {{"", 6}},
	"GET /api/v3/allOrderList":             {{"", 20}},
	"GET /api/v3/openOrders":               {{"", 6}, {"symbol=", 80}},
	"DELETE /api/v3/openOrders":            {{"", 1}},
	"GET /api/v3/allOrders":                {{"", 20}},
	"GET /api/v3/myTrades":                 {{"", 20}, {"orderId=1", 5}},
	"GET /api/v3/myPreventedMatches": {
		{"", 20}, {"orderId=&preventedMatchId=1", 2}, {"symbol=NOTHERE&orderId=&preventedMatchId=1", 2},
	},
	"GET /api/v3/myAllocations":      {{"", 20}},
	"GET /api/v3/rateLimit/order":    {{"", 40}},
	"GET /api/v3/myFilters":          {{"", 40}},
	"GET /api/v3/account":            {{"", 20}, {"omitZeroBalances=true", 20}},
	"GET /api/v3/account/commission": {{"", 20}},
	"POST /api/v3/userDataStream":    {{"", 2}},
	"PUT /api/v3/userDataStream":     {{"", 2}},
	"DELETE /api/v3/userDataStream":  {{"", 2}},
}

// symbolsOf asks for n pairs by the parameter symbols.
func symbolsOf(n, weight int) weighed {
	names := []string{"BTCUSDT"}
	for i := 1; i < n; i++ {
		names = append(names, fmt.Sprintf("A%03dUSDT", i))
	}
	list, err := json.Marshal(names)
	if err != nil {
		panic(err)
	}
	return weighed{"symbol=&symbols=" + string(list), weight}
}

// Every documented request pays the documented weight, over HTTP and over the WebSocket API.
func TestEveryDocumentedWeight(t *testing.T) {
	r, signers := matrix(t)
	for i := 1; i <= 100; i++ {
		r.Call("POST", "/pairs", fmt.Sprintf(`{"code":"A%03d_USDT","digitsPrice":2,"digitsAmount":2}`, i))
	}
	r.Limit("BTC_USDT", "buy", "100", "1")
	r.Limit("BTC_USDT", "sell", "100", "1")
	s := signers["HMAC"]
	socket, rows := r.socket("/ws-api/v3"), 0
	for _, route := range binance.Routes() {
		name := route.Method + " " + route.Path
		list, documented := documentedWeights[name]
		if !documented && strings.HasPrefix(route.Path, "/api/v3/") {
			t.Errorf("%s has no documented weight here", name)
		}
		for _, row := range list {
			for _, api := range []bool{false, true} {
				if api && route.API == "" {
					continue
				}
				rows++
				if got, body := s.weightOf(route, row, api, socket); got != row.weight {
					t.Errorf("%s with %.60q, API %t: weight %d, want %d: %.120s", name, row.with, api, got,
						row.weight, body)
				}
			}
		}
	}
	if rows < 170 {
		t.Errorf("%d requests", rows)
	}
}

// weightOf sends a request and returns the weight that it paid.
func (s *signer) weightOf(route binance.Route, row weighed, api bool, socket *socket) (weight int, body string) {
	s.r.t.Helper()
	for {
		var params [][2]string
		switch name := route.Method + " " + route.Path; {
		case route.Open:
			params = openParams(route.Path)
		case route.Keyed:
			params = s.soundParams(name, s.listenKey())
		default:
			params = s.soundParams(name, "")
		}
		a := s.attempt(params, api)
		a.with(row.with)
		minute := time.Now().Unix() / 60
		before := s.usedWeight()
		_, body = s.codeOf(route, a, socket)
		after := s.usedWeight()
		if minute == time.Now().Unix()/60 { // otherwise the count began anew in between
			return after - before - 1, body
		}
	}
}

// usedWeight asks for the weight that the address has used in this minute. The question weighs 1.
func (s *signer) usedWeight() int {
	s.r.t.Helper()
	_, _, header := s.r.get("/api/v3/ping")
	used, err := strconv.Atoi(header.Get("X-MBX-USED-WEIGHT-1M"))
	if err != nil {
		s.r.t.Fatal(err)
	}
	return used
}

// A new connection of the WebSocket API weighs 2, and so does each method of the connection itself.
func TestWeightsOfASession(t *testing.T) {
	r, signers := matrix(t)
	s := signers["Ed25519"]
	var socket *socket
	steps := []struct {
		name string
		run  func()
	}{
		{"connection", func() { socket = r.socket("/ws-api/v3") }},
		{"session.status", func() { socket.request("session.status", nil) }},
		{"session.logon", func() { socket.request("session.logon", s.stamped(s.sign, nil)) }},
		{"userDataStream.subscribe", func() { socket.request("userDataStream.subscribe", nil) }},
		{"session.subscriptions", func() { socket.request("session.subscriptions", nil) }},
		{"userDataStream.unsubscribe", func() { socket.request("userDataStream.unsubscribe", nil) }},
		{"session.logout", func() { socket.request("session.logout", nil) }},
		{"userDataStream.subscribe.signature", func() {
			socket.request("userDataStream.subscribe.signature", s.stamped(s.sign, nil))
		}},
	}
	for _, step := range steps {
		minute, before := time.Now().Unix()/60, s.usedWeight()
		step.run()
		if got := s.usedWeight() - before - 1; got != 2 && minute == time.Now().Unix()/60 {
			t.Errorf("%s: weight %d, want 2", step.name, got)
		}
	}
}
