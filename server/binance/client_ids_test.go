package binance_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	gobinance "github.com/adshao/go-binance/v2"

	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
)

// placed is the part of an answer that says which order it is about.
type placed struct {
	OrderID           int64  `json:"orderId"`
	ClientOrderID     string `json:"clientOrderId"`
	OrigClientOrderID string `json:"origClientOrderId"`
	Status            string `json:"status"`
	Code              int    `json:"code"`
	Msg               string `json:"msg"`
}

// ask sends a request and returns the members of its answer.
func (u *user) ask(method, path, params string) (p placed) {
	u.r.t.Helper()
	_, body := u.raw(method, path, params)
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		u.r.t.Fatalf("%s %s?%s: %s", method, path, params, body)
	}
	return p
}

const (
	orderPath = "/api/v3/order"
	restBid   = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&newOrderRespType=RESULT&price=90&quantity=1&"
)

// generated is the form of an id that the service makes.
var generated = regexp.MustCompile(`^[0-9A-Za-z]{22}$`)

// duplicate checks that an answer refuses a repeat.
func (u *user) duplicate(what string, p placed) {
	u.r.t.Helper()
	if p.Code != -2010 || p.Msg != "Duplicate order sent." {
		u.r.t.Errorf("%s: %+v, want -2010 Duplicate order sent.", what, p)
	}
}

// By REST: while an order is open its id is refused, whatever the content and the money that is left; the id of an
// order that has ended, by a cancel or by a fill, makes a new one.
func TestAClientOrderIDIsUniqueAmongOpenOrders(t *testing.T) {
	r, a, b := funded(t)
	first := a.ask("POST", orderPath, restBid+"newClientOrderId=q1")
	for what, params := range map[string]string{
		"the same":               restBid + "newClientOrderId=q1",
		"another price":          strings.Replace(restBid, "price=90", "price=91", 1) + "newClientOrderId=q1",
		"another quantity":       strings.Replace(restBid, "quantity=1", "quantity=2", 1) + "newClientOrderId=q1",
		"more than the balance":  strings.Replace(restBid, "quantity=1", "quantity=99999", 1) + "newClientOrderId=q1",
		"a market order":         "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=1&newClientOrderId=q1",
		"one that is a stop too": "symbol=BTCUSDT&side=SELL&type=STOP_LOSS&quantity=1&stopPrice=80&newClientOrderId=q1",
	} {
		a.duplicate(what, a.ask("POST", orderPath, params))
	}
	if other := b.ask("POST", orderPath, restBid+"newClientOrderId=q1"); other.Status != "NEW" {
		t.Errorf("another account's: %+v", other)
	}
	seen := map[int64]bool{first.OrderID: true}
	for i, params := range []string{
		restBid,
		strings.Replace(restBid, "price=90", "price=91", 1),
		strings.Replace(restBid, "quantity=1", "quantity=2", 1),
	} {
		gone := a.ask("DELETE", orderPath, "symbol=BTCUSDT&origClientOrderId=q1")
		next := a.ask("POST", orderPath, params+"newClientOrderId=q1")
		now := a.ask("GET", orderPath, "symbol=BTCUSDT&origClientOrderId=q1")
		if gone.Status != "CANCELED" || gone.OrigClientOrderID != "q1" || !seen[gone.OrderID] || next.Status != "NEW" ||
			seen[next.OrderID] || next.ClientOrderID != "q1" || now.OrderID != next.OrderID || now.Status != "NEW" {
			t.Errorf("%d: canceled %+v, placed %+v, found %+v", i, gone, next, now)
		}
		seen[next.OrderID] = true
		if old := a.ask("GET", orderPath, fmt.Sprintf("symbol=BTCUSDT&orderId=%d", gone.OrderID)); old.Status !=
			"CANCELED" || old.ClientOrderID != "q1" {
			t.Errorf("%d: the canceled order is now %+v", i, old)
		}
	}
	r.Limit("BTC_USDT", "sell", "100", "1")
	const market = "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.25&newOrderRespType=RESULT&newClientOrderId=m1"
	one, two := a.ask("POST", orderPath, market), a.ask("POST", orderPath, market)
	if one.Status != "FILLED" || two.Status != "FILLED" || one.OrderID == two.OrderID {
		t.Errorf("%+v, %+v", one, two)
	}
	rows, err := a.native.Balances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Currency == "BTC" && trim(string(row.Free)) != "100.4995" { // less 0.1 %
			t.Errorf("two purchases of 0.25 BTC leave %s", row.Free)
		}
	}
	if open, err := a.NewListOpenOrdersService().Symbol("BTCUSDT").Do(t.Context()); err != nil || len(open) != 1 ||
		open[0].ClientOrderID != "q1" {
		t.Errorf("%+v %v", open, err)
	}
}

