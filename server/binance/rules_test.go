package binance_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// answer sends a request and returns its members.
func (u *user) answer(method, path, params string) (m map[string]json.RawMessage, body string) {
	u.r.t.Helper()
	status, body := u.raw(method, path, params)
	if err := json.Unmarshal([]byte(body), &m); err != nil || status != 200 {
		u.r.t.Fatalf("%s %s?%s: %d %s", method, path, params, status, body)
	}
	return m, body
}

// brief returns some members of an object.
func brief(m map[string]json.RawMessage, names ...string) string {
	var out []string
	for _, name := range names {
		if v, has := m[name]; has {
			out = append(out, trim(strings.Trim(string(v), `"`)))
		} else {
			out = append(out, "-")
		}
	}
	return strings.Join(out, " ")
}

// The scenarios of the documentation of self-trade prevention, with their quantities and prices; the orders are of one
// account. Each order shows what the scenario says, by its status, prevented match and prevented quantity.
func TestSelfTradePreventionScenarios(t *testing.T) {
	type order struct{ params, want string } // status executedQty preventedQuantity, and whether it has a match
	maker := func(quantity, price, mode, want string) order {
		return order{
			"side=BUY&type=LIMIT&timeInForce=GTC&quantity=" + quantity + "&price=" + price +
				"&selfTradePreventionMode=" + mode,
			want,
		}
	}
	taker := func(quantity, mode, want string) order {
		return order{
			"side=SELL&type=LIMIT&timeInForce=GTC&price=1&quantity=" + quantity +
				"&selfTradePreventionMode=" + mode,
			want,
		}
	}
	three := func(first, second, third string) []order {
		return []order{
			maker("1.2", "1.2", "NONE", first), maker("1.3", "1.1", "NONE", second), maker("8.1", "1", "NONE", third),
		}
	}
	for name, c := range map[string]struct {
		orders  []order
		matches string // makerPreventedQuantity and takerPreventedQuantity of each
	}{
		"A": {[]order{maker("1", "1", "NONE", "FILLED 1 -"), taker("1", "NONE", "FILLED 1 -")}, ""},
		"B": {
			append(three("EXPIRED_IN_MATCH 0 1.2", "EXPIRED_IN_MATCH 0 1.3", "EXPIRED_IN_MATCH 0 8.1"),
				taker("3", "EXPIRE_MAKER", "NEW 0 -")),
			"EXPIRE_MAKER 1.2 1.2 -, EXPIRE_MAKER 1.1 1.3 -, EXPIRE_MAKER 1 8.1 -",
		},
		"C": {
			append(three("NEW 0 -", "NEW 0 -", "NEW 0 -"), taker("3", "EXPIRE_TAKER", "EXPIRED_IN_MATCH 0 3")),
			"EXPIRE_TAKER 1.2 - 3",
		},
		"D": {
			[]order{maker("1", "1", "NONE", "EXPIRED_IN_MATCH 0 1"), taker("3", "EXPIRE_BOTH", "EXPIRED_IN_MATCH 0 3")},
			"EXPIRE_BOTH 1 1 3",
		},
		"E": {
			[]order{maker("1", "1", "EXPIRE_MAKER", "NEW 0 -"), taker("1", "EXPIRE_TAKER", "EXPIRED_IN_MATCH 0 1")},
			"EXPIRE_TAKER 1 - 1",
		},
		"F": {[]order{
			maker("1", "1", "NONE", "EXPIRED_IN_MATCH 0 1"),
			{"side=SELL&type=MARKET&quantity=1&selfTradePreventionMode=EXPIRE_MAKER", "EXPIRED 0 -"},
		}, "EXPIRE_MAKER 1 1 -"},
		"G": {
			[]order{maker("6", "2", "NONE", "NEW 0 2"), taker("2", "DECREMENT", "EXPIRED_IN_MATCH 0 2")},
			"DECREMENT 2 2 2",
		},
		"H": {
			[]order{maker("6", "2", "TRANSFER", "NEW 0 2"), taker("2", "TRANSFER", "EXPIRED_IN_MATCH 0 2")},
			"DECREMENT 2 2 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.Call("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":5}`)
			a := r.user("anna")
			var ids []string
			var last string
			for _, o := range c.orders {
				m, body := a.answer("POST", orderPath, "symbol=BTCUSDT&newOrderRespType=FULL&"+o.params)
				ids, last = append(ids, string(m["orderId"])), body
			}
			for i, o := range c.orders {
				m, body := a.answer("GET", orderPath, "symbol=BTCUSDT&orderId="+ids[i])
				if got := brief(m, "status", "executedQty", "preventedQuantity"); got != o.want {
					t.Errorf("order %d: %s, want %s: %s", i, got, o.want, body)
				}
				if _, has := m["preventedMatchId"]; has == strings.HasSuffix(o.want, "-") {
					t.Errorf("order %d: %s", i, body)
				}
			}
			taker := ids[len(ids)-1]
			_, body := a.raw("GET", "/api/v3/myPreventedMatches", "symbol=BTCUSDT&orderId="+taker)
			var rows, shown []map[string]json.RawMessage
			if err := json.Unmarshal([]byte(body), &rows); err != nil {
				t.Fatal(body)
			}
			var got []string
			for i, m := range rows {
				got = append(got, brief(m,
					"selfTradePreventionMode", "price", "makerPreventedQuantity", "takerPreventedQuantity"))
				if string(m["takerOrderId"]) != taker || string(m["makerOrderId"]) != ids[i] ||
					string(m["tradeGroupId"]) != "-1" ||
					string(m["preventedMatchId"]) != fmt.Sprint(i+1) {
					t.Errorf("%s", body)
				}
			}
			if text := strings.Join(got, ", "); text != c.matches {
				t.Errorf("matches %s, want %s", text, c.matches)
			}
			if _, list, has := strings.Cut(last, `"preventedMatches":`); has != (c.matches != "") {
				t.Errorf("%s", last)
			} else if has {
				if err := json.NewDecoder(strings.NewReader(list)).Decode(&shown); err != nil ||
					len(shown) != len(rows) {
					t.Errorf("%s", last)
				}
			}
			if len(rows) > 0 {
				want := `{symbol:s preventedMatchId:n takerOrderId:n makerSymbol:s makerOrderId:n tradeGroupId:n ` +
					`selfTradePreventionMode:s price:s`
				if strings.HasSuffix(c.matches, "-") {
					want += ` makerPreventedQuantity:s`
				} else if strings.Contains(got[0], " - ") {
					want += ` takerPreventedQuantity:s`
				} else {
					want += ` takerPreventedQuantity:s makerPreventedQuantity:s`
				}
				_, first := a.raw("GET", "/api/v3/myPreventedMatches", "symbol=BTCUSDT&preventedMatchId=1")
				shaped(t, "myPreventedMatches", first, `[`+want+` transactTime:n}]`)
			}
		})
	}
}

