package binance_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	gobinance "github.com/adshao/go-binance/v2"

	"github.com/tickhive/tickhive/engine/sequencer"
)

// A whole life of orders with the unmodified client; every figure is the native API's.
func TestOrdersAgreeWithTheNativeAPI(t *testing.T) {
	r, a, b := funded(t)
	ctx := t.Context()
	rest, err := a.NewCreateOrderService().Symbol("BTCUSDT").Side("SELL").Type("LIMIT").TimeInForce("GTC").
		Quantity("2").Price("100.5").NewClientOrderID("ask-1").Do(ctx)
	if err != nil || rest.Status != "NEW" || rest.ClientOrderID != "ask-1" || len(rest.Fills) != 0 ||
		rest.SelfTradePreventionMode != "EXPIRE_MAKER" {
		t.Fatalf("%+v %v", rest, err)
	}
	take, err := b.NewCreateOrderService().Symbol("BTCUSDT").Side("BUY").Type("MARKET").Quantity("0.5").Do(ctx)
	if err != nil || take.Status != "FILLED" || take.ExecutedQuantity != "0.50000" || len(take.Fills) != 1 ||
		trim(take.OrigQuoteOrderQuantity) != "0" {
		t.Fatalf("%+v %v", take, err)
	}
	fills, _, err := b.native.Fills(ctx, listAll())
	if err != nil || len(fills) != 1 {
		t.Fatal(fills, err)
	}
	f := take.Fills[0]
	r.equal("fill's price", f.Price, json.Number(fills[0].Price))
	r.equal("fill's amount", f.Quantity, json.Number(fills[0].Volume))
	r.equal("fill's fee", f.Commission, json.Number(fills[0].Fee))
	if f.Commission != "0.00050000" || f.CommissionAsset != "BTC" || f.TradeID != 1 { // 0.1 % of 0.5 BTC
		t.Errorf("%+v", f)
	}
	quote, err := b.NewCreateOrderService().Symbol("BTCUSDT").Side("BUY").Type("MARKET").QuoteOrderQty("50.25").Do(ctx)
	if err != nil || quote.ExecutedQuantity != "0.50000" || quote.OrigQuantity != "0.50000" ||
		trim(quote.OrigQuoteOrderQuantity) != "50.25" {
		t.Errorf("%+v %v", quote, err)
	}
	for _, id := range []int64{rest.OrderID, take.OrderID} {
		u := a
		if id == take.OrderID {
			u = b
		}
		o, err := u.NewGetOrderService().Symbol("BTCUSDT").OrderID(id).Do(ctx)
		if err != nil {
			t.Fatal(err)
		}
		u.agrees(o)
	}
	byClient, err := a.NewGetOrderService().Symbol("BTCUSDT").OrigClientOrderID("ask-1").Do(ctx)
	if err != nil || byClient.OrderID != rest.OrderID || byClient.Status != "PARTIALLY_FILLED" {
		t.Errorf("%+v %v", byClient, err)
	}
	mine, err := a.NewListTradesService().Symbol("BTCUSDT").Do(ctx)
	if err != nil || len(mine) != 2 || !mine[0].IsMaker || mine[0].IsBuyer || mine[0].ID != 1 || mine[1].ID != 2 ||
		mine[0].Commission != "0.05025000" || mine[0].CommissionAsset != "USDT" { // 0.1 % of 50.25 USDT
		t.Errorf("%+v %v", mine, err)
	}
	if one, err := a.NewListTradesService().Symbol("BTCUSDT").FromID(2).Do(ctx); err != nil || len(one) != 1 {
		t.Errorf("%+v %v", one, err)
	}
	gone, err := a.NewCancelOrderService().Symbol("BTCUSDT").OrderID(rest.OrderID).Do(ctx)
	if err != nil || gone.Status != "CANCELED" || gone.OrigClientOrderID != "ask-1" ||
		gone.ExecutedQuantity != "1.00000" {
		t.Errorf("%+v %v", gone, err)
	}
	for _, u := range []*user{a, b} {
		account, err := u.NewGetAccountService().Do(ctx)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := u.native.Balances(ctx)
		if err != nil || len(rows) != 2 || len(account.Balances) != 2 {
			t.Fatal(rows, account.Balances, err)
		}
		for i, row := range rows {
			if account.Balances[i].Asset != row.Currency {
				t.Errorf("%+v, native %+v", account.Balances[i], row)
			}
			r.equal("free", account.Balances[i].Free, json.Number(row.Free))
			r.equal("locked", account.Balances[i].Locked, json.Number(row.Held))
		}
		if !account.CanTrade || account.AccountType != "SPOT" || account.CommissionRates.Taker != "0.001" ||
			account.TakerCommission != 10 {
			t.Errorf("%+v", account)
		}
	}
}

