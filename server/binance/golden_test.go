package binance_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	gobinance "github.com/adshao/go-binance/v2"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/server/binance"
)

var update = flag.Bool("update", false, "write the golden file")

const golden = "testdata/answers.txt"

// The answers of all routes have exactly these bytes. A change of them is a change of the contract.
func TestGolden(t *testing.T) {
	r := traded(t, func(o *exchange.Options) {
		o.Hooks.Binance = func(o *binance.Options) { o.MachineNs = func() int64 { return exchangetest.StartNs } }
	})
	a := r.user("anna")
	var b bytes.Buffer
	note := func(method, target string, status int, body string) {
		fmt.Fprintf(&b, "%s %s\n%d %s\n", method, target, status, body)
	}
	for _, target := range []string{
		"/api/v3/ping", "/api/v3/time", "/api/v3/exchangeInfo", "/api/v3/exchangeInfo?symbol=ETHBTC",
		"/api/v3/depth?symbol=BTCUSDT", "/api/v3/trades?symbol=BTCUSDT&limit=3",
		"/api/v1/trades?symbol=BTCUSDT&limit=1",
		"/api/v3/historicalTrades?symbol=BTCUSDT&fromId=2&limit=2", "/api/v3/aggTrades?symbol=BTCUSDT&limit=2",
		"/api/v3/klines?symbol=BTCUSDT&interval=1h&limit=3", "/api/v3/uiKlines?symbol=BTCUSDT&interval=1d&limit=2",
		"/api/v3/avgPrice?symbol=BTCUSDT", "/api/v3/ticker/24hr?symbol=BTCUSDT", "/api/v3/ticker/24hr?type=MINI",
		"/api/v3/ticker/tradingDay?symbol=BTCUSDT", "/api/v3/ticker/price", "/api/v3/ticker/bookTicker",
		"/api/v3/ticker?symbol=BTCUSDT&windowSize=1h", "/sapi/v1/system/status", "/fapi/v1/time", "/dapi/v1/time",
		"/sapi/v1/margin/allAssets", "/fapi/v1/exchangeInfo",
		"/dapi/v1/exchangeInfo", "/api/v3/executionRules?symbol=BTCUSDT", "/api/v3/referencePrice?symbol=BTCUSDT",
		"/api/v3/referencePrice/calculation?symbol=BTCUSDT", "/api/v3/historicalBlockTrades?symbol=BTCUSDT&fromId=1",
		"/sapi/v1/margin/allPairs", "/api/v3/nothing", "/api/v3/depth", "/api/v3/account",
		"/api/v3/depth?symbol=AAABBB", "/api/v3/klines?symbol=BTCUSDT&interval=2m",
	} {
		status, body, _ := r.get(target)
		note("GET", target, status, body)
	}
	for _, step := range []struct{ method, target, params string }{
		{"POST", "/api/v3/order", "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=2&price=103&" +
			"newClientOrderId=ask-1&icebergQty=0.5"},
		{"POST", "/api/v3/order", "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.5&newClientOrderId=bid-1"},
		{"POST", "/api/v3/order", "symbol=BTCUSDT&side=BUY&type=MARKET&quoteOrderQty=50&newClientOrderId=bid-2&" +
			"newOrderRespType=RESULT"},
		{"POST", "/api/v3/order", "symbol=BTCUSDT&side=SELL&type=STOP_LOSS&quantity=1&stopPrice=90&" +
			"newClientOrderId=stop-1"},
		{"POST", "/api/v3/order/test", "symbol=BTCUSDT&side=BUY&type=LIMIT_MAKER&quantity=1&price=90"},
		{"GET", "/api/v3/order", "symbol=BTCUSDT&origClientOrderId=ask-1"},
		{"PUT", "/api/v3/order/amend/keepPriority", "symbol=BTCUSDT&origClientOrderId=ask-1&newQty=1.5&" +
			"newClientOrderId=ask-1"},
		{"GET", "/api/v3/order/amendments", "symbol=BTCUSDT&orderId=26"},
		{"POST", "/api/v3/order/cancelReplace", "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=1&" +
			"price=104&cancelReplaceMode=STOP_ON_FAILURE&cancelOrigClientOrderId=ask-1&newClientOrderId=ask-2"},
		{"POST", "/api/v3/order", "symbol=BTCUSDT&side=SELL&type=TAKE_PROFIT_LIMIT&timeInForce=GTC&quantity=1&" +
			"price=150&stopPrice=150&trailingDelta=100&newClientOrderId=trail-1&strategyId=1&strategyType=1000000&" +
			"newOrderRespType=RESULT"},
		{"POST", "/api/v3/order/oco", "symbol=BTCUSDT&side=SELL&quantity=1&price=120&stopPrice=80&" +
			"listClientOrderId=oco-1"},
		{"POST", "/api/v3/orderList/oco", "symbol=BTCUSDT&side=BUY&quantity=1&aboveType=STOP_LOSS&aboveStopPrice=120&" +
			"belowType=TAKE_PROFIT&belowStopPrice=80&newOrderRespType=ACK"},
		{"POST", "/api/v3/orderList/oto", "symbol=BTCUSDT&workingType=LIMIT_MAKER&workingSide=BUY&workingPrice=90&" +
			"workingQuantity=1&pendingType=MARKET&pendingSide=SELL&pendingQuantity=1&newOrderRespType=FULL"},
		{"POST", "/api/v3/orderList/otoco", "symbol=BTCUSDT&workingType=LIMIT_MAKER&workingSide=BUY&workingPrice=90&" +
			"workingQuantity=1&pendingSide=SELL&pendingQuantity=1&pendingAboveType=LIMIT_MAKER&pendingAbovePrice=120&" +
			"pendingBelowType=STOP_LOSS&pendingBelowStopPrice=80"},
		{"POST", "/api/v3/orderList/opo", "symbol=BTCUSDT&workingType=LIMIT_MAKER&workingSide=BUY&workingPrice=90&" +
			"workingQuantity=1&pendingType=MARKET&pendingSide=SELL"},
		{"POST", "/api/v3/orderList/opoco", "symbol=BTCUSDT&workingType=LIMIT_MAKER&workingSide=BUY&workingPrice=90&" +
			"workingQuantity=1&pendingSide=SELL&pendingAboveType=LIMIT_MAKER&pendingAbovePrice=120&" +
			"pendingBelowType=STOP_LOSS&pendingBelowStopPrice=80"},
		{"GET", "/api/v3/orderList", "origClientOrderId=oco-1"},
		{"DELETE", "/api/v3/orderList", "symbol=BTCUSDT&listClientOrderId=oco-1&newClientOrderId=gone"},
		{"GET", "/api/v3/openOrderList", ""},
		{"GET", "/api/v3/allOrderList", "limit=1"},
		{"GET", "/api/v3/openOrders", ""},
		{"DELETE", "/api/v3/order", "symbol=BTCUSDT&origClientOrderId=ask-2&newClientOrderId=gone"},
		{"DELETE", "/api/v3/order", "symbol=BTCUSDT&origClientOrderId=ask-2"},
		{"DELETE", "/api/v3/openOrders", "symbol=BTCUSDT"},
		{"GET", "/api/v3/allOrders", "symbol=BTCUSDT"},
		{"GET", "/api/v3/myTrades", "symbol=BTCUSDT"},
		{"GET", "/api/v3/myPreventedMatches", "symbol=BTCUSDT&preventedMatchId=1"},
		{"GET", "/api/v3/myAllocations", "symbol=BTCUSDT"},
		{"GET", "/api/v3/myFilters", "symbol=ETHBTC"},
		{"GET", "/api/v3/rateLimit/order", ""},
		{"GET", "/api/v3/account", "omitZeroBalances=true"},
		{"GET", "/api/v3/account/commission", "symbol=BTCUSDT"},
		{"GET", "/sapi/v1/asset/tradeFee", "symbol=BTCUSDT"},
		{"GET", "/sapi/v1/bnbBurn", ""},
		{"GET", "/sapi/v1/capital/config/getall", ""},
		{"GET", "/sapi/v1/account/apiRestrictions", ""},
		{"GET", "/sapi/v1/account/status", ""},
		{"GET", "/sapi/v1/account/apiTradingStatus", ""},
		{"GET", "/sapi/v1/account/info", ""},
		{"GET", "/sapi/v1/accountSnapshot", "type=SPOT&limit=7"},
		{"GET", "/sapi/v1/capital/deposit/hisrec", "coin=BTC&limit=10"},
		{"GET", "/sapi/v1/capital/withdraw/history", "startTime=1"},
		{"GET", "/sapi/v1/asset/assetDividend", "limit=20"},
		{"GET", "/sapi/v1/asset/dribblet", ""},
		{"GET", "/sapi/v1/asset/assetDetail", "asset=BTC"},
		{"POST", "/sapi/v3/asset/getUserAsset", ""},
		{"POST", "/sapi/v1/asset/get-funding-asset", ""},
		{"GET", "/sapi/v1/simple-earn/flexible/position", ""},
		{"GET", "/sapi/v1/simple-earn/locked/position", ""},
		{"GET", "/sapi/v1/margin/isolated/allPairs", ""},
		{"PUT", "/api/v3/userDataStream", "listenKey=none"},
	} {
		status, body := a.raw(step.method, step.target, step.params)
		note(step.method, step.target+"?"+step.params, status, body)
	}
	anna := a.follow()
	if _, err := a.NewCreateOrderService().Symbol("BTCUSDT").Side("BUY").Type("LIMIT").TimeInForce("GTC").
		Quantity("0.2").Price("101.25").NewClientOrderID("bid-3").
		NewOrderRespType(gobinance.NewOrderRespTypeACK).Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Call("POST", "/users/"+a.id+"/deposits", `{"currencyCode":"BTC","amount":"1"}`)
	for range 5 { // accepted, trade, position, transfer, position
		fmt.Fprintf(&b, "event\n%s\n", anna.next())
	}
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	got, lines := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(lines)) {
		if i >= len(got) || i >= len(lines) || got[i] != lines[i] {
			t.Fatalf("line %d of %s differs (write it with -update): %s", i+1, golden, got[min(i, len(got)-1)])
		}
	}
	for _, e := range r.Running.Public().FacadeStats() {
		line := e.Method + " " + e.Path
		socket := strings.HasPrefix(e.Path, "/ws") || e.Path == "/stream"
		random := strings.HasSuffix(line, "T /api/v3/userDataStream") || strings.HasPrefix(line, "DELETE /api/v3/user")
		if e.Path != "" && !socket && !random && !strings.Contains("\n"+string(want), "\n"+line) {
			t.Errorf("%s is not in %s", line, golden)
		}
	}
}