// The parameters of prevented matches, and what another account sees of them.
func TestPreventedMatchQueries(t *testing.T) {
	_, a, b := funded(t)
	a.ask("POST", orderPath, restBid)
	a.ask("POST", orderPath, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.5&selfTradePreventionMode=EXPIRE_TAKER")
	for params, want := range map[string]string{
		"":                                 `{"code":-1102,"msg":"Param 'preventedMatchId' or 'orderId' must`,
		"orderId=1&preventedMatchId=1":     `{"code":-1128,`,
		"preventedMatchId=1&limit=3":       `{"code":-1128,`,
		"orderId=x":                        `{"code":-1100,`,
		"orderId=1&fromPreventedMatchId=2": `[]`,
		"orderId=1&fromPreventedMatchId=1&limit=1": `[{"symbol":"BTCUSDT","preventedMatchId":1,`,
		"orderId=2":          `[{"symbol":"BTCUSDT","preventedMatchId":1,`,
		"orderId=3":          `[]`,
		"preventedMatchId=2": `[]`,
	} {
		_, body := a.raw("GET", "/api/v3/myPreventedMatches", strings.TrimSuffix("symbol=BTCUSDT&"+params, "&"))
		if !strings.HasPrefix(body, want) {
			t.Errorf("%s: %s, want %s", params, body, want)
		}
	}
	if _, body := b.raw("GET", "/api/v3/myPreventedMatches", "symbol=BTCUSDT&preventedMatchId=1"); body != "[]" {
		t.Errorf("another account's: %s", body)
	}
}

// Why an order has ended is in its report (eR) and in queries (expiryReason); a cancel by request has no reason.
func TestExpiryReasons(t *testing.T) {
	r, a, _ := funded(t)
	anna := a.follow()
	place := func(params, status, reason string) {
		t.Helper()
		m, body := a.answer("POST", orderPath, "symbol=BTCUSDT&newOrderRespType=RESULT&"+params)
		if got := brief(m, "status", "expiryReason"); got != status+" "+reason {
			t.Errorf("%s: %s", got, body)
		}
		for {
			e := anna.event()
			if e.text("i") != string(m["orderId"]) || e.text("x") != "EXPIRED" {
				continue
			}
			if e.text("X") != status || e.text("eR") != reason {
				t.Errorf("%s", e)
			}
			return
		}
	}
	const noLiquidity = "INSUFFICIENT_LIQUIDITY"
	place("side=BUY&type=MARKET&quantity=1", "EXPIRED", noLiquidity)
	place("side=SELL&type=MARKET&quantity=1", "EXPIRED", noLiquidity)
	a.fails("POST", orderPath, "symbol=BTCUSDT&side=BUY&type=MARKET&quoteOrderQty=50", 400,
		`{"code":-2010,"msg":"Order book liquidity is less than symbol minimum quantity."`)
	r.Limit("BTC_USDT", "sell", "100", "1")
	place("side=BUY&type=LIMIT&timeInForce=FOK&quantity=2&price=100", "EXPIRED", "UNFILLED_FOK_ORDER_EXPIRED")
	place("side=BUY&type=LIMIT&timeInForce=IOC&quantity=2&price=100", "EXPIRED", "UNFILLED_IOC_QUANTITY_EXPIRED")
	r.Limit("BTC_USDT", "sell", "100", "1")
	place("side=BUY&type=MARKET&quantity=2", "EXPIRED", noLiquidity)

	rest := a.ask("POST", orderPath, restBid)
	r.Call("DELETE", fmt.Sprintf("/orders/%d", rest.OrderID), "")
	for e := anna.event(); e.text("i") != fmt.Sprint(rest.OrderID) || e.text("x") == "NEW"; e = anna.event() {
	}
	m, body := a.answer("GET", orderPath, fmt.Sprintf("symbol=BTCUSDT&orderId=%d", rest.OrderID))
	if got := brief(m, "status", "expiryReason"); got != "EXPIRED EXCHANGE_CANCELED" {
		t.Error(body)
	}
	rest = a.ask("POST", orderPath, restBid)
	if m, body := a.answer("DELETE", orderPath,
		fmt.Sprintf("symbol=BTCUSDT&orderId=%d", rest.OrderID)); brief(m, "status", "expiryReason") != "CANCELED -" {
		t.Error(body)
	}
}

// A trailing order shows its delta and the time since which it tracks the market, in answers, queries and reports; its
// labels too.
func TestTrailingOrders(t *testing.T) {
	r, a, _ := funded(t)
	r.market()
	anna := a.follow()
	now := fmt.Sprint(r.now().UnixMilli())
	const sell = "symbol=BTCUSDT&side=SELL&type=STOP_LOSS_LIMIT&timeInForce=GTC&quantity=1&price=80&" +
		"newOrderRespType=RESULT&"
	m, body := a.answer("POST", orderPath, sell+"trailingDelta=100&strategyId=37463720&strategyType=1000000")
	shaped(t, "trailing", body, `{`+placedHead+figures+` trailingDelta:n trailingTime:n`+working+
		` strategyId:n strategyType:n`+mode+`}`)
	if got := brief(m, "status", "trailingDelta", "trailingTime", "workingTime", "strategyId", "strategyType"); got !=
		"NEW 100 "+now+" -1 37463720 1000000" {
		t.Error(body)
	}
	first := anna.event()
	if got := brief(first, "x", "X", "d", "D", "j", "J", "w", "W"); got !=
		"NEW NEW 100 "+now+" 37463720 1000000 false -" {
		t.Errorf("%s", first)
	}
	waits, body := a.answer("POST", orderPath, sell+"stopPrice=99&trailingDelta=500")
	if got := brief(waits, "stopPrice", "trailingDelta", "trailingTime"); got != "99 500 -1" {
		t.Error(body)
	}
	if passed, body := a.answer("POST", orderPath, sell+"stopPrice=105&trailingDelta=500"); brief(passed, "status",
		"trailingTime") != "NEW "+now {
		t.Error(body) // it tracks at once, and is not refused
	}
	later := anna.event()
	for later.text("i") != string(waits["orderId"]) {
		later = anna.event()
	}
	if got := brief(later, "x", "D"); got != "NEW -1" {
		t.Errorf("%s", later)
	}
	r.Limit("BTC_USDT", "sell", "99", "1") // 1 % below 100
	trade := anna.event()
	for trade.text("e") != "executionReport" || trade.text("i") != string(m["orderId"]) {
		trade = anna.event()
	}
	if got := brief(trade, "x", "X", "D", "w", "W"); got != "NEW NEW "+now+" true "+now {
		t.Errorf("%s", trade)
	}
}

// cancelRestrictions, and the parameters of cancelReplace; between its halves no other command comes.
func TestRestrictedCancels(t *testing.T) {
	r, a, _ := funded(t)
	const path = "/api/v3/order/cancelReplace"
	order := a.ask("POST", orderPath, restBid)
	id := fmt.Sprintf("symbol=BTCUSDT&orderId=%d&", order.OrderID)
	a.fails("DELETE", orderPath, id+"cancelRestrictions=ONLY_OLD", 400,
		`{"code":-1145,"msg":"Invalid cancelRestrictions"}`)
	const restricted = `{"code":-2011,"msg":"Order was not canceled due to cancel restrictions."`
	a.fails("DELETE", orderPath, id+"cancelRestrictions=ONLY_PARTIALLY_FILLED", 400, restricted)
	replace := restBid + fmt.Sprintf("cancelOrderId=%d&", order.OrderID)
	a.fails("POST", path, replace+"cancelReplaceMode=STOP_ON_FAILURE&orderRateLimitExceededMode=X",
		400, `{"code":-1130,`)
	a.fails("POST", path, replace+"cancelReplaceMode=STOP_ON_FAILURE&cancelRestrictions=X", 400, `{"code":-1145,`)
	a.fails("POST", path, replace+"cancelReplaceMode=STOP_ON_FAILURE&cancelRestrictions=ONLY_PARTIALLY_FILLED&"+
		"orderRateLimitExceededMode=CANCEL_ONLY", 400, `{"code":-2022,"msg":"Order cancel-replace failed.","data":{`+
		`"cancelResult":"FAILURE","newOrderResult":"NOT_ATTEMPTED","cancelResponse":`+restricted+
		`},"newOrderResponse":null}}`)
	r.Limit("BTC_USDT", "sell", "90", "0.5")
	a.fails("DELETE", orderPath, id+"cancelRestrictions=ONLY_NEW", 400, restricted)
	a.fails("POST", path, replace+"cancelReplaceMode=ALLOW_FAILURE&cancelRestrictions=ONLY_NEW", 409,
		`{"code":-2021,"msg":"Order cancel-replace partially failed.","data":{"cancelResult":"FAILURE",`+
			`"newOrderResult":"SUCCESS","cancelResponse":`+restricted)
	if gone := a.ask("DELETE", orderPath, id+"cancelRestrictions=ONLY_PARTIALLY_FILLED"); gone.Status != "CANCELED" {
		t.Errorf("%+v", gone)
	}
	// the money that the cancel frees is there for the new order
	poor := r.owner("poor", "USDT 100")
	whole := strings.Replace(restBid, "price=90", "price=100", 1)
	before := poor.ask("POST", orderPath, whole)
	next, body := poor.answer("POST", path, fmt.Sprintf("%scancelOrderId=%d&cancelReplaceMode=STOP_ON_FAILURE", whole,
		before.OrderID))
	if brief(next, "cancelResult", "newOrderResult") != "SUCCESS SUCCESS" {
		t.Error(body)
	}
}
