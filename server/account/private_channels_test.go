package account_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/server/servertest"
)

func TestPrivateChannelsTellTheirOwnerAlone(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":90}`)
	s := h.Socket()
	_ = s.Send(client.Request{Op: "subscribe", Channel: "orders", ID: 1})
	if m := servertest.Next(t, s); m["type"] != "error" || m["code"] != "UNAUTHORIZED" {
		t.Fatalf("without credentials: %v", m)
	}
	_ = s.Authenticate(a.Public, strings.Repeat("x", 64), h.Now())
	if m := servertest.Next(t, s); m["type"] != "error" || m["code"] != "UNAUTHORIZED" {
		t.Fatalf("with a wrong key: %v", m)
	}
	if err := s.Authenticate(a.Public, a.Private, h.Now()); err != nil {
		t.Fatal(err)
	}
	if m := servertest.Next(t, s); m["type"] != "authenticated" {
		t.Fatalf("%v", m)
	}
	snapshots := map[string]map[string]any{}
	for _, channel := range []string{"orders", "fills", "balances"} {
		_ = s.Send(client.Request{Op: "subscribe", Channel: channel})
		for snapshots[channel] == nil {
			if m := servertest.Next(t, s); m["type"] == "snapshot" {
				snapshots[m["channel"].(string)] = m
			}
		}
	}
	if list := snapshots["orders"]["orders"].([]any); len(list) != 1 ||
		servertest.KeysOf(list[0].(map[string]any)) != servertest.OrderMembers {
		t.Errorf("%v", snapshots["orders"])
	}
	if list := snapshots["balances"]["balances"].([]any); len(list) != 2 {
		t.Errorf("%v", snapshots["balances"])
	}
	b.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":0.5,"price":90}`)
	var order, fill map[string]any
	btc := ""
	for order == nil || fill == nil || btc != "10.4995" { // 0.5 less 0.1 %
		m := servertest.Next(t, s)
		switch m["channel"] {
		case "orders":
			if order = m["order"].(map[string]any); fill == nil {
				t.Errorf("an order is sent before its fill: %v, want the fill first", order)
			}
		case "fills":
			fill = m["fill"].(map[string]any)
		case "balances":
			for _, row := range m["balances"].([]any) {
				if r := row.(map[string]any); r["currencyCode"] == "BTC" {
					btc = r["free"].(json.Number).String()
				}
			}
		}
	}
	if order["userId"] != a.ID || order["status"] != "PartiallyCompleted" || order["amount"] != json.Number("0.5000") ||
		servertest.KeysOf(order) != servertest.OrderMembers {
		t.Errorf("%v", order)
	}
	if got, want := servertest.KeysOf(fill), "currencyPairCode dealDateUtc fee feeCurrencyCode id isBuy isMaker "+
		"isUserBuyer orderId price tradeId volume"; got != want {
		t.Errorf("a fill has %s, want %s", got, want)
	}
	for name, want := range map[string]any{ // a buys as the maker, b sells as the taker
		"isMaker": true, "isUserBuyer": true, "isBuy": false, "fee": json.Number("0.0005"), "feeCurrencyCode": "BTC",
		"orderId": "1",
	} {
		if fill[name] != want {
			t.Errorf("the maker's fill has %s %v, want %v", name, fill[name], want)
		}
	}
	// The socket receives no orders of other users: the next order is a's own.
	b.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":1,"price":500}`)
	a.OK("DELETE", "/api/orders/1", "")
	for {
		m := servertest.Next(t, s)
		if m["channel"] != "orders" {
			continue
		}
		if o := m["order"].(map[string]any); o["userId"] != a.ID || o["status"] != "PartiallyExecutedAndCanceled" {
			t.Errorf("%v", o)
		}
		break
	}
	// A deposit causes a message without any event of the engine.
	h.Deposit(a, "USDT", "5")
	for {
		m := servertest.Next(t, s)
		if m["channel"] == "balances" && strings.Contains(string(must(json.Marshal(m["balances"]))), `"free":960.0,`) {
			break
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