// By the WebSocket API the rule is the same.
func TestAClientOrderIDIsUniqueAmongOpenOrdersByWebSocket(t *testing.T) {
	r, a, _ := funded(t)
	s := r.socket("/ws-api/v3")
	send := func(method string, params map[string]any) (p placed) {
		t.Helper()
		got := s.request(method, a.stamped(a.sign, params))
		if p.Code, p.Msg = got.Error.Code, got.Error.Msg; got.Status == 200 {
			if err := json.Unmarshal(got.Result, &p); err != nil {
				t.Fatalf("%s", got.Result)
			}
		}
		return p
	}
	order := map[string]any{
		"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "timeInForce": "GTC", "quantity": "1", "price": "90",
		"newClientOrderId": "w1", "newOrderRespType": "RESULT",
	}
	id := map[string]any{"symbol": "BTCUSDT", "origClientOrderId": "w1"}
	first := send("order.place", order)
	a.duplicate("order.place", send("order.place", order))
	a.duplicate("REST", a.ask("POST", orderPath, restBid+"newClientOrderId=w1"))
	gone, next := send("order.cancel", id), send("order.place", order)
	if gone.OrderID != first.OrderID || next.Status != "NEW" || next.OrderID == first.OrderID {
		t.Errorf("%+v, %+v, %+v", first, gone, next)
	}
	delete(order, "newClientOrderId")
	bare := send("order.place", order)
	if !generated.MatchString(bare.ClientOrderID) {
		t.Errorf("%+v", bare)
	}
	if found := send("order.status", map[string]any{
		"symbol": "BTCUSDT", "origClientOrderId": bare.ClientOrderID,
	}); found.OrderID != bare.OrderID || found.ClientOrderID != bare.ClientOrderID {
		t.Errorf("%+v", found)
	}
}

// cancelReplace frees the id of what it cancels, so a quote keeps its id, in both modes and whatever changes. The id of
// another open order stays refused.
func TestCancelReplaceKeepsTheID(t *testing.T) {
	_, a, _ := funded(t)
	type answer struct {
		CancelResult, NewOrderResult     string
		CancelResponse, NewOrderResponse placed
		Code                             int
		Data                             *answer
	}
	replace := func(params string) (got answer) {
		t.Helper()
		_, body := a.raw("POST", orderPath+"/cancelReplace", params)
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(body)
		}
		return got
	}
	a.ask("POST", orderPath, restBid+"newClientOrderId=other")
	quote := a.ask("POST", orderPath, restBid+"newClientOrderId=quote")
	for _, mode := range []string{"STOP_ON_FAILURE", "ALLOW_FAILURE"} {
		for _, order := range []string{
			restBid, strings.Replace(restBid, "price=90", "price=91", 1),
			strings.Replace(restBid, "quantity=1", "quantity=2", 1),
		} {
			got := replace(order + "newClientOrderId=quote&cancelOrigClientOrderId=quote&cancelReplaceMode=" + mode)
			if got.CancelResult != "SUCCESS" || got.NewOrderResult != "SUCCESS" ||
				got.CancelResponse.OrderID != quote.OrderID || got.CancelResponse.Status != "CANCELED" ||
				got.CancelResponse.OrigClientOrderID != "quote" || got.NewOrderResponse.Status != "NEW" ||
				got.NewOrderResponse.OrderID == quote.OrderID || got.NewOrderResponse.ClientOrderID != "quote" {
				t.Fatalf("%s %s: %+v", mode, order, got)
			}
			quote = got.NewOrderResponse
			open := a.ask("GET", orderPath, "symbol=BTCUSDT&origClientOrderId=quote")
			if open.OrderID != quote.OrderID || open.Status != "NEW" {
				t.Errorf("%s %s: the order is %+v", mode, order, open)
			}
		}
	}
	taken := replace(restBid + "newClientOrderId=other&cancelOrigClientOrderId=quote&cancelReplaceMode=STOP_ON_FAILURE")
	if taken.Code != -2021 || taken.Data.CancelResult != "SUCCESS" || taken.Data.NewOrderResult != "FAILURE" {
		t.Errorf("%+v", taken)
	}
	a.duplicate("the id of another open order", taken.Data.NewOrderResponse)
	bare := a.ask("POST", orderPath, restBid)
	kept := replace(restBid + "newClientOrderId=" + bare.ClientOrderID + "&cancelOrigClientOrderId=" +
		bare.ClientOrderID + "&cancelReplaceMode=STOP_ON_FAILURE")
	if kept.NewOrderResult != "SUCCESS" || kept.NewOrderResponse.ClientOrderID != bare.ClientOrderID ||
		kept.NewOrderResponse.OrderID == bare.OrderID {
		t.Errorf("a generated id: %+v", kept)
	}
}

