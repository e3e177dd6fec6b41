package binance_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gobinance "github.com/adshao/go-binance/v2"
)

// The members of the documentation's examples.
const (
	listHead = `orderListId:n contingencyType:s listStatusType:s listOrderStatus:s listClientOrderId:s ` +
		`transactionTime:n symbol:s orders:[`
	listOrder = `{symbol:s orderId:n clientOrderId:s}`

	placedHead = `symbol:s orderId:n orderListId:n clientOrderId:s transactTime:n`
	figures    = ` price:s origQty:s executedQty:s origQuoteOrderQty:s cummulativeQuoteQty:s status:s timeInForce:s ` +
		`type:s side:s`
	noQuantity = ` price:s executedQty:s origQuoteOrderQty:s cummulativeQuoteQty:s status:s timeInForce:s type:s side:s`
	canceledAs = `symbol:s origClientOrderId:s orderId:n orderListId:n clientOrderId:s transactTime:n` + figures
	working    = ` workingTime:n`

	lacks     = `{"code":-1102,"msg":"Mandatory parameter '`
	misplaced = `{"code":-2010,"msg":"The relationship of the prices`
	mode      = ` selfTradePreventionMode:s`
)

// listed is an answer that shows a list.
type listed struct {
	OrderListID                                                         int64
	ContingencyType, ListStatusType, ListOrderStatus, ListClientOrderID string
	Orders                                                              []placed
	OrderReports                                                        []report
}

// report is an order of a list.
type report struct {
	gobinance.Order
	WorkingTime int64 `json:"workingTime"`
}

// list sends a request that a list answers.
func (u *user) list(method, path, params string) (l listed, body string) {
	u.r.t.Helper()
	status, body := u.raw(method, path, params)
	if err := json.Unmarshal([]byte(body), &l); err != nil || status != 200 {
		u.r.t.Fatalf("%s %s?%s: %d %s", method, path, params, status, body)
	}
	return l, body
}

// named returns the parameters that name the list, and of names an order of it.
func (l listed) named() string { return fmt.Sprintf("symbol=BTCUSDT&orderListId=%d", l.OrderListID) }

func (l listed) of(i int) string {
	return fmt.Sprintf("symbol=BTCUSDT&orderId=%d", l.Orders[i].OrderID)
}

// statuses returns the status of each of the list's orders, as it is now.
func (u *user) statuses(l listed) string {
	u.r.t.Helper()
	var out []string
	for _, o := range l.Orders {
		var now struct{ Status, ExpiryReason string }
		_, body := u.raw("GET", orderPath, fmt.Sprintf("symbol=BTCUSDT&orderId=%d", o.OrderID))
		if err := json.Unmarshal([]byte(body), &now); err != nil {
			u.r.t.Fatal(body)
		}
		out = append(out, strings.Trim(now.Status+":"+now.ExpiryReason, ":"))
	}
	return strings.Join(out, " ")
}

// events checks the next events of orders, lists and positions, each in the members e, x, X, o and eR of a report, or
// c, l and L of a list.
func (l *life) events(want ...string) (list []userEvent) {
	l.t.Helper()
	for _, w := range want {
		e := l.event()
		got := ""
		switch list = append(list, e); e.text("e") {
		case "executionReport":
			for _, name := range []string{"o", "x", "X", "eR"} {
				got += e.text(name) + " "
			}
		case "listStatus":
			got = "list " + e.text("c") + " " + e.text("l") + " " + e.text("L")
		default:
			got = "position"
		}
		if got = strings.TrimSpace(got); got != w {
			l.t.Fatalf("event %s\nwant  %s", got, w)
		}
	}
	return list
}

// market makes a book of 99 and 101 and a last trade of 100.
func (r *rig) market() {
	r.t.Helper()
	r.Limit("BTC_USDT", "sell", "100", "0.1")
	r.Limit("BTC_USDT", "buy", "100", "0.1")
	r.Limit("BTC_USDT", "buy", "99", "10")
	r.Limit("BTC_USDT", "sell", "101", "10")
}

const (
	sellOCO = "symbol=BTCUSDT&side=SELL&quantity=1&aboveType=LIMIT_MAKER&abovePrice=110&belowType=STOP_LOSS_LIMIT&" +
		"belowPrice=89&belowStopPrice=90&belowTimeInForce=GTC&"
	buyThen = "symbol=BTCUSDT&workingType=LIMIT&workingSide=BUY&workingTimeInForce=GTC&workingQuantity=1&"
)

