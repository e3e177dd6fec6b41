package main

import (
	"fmt"
	"regexp"
)

// trading sends every signed trading route.
func (g *golden) trading(w people) {
	g.area = "trading"
	const order = `"currencyPairCode":"BTC_USDT","side":`
	g.as(w.alice, "POST", "/api/orders", `{`+order+`"buy","amount":0.1,"price":64000}`)
	g.as(w.alice, "POST", "/api/orders",
		`{`+order+`"buy","amount":"0.05","price":"65005.00","clientOrderId":"a-1","timeInForce":"ioc"}`)
	g.as(w.alice, "POST", "/api/orders", `{`+order+`"sell","isMarket":true,"amount":0.02,"price":0}`)
	g.as(w.alice, "POST", "/api/orders", `{`+order+`"sell","amount":0.02,"price":60000,"stopPrice":61000}`)
	g.note("refusals: 400, 404 and 409 with the reason as code")
	g.as(w.alice, "POST", "/api/orders", `{`+order+`"buy","amount":0.1,"price":64000.001}`)
	g.as(w.alice, "POST", "/api/orders", `{`+order+`"buy","amount":100,"price":64000}`)
	g.as(w.alice, "POST", "/api/orders", `{`+order+`"buy","amount":0.1,"price":66000,"postOnly":true}`)
	g.as(w.alice, "POST", "/api/orders", `{`+order+`"buy","amount":0.1,"price":1,"accountId":"x"}`)
	g.as(w.alice, "POST", "/api/orders", `{"side":"buy","currencyPairCode":"NO_PAIR","amount":1,"price":1}`)
	id := regexp.MustCompile(`"id":"([0-9]+)"`).FindStringSubmatch(g.as(w.alice, "GET", "/api/user/orders", ""))[1]
	cursor := fmt.Sprintf("%d.%s", g.nowMs*1_000_000, id)
	for _, target := range []string{
		"/api/user/orders?currencyPairCode=BTC_USDT&status=active", "/api/user/orders?status=canceled&pageSize=1",
		"/api/user/orders?status=open",
		"/api/user/deals", "/api/user/deals?currencyPairCode=ETH_USDT", "/api/orders/" + id +
			"/deals", "/api/orders/1/deals", "/api/orders/" + id, "/api/orders/1",
		"/api/orders/by-client-id/BTC_USDT/a-1", "/api/orders/by-client-id/BTC_USDT/none",
		"/api/user/orders?pageSize=2", "/api/user/orders?pageSize=2&cursor=" + cursor, "/api/user/orders?cursor=x",
		"/api/user/deals?orderId=1",
		"/api/wallets/balances", "/api/wallets/balances?decimals=string",
		"/api/deals?currencyPairCode=BTC_USDT&pageSize=3",
	} {
		g.as(w.alice, "GET", target, "")
	}
	g.as(w.bob, "GET", "/api/user/orders", "")
	g.as(w.bob, "GET", "/api/user/deals", "")
	g.as(w.alice, "PATCH", "/api/orders/14", `{"price":63000,"amount":"0.2"}`)
	g.as(w.alice, "PATCH", "/api/orders/14", `{}`)
	g.as(w.alice, "PATCH", "/api/orders/14", `{"side":"buy"}`)
	g.as(w.bob, "PATCH", "/api/orders/14", `{"price":1}`)
	g.as(w.alice, "POST", "/api/orders/batch", `{"commands":[{"place":{`+order+
		`"buy","type":"limit","amount":0.01,"price":62000,"clientOrderId":"b-1"}},`+
		`{"replace":{"orderId":"14","price":"62500"}},{"cancel":{"orderId":1}},`+
		`{"place":{`+order+`"buy","amount":100,"price":64000}}]}`)
	g.as(w.alice, "POST", "/api/orders/batch", `{"commands":[{"cancel":{}}]}`)
	g.as(w.alice, "POST", "/api/orders/batch", `{"commands":[]}`)
	g.lists(w)
	g.as(w.alice, "DELETE", "/api/orders/by-client-id/BTC_USDT/b-1", "")
	g.as(w.alice, "DELETE", "/api/orders/by-client-id/BTC_USDT/b-1", "")
	g.as(w.alice, "DELETE", "/api/orders/"+id, "")
	g.as(w.alice, "DELETE", "/api/orders/"+id, "")
	g.as(w.alice, "DELETE", "/api/orders/1", "")
	g.as(w.alice, "DELETE", "/api/orders?currencyPairCode=BTC_USDT", "")
	g.as(w.alice, "DELETE", "/api/orders", "")
	g.as(w.alice, "DELETE", "/api/orders?all=true&currencyPairCode=BTC_USDT", "")
	g.as(w.alice, "DELETE", "/api/orders?all=true", "")
}