// An order and a cancel without an id get one, the same wherever the order is shown; it names the order, for its
// account alone, and it is as unique as an id that was sent. Orders of the native API have one too.
func TestIDsAreGenerated(t *testing.T) {
	_, a, b := funded(t)
	first, second := a.ask("POST", orderPath, restBid), a.ask("POST", orderPath, restBid)
	id := first.ClientOrderID
	if !generated.MatchString(id) || id == second.ClientOrderID {
		t.Fatalf("%+v, %+v", first, second)
	}
	ack := a.ask("POST", orderPath, strings.Replace(restBid, "RESULT", "ACK", 1))
	if !generated.MatchString(ack.ClientOrderID) {
		t.Errorf("%+v", ack)
	}
	byID := "symbol=BTCUSDT&origClientOrderId=" + id
	both := byID + fmt.Sprintf("&orderId=%d", first.OrderID)
	for _, params := range []string{byID, both, fmt.Sprintf("symbol=BTCUSDT&orderId=%d", first.OrderID)} {
		if got := a.ask("GET", orderPath, params); got.OrderID != first.OrderID || got.ClientOrderID != id {
			t.Errorf("%s: %+v", params, got)
		}
	}
	for _, list := range []string{"/api/v3/openOrders", "/api/v3/allOrders"} {
		_, body := a.raw("GET", list, "symbol=BTCUSDT")
		var rows []placed
		if err := json.Unmarshal([]byte(body), &rows); err != nil || len(rows) != 3 || rows[0].ClientOrderID != id ||
			rows[1].ClientOrderID != second.ClientOrderID || rows[2].ClientOrderID != ack.ClientOrderID {
			t.Errorf("%s: %s", list, body)
		}
	}
	for _, params := range []string{
		byID, strings.Replace(both, fmt.Sprint(first.OrderID), fmt.Sprint(second.OrderID), 1),
		"symbol=BTCUSDT&origClientOrderId=" + strings.Repeat("z", 22),
		"symbol=BTCUSDT&origClientOrderId=" + strings.Repeat("0", 22),
	} {
		u := a
		if params == byID {
			u = b
		}
		if got := u.ask("GET", orderPath, params); got.Code != -2013 {
			t.Errorf("%s: %+v", params, got)
		}
	}
	a.duplicate("a generated id of an open order", a.ask("POST", orderPath, restBid+"newClientOrderId="+id))
	if other := b.ask("POST", orderPath, restBid+"newClientOrderId="+id); other.ClientOrderID != id {
		t.Errorf("another account sends the id: %+v", other)
	}
	status, body := a.raw("PUT", orderPath+"/amend/keepPriority", both+"&newQty=0.5&newClientOrderId="+id)
	if status != 200 || !strings.Contains(body, `"clientOrderId":"`+id+`"`) {
		t.Errorf("%d %s", status, body)
	}
	gone := a.ask("DELETE", orderPath, byID)
	if gone.OrderID != first.OrderID || gone.OrigClientOrderID != id || !generated.MatchString(gone.ClientOrderID) ||
		gone.ClientOrderID == id {
		t.Errorf("%+v", gone)
	}
	if got := a.ask("GET", orderPath, "symbol=BTCUSDT&origClientOrderId="+gone.ClientOrderID); got.Code != -2013 {
		t.Errorf("the id of a cancel names an order: %+v", got)
	}
	again := a.ask("POST", orderPath, restBid+"newClientOrderId="+id)
	if again.Status != "NEW" || a.ask("GET", orderPath, byID).OrderID != again.OrderID {
		t.Errorf("the generated id of an ended order: %+v", again)
	}
	native := a.r.Call("POST", "/orders", `{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":80,`+
		`"amount":1,"accountId":"`+a.id+`"}`)
	if native["clientOrderId"] != nil {
		t.Errorf("the native API shows %v", native["clientOrderId"])
	}
	got := a.ask("GET", orderPath, fmt.Sprintf("symbol=BTCUSDT&orderId=%v", native["orderId"]))
	if !generated.MatchString(got.ClientOrderID) {
		t.Errorf("%+v", got)
	}
	_, body = a.raw("DELETE", "/api/v3/openOrders", "symbol=BTCUSDT")
	var rows []placed
	if err := json.Unmarshal([]byte(body), &rows); err != nil || len(rows) != 4 {
		t.Fatal(body)
	}
	ids := map[string]bool{}
	for _, row := range rows {
		ids[row.ClientOrderID], ids[row.OrigClientOrderID] = true, true
	}
	if len(ids) != 8 || ids[""] {
		t.Errorf("%s", body)
	}
}