// A purchase may spend the whole balance, because its commission is in what it buys. So less than was bought can be
// sold.
func TestCommissionsAreInWhatIsReceived(t *testing.T) {
	r, _, _ := funded(t)
	r.Limit("BTC_USDT", "sell", "100", "50")
	r.Limit("BTC_USDT", "buy", "99", "50")
	c := r.owner("carl", "USDT 1000.12345678")
	place := func(u *user, params string) (o gobinance.CreateOrderResponse) {
		t.Helper()
		status, body := u.raw("POST", "/api/v3/order", "symbol=BTCUSDT&newOrderRespType=FULL&"+params)
		if err := json.Unmarshal([]byte(body), &o); err != nil || status != 200 || o.Status != "FILLED" {
			t.Fatalf("%s: %d %s", params, status, body)
		}
		return o
	}
	has := func(u *user, want string) {
		t.Helper()
		a, err := u.NewGetAccountService().OmitZeroBalances(true).Do(t.Context())
		got := ""
		for _, b := range a.Balances {
			got += b.Asset + " " + b.Free + " " + b.Locked + ", "
		}
		if err != nil || got != want {
			t.Errorf("%s has %s%v, want %s", u.id, got, err, want)
		}
	}
	// a lot costs 0.001: 10.00123 BTC for 1000.123, of which 0.1 % is the commission
	bought := place(c, "side=BUY&type=MARKET&quoteOrderQty=1000.12345678")
	if bought.ExecutedQuantity != "10.00123" || bought.CummulativeQuoteQuantity != "1000.1230000" ||
		bought.OrigQuoteOrderQuantity != "1000.1234567" || bought.Fills[0].Commission != "0.01000123" ||
		bought.Fills[0].CommissionAsset != "BTC" {
		t.Errorf("%+v %+v", bought, bought.Fills[0])
	}
	has(c, "BTC 9.99122877 0.00000000, USDT 0.00045678 0.00000000, ")
	c.fails("POST", "/api/v3/order", "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=10.00123", 400,
		`{"code":-2010,"msg":"Account has insufficient balance for requested action."`)
	// 9.99122 for 989.13078, less 0.1 %
	sold := place(c, "side=SELL&type=MARKET&quantity=9.99122")
	if sold.Fills[0].Commission != "0.98913078" || sold.Fills[0].CommissionAsset != "USDT" {
		t.Errorf("%+v", sold.Fills[0])
	}
	has(c, "BTC 0.00000877 0.00000000, USDT 988.14210600 0.00000000, ")

	d := r.owner("dora", "USDT 1000")
	d.fails("POST", "/api/v3/order", "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=10.00001&price=100",
		400, `{"code":-2010,"msg":"Account has insufficient`)
	d.fails("POST", "/api/v3/order", "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=10.00001", 400,
		`{"code":-2010,"msg":"Account has insufficient`)
	place(d, "side=BUY&type=LIMIT&timeInForce=GTC&quantity=10&price=100")
	has(d, "BTC 9.99000000 0.00000000, ")
}

