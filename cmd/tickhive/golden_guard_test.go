package main

import (
	"fmt"

	"github.com/tickhive/tickhive/test/harness"
)

// guard halts a user and sets the dead man's switch of another.
func (g *golden) guard(w people) {
	g.area = "internal"
	g.note("a demo account")
	g.in("POST", "/demo-accounts", `{"nickname":"x"}`)
	demo := g.in("POST", "/demo-accounts", "")
	g.in("POST", "/demo-accounts/funds", fmt.Sprintf(`{"publicKey":%q}`, g.id(demo, "publicKey")))
	g.in("POST", "/demo-accounts/funds", `{"publicKey":"unknown"}`)
	keys := "/users/" + g.id(demo, "userId") + "/apikeys"
	g.in("GET", keys, "")
	g.in("DELETE", keys+"/"+g.id(demo, "publicKey"), "")
	g.in("DELETE", keys+"/"+g.id(demo, "publicKey"), "")
	g.in("GET", keys, "")
	g.note("a halted account")
	const order = `"currencyPairCode":"ETH_USDT","side":"buy","type":"limit","price":2000,"amount":1`
	g.place(w.carol.ID, order, order+`,"clientOrderId":"c-1"`)
	g.in("POST", "/users/"+w.carol.ID+"/halt", `{"reason":"x"}`)
	g.in("POST", "/users/"+harness.BuiltinUUID+"/halt", "")
	g.in("POST", "/users/"+w.carol.ID+"/halt", "")
	g.place(w.carol.ID, order, order+`,"clientOrderId":"c-1"`)
	g.in("POST", "/orders/batch", fmt.Sprintf(`{"commands":[{"place":{"accountId":%q,%s}}]}`, w.carol.ID, order))
	g.in("GET", "/users/"+w.carol.ID, "")
	g.in("DELETE", "/users/"+w.carol.ID+"/halt", "")
	g.in("DELETE", "/users/"+w.carol.ID+"/halt", "")
	g.place(w.carol.ID, order)
	g.area = "trading"
	g.note("the dead man's switch")
	for _, body := range []string{
		`{"timeoutMs":60000}`, `{"timeoutMs":999}`, `{"timeoutMs":86400001}`, `{"timeoutMs":"1s"}`, `{}`,
		`{"timeoutMs":0}`, `{"timeoutMs":1000}`,
	} {
		g.as(w.carol, "POST", "/api/orders/cancel-all-after", body)
	}
	g.area = "internal"
	g.in("POST", "/users/"+w.alice.ID+"/halt", "{}")
	g.area = "trading"
	g.as(w.alice, "POST", "/api/orders", `{"currencyPairCode":"ETH_USDT","side":"buy","amount":1,"price":2000}`)
	g.area = "internal"
	g.in("DELETE", "/users/"+w.alice.ID+"/halt", "")
	g.advance(1000)
	g.area = "trading"
	g.as(w.carol, "GET", "/api/user/orders?status=active", "")
}
