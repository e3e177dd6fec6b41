package account_test

import (
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

func TestSecurityEventsAreLogged(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	k, made := makeKey(a, `{"name":"bot","canTrade":true}`)
	a.OK("DELETE", "/api/apikeys/"+k.Public, "")
	h.MustInternal("POST", "/users/"+a.ID+"/withdrawals", `{"currencyCode":"USDT","amount":"1.5"}`)
	h.MustInternal("PATCH", "/pairs/BTC_USDT", `{"makerFee":"0.0005"}`)
	h.MustInternal("GET", "/assets/BTC", "")
	h.MustInternal("PATCH", "/assets/USDT", `{"makerFee":"0.0007"}`)
	refused := h.CallInternal("POST", "/users/"+a.ID+"/withdrawals", `{"currencyCode":"USDT","amount":"999999"}`)
	if refused.Status != 400 {
		t.Fatal(refused.Body)
	}
	log := h.Log.String()
	for _, want := range []string{
		`event="key created" by=` + a.Public + " from=192.0.2.1 requestId=",
		"key=" + k.Public, `event="key deleted" by=` + a.Public, `event="key created" by=operator`,
		"event=deposit by=operator",
		"currency=USDT amount=1.5", `event="pair changed" by=operator`, "makerFee1e8=50000",
		`event="asset changed" by=operator`, "asset=USDT",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q", want)
		}
	}
	if strings.Contains(log, "asset=BTC") {
		t.Error("the log names a read of an asset as a change")
	}
	for _, secret := range []string{made["privateKey"].(string), a.Private, "999999"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	before := h.Running.Public().AuthFailures()
	if before != [6]uint64{} {
		t.Errorf("refused credentials: %v", before)
	}
	k.Call("GET", "/api/apikeys", "")                                             // deleted
	h.Send(h.Public, "GET", "/api/apikeys", "", nil)                              // no key
	h.Send(h.Public, "GET", "/api/apikeys", "", a.Sign("GET", "/api/orders", "")) // another target
	used := a.Sign("GET", "/api/apikeys", "")
	h.Send(h.Public, "GET", "/api/apikeys", "", used)
	h.Send(h.Public, "GET", "/api/apikeys", "", used)
	reader, _ := makeKey(a, `{"name":"reader"}`)
	reader.Call("POST", "/api/orders", "{}")
	if got := h.Running.Public().AuthFailures(); got != [6]uint64{1, 0, 1, 2, 0, 1} {
		t.Errorf("refused credentials: %v", got)
	}
}
