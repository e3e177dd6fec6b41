package account_test

import (
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

// A user of a delisted pair gets the money of the open orders back and keeps the history of the pair, by id, by
// client id and by the name of the pair. The pair takes nothing more.
func TestUserOfADelistedPair(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	b.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":1,"price":100}`)
	a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":100}`)
	order := `{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10,"clientOrderId":"open"}`
	id := a.Place(order)
	held := func() string { return strings.Trim(strings.Fields(a.Balance("USDT"))[1], "0.") }
	before := held()
	h.MustInternal("DELETE", "/pairs/BTC_USDT", "")
	if now := held(); before != "1" || now != "" { // of 10.00 and 0.00
		t.Errorf("%s is held before, %s after", before, now)
	}
	h.CheckTotals()
	for target, want := range map[string]string{
		"/api/orders/" + id:                                     `"status":"Canceled"`,
		"/api/orders/by-client-id/BTC_USDT/open":                `"endReason":"operator"`,
		"/api/user/orders?currencyPairCode=BTC_USDT":            `"clientOrderId":"open"`,
		"/api/user/deals?currencyPairCode=BTC_USDT":             `"currencyPairCode":"BTC_USDT"`,
		"/api/user/deals":                                       `"currencyPairCode":"BTC_USDT"`,
		"/api/user/lists?currencyPairCode=BTC_USDT":             `[]`,
		"/api/user/prevented-matches?currencyPairCode=BTC_USDT": `[]`,
	} {
		if got := a.OK("GET", target, "").Body; !strings.Contains(got, want) {
			t.Errorf("GET %s: %s, want %s", target, got, want)
		}
	}
	for _, x := range []struct {
		method, target, body string
		status               int
		code, field          string
	}{
		{"POST", "/api/orders", order, 404, "NOT_FOUND", "currencyPairCode"},
		{"DELETE", "/api/orders?currencyPairCode=BTC_USDT", "", 404, "NOT_FOUND", "currencyPairCode"},
		{"DELETE", "/api/orders/" + id, "", 409, "ORDER_CLOSED", ""},
		{"PATCH", "/api/orders/" + id, `{"price":11}`, 409, "ORDER_CLOSED", ""},
	} {
		h.CheckRefusal(x.method+" "+x.target, a.Call(x.method, x.target, x.body), x.status, x.code, x.field)
	}
}