// An OCO, by the documentation's example: the stop first, then the limit order. Canceling one of them answers with the
// list. The list's events are behind the reports of their command and before the position.
func TestOCO(t *testing.T) {
	r, a, b := funded(t)
	r.market()
	anna := a.follow()
	l, body := a.list("POST", "/api/v3/orderList/oco", sellOCO+"belowIcebergQty=0.5&listClientOrderId=l1&"+
		"aboveClientOrderId=up&belowClientOrderId=down&aboveStrategyId=7&aboveStrategyType=1000000")
	shaped(t, "OCO", body, `{`+listHead+listOrder+` `+listOrder+`] orderReports:[`+
		`{`+placedHead+figures+` stopPrice:s`+working+` icebergQty:s`+mode+`} `+
		`{`+placedHead+figures+working+` strategyId:n strategyType:n`+mode+`}]}`)
	if l.ContingencyType != "OCO" || l.ListStatusType != "EXEC_STARTED" || l.ListOrderStatus != "EXECUTING" ||
		l.ListClientOrderID != "l1" || l.Orders[0].ClientOrderID != "down" || l.Orders[1].ClientOrderID != "up" ||
		l.OrderListID != l.Orders[0].OrderID || l.OrderReports[0].WorkingTime != -1 ||
		l.OrderReports[1].WorkingTime <= 0 {
		t.Errorf("%s", body)
	}
	began := anna.events("STOP_LOSS_LIMIT NEW NEW", "LIMIT_MAKER NEW NEW",
		"list OCO EXEC_STARTED EXECUTING", "position")
	shaped(t, "listStatus", string(began[2][wholeEvent]), `{e:s E:n s:s g:n c:s l:s L:s r:s C:s T:n `+
		`O:[{s:s i:n c:s} {s:s i:n c:s}]}`)
	if e := began[2]; e.text("g") != fmt.Sprint(l.OrderListID) || e.text("C") != "l1" || e.text("r") != "NONE" ||
		string(e["O"]) != fmt.Sprintf(`[{"s":"BTCUSDT","i":%d,"c":"down"},{"s":"BTCUSDT","i":%d,"c":"up"}]`,
			l.Orders[0].OrderID, l.Orders[1].OrderID) {
		t.Errorf("%s", e)
	}
	if e := began[1]; e.text("g") != fmt.Sprint(l.OrderListID) || e.text("j") != "7" || e.text("J") != "1000000" {
		t.Errorf("%s", e)
	}
	if account, err := a.NewGetAccountService().Do(t.Context()); err != nil ||
		account.Balances[0].Locked != "1.00000000" {
		t.Errorf("both orders hold %+v %v", account.Balances, err)
	}
	b.fails("DELETE", "/api/v3/orderList", l.named(), 400, `{"code":-2011,`)
	gone, body := a.list("DELETE", orderPath, l.of(1)+"&newClientOrderId=bye")
	shaped(t, "cancel", body, `{`+listHead+listOrder+` `+listOrder+`] orderReports:[`+
		`{`+canceledAs+` stopPrice:s icebergQty:s`+mode+`} {`+canceledAs+` strategyId:n strategyType:n`+mode+`}]}`)
	if gone.ListStatusType != "ALL_DONE" || gone.ListOrderStatus != "ALL_DONE" || gone.OrderListID != l.OrderListID {
		t.Errorf("%s", body)
	}
	for i, o := range gone.OrderReports {
		if o.Status != "CANCELED" || o.ClientOrderID != "bye" || o.OrigQuantity != "1.00000" ||
			!strings.Contains(body, `"origClientOrderId":"`+l.Orders[i].ClientOrderID+`"`) {
			t.Errorf("%+v", o)
		}
	}
	ended := anna.events("STOP_LOSS_LIMIT CANCELED CANCELED", "LIMIT_MAKER CANCELED CANCELED",
		"list OCO ALL_DONE ALL_DONE", "position")
	for i, e := range ended[:2] {
		if e.text("c") != "bye" || e.text("C") != l.Orders[i].ClientOrderID {
			t.Errorf("c is %s, C is %s", e.text("c"), e.text("C"))
		}
	}
	anna.settled()
}

