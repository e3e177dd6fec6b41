package account_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/server/servertest"
)

// Every status of an order after self-trade prevention decremented it, in the signed view, in
// the internal view and in the update of its stream.
func TestOrdersShowWhatADecrementTookOff(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	s := h.Socket()
	_ = s.Authenticate(a.Public, a.Private, h.Now())
	_ = s.Send(client.Request{Op: "subscribe", Channel: "orders"})
	for m := servertest.Next(t, s); m["type"] != "snapshot"; {
		m = servertest.Next(t, s)
	}
	streamed := map[string]map[string]any{}
	place := func(k *servertest.Keys, side, amount string) string {
		return k.Place(fmt.Sprintf(`{%s,"side":%q,"amount":%q,"price":10,"selfTradePrevention":"decrement"}`, onBTC,
			side, amount))
	}
	// expect waits for the update of this state: status and open amount differ from step to step.
	expect := func(what, id, status, initial, open, filled, remaining, lost string) {
		t.Helper()
		signed := servertest.ParseObject(t, a.OK("GET", "/api/orders/"+id+"/deals", "").Body)
		inner := h.MustInternal("GET", "/orders/"+id, "")
		for streamed[id]["status"] != status || fmt.Sprint(streamed[id]["amount"]) != open {
			o, _ := servertest.Next(t, s)["order"].(map[string]any)
			streamed[o["id"].(string)] = o
		}
		views := []map[string]any{signed, inner, streamed[id]}
		members := []map[string]string{
			{"status": status, "initialAmount": initial, "amount": open, "decrementedAmount": lost},
			{
				"status": status, "amount": initial, "filledAmount": filled, "remainingAmount": remaining,
				"decrementedAmount": lost,
			},
			{"status": status, "initialAmount": initial, "amount": open, "decrementedAmount": lost},
		}
		for i, view := range views {
			for member, want := range members[i] {
				if got := fmt.Sprint(view[member]); got != want {
					t.Errorf("%s: %s is %s, want %s, in %v", what, member, got, want, view)
				}
			}
		}
	}

	id := place(a, "sell", "5")
	expect("nothing lost yet", id, "Created", "5.0000", "5.0000", "0.0000", "5.0000", "0.0000")
	expect("lost whole", place(a, "buy", "2"), "Canceled", "2.0000", "0.0000", "0.0000", "0.0000", "2.0000")
	expect("a part lost", id, "Created", "5.0000", "3.0000", "0.0000", "3.0000", "2.0000")
	place(b, "buy", "1")
	expect("a part lost, a part filled", id, "PartiallyCompleted", "5.0000", "2.0000", "1.0000", "2.0000", "2.0000")
	place(b, "buy", "2")
	expect("a part lost, the rest filled", id, "Completed", "5.0000", "0.0000", "3.0000", "0.0000", "2.0000")

	id = place(a, "sell", "5")
	place(b, "buy", "1")
	place(a, "buy", "4")
	expect("a part filled, the rest lost", id, "PartiallyExecutedAndCanceled", "5.0000", "0.0000",
		"1.0000", "0.0000", "4.0000")

	id = place(a, "sell", "5")
	place(a, "buy", "1")
	place(b, "buy", "1")
	a.OK("DELETE", "/api/orders/"+id, "")
	expect("a part lost, a part filled, a part canceled", id, "PartiallyExecutedAndCanceled", "5.0000", "0.0000",
		"1.0000", "3.0000", "1.0000")

	id = place(a, "sell", "5")
	place(a, "buy", "1")
	a.OK("DELETE", "/api/orders/"+id, "")
	expect("a part lost, the rest canceled", id, "Canceled", "5.0000", "0.0000", "0.0000", "4.0000", "1.0000")

	// The new total applies from the replace on.
	id = place(a, "sell", "5")
	place(a, "buy", "1")
	h.MustInternal("PATCH", "/orders/"+id, `{"amount":3}`)
	expect("replaced after the loss", id, "Created", "3.0000", "3.0000", "0.0000", "3.0000", "0.0000")
	place(a, "buy", "1")
	expect("a loss after the replace", id, "Created", "3.0000", "2.0000", "0.0000", "2.0000", "1.0000")
	place(b, "buy", "2")
	expect("the new total filled", id, "Completed", "3.0000", "0.0000", "2.0000", "0.0000", "1.0000")
	h.CheckTotals()
}

// Self-trade prevention decrements a market buy by quote amount in money, because the order has
// no amount. It decrements nothing of a refused order.
func TestDecrementedAmountOfOrdersWithoutOne(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	a.Place(`{"side":"sell",` + onBTC + `,"amount":1,"price":10}`)
	b.Place(`{"side":"sell",` + onBTC + `,"amount":5,"price":10}`)
	id := a.Place(`{"side":"buy","isMarket":true,` + onBTC + `,"quoteAmount":"30","selfTradePrevention":"decrement"}`)
	if v := servertest.ParseObject(t,
		a.OK("GET", "/api/orders/"+id+"/deals", "").Body); v["decrementedAmount"] != nil || v["status"] != "Completed" {
		t.Errorf("%v", v)
	}
	if v := h.MustInternal("GET", "/orders/"+id, ""); v["decrementedAmount"] != nil ||
		v["filledAmount"] != json.Number("2.0000") {
		t.Errorf("%v", v)
	}
	for request, want := range map[string]any{
		`"type":"limit","amount":1,"price":"0.001"`:  json.Number("0.0000"),
		`"type":"market","quoteAmount":"1000000000"`: nil,
	} {
		v := h.MustInternal("POST", "/orders", `{"accountId":"`+a.ID+`",`+onBTC+`,"side":"buy",`+request+`}`)
		if got, ok := v["decrementedAmount"]; v["status"] != "Rejected" || !ok || got != want {
			t.Errorf("%s: %v", request, v)
		}
	}
}
