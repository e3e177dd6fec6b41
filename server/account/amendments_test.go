package account_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

// Amendments lower the amount and rename the order; each is listed, and the order is found by its new id alone.
func TestAmendmentsOfAnOrder(t *testing.T) {
	k := newTrader(t)
	id := k.Place(`{"side":"buy",` + onBTC + `,"price":50,"amount":3,"clientOrderId":"one",` +
		`"strategyId":5,"strategyType":6}`)
	amend := func(body string) { k.t.Helper(); k.OK("PATCH", "/api/orders/"+id, body) }
	amend(`{"keepPriority":true,"amount":2.5}`)
	k.other("sell", "50", "0.5")
	amend(`{"keepPriority":true,"amount":2,"clientOrderId":"two"}`)
	h := k.Exchange
	h.CheckRefusal("a larger amount", k.Call("PATCH", "/api/orders/"+id, `{"keepPriority":true,"amount":2}`), 409,
		"AMEND_NOT_SMALLER", "amount")
	amend(`{"amount":4}`) // no amendment
	var rows []map[string]any
	servertest.Parse(t, k.OK("GET", "/api/orders/"+id+"/amendments", "").Body, &rows)
	var got []string
	for _, r := range rows {
		got = append(got, members(r, "oldAmount", "newAmount", "oldClientOrderId", "newClientOrderId", "filledAmount"))
	}
	if text := strings.Join(got, "; "); text != "3.0000 2.5000 one one 0.0000; 2.5000 2.0000 one two 0.5000" {
		t.Error(text)
	}
	if fmt.Sprint(rows[0]["seq"]) == fmt.Sprint(rows[1]["seq"]) {
		t.Errorf("two amendments have the seq %v", rows[0]["seq"])
	}
	if got := k.view("GET", "/api/orders/by-client-id/BTC_USDT/two", "", "id", "clientOrderId", "initialAmount",
		"strategyId", "strategyType"); got != id+" two 4.0000 5 6" {
		t.Error(got)
	}
	h.CheckRefusal("the old id", k.Call("GET", "/api/orders/by-client-id/BTC_USDT/one", ""), 404, "NOT_FOUND",
		"clientOrderId")
	h.CheckRefusal("another's", h.User(`"nickname":"dora"`).Call("GET", "/api/orders/"+id+"/amendments", ""), 404,
		"NOT_FOUND", "orderId")
	if got := h.CallInternal("GET", "/orders/"+id+"/amendments", "").Body; got !=
		k.OK("GET", "/api/orders/"+id+"/amendments", "").Body {
		t.Errorf("an operator sees %s", got)
	}
}