// The older form of an OCO; its answers by newOrderRespType.
func TestTheOlderOCO(t *testing.T) {
	r, a, _ := funded(t)
	r.market()
	const params = "symbol=BTCUSDT&side=BUY&quantity=1&price=90&stopPrice=110&limitClientOrderId=l&stopClientOrderId=s&"
	oco, err := a.NewCreateOCOService().Symbol("BTCUSDT").Side("BUY").Quantity("1").Price("90").StopPrice("110").
		ListClientOrderID("x").Do(t.Context())
	if err != nil || oco.ContingencyType != "OCO" || oco.ListClientOrderID != "x" || len(oco.OrderReports) != 2 ||
		oco.OrderReports[0].Type != "STOP_LOSS" || oco.OrderReports[1].Type != "LIMIT_MAKER" ||
		oco.OrderReports[1].Price != "90.00" {
		t.Fatalf("%+v %v", oco, err)
	}
	for kind, want := range map[string][2]string{
		"ACK":    {placedHead, placedHead},
		"RESULT": {placedHead + figures + ` stopPrice:s` + working + mode, placedHead + figures + working + mode},
		"FULL": {
			placedHead + figures + ` stopPrice:s` + working + ` fills:[]` + mode,
			placedHead + figures + working + ` fills:[]` + mode,
		},
	} {
		l, body := a.list("POST", "/api/v3/order/oco", params+"newOrderRespType="+kind)
		shaped(t, kind, body, `{`+listHead+listOrder+` `+listOrder+`] orderReports:[{`+want[0]+`} {`+want[1]+`}]}`)
		if l.Orders[0].ClientOrderID != "s" || l.Orders[1].ClientOrderID != "l" ||
			!generated.MatchString(l.ListClientOrderID) {
			t.Errorf("%s", body)
		}
		again, _ := a.list("GET", "/api/v3/orderList", "origClientOrderId="+l.ListClientOrderID)
		if again.OrderListID != l.OrderListID {
			t.Errorf("%+v", again)
		}
		a.list("DELETE", "/api/v3/orderList", l.named())
	}
	limited, body := a.list("POST", "/api/v3/order/oco", params+"stopLimitPrice=111&stopLimitTimeInForce=GTC&"+
		"trailingDelta=100")
	if o := limited.OrderReports[0]; o.Type != "STOP_LOSS_LIMIT" || o.Price != "111.00" ||
		!strings.Contains(body, `"trailingDelta":100,"trailingTime":-1`) {
		t.Errorf("%s", body)
	}
}

// When the stop of an OCO triggers, the other order expires.
func TestATriggeredOCO(t *testing.T) {
	r, a, _ := funded(t)
	r.market()
	anna := a.follow()
	l, _ := a.list("POST", "/api/v3/orderList/oco", strings.Replace(sellOCO, "belowPrice=89", "belowPrice=95", 1))
	anna.events("STOP_LOSS_LIMIT NEW NEW", "LIMIT_MAKER NEW NEW", "list OCO EXEC_STARTED EXECUTING", "position")
	r.Limit("BTC_USDT", "sell", "99", "10")
	r.Limit("BTC_USDT", "buy", "90", "0.1")
	r.Limit("BTC_USDT", "sell", "90", "0.1")
	anna.events("LIMIT_MAKER EXPIRED EXPIRED OCO_TRIGGER", "STOP_LOSS_LIMIT NEW NEW")
	if got := a.statuses(l); got != "NEW EXPIRED:OCO_TRIGGER" {
		t.Error(got)
	}
	r.Limit("BTC_USDT", "buy", "95", "2")
	end := anna.events("STOP_LOSS_LIMIT TRADE FILLED", "list OCO ALL_DONE ALL_DONE", "position")
	if end[1].text("g") != fmt.Sprint(l.OrderListID) {
		t.Errorf("%s", end[1])
	}
	if got := a.statuses(l); got != "FILLED EXPIRED:OCO_TRIGGER" {
		t.Error(got)
	}
}