// All order types that have a counterpart, and the errors of those that have none.
func TestOrderTypes(t *testing.T) {
	r, a, b := funded(t)
	r.Limit("BTC_USDT", "buy", "99", "1")
	r.Limit("BTC_USDT", "sell", "101", "1")
	r.Limit("BTC_USDT", "buy", "101", "0.1")
	ctx := t.Context()
	const limitBuy = "side=BUY&type=LIMIT&timeInForce=GTC"
	type want struct{ params, status, kind, tif string }
	for _, w := range []want{
		{"side=BUY&type=LIMIT_MAKER&quantity=1&price=98", "NEW", "LIMIT_MAKER", "GTC"},
		{"side=BUY&type=LIMIT&timeInForce=IOC&quantity=1&price=100", "EXPIRED", "LIMIT", "IOC"},
		{
			"side=SELL&type=STOP_LOSS_LIMIT&timeInForce=GTC&quantity=1&price=90&stopPrice=95", "NEW",
			"STOP_LOSS_LIMIT", "GTC",
		},
		{"side=SELL&type=STOP_LOSS&quantity=1&stopPrice=94", "NEW", "STOP_LOSS", "GTC"},
		{"side=BUY&type=STOP_LOSS&quantity=1&stopPrice=105", "NEW", "STOP_LOSS", "GTC"},
		{limitBuy + "&quantity=5&price=97&icebergQty=1", "NEW", "LIMIT", "GTC"},
		{"side=SELL&type=TAKE_PROFIT&quantity=1&stopPrice=105", "NEW", "TAKE_PROFIT", "GTC"},
		{"side=BUY&type=TAKE_PROFIT&quoteOrderQty=50&stopPrice=90", "NEW", "TAKE_PROFIT", "GTC"},
		{
			"side=BUY&type=TAKE_PROFIT_LIMIT&timeInForce=GTC&quantity=2&price=89&stopPrice=90&icebergQty=1", "NEW",
			"TAKE_PROFIT_LIMIT", "GTC",
		},
		{"side=BUY&type=STOP_LOSS&quoteOrderQty=50&stopPrice=105", "NEW", "STOP_LOSS", "GTC"},
		{"side=BUY&type=LIMIT&timeInForce=FOK&quantity=50&price=101", "EXPIRED", "LIMIT", "FOK"},
		{
			limitBuy + "&quantity=1&price=97&selfTradePreventionMode=TRANSFER&newClientOrderId=a/b",
			"NEW", "LIMIT", "GTC",
		},
	} {
		status, body := a.raw("POST", "/api/v3/order", "symbol=BTCUSDT&newOrderRespType=RESULT&"+w.params)
		var o gobinance.Order
		if err := json.Unmarshal([]byte(body), &o); err != nil || status != 200 || string(o.Status) != w.status ||
			string(o.Type) != w.kind || string(o.TimeInForce) != w.tif {
			t.Errorf("%s: %d %s", w.params, status, body)
		}
	}
	open, err := a.NewListOpenOrdersService().Symbol("BTCUSDT").Do(ctx)
	if err != nil || len(open) != 10 {
		t.Fatalf("%d %v", len(open), err)
	}
	for _, o := range open {
		a.agrees(o)
		waits := strings.Contains(string(o.Type), "_LOSS") || strings.Contains(string(o.Type), "_PROFIT")
		if o.IsWorking == waits {
			t.Errorf("%+v", o)
		}
	}
	for params, answer := range map[string]string{
		"":                                     `{"code":-1102,`,
		"side=BUY":                             `{"code":-1102,`,
		"side=UP&type=LIMIT":                   `{"code":-1117,`,
		"side=BUY&type=OCO":                    `{"code":-1116,`,
		"side=BUY&type=TAKE_PROFIT&quantity=1": `{"code":-1102,"msg":"Param 'stopPrice' or 'trail`,
		"side=BUY&type=TAKE_PROFIT_LIMIT&quantity=1&stopPrice=1":    `{"code":-1102,"msg":"Mandatory parameter 'time`,
		"side=BUY&type=TAKE_PROFIT&quantity=1&stopPrice=101":        `{"code":-2010,"msg":"Order would trigger imm`,
		"side=SELL&type=TAKE_PROFIT&quantity=1&stopPrice=101":       `{"code":-2010,"msg":"Order would trigger imm`,
		"side=SELL&type=STOP_LOSS&quantity=1&stopPrice=106":         `{"code":-2010,"msg":"Order would trigger imm`,
		"side=BUY&type=STOP_LOSS&quantity=1&stopPrice=96":           `{"code":-2010,"msg":"Order would trigger imm`,
		"side=SELL&type=STOP_LOSS&quantity=1&trailingDelta=9":       `{"code":-1013,"msg":"Filter failure: TRAILING_`,
		"side=SELL&type=STOP_LOSS&quantity=1&trailingDelta=0":       `{"code":-1013,"msg":"Filter failure: TRAILING_`,
		"side=SELL&type=STOP_LOSS&quantity=1&trailingDelta=2001":    `{"code":-1013,"msg":"Filter failure: TRAILING_`,
		"side=SELL&type=STOP_LOSS&quantity=1&trailingDelta=1.5":     `{"code":-1100,`,
		limitBuy + "&quantity=1&price=98&trailingDelta=10":          `{"code":-1106,"msg":"Parameter 'trailingDelta'`,
		limitBuy + "&quantity=1&price=98&stopPrice=97":              `{"code":-1106,"msg":"Parameter 'stopPrice'`,
		limitBuy + "&quantity=1&price=98&strategyType=999999":       `{"code":-1134,`,
		limitBuy + "&quantity=1&price=98&strategyId=x":              `{"code":-1100,`,
		limitBuy + "&quantity=1&price=98&icebergQty=1.5":            `{"code":-2010,"msg":"IcebergQty exceeds QTY."`,
		limitBuy + "&quantity=1&price=98&selfTradePreventionMode=X": `{"code":-1130,`,
		"side=BUY&type=LIMIT&quantity=1&price=1":                    `{"code":-1102,"msg":"Mandatory parameter 'time`,
		"side=BUY&type=LIMIT&timeInForce=GTX":                       `{"code":-1115,`,
		"side=BUY&type=LIMIT&timeInForce=GTC":                       `{"code":-1102,"msg":"Mandatory parameter 'quan`,
		"side=BUY&type=MARKET&quantity=1&price=1":                   `{"code":-1106,`,
		"side=BUY&type=MARKET&quantity=1e3":                         `{"code":-1100,`,
		"side=BUY&type=MARKET&quantity=1&trailingDelta=10":          `{"code":-1106,`,
		"side=SELL&type=MARKET&quoteOrderQty=4":                     `{"code":-1013,"msg":"Filter failure: NOTIONAL"`,
		"side=BUY&type=MARKET&quoteOrderQty=10.123456789":           `{"code":-1111,`,
		"side=BUY&type=MARKET&quoteOrderQty=4.99999999":             `{"code":-1013,"msg":"Filter failure: NOTIONAL"`,
		limitBuy + "&quantity=1&price=98.001":                       `{"code":-1013,"msg":"Filter failure: PRICE`,
		limitBuy + "&quantity=1.000001&price=98":                    `{"code":-1013,"msg":"Filter failure: LOT_SIZE"`,
		limitBuy + "&quantity=0.01&price=98":                        `{"code":-1013,"msg":"Filter failure: NOTIONAL"`,
		"side=BUY&type=LIMIT_MAKER&quantity=1&price=101":            `{"code":-2010,"msg":"Order would immediately`,
		limitBuy + "&quantity=99999&price=98":                       `{"code":-2010,"msg":"Account has insufficient`,
		limitBuy + "&quantity=1&price=98&newClientOrderId=%20":      `{"code":-1100,`,
		limitBuy + "&quantity=1&price=98&newOrderRespType=X":        `{"code":-1130,`,
	} {
		b.fails("POST", "/api/v3/order", strings.TrimSuffix("symbol=BTCUSDT&"+params, "&"), 400, answer)
	}
	if list, err := b.NewListOrdersService().Symbol("BTCUSDT").Do(ctx); err != nil || len(list) != 0 {
		t.Errorf("a refused order left a trace: %+v %v", list, err)
	}
	for _, path := range []string{"/api/v3/sor/order", "/api/v3/sor/order/test", "/sapi/v1/margin/order"} {
		b.fails("POST", path, "symbol=BTCUSDT", 404, `{"code":-1020,`)
	}
	// order/test checks and places nothing.
	if status, body := b.raw("POST", "/api/v3/order/test",
		"symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=98"); status != 200 || body != "{}" {
		t.Errorf("%d %s", status, body)
	}
	b.fails("POST", "/api/v3/order/test", "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=98.001",
		400, `{"code":-1013,"msg":"Filter failure: PRICE_FILTER"`)
	if status, body := b.raw("POST", "/api/v3/order/test", "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&"+
		"quantity=1&price=98&computeCommissionRates=true"); status != 200 || body != `{"standardCommissionForOrder":{`+
		`"maker":"0.001","taker":"0.001"},"specialCommissionForOrder":{"maker":"0.0","taker":"0.0"},`+
		`"taxCommissionForOrder":{"maker":"0.0","taker":"0.0"},"discount":{"enabledForAccount":false,`+
		`"enabledForSymbol":false,"discountAsset":null,"discount":"0.00000000"}}` {
		t.Errorf("%d %s", status, body)
	}
	r.Call("PATCH", "/pairs/BTC_USDT", `{"state":"halted"}`)
	for _, path := range []string{"/api/v3/order", "/api/v3/order/test"} {
		b.fails("POST", path, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=98", 400,
			`{"code":-2010,"msg":"Market is closed."`)
	}
}

