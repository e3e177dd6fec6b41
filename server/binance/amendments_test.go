package binance_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// An amendment lowers the quantity, keeps the place and gives the order another id; the documentation's examples.
func TestAmendments(t *testing.T) {
	r, a, b := funded(t)
	r.market()
	anna := a.follow()
	order := a.ask("POST", orderPath, strings.Replace(restBid, "quantity=1", "quantity=5", 1)+"newClientOrderId=one")
	id := fmt.Sprintf("symbol=BTCUSDT&orderId=%d&", order.OrderID)
	const path = "/api/v3/order/amend/keepPriority"
	const amended = `symbol:s orderId:n orderListId:n origClientOrderId:s clientOrderId:s price:s qty:s ` +
		`executedQty:s preventedQty:s quoteOrderQty:s cumulativeQuoteQty:s status:s timeInForce:s type:s side:s`
	first, body := a.answer("PUT", path, id+"newQty=4&newClientOrderId=two")
	shaped(t, "amend", body, `{transactTime:n executionId:n amendedOrder:{`+amended+working+mode+`}}`)
	if !strings.Contains(body, `"origClientOrderId":"one","clientOrderId":"two"`) ||
		!strings.Contains(body, `"qty":"4.00000"`) {
		t.Error(body)
	}
	second, body := a.answer("PUT", path, id+"newQty=3")
	var now placed
	if err := json.Unmarshal(second["amendedOrder"], &now); err != nil || !generated.MatchString(now.ClientOrderID) ||
		now.OrigClientOrderID != "two" {
		t.Error(body)
	}
	for params, want := range map[string]string{
		"newQty=3": `{"code":-2038,"msg":"The requested action would change no state; ` +
			`rejecting."`,
		"newQty=3.5":                      `{"code":-2038,"msg":"Order amend (quantity increase) is not supported."`,
		"newQty=0":                        `{"code":-1013,"msg":"Filter failure: LOT_SIZE"`,
		"newQty=2.000001":                 `{"code":-1013,"msg":"Filter failure: LOT_SIZE"`,
		"":                                `{"code":-1102,"msg":"Mandatory parameter 'newQty'`,
		"newQty=2&newClientOrderId=%20":   `{"code":-1100,`,
		"newQty=2&selfTradePrevention=no": `{"code":-1104,`,
	} {
		a.fails("PUT", path, strings.TrimSuffix(id+params, "&"), 400, want)
	}
	_, body = a.raw("GET", "/api/v3/order/amendments", strings.TrimSuffix(id, "&"))
	const row = `{symbol:s orderId:n executionId:n origClientOrderId:s newClientOrderId:s origQty:s newQty:s time:n}`
	shaped(t, "amendments", body, `[`+row+` `+row+`]`)
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &rows); err != nil || len(rows) != 2 ||
		brief(rows[0], "origClientOrderId", "newClientOrderId", "origQty", "newQty") != "one two 5 4" ||
		brief(rows[1], "origClientOrderId", "newClientOrderId", "origQty", "newQty") !=
			"two "+now.ClientOrderID+" 4 3" ||
		string(rows[0]["executionId"]) != string(first["executionId"]) ||
		string(rows[1]["executionId"]) != string(second["executionId"]) {
		t.Errorf("%s, the answers %s and %s", body, first["executionId"], second["executionId"])
	}
	from := fmt.Sprintf("%sfromExecutionId=%s", id, second["executionId"])
	if _, body := a.raw("GET", "/api/v3/order/amendments", from); strings.Count(body, "executionId") != 1 {
		t.Error(body)
	}
	b.fails("GET", "/api/v3/order/amendments", strings.TrimSuffix(id, "&"), 400, `{"code":-2013,`)
	a.fails("GET", "/api/v3/order/amendments", "symbol=BTCUSDT",
		400, `{"code":-1102,"msg":"Mandatory parameter 'orderId'`)
	found := a.ask("GET", orderPath, "symbol=BTCUSDT&origClientOrderId="+now.ClientOrderID)
	if found.OrderID != order.OrderID {
		t.Errorf("%+v", found)
	}
	for n := range 8 {
		a.answer("PUT", path, fmt.Sprintf("%snewQty=%.1f", id, 2.9-0.1*float64(n)))
	}
	a.fails("PUT", path, id+"newQty=1", 400, `{"code":-1013,"msg":"Filter failure: MAX_NUM_ORDER_AMENDS"`)
	e := anna.event()
	for e.text("x") != "REPLACED" {
		e = anna.event()
	}
	if got := brief(e, "c", "C", "X", "q", "I"); got != "two one NEW 4 "+string(first["executionId"]) {
		t.Errorf("%s", e)
	}
	for e = anna.event(); e.text("x") != "REPLACED"; e = anna.event() {
	}
	if brief(e, "c", "C") != now.ClientOrderID+" two" {
		t.Errorf("%s", e)
	}

	l, _ := a.list("POST", "/api/v3/orderList/oco", sellOCO)
	for e := anna.event(); e.text("e") != "listStatus"; e = anna.event() {
	}
	_, body = a.answer("PUT", path, l.of(1)+"&newQty=0.5&newClientOrderId=up")
	shaped(t, "amend of a list", body, `{transactTime:n executionId:n amendedOrder:{`+amended+working+mode+`} `+
		`listStatus:{orderListId:n contingencyType:s listOrderStatus:s listClientOrderId:s symbol:s orders:[`+
		listOrder+` `+listOrder+`]}}`)
	for e = anna.event(); e.text("e") != "listStatus"; e = anna.event() {
	}
	if got := brief(e, "l", "L"); got != "UPDATED EXECUTING" || !strings.Contains(string(e["O"]), `"c":"up"`) {
		t.Errorf("%s", e)
	}
}