// The pending order of an OTO begins when the working one is filled; the answer to a list whose working order is filled
// at once still shows it as pending.
func TestOTO(t *testing.T) {
	r, a, _ := funded(t)
	r.market()
	anna := a.follow()
	l, body := a.list("POST", "/api/v3/orderList/oto", buyThen+"workingPrice=98&pendingType=TAKE_PROFIT_LIMIT&"+
		"pendingSide=SELL&pendingQuantity=1&pendingPrice=120&pendingStopPrice=119&pendingTimeInForce=GTC")
	shaped(t, "OTO", body, `{`+listHead+listOrder+` `+listOrder+`] orderReports:[`+
		`{`+placedHead+figures+working+mode+`} `+
		`{`+placedHead+figures+` stopPrice:s`+working+mode+`}]}`)
	if l.ContingencyType != "OTO" || l.OrderReports[0].Status != "NEW" || l.OrderReports[1].Status != "PENDING_NEW" ||
		l.OrderReports[1].WorkingTime != -1 {
		t.Errorf("%s", body)
	}
	anna.events("LIMIT NEW NEW", "TAKE_PROFIT_LIMIT NEW PENDING_NEW", "list OTO EXEC_STARTED EXECUTING", "position")
	if got := a.statuses(l); got != "NEW PENDING_NEW" {
		t.Error(got)
	}
	r.Limit("BTC_USDT", "sell", "98", "11")
	anna.events("LIMIT TRADE FILLED", "TAKE_PROFIT_LIMIT NEW NEW", "position")
	if got := a.statuses(l); got != "FILLED NEW" {
		t.Error(got)
	}
	gone, _ := a.list("DELETE", "/api/v3/orderList", l.named())
	if gone.OrderReports[0].Status != "FILLED" || gone.OrderReports[1].Status != "CANCELED" {
		t.Errorf("%+v", gone)
	}
	anna.events("TAKE_PROFIT_LIMIT CANCELED CANCELED", "list OTO ALL_DONE ALL_DONE", "position")

	r.Limit("BTC_USDT", "sell", "100", "5")
	at := buyThen + "workingPrice=100&pendingType=MARKET&pendingSide=SELL&pendingQuantity=1&newOrderRespType=FULL"
	l, body = a.list("POST", "/api/v3/orderList/oto", at)
	if l.OrderReports[0].Status != "FILLED" || l.OrderReports[1].Status != "PENDING_NEW" ||
		l.OrderReports[1].ExecutedQuantity != "0.00000" || l.ListOrderStatus != "EXECUTING" {
		t.Errorf("%s", body)
	}
	if got := a.statuses(l); !strings.HasPrefix(got, "FILLED FILLED") && !strings.HasPrefix(got, "FILLED EXPIRED") {
		t.Error(got)
	}
	ioc := strings.Replace(buyThen, "GTC", "IOC", 1) + "workingPrice=50&pendingType=MARKET&pendingSide=SELL&" +
		"pendingQuantity=1"
	l, _ = a.list("POST", "/api/v3/orderList/oto", ioc)
	if got := a.statuses(l); got != "EXPIRED:UNFILLED_IOC_QUANTITY_EXPIRED EXPIRED:OTO_PHASE_ONE_EXPIRED" {
		t.Error(got)
	}
}

