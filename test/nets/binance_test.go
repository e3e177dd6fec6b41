package nets_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fasthttp/websocket"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/test/nets"
)

// readBinanceTable reads the table of errors of docs/contract/binance.md: the statuses of each code.
func readBinanceTable(t *testing.T) map[int][]string {
	t.Helper()
	text, err := nets.Document("docs/contract/binance.md")
	if err != nil {
		t.Fatal(err)
	}
	table := map[int][]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (-[0-9]{4}(?:, -[0-9]{4})*) \| ([0-9x, ]+) \|`).
		FindAllStringSubmatch(text, -1) {
		codes, statuses := strings.Split(row[1], ", "), strings.Split(row[2], ", ")
		for i, code := range codes {
			n, err := strconv.Atoi(code)
			if err != nil {
				t.Fatal(err)
			}
			table[n] = statuses
			if len(codes) == len(statuses) {
				table[n] = statuses[i : i+1]
			}
		}
	}
	if len(table) < 30 {
		t.Fatalf("docs/contract/binance.md: %d codes found", len(table))
	}
	return table
}

// Every code of the table of the Binance interface is provoked and has a status of its row.
func TestEveryRowOfTheBinanceTableOfErrorsIsTrue(t *testing.T) {
	t.Parallel()
	table, seen := readBinanceTable(t), map[int]bool{}
	// A logon by an HMAC key needs the socket of the WebSocket API, where its own test provokes it.
	seen[-4056] = true
	// Only a node of a cluster answers it: to a request that names a client as nodes do, without their key.
	seen[-1002] = true
	p := newProvoke(t, &nets.Seen{T: t})
	refused := func(what string, a nets.Answer, code int) {
		t.Helper()
		var e struct{ Code int }
		if err := json.Unmarshal([]byte(a.Body), &e); err != nil || e.Code != code {
			t.Errorf("%s: %d %s, want %d", what, a.Status, a.Body, code)
			return
		}
		seen[code] = true
		status := fmt.Sprint(a.Status)
		has := func(s string) bool { return s == status || s == "4xx" && status[0] == '4' }
		if !slices.ContainsFunc(table[code], has) {
			t.Errorf("%s: %d with status %d, docs/contract/binance.md says %v", what, code, a.Status, table[code])
		}
	}
	open := func(target string) nets.Answer { return p.n.Binanced(nil, "GET", target) }
	signed := func(method, target string) nets.Answer { return p.n.Binanced(p.alice, method, "/api/v3/"+target) }
	order := func(more string) nets.Answer { return signed("POST", "order?symbol=BTCUSDT&"+more) }
	const limit = "side=BUY&type=LIMIT&timeInForce=GTC&"

	refused("a long target", open("/api/v3/ping?"+strings.Repeat("a", 9000)), -1000)
	refused("a path", open("/api/v3/nothing"), -1020)
	refused("a method", p.n.Binanced(nil, "POST", "/api/v3/time"), -1020)
	refused("a symbol of no pair", open("/api/v3/depth?symbol=AAABBB"), -1121)
	refused("characters", open("/api/v3/depth?symbol=B!"), -1100)
	refused("a parameter twice", open("/api/v3/depth?symbol=BTCUSDT&symbol=BTCUSDT"), -1101)
	refused("no symbol", open("/api/v3/depth"), -1102)
	refused("a parameter of no route", open("/api/v3/depth?symbol=BTCUSDT&color=red"), -1104)
	refused("an interval", open("/api/v3/klines?symbol=BTCUSDT&interval=9m"), -1120)
	refused("a time zone", open("/api/v3/klines?symbol=BTCUSDT&interval=1m&timeZone=15"), -1130)
	refused("a status of symbols", open("/api/v3/ticker/price?symbol=BTCUSDT&symbolStatus=HALT"), -1220)
	refused("a time unit", open("/ws/btcusdt@trade?timeUnit=second"), -1194)
	refused("no request", socketAnswer(t, p.n, "{"), -1135)
	refused("fromId and startTime", open("/api/v3/aggTrades?symbol=BTCUSDT&fromId=1&startTime=1"), -1128)
	refused("no key", open("/api/v3/account"), -2014)

	refused("an old timestamp", signed("GET", "account?timestamp=1"), -1021)
	refused("a wrong signature", signed("GET", "account?signature=00"), -1022)
	refused("a window", signed("GET", "account?recvWindow=60001"), -1131)
	refused("a price off the tick", order(limit+"price=1.001&quantity=1"), -1013)
	refused("digits of a quantity", order(limit+"price=1&quantity=1.0000000000000000001"), -1111)
	refused("a price of a market order", order("side=BUY&type=MARKET&quantity=1&price=1"), -1106)
	refused("a time in force", order("side=BUY&type=LIMIT&timeInForce=DAY&price=1&quantity=1"), -1115)
	refused("a type", order("side=BUY&type=NONE&price=1&quantity=1"), -1116)
	refused("a side", order("side=HOLD&type=LIMIT&timeInForce=GTC&price=1&quantity=1"), -1117)
	refused("no liquidity", order("side=SELL&type=MARKET&quoteOrderQty=100"), -2010)
	refused("a reference price", open("/api/v3/referencePrice?symbol=BTCUSDT"), -2043)
	refused("two days of orders", signed("GET", "allOrders?symbol=BTCUSDT&startTime=0&endTime=172800000"), -1127)
	refused("a strategy type", order(limit+"price=1&quantity=1&strategyType=999999"), -1134)
	refused("a cancel", signed("DELETE", "order?symbol=BTCUSDT&orderId=99"), -2011)
	refused("an order", signed("GET", "order?symbol=BTCUSDT&orderId=99"), -2013)
	refused("half of a change", signed("POST", "order/cancelReplace?symbol=BTCUSDT&"+limit+
		"price=60&quantity=1&cancelReplaceMode=ALLOW_FAILURE&cancelOrderId=99"), -2021)
	refused("a change", signed("POST", "order/cancelReplace?symbol=BTCUSDT&"+limit+
		"price=60&quantity=1&cancelReplaceMode=STOP_ON_FAILURE&cancelOrderId=99"), -2022)
	var o struct{ OrderID int64 }
	if err := json.Unmarshal([]byte(order(limit+"price=61&quantity=1").Body), &o); err != nil || o.OrderID == 0 {
		t.Fatal(err)
	}
	refused("an amend to more", signed("PUT", fmt.Sprintf("order/amend/keepPriority?symbol=BTCUSDT&orderId=%d&newQty=2",
		o.OrderID)), -2038)
	refused("a restriction of a cancel", signed("DELETE", fmt.Sprintf(
		"order?symbol=BTCUSDT&orderId=%d&cancelRestrictions=ONLY_FILLED", o.OrderID)), -1145)
	list := func(kind, more string) nets.Answer {
		return signed("POST", "orderList/"+kind+"?symbol=BTCUSDT&"+more)
	}
	const (
		sell    = "side=SELL&quantity=1&"
		buy     = "side=BUY&quantity=1&"
		working = "workingType=LIMIT&workingSide=BUY&workingTimeInForce=GTC&workingPrice=90&"
	)
	for code, params := range map[int]string{
		-1158: sell + "aboveType=LIMIT&belowType=STOP_LOSS",
		-1160: sell + "aboveType=LIMIT_MAKER&abovePrice=110&belowType=STOP_LOSS_LIMIT&belowPrice=1&" +
			"belowStopPrice=90&belowTimeInForce=IOC&belowIcebergQty=0.5",
		-1165: buy + "aboveType=LIMIT_MAKER&belowType=STOP_LOSS",
		-1166: sell + "aboveType=STOP_LOSS&belowType=LIMIT_MAKER",
		-1168: sell + "aboveType=LIMIT_MAKER&belowType=LIMIT_MAKER",
		-1196: buy + "aboveType=STOP_LOSS&belowType=STOP_LOSS_LIMIT",
		-1197: sell + "aboveType=STOP_LOSS_LIMIT&belowType=STOP_LOSS",
		-1198: buy + "aboveType=TAKE_PROFIT_LIMIT&belowType=TAKE_PROFIT",
		-1199: sell + "aboveType=TAKE_PROFIT&belowType=TAKE_PROFIT_LIMIT",
	} {
		refused("an OCO", list("oco", params), code)
	}
	for code, params := range map[int]string{
		-1222: "workingType=LIMIT&workingSide=SELL",
		-1223: working + "workingQuantity=1&pendingSide=BUY",
		-1224: working,
		-1225: working + "workingQuantity=1&pendingSide=SELL&pendingQuantity=1",
	} {
		refused("an OPO", list("opo", strings.TrimSuffix(params, "&")), code)
	}
	refused("a listen key", p.n.Binanced(p.alice, "PUT", "/api/v3/userDataStream?listenKey="+strings.Repeat("a", 64)),
		-1125)
	k := p.n.Call("POST", "/users/"+p.bob.ID+"/apikeys", `{"name":"reads","canTrade":false,"canManageKeys":false}`)
	reads := &nets.User{ID: p.bob.ID, Public: k["publicKey"].(string), Private: k["privateKey"].(string)}
	refused("a key that reads", p.n.Binanced(reads, "DELETE", "/api/v3/openOrders?symbol=BTCUSDT"), -2015)
	for code, err := range map[int]error{
		-1001: fmt.Errorf("%w: %w", sequencer.ErrUnavailable, wal.ErrStopped),
		-1007: fmt.Errorf("%w: %w", sequencer.ErrOutcomeUnknown, wal.ErrOutcomeUnknown),
	} {
		p.x.Faults.Fail = err
		refused("a failed log", order(limit+"price=60&quantity=1"), code)
		p.x.Faults.Fail = nil
	}
	limits := exchangetest.Options("")
	limits.Binance.Listen = []string{"127.0.0.1:0"}
	n := nodeOf(t, exchangetest.Start(t, limits))
	for _, code := range []string{"BTC_USDT", "ETH_USDT"} {
		n.Call("POST", "/pairs", fmt.Sprintf(`{"code":%q,"digitsPrice":2,"digitsAmount":4}`, code))
	}
	var a nets.Answer
	carol := nets.Trader(n, "carol")
	for range 250 { // 100 in ten seconds of the machine's clock; the next ten may begin meanwhile
		a = n.Binanced(carol, "POST", "/api/v3/order?symbol=BTCUSDT&"+limit+"price=60&quantity=0.1")
		if a.Status != http.StatusOK {
			break
		}
	}
	refused("too many orders", a, -1015)
	for range 60 { // 25 in one minute of the machine's clock; a new one may begin meanwhile
		if a = n.Binanced(nil, "GET", "/api/v3/depth?symbol=BTCUSDT&limit=5000"); a.Status != http.StatusOK {
			break
		}
	}
	refused("too much weight", a, -1003)
	for code := range table {
		if !seen[code] {
			t.Errorf("nothing provokes %d: add a case", code)
		}
	}
}

// socketAnswer sends a text to the WebSocket API and returns the answer with its status.
func socketAnswer(t *testing.T, n *nets.Node, text string) nets.Answer {
	t.Helper()
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(n.Binance, "http")+"/ws-api/v3", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var answer struct {
		Status int
		Error  json.RawMessage
	}
	if err := errors.Join(conn.WriteMessage(websocket.TextMessage, []byte(text)), conn.ReadJSON(&answer)); err != nil {
		t.Fatal(err)
	}
	return nets.Answer{Status: answer.Status, Body: string(answer.Error)}
}