// lists places order lists and orders that wait, and changes and reads them.
func (g *golden) lists(w people) {
	const legs = `{"side":"sell","type":"limit","price":70000,"amount":0.01,"postOnly":true},` +
		`{"side":"sell","type":"stop_market","stopPrice":50000,"amount":0.01}`
	list := func(body string) string {
		answer := g.as(w.alice, "POST", "/api/orders/lists", `{"currencyPairCode":"BTC_USDT",`+body+`}`)
		if m := regexp.MustCompile(`"id":"([0-9]+)"`).FindStringSubmatch(answer); m != nil {
			return m[1]
		}
		return "1"
	}
	g.note("order lists")
	oco := list(`"kind":"oco","clientOrderId":"oco-1","orders":[` + legs + `]`)
	list(`"kind":"oco","clientOrderId":"oco-1","orders":[` + legs + `]`)
	otoco := list(`"kind":"otoco","orders":[{"side":"buy","type":"limit","price":60000,"amount":0.01},` + legs + `]`)
	list(`"kind":"oco","orders":[{"side":"sell","type":"limit","price":1,"amount":0.01,"postOnly":true},` +
		`{"side":"sell","type":"stop_market","stopPrice":50000,"amount":0.01}]`)
	list(`"kind":"oco","orders":[{"side":"sell","type":"limit","price":1,"amount":0.01}]`)
	g.as(w.alice, "GET", "/api/orders/lists/"+oco, "")
	g.as(w.alice, "GET", "/api/orders/lists/by-client-id/BTC_USDT/oco-1", "")
	g.as(w.alice, "GET", "/api/user/lists?status=executing&pageSize=1", "")
	g.as(w.bob, "GET", "/api/orders/lists/"+oco, "")
	g.as(w.alice, "DELETE", "/api/orders/lists/"+otoco, "")
	g.as(w.alice, "DELETE", "/api/orders/lists/by-client-id/BTC_USDT/oco-1", "")
	g.as(w.alice, "DELETE", "/api/orders/lists/"+oco, "")
	g.note("orders that wait, and an amendment")
	const order = `{"currencyPairCode":"BTC_USDT","side":`
	waits := g.as(w.alice, "POST", "/api/orders",
		order+`"sell","type":"take_profit_limit","price":70000,"stopPrice":71000,"amount":0.02,"strictTrigger":true}`)
	waits = regexp.MustCompile(`[0-9]+`).FindString(waits)
	g.as(w.alice, "PATCH", "/api/orders/"+waits, `{"stopPrice":72000}`)
	g.as(w.alice, "PATCH", "/api/orders/"+waits, `{"trailingDelta":5}`)
	g.as(w.alice, "POST", "/api/orders", order+`"sell","type":"stop_market","trailingDelta":100,"amount":0.01}`)
	g.as(w.alice, "POST", "/api/orders", order+`"sell","type":"stop_market","trailingDelta":5,"amount":0.01}`)
	g.as(w.alice, "POST", "/api/orders", order+`"sell","isMarket":true,"quoteAmount":50}`)
	rests := g.as(w.alice, "POST", "/api/orders", order+`"buy","amount":0.02,"price":60000,"strategyId":7}`)
	rests = regexp.MustCompile(`[0-9]+`).FindString(rests)
	g.as(w.alice, "PATCH", "/api/orders/"+rests, `{"amount":0.01,"keepPriority":true,"clientOrderId":"smaller"}`)
	g.as(w.alice, "GET", "/api/orders/"+rests+"/amendments", "")
	g.as(w.alice, "GET", "/api/user/prevented-matches?currencyPairCode=BTC_USDT", "")
	g.as(w.alice, "DELETE", "/api/orders/"+rests+"?onlyIf=partial", "")
}