// The other lists, by the documentation's examples.
func TestOTOCOAndOPO(t *testing.T) {
	r, a, _ := funded(t)
	r.market()
	const legs = "pendingSide=SELL&pendingAboveType=LIMIT_MAKER&pendingAbovePrice=120&" +
		"pendingBelowType=STOP_LOSS_LIMIT&pendingBelowPrice=89&pendingBelowStopPrice=90&pendingBelowTimeInForce=IOC&"
	three := listHead + listOrder + ` ` + listOrder + ` ` + listOrder + `] orderReports:[{` + placedHead + figures +
		working + mode + `} `
	l, body := a.list("POST", "/api/v3/orderList/otoco", buyThen+"workingPrice=98&pendingQuantity=1&"+legs)
	shaped(t, "OTOCO", body, `{`+three+`{`+placedHead+figures+` stopPrice:s`+working+mode+`} `+
		`{`+placedHead+figures+working+mode+`}]}`)
	if l.ContingencyType != "OTO" || l.OrderReports[1].Type != "STOP_LOSS_LIMIT" ||
		l.OrderReports[1].TimeInForce != "IOC" || l.OrderReports[2].Type != "LIMIT_MAKER" ||
		a.statuses(l) != "NEW PENDING_NEW PENDING_NEW" {
		t.Errorf("%s", body)
	}
	if gone, body := a.list("DELETE", "/api/v3/orderList", l.named()); len(
		gone.OrderReports) != 3 || a.statuses(l) != "CANCELED CANCELED CANCELED" {
		t.Errorf("%s", body)
	}
	for i, want := range []string{fmt.Sprint(r.now().UnixMilli()), "-1", "-1"} { // the last two were never in the book
		if m, body := a.answer("GET", orderPath, l.of(i)); brief(m, "workingTime") != want {
			t.Errorf("order %d: %s, want the working time %s", i, body, want)
		}
	}
	l, body = a.list("POST", "/api/v3/orderList/opoco", buyThen+"workingPrice=98&"+legs)
	shaped(t, "OPOCO", body, `{`+three+`{`+placedHead+noQuantity+` stopPrice:s`+working+mode+`} `+
		`{`+placedHead+noQuantity+working+mode+`}]}`)
	a.list("DELETE", "/api/v3/orderList", "symbol=BTCUSDT&listClientOrderId="+l.ListClientOrderID)
	l, body = a.list("POST", "/api/v3/orderList/opo", buyThen+"workingPrice=98&pendingType=LIMIT&pendingSide=SELL&"+
		"pendingPrice=120&pendingTimeInForce=GTC")
	shaped(t, "OPO", body, `{`+listHead+listOrder+` `+listOrder+`] orderReports:[`+
		`{`+placedHead+figures+working+mode+`} `+
		`{`+placedHead+noQuantity+working+mode+`}]}`)
	a.fails("PUT", "/api/v3/order/amend/keepPriority", l.of(1)+"&newQty=0.5",
		400, `{"code":-2038,"msg":"Order amend (pending OPO order) is not supported."`)
	r.Limit("BTC_USDT", "sell", "98", "11")
	if got := a.statuses(l); got != "FILLED NEW" {
		t.Error(got)
	}
	o, err := a.NewGetOrderService().Symbol("BTCUSDT").OrderID(l.Orders[1].OrderID).Do(t.Context())
	if err != nil || o.OrigQuantity != "0.99900" { // what was bought, less 0.1 %
		t.Errorf("%+v %v", o, err)
	}
}