// Reports have the id of the order in c, and of a cancel the cancel's own, sent or generated, with the order's in C: as
// the answers say.
func TestReportsHaveTheIDs(t *testing.T) {
	_, a, _ := funded(t)
	feed := a.follow()
	named := a.ask("POST", orderPath, restBid+"newClientOrderId=mine")
	bare := a.ask("POST", orderPath, restBid)
	stop := a.ask("POST", orderPath, "symbol=BTCUSDT&side=SELL&type=STOP_LOSS&quantity=1&stopPrice=80")
	x := a.ask("DELETE", orderPath, "symbol=BTCUSDT&origClientOrderId=mine&newClientOrderId=cancel-1")
	y := a.ask("DELETE", orderPath, fmt.Sprintf("symbol=BTCUSDT&orderId=%d", bare.OrderID))
	z := a.ask("DELETE", orderPath, fmt.Sprintf("symbol=BTCUSDT&orderId=%d&newClientOrderId=cancel-2", stop.OrderID))
	expired := a.ask("POST", orderPath, strings.Replace(restBid, "GTC", "IOC", 1))
	if x.ClientOrderID != "cancel-1" || x.OrigClientOrderID != "mine" || z.ClientOrderID != "cancel-2" ||
		z.OrigClientOrderID != stop.ClientOrderID || y.OrigClientOrderID != bare.ClientOrderID {
		t.Errorf("%+v, %+v, %+v", x, y, z)
	}
	for i, want := range [][4]string{
		{"NEW", fmt.Sprint(named.OrderID), "mine", ""},
		{"NEW", fmt.Sprint(bare.OrderID), bare.ClientOrderID, ""},
		{"NEW", fmt.Sprint(stop.OrderID), stop.ClientOrderID, ""},
		{"CANCELED", fmt.Sprint(named.OrderID), "cancel-1", "mine"},
		{"CANCELED", fmt.Sprint(bare.OrderID), y.ClientOrderID, bare.ClientOrderID},
		{"CANCELED", fmt.Sprint(stop.OrderID), "cancel-2", stop.ClientOrderID},
		{"NEW", fmt.Sprint(expired.OrderID), expired.ClientOrderID, ""},
		{"EXPIRED", fmt.Sprint(expired.OrderID), expired.ClientOrderID, ""},
	} {
		e := feed.event()
		for e.text("e") != "executionReport" {
			e = feed.event()
		}
		if got := [4]string{e.text("x"), e.text("i"), e.text("c"), e.text("C")}; got != want || got[2] == "" {
			t.Errorf("report %d: %v, want %v", i, got, want)
		}
	}
}

// The native API keeps its rule beside this one, by the same ids: a repeat with the same content answers the order that
// had the id last, whichever interface placed it.
func TestTheNativeAPIRepeats(t *testing.T) {
	r, a, _ := funded(t)
	native := func(price string) map[string]any {
		t.Helper()
		return r.Call("POST", "/orders", `{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":`+price+
			`,"amount":1,"clientOrderId":"both","selfTradePrevention":"cancel_maker","accountId":"`+a.id+`"}`)
	}
	one := native("90")
	a.duplicate("an order of the native API", a.ask("POST", orderPath, restBid+"newClientOrderId=both"))
	if again := native("90"); fmt.Sprint(again["orderId"]) != fmt.Sprint(one["orderId"]) {
		t.Errorf("%v, %v", again, one)
	}
	if gone := a.ask("DELETE", orderPath, "symbol=BTCUSDT&origClientOrderId=both"); gone.Status != "CANCELED" {
		t.Errorf("%+v", gone)
	}
	if again := native("90"); fmt.Sprint(again["orderId"]) != fmt.Sprint(one["orderId"]) {
		t.Errorf("ended: %v, %v", again, one)
	}
	if got := native("91")["rejectReason"]; got != "duplicate_client_order_id" {
		t.Errorf("another content: %v", got)
	}
	two := a.ask("POST", orderPath, strings.Replace(restBid, "price=90", "price=91", 1)+"newClientOrderId=both")
	if got := native("91"); fmt.Sprint(got["orderId"]) != fmt.Sprint(two.OrderID) ||
		fmt.Sprint(two.OrderID) == fmt.Sprint(one["orderId"]) {
		t.Errorf("%v, %+v", got, two)
	}
	if got := native("90")["rejectReason"]; got != "duplicate_client_order_id" {
		t.Errorf("the first content: %v", got)
	}
}