func TestCancelsAndReplaces(t *testing.T) {
	_, a, b := funded(t)
	ctx := t.Context()
	place := func(price, client string) int64 {
		t.Helper()
		o, err := a.NewCreateOrderService().Symbol("BTCUSDT").Side("BUY").Type("LIMIT").TimeInForce("GTC").
			Quantity("1").Price(price).NewClientOrderID(client).Do(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return o.OrderID
	}
	first := place("90", "one")
	b.fails("DELETE", "/api/v3/order", fmt.Sprintf("symbol=BTCUSDT&orderId=%d", first), 400, `{"code":-2011,`)
	b.fails("GET", "/api/v3/order", fmt.Sprintf("symbol=BTCUSDT&orderId=%d", first), 400, `{"code":-2013,`)
	a.fails("GET", "/api/v3/order", "symbol=BTCUSDT", 400, `{"code":-1102,`)
	a.fails("GET", "/api/v3/order", "symbol=BTCUSDT&orderId=99999999999999999999", 400, `{"code":-1100,`)
	a.fails("POST", "/api/v3/order",
		"symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=2&price=90&newClientOrderId=one", 400,
		`{"code":-2010,"msg":"Duplicate order sent."`)

	both, err := a.NewCancelReplaceOrderService().Symbol("BTCUSDT").Side("BUY").Type("LIMIT").TimeInForce("GTC").
		Quantity("1").Price("91").CancelReplaceMode("STOP_ON_FAILURE").CancelOrderID(first).
		NewOrderRespType("RESULT").Do(ctx)
	if err != nil || both.CancelResult != "SUCCESS" || both.NewOrderResult != "SUCCESS" ||
		trim(both.NewOrderResponse.Price) != "91" {
		t.Fatalf("%+v %v", both, err)
	}
	const fresh = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=92&"
	stop := fmt.Sprintf(fresh+"cancelReplaceMode=STOP_ON_FAILURE&cancelOrderId=%d", first)
	a.fails("POST", "/api/v3/order/cancelReplace", stop, 400, `{"code":-2022,"msg":"Order cancel-replace failed.",`+
		`"data":{"cancelResult":"FAILURE","newOrderResult":"NOT_ATTEMPTED","cancelResponse":{"code":-2011,`)
	allow := fmt.Sprintf(fresh+"newOrderRespType=ACK&cancelReplaceMode=ALLOW_FAILURE&cancelOrderId=%d", first)
	a.fails("POST", "/api/v3/order/cancelReplace", allow, 409, `{"code":-2021,"msg":"Order cancel-replace partially `+
		`failed.","data":{"cancelResult":"FAILURE","newOrderResult":"SUCCESS","cancelResponse":{"code":-2011,`)

	status, body := a.raw("PUT", "/api/v3/order/amend/keepPriority",
		fmt.Sprintf("symbol=BTCUSDT&orderId=%d&newQty=0.4", both.NewOrderResponse.OrderID))
	if status != 200 || !strings.Contains(body, `"qty":"0.40000"`) {
		t.Errorf("%d %s", status, body)
	}
	a.fails("PUT", "/api/v3/order/amend/keepPriority",
		fmt.Sprintf("symbol=BTCUSDT&orderId=%d&newQty=0.5", both.NewOrderResponse.OrderID), 400, `{"code":-2038,`)

	place("93", "two")
	canceled, err := a.NewCancelOpenOrdersService().Symbol("BTCUSDT").Do(ctx)
	if err != nil || len(canceled.Orders) != 3 {
		t.Fatalf("%+v %v", canceled, err)
	}
	a.fails("DELETE", "/api/v3/openOrders", "symbol=BTCUSDT", 400, `{"code":-2011,`)
	all, err := a.NewListOrdersService().Symbol("BTCUSDT").Do(ctx)
	if err != nil || len(all) != 4 || !slices.IsSortedFunc(all, func(a, b *gobinance.Order) int {
		return int(a.OrderID - b.OrderID)
	}) {
		t.Fatalf("%+v %v", all, err)
	}
	for _, o := range all {
		a.agrees(o)
		if o.Status != "CANCELED" {
			t.Errorf("%+v", o)
		}
	}
	from, err := a.NewListOrdersService().Symbol("BTCUSDT").OrderID(all[1].OrderID).Limit(2).Do(ctx)
	if err != nil || len(from) != 2 || from[0].OrderID != all[1].OrderID {
		t.Errorf("%+v %v", from, err)
	}
	if b, err := b.NewListOpenOrdersService().Do(ctx); err != nil || len(b) != 0 {
		t.Errorf("%+v %v", b, err)
	}
}

// HMAC and Ed25519 keys sign. Equal requests of one millisecond are different requests: no rule of that interface makes
// a signature count once. What is wrong has its code.
func TestSignatures(t *testing.T) {
	r, a, _ := funded(t)
	at := r.now().UnixMilli()
	const order = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=90"
	signed := func(u *user, path, params string) string { return path + "?" + params + "&signature=" + u.sign(params) }
	post := signed(a, "/api/v3/order", fmt.Sprintf("%s&timestamp=%d", order, at))
	ids := map[int64]bool{}
	for range 2 {
		var o gobinance.Order
		status, body := a.send("POST", post)
		if err := json.Unmarshal([]byte(body), &o); status != 200 || err != nil || ids[o.OrderID] {
			t.Fatalf("%d %s", status, body)
		}
		ids[o.OrderID] = true
	}
	get := signed(a, "/api/v3/openOrders", fmt.Sprintf("timestamp=%d", at))
	for range 2 {
		if status, body := a.send("GET", get); status != 200 || strings.Count(body, `"orderId"`) != len(ids) {
			t.Errorf("a repeated read: %d %s", status, body)
		}
	}
	for params, want := range map[string]string{
		fmt.Sprintf("timestamp=%d", at-5001): `{"code":-1021,"msg":"Timestamp for this request is ` +
			`outside of`,
		fmt.Sprintf("timestamp=%d", at+1000): `{"code":-1021,"msg":"Timestamp for this request was ` +
			`1000ms ahead`,
		fmt.Sprintf("timestamp=%d&recvWindow=60001", at): `{"code":-1131,`,
		"recvWindow=1": `{"code":-1102,`,
		fmt.Sprintf("timestamp=%d&recvWindow=10", at-11):      `{"code":-1021,`,
		fmt.Sprintf("timestamp=%d&recvWindow=60000", at-9000): `[`,
	} {
		if _, body := a.send("GET", signed(a, "/api/v3/openOrders", params)); !strings.HasPrefix(body, want) {
			t.Errorf("%s: %s, want %s", params, body, want)
		}
	}
	for _, change := range []string{"0", "f"} { // one of them is another digit
		wrong := get[:len(get)-1] + change
		if _, body := a.send("GET", wrong); wrong != get && !strings.HasPrefix(body, `{"code":-1022,`) {
			t.Errorf("%s", body)
		}
	}
	stranger := r.withKey("", strings.Repeat("A", 38), "x")
	stranger.fails("GET", "/api/v3/account", "", 401, `{"code":-2015,`)
	nameless := r.withKey("", "", "x")
	nameless.fails("GET", "/api/v3/account", "", 401, `{"code":-2014,`)
	read := r.Call("POST", "/users/"+a.id+"/apikeys", `{"name":"read","canTrade":false}`)
	reader := r.withKey(a.id, read["publicKey"].(string), read["privateKey"].(string))
	if status, body := reader.raw("GET", "/api/v3/account", ""); status != 200 ||
		!strings.Contains(body, `"canTrade":false`) {
		t.Errorf("%d %s", status, body)
	}
	reader.fails("POST", "/api/v3/order", order, 401, `{"code":-2015,`)

	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key := r.Call("POST", "/users/"+a.id+"/apikeys", `{"name":"ed","ed25519PublicKey":"`+
		base64.StdEncoding.EncodeToString(public)+`"}`)["publicKey"].(string)
	ed := r.withKey(a.id, key, "")
	params := fmt.Sprintf("timestamp=%d", at)
	signature := base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte(params)))
	target := "/api/v3/openOrders?" + params + "&signature=" + url.QueryEscape(signature)
	if status, body := ed.send("GET", target); status != 200 || !strings.Contains(body, `"orderId"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := a.send("GET", target); status != 400 || !strings.HasPrefix(body, `{"code":-1022,`) {
		t.Errorf("a signature by another key: %d %s", status, body)
	}
}

// An order whose write is not confirmed has an unknown outcome: 504 with -1007.
func TestAnUnknownOutcomeIsATimeout(t *testing.T) {
	r, a, _ := funded(t)
	r.Faults.Fail = sequencer.ErrOutcomeUnknown
	defer func() { r.Faults.Fail = nil }()
	a.fails("POST", "/api/v3/order", "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=90", 504,
		`{"code":-1007,"msg":"Timeout waiting for response from backend server. Send status unknown; execution status `)
	r.Faults.Fail = sequencer.ErrBusy
	a.fails("POST", "/api/v3/order", "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=2&price=90", 503,
		`{"code":-1001,`)
}

// The calls that libraries make when they load the pairs.
func TestLoadMarketsCalls(t *testing.T) {
	_, a, _ := funded(t)
	for path, want := range map[string]string{
		"/sapi/v1/capital/config/getall":    `[{"coin":"BTC","free":"100.00000000","locked":"0.00000000","name":"BTC",`,
		"/sapi/v1/asset/tradeFee":           `[{"symbol":"BTCUSDT","makerCommission":"0.001","takerC`,
		"/sapi/v1/bnbBurn":                  `{"spotBNBBurn":false,"interestBNBBurn":false}`,
		"/sapi/v1/margin/isolated/allPairs": "[]",
		"/sapi/v1/margin/allPairs":          "[]", // needs no key; libraries sign it all the same
		"/api/v3/account/commission":        `{"code":-1102,`,
	} {
		if _, body := a.raw("GET", path, ""); !strings.HasPrefix(body, want) {
			t.Errorf("%s: %s", path, body)
		}
	}
	for _, path := range []string{"/sapi/v1/margin/allPairs", "/api/v3/ping"} {
		a.r.is(path+"?timestamp=1&signature=ab", 401, `{"code":-2014,"msg":"API-key format invalid."}`)
	}
	fee, err := a.NewTradeFeeService().Symbol("BTCUSDT").Do(t.Context())
	if err != nil || fee[0].MakerCommission != "0.001" {
		t.Errorf("%+v %v", fee, err)
	}
	a.r.is("/sapi/v1/margin/allPairs", 200, "[]")
}