// Queries of lists, by the documentation's examples.
func TestListQueries(t *testing.T) {
	r, a, b := funded(t)
	r.market()
	const row = `{` + listHead + listOrder + ` ` + listOrder + `]}`
	var ids []int64
	for i := range 3 {
		names := fmt.Sprintf("listClientOrderId=l%d&aboveClientOrderId=a%d", i, i)
		l, _ := a.list("POST", "/api/v3/orderList/oco", sellOCO+names)
		ids = append(ids, l.OrderListID)
		r.advance("1s")
		a.syncClock()
	}
	one, body := a.list("GET", "/api/v3/orderList", fmt.Sprintf("orderListId=%d", ids[1]))
	shaped(t, "orderList", body, row)
	if one.ListClientOrderID != "l1" || one.Orders[1].ClientOrderID != "a1" || one.ListOrderStatus != "EXECUTING" {
		t.Errorf("%s", body)
	}
	a.list("DELETE", "/api/v3/orderList", "symbol=BTCUSDT&listClientOrderId=l1")
	rows := func(path, params string) (got []int64) {
		t.Helper()
		var list []listed
		status, body := a.raw("GET", path, params)
		if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 {
			t.Fatalf("%s?%s: %d %s", path, params, status, body)
		}
		for _, l := range list {
			got = append(got, l.OrderListID)
			done := l.OrderListID == ids[1]
			if (l.ListOrderStatus == "ALL_DONE") != done || (l.ListStatusType == "ALL_DONE") != done {
				t.Errorf("%+v", l)
			}
		}
		return got
	}
	began := r.now().UnixMilli()
	for params, want := range map[string][]int64{
		"": ids, "limit=2": ids[1:], fmt.Sprintf("fromId=%d", ids[1]): ids[1:],
		fmt.Sprintf("fromId=%d&limit=1", ids[1]): ids[1:2], fmt.Sprintf("startTime=%d", began-2000): ids[1:],
		fmt.Sprintf("startTime=%d&limit=1", began-2000): ids[1:2], fmt.Sprintf("endTime=%d", began-2001): ids[:1],
	} {
		if got := rows("/api/v3/allOrderList", params); !slices.Equal(got, want) {
			t.Errorf("%s: %d, want %d", params, got, want)
		}
	}
	if got, want := rows("/api/v3/openOrderList", ""), []int64{ids[0], ids[2]}; !slices.Equal(got, want) {
		t.Errorf("%d, want %d", got, want)
	}
	again, _ := a.list("POST", "/api/v3/orderList/oco", sellOCO+"listClientOrderId=l1")
	if again.ListClientOrderID != "l1" {
		t.Errorf("the id of a list that has ended: %+v", again)
	}
	for _, c := range []struct{ method, path, params, want string }{
		{
			"GET", "/api/v3/orderList", "",
			`{"code":-1102,"msg":"Param 'orderListId' or 'origClientOrderId' must be sent`,
		},
		{"GET", "/api/v3/orderList", "orderListId=x", `{"code":-1100,`},
		{"GET", "/api/v3/orderList", "orderListId=999", `{"code":-2013,"msg":"Order list does not exist."`},
		{"GET", "/api/v3/orderList", "origClientOrderId=none", `{"code":-2013,`},
		{"GET", "/api/v3/orderList", "origClientOrderId=%20", `{"code":-1100,`},
		{"GET", "/api/v3/orderList", fmt.Sprintf("orderListId=%d&origClientOrderId=l2", ids[0]), `{"code":-2013,`},
		{"GET", "/api/v3/orderList", fmt.Sprintf("orderListId=%d&symbol=BTCUSDT", ids[0]), `{"code":-1104,`},
		{"GET", "/api/v3/allOrderList", fmt.Sprintf("fromId=1&startTime=%d", began), `{"code":-1128,`},
		{"GET", "/api/v3/allOrderList", "limit=0", `{"code":-1130,`},
		{"DELETE", "/api/v3/orderList", fmt.Sprintf("orderListId=%d", ids[0]), lacks + `symbol'`},
		{
			"DELETE", "/api/v3/orderList", "symbol=BTCUSDT",
			`{"code":-1102,"msg":"Param 'orderListId' or 'listClientOrderId'`,
		},
		{"DELETE", "/api/v3/orderList", fmt.Sprintf("symbol=BTCUSDT&orderListId=%d", ids[1]), `{"code":-2011,`},
		{"DELETE", "/api/v3/orderList", "symbol=BTCUSDT&listClientOrderId=none", `{"code":-2011,`},
		{
			"POST", "/api/v3/orderList/oco", sellOCO + "listClientOrderId=l0",
			`{"code":-2010,"msg":"Duplicate order sent."`,
		},
	} {
		a.fails(c.method, c.path, c.params, 400, c.want)
	}
	b.fails("GET", "/api/v3/orderList", fmt.Sprintf("orderListId=%d", ids[0]), 400, `{"code":-2013,`)

	// a mass cancel shows a list once, and an order that is in none by itself
	a.ask("POST", orderPath, restBid)
	status, body := a.raw("DELETE", "/api/v3/openOrders", "symbol=BTCUSDT")
	if status != 200 || strings.Count(body, `"contingencyType"`) != 3 ||
		strings.Count(body, `"origClientOrderId"`) != 7 {
		t.Errorf("%d %s", status, body)
	}
}