// Both rules hold after the end of the process, from the journal alone and from a snapshot.
func TestIDsSurviveARestart(t *testing.T) {
	for name, snapshots := range map[string]int64{"journal": 1 << 30, "snapshots": 4096} {
		t.Run(name, func(t *testing.T) {
			o := exchangetest.Options(t.TempDir())
			o.Binance.Listen = []string{"127.0.0.1:0"}
			o.Journal.SnapshotBytes = snapshots
			begin := func() *rig {
				x := &rig{Rig: exchangetest.Start(t, o), t: t}
				x.base = "http://" + x.BinanceAddrs()[0]
				return x
			}
			r := begin()
			r.Call("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":5,"minQuoteAmount":5}`)
			a := r.user("anna")
			open := a.ask("POST", orderPath, restBid+"newClientOrderId=open")
			a.ask("POST", orderPath, restBid+"newClientOrderId=ended")
			a.ask("DELETE", orderPath, "symbol=BTCUSDT&origClientOrderId=ended&newClientOrderId=cancel-1")
			ended := a.ask("POST", orderPath, restBid+"newClientOrderId=ended")
			a.ask("DELETE", orderPath, "symbol=BTCUSDT&origClientOrderId=ended")
			bare := a.ask("POST", orderPath, restBid)
			for i := 0; i < 20 || name == "snapshots" && len(exchangetest.Files(t, o.Dir, "engine/*.snap")) < 2; i++ {
				r.Limit("BTC_USDT", "sell", fmt.Sprint(200+i), "1")
			}
			hash := r.Hash()
			o.Dir = r.Kill()
			key := *a
			r = begin()
			if got := r.Hash(); got != hash {
				t.Errorf("%s, was %s", got, hash)
			}
			a = r.withKey(key.id, key.APIKey, key.SecretKey)
			a.sent = key.sent
			a.duplicate("an open one", a.ask("POST", orderPath, restBid+"newClientOrderId=open"))
			a.duplicate("a generated one", a.ask("POST", orderPath, restBid+"newClientOrderId="+bare.ClientOrderID))
			for id, want := range map[string]placed{
				"open": open, "ended": ended, bare.ClientOrderID: bare,
			} {
				if got := a.ask("GET", orderPath, "symbol=BTCUSDT&origClientOrderId="+id); got.OrderID != want.OrderID {
					t.Errorf("%s: %+v, was %+v", id, got, want)
				}
			}
			repeat := r.Call("POST", "/orders", `{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit",`+
				`"price":90,"amount":1,"clientOrderId":"ended","selfTradePrevention":"cancel_maker",`+
				`"accountId":"`+a.id+`"}`)
			if fmt.Sprint(repeat["orderId"]) != fmt.Sprint(ended.OrderID) {
				t.Errorf("a native repeat: %v, want order %d", repeat, ended.OrderID)
			}
			if next := a.ask("POST", orderPath, restBid+"newClientOrderId=ended"); next.Status != "NEW" ||
				next.OrderID <= bare.OrderID {
				t.Errorf("%+v", next)
			}
		})
	}
}

// A client of another project, which keeps orders by their ids, finds each of them.
func TestGoBinanceSeesAnIDOfEachOrder(t *testing.T) {
	_, a, _ := funded(t)
	ids := map[string]int64{}
	for range 3 {
		o, err := a.NewCreateOrderService().Symbol("BTCUSDT").Side("BUY").Type("LIMIT").TimeInForce("GTC").
			Quantity("1").Price("90").Do(t.Context(), gobinance.WithRecvWindow(int64(6000+len(ids))))
		if err != nil {
			t.Fatal(err)
		}
		ids[o.ClientOrderID] = o.OrderID
	}
	if len(ids) != 3 || ids[""] != 0 {
		t.Errorf("%v", ids)
	}
}