// The documented errors of the parameters of each list.
func TestListParameters(t *testing.T) {
	r, a, _ := funded(t)
	r.market()
	const (
		oco   = "/api/v3/orderList/oco"
		oto   = "/api/v3/orderList/oto"
		otoco = "/api/v3/orderList/otoco"
		opo   = "/api/v3/orderList/opo"
		opoco = "/api/v3/orderList/opoco"
		sell  = "side=SELL&quantity=1&"
		buy   = "side=BUY&quantity=1&"
		work  = "workingType=LIMIT&workingSide=BUY&workingTimeInForce=GTC&workingPrice=90&"
		whole = work + "workingQuantity=1&" + ""
		up    = sell + "aboveType=LIMIT_MAKER&abovePrice=110&"
		stop  = "belowType=STOP_LOSS&belowStopPrice=90"
		lower = up + "belowType=STOP_LOSS_LIMIT&belowPrice=1&belowStopPrice=90"
	)
	for _, c := range []struct{ path, params, want string }{
		{oco, "", lacks + `side'`},
		{oco, "side=X", `{"code":-1117,`},
		{oco, sell, lacks + `aboveType'`},
		{oco, sell + "aboveType=LIMIT_MAKER", lacks + `belowType'`},
		{oco, sell + "aboveType=OCO", `{"code":-1116,`},
		{oco, sell + "aboveType=LIMIT&belowType=STOP_LOSS", `{"code":-1158,"msg":"Order type not supported in OCO."`},
		{oco, sell + "aboveType=LIMIT_MAKER&belowType=MARKET", `{"code":-1158,`},
		{oco, sell + "aboveType=LIMIT_MAKER&belowType=LIMIT_MAKER", `{"code":-1168,`},
		{oco, buy + "aboveType=LIMIT_MAKER&belowType=STOP_LOSS", `{"code":-1165,`},
		{oco, sell + "aboveType=STOP_LOSS&belowType=LIMIT_MAKER", `{"code":-1166,`},
		{oco, buy + "aboveType=STOP_LOSS&belowType=STOP_LOSS_LIMIT", `{"code":-1196,`},
		{oco, buy + "aboveType=TAKE_PROFIT&belowType=STOP_LOSS", `{"code":-1196,`},
		{oco, sell + "aboveType=STOP_LOSS_LIMIT&belowType=STOP_LOSS", `{"code":-1197,`},
		{oco, sell + "aboveType=STOP_LOSS&belowType=TAKE_PROFIT", `{"code":-1197,`},
		{oco, buy + "aboveType=TAKE_PROFIT_LIMIT&belowType=TAKE_PROFIT", `{"code":-1198,`},
		{oco, sell + "aboveType=TAKE_PROFIT&belowType=TAKE_PROFIT_LIMIT", `{"code":-1199,`},
		{oco, up + "belowType=STOP_LOSS", `{"code":-1102,"msg":"Param 'belowStopPrice' or 'belowTrailingDelta'`},
		{oco, sell + "aboveType=LIMIT_MAKER&belowType=STOP_LOSS&belowStopPrice=90", lacks + `abovePrice'`},
		{oco, up + "aboveTimeInForce=GTC&" + stop, `{"code":-1106,"msg":"Parameter 'aboveTimeInForce'`},
		{oco, lower, lacks + `belowTimeInForce'`},
		{oco, lower + "&belowTimeInForce=IOC&belowIcebergQty=0.5", `{"code":-1160,"msg":"Parameter 'belowIcebergQty'`},
		{oco, up + stop + "&aboveStrategyType=1", `{"code":-1134,`},
		{oco, up + stop + "&aboveQuantity=1", `{"code":-1104,`},
		{oco, up + stop + "&listClientOrderId=%20", `{"code":-1100,`},
		{oco, up + stop + "&selfTradePreventionMode=X", `{"code":-1130,`},
		{oco, up + stop + "&newOrderRespType=X", `{"code":-1130,`},
		{oco, up + "belowType=STOP_LOSS&belowStopPrice=105", misplaced},
		{oco, sell + "aboveType=LIMIT_MAKER&abovePrice=99.5&belowType=STOP_LOSS&belowStopPrice=90", misplaced},
		{
			oco, "side=SELL&quantity=999&aboveType=LIMIT_MAKER&abovePrice=110&" + stop,
			`{"code":-2010,"msg":"Account has insufficient`,
		},
		{
			oco, sell + "aboveType=LIMIT_MAKER&abovePrice=110.001&" + stop,
			`{"code":-1013,"msg":"Filter failure: PRICE_F`,
		},
		{"/api/v3/order/oco", sell + "price=110", `{"code":-1102,"msg":"Param 'stopPrice' or 'trailingDelta'`},
		{"/api/v3/order/oco", sell + "stopPrice=90", lacks + `price'`},
		{"/api/v3/order/oco", sell + "price=110&stopPrice=90&stopLimitPrice=89", lacks + `stopLimitTimeInForce'`},
		{"/api/v3/order/oco", sell + "price=110&stopPrice=90&stopLimitTimeInForce=GTC", `{"code":-1106,`},
		{"/api/v3/order/oco", sell + "price=90&stopPrice=110", misplaced},
		{oto, "workingType=MARKET&workingSide=BUY", `{"code":-1130,"msg":"Data sent for parameter 'workingType'`},
		{oto, work, lacks + `workingQuantity'`},
		{oto, whole, lacks + `pendingSide'`},
		{oto, whole + "pendingSide=SELL", lacks + `pendingType'`},
		{oto, whole + "pendingSide=SELL&pendingType=MARKET", lacks + `pendingQuantity'`},
		{oto, whole + "pendingSide=SELL&pendingType=MARKET&pendingQuoteOrderQty=9", `{"code":-1102,`},
		{
			oto, whole + "pendingSide=SELL&pendingType=LIMIT&pendingQuantity=1&pendingPrice=9",
			lacks + `pendingTimeInForce'`,
		},
		{
			otoco, whole + "pendingSide=SELL&pendingQuantity=1&pendingAboveType=LIMIT_MAKER&" +
				"pendingBelowType=LIMIT_MAKER",
			`{"code":-1168,`,
		},
		{otoco, whole + "pendingSide=SELL&pendingQuantity=1&pendingAboveType=LIMIT_MAKER", lacks + `pendingBelowType'`},
		{opo, "workingType=LIMIT&workingSide=SELL", `{"code":-1222,`},
		{opo, work, `{"code":-1224,"msg":"Working order must include the 'workingQuantity' tag."`},
		{opo, whole + "pendingSide=BUY", `{"code":-1223,`},
		{
			opo, whole + "pendingSide=SELL&pendingQuantity=1",
			`{"code":-1225,"msg":"Pending orders should not include the 'pendingQuantity' tag."`,
		},
		{opoco, whole + "pendingSide=BUY", `{"code":-1223,`},
		{opoco, whole + "pendingSide=SELL&pendingQuantity=1", `{"code":-1225,`},
	} {
		a.fails("POST", c.path, strings.TrimSuffix("symbol=BTCUSDT&"+c.params, "&"), 400, c.want)
	}
	if rows, err := a.NewListOrdersService().Symbol("BTCUSDT").Do(t.Context()); err != nil || len(rows) != 0 {
		t.Errorf("a refused list left a trace: %+v %v", rows, err)
	}
	all := 0
	for i := range 21 {
		if p := a.ask("POST", oco, sellOCO+fmt.Sprintf("listClientOrderId=n%d", i)); p.Code == 0 {
			all++
		} else if p.Msg != "Filter failure: MAX_NUM_ORDER_LISTS" || p.Code != -1013 {
			t.Errorf("%+v", p)
		}
	}
	if all != 20 {
		t.Errorf("%d lists", all)
	}
}

// The methods of lists, over a socket that has logged on.
func TestListsOverTheWebSocketAPI(t *testing.T) {
	r, a, _ := funded(t)
	r.market()
	s := r.socket("/ws-api/v3?returnRateLimits=false")
	ask := func(method string, params map[string]any) string {
		t.Helper()
		got := s.request(method, a.stamped(a.sign, params))
		if got.Status != 200 {
			t.Fatalf("%s: %d %v", method, got.Status, got.Error)
		}
		return string(got.Result)
	}
	leg := map[string]any{
		"symbol": "BTCUSDT", "side": "SELL", "quantity": "1", "aboveType": "LIMIT_MAKER", "abovePrice": "110",
		"belowType": "STOP_LOSS", "belowStopPrice": "90", "listClientOrderId": "w",
	}
	shaped(t, "orderList.place.oco", ask("orderList.place.oco", leg), `{`+listHead+listOrder+` `+listOrder+
		`] orderReports:[{`+placedHead+figures+` stopPrice:s`+working+mode+`} {`+placedHead+figures+working+mode+`}]}`)
	const row = `{` + listHead + listOrder + ` ` + listOrder + `]}`
	shaped(t, "orderList.status", ask("orderList.status", map[string]any{"origClientOrderId": "w"}), row)
	shaped(t, "openOrderLists.status", ask("openOrderLists.status", nil), `[`+row+`]`)
	shaped(t, "allOrderLists", ask("allOrderLists", nil), `[`+row+`]`)
	shaped(t, "orderList.cancel",
		ask("orderList.cancel", map[string]any{"symbol": "BTCUSDT", "listClientOrderId": "w"}),
		`{`+listHead+listOrder+` `+listOrder+`] orderReports:[{`+canceledAs+` stopPrice:s`+mode+`} `+
			`{`+canceledAs+mode+`}]}`)
}
