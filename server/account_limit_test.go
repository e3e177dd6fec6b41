package server_test

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"

	"tickhive/accounts/auth"
)

// spend sends signed requests that change nothing, on several connections.
func (k *keys) spend(n int) {
	k.h.t.Helper()
	const workers = 4
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			c := &fasthttp.HostClient{Addr: "test", Dial: func(string) (net.Conn, error) { return k.h.dial("192.0.2.1") }}
			defer c.CloseIdleConnections()
			var req fasthttp.Request
			var res fasthttp.Response
			for range (n + i) / workers {
				req.Reset()
				signInto(k, &req, "GET", "/api/users/avatars/simple", "")
				if err := c.Do(&req, &res); err != nil || res.StatusCode() != 200 {
					k.h.t.Errorf("%v %d %s", err, res.StatusCode(), res.Body())
					return
				}
			}
		})
	}
	wg.Wait()
}

// A key that has reached its limit can only cancel orders, singly and all at once. Other keys,
// also those of the same user, are not affected.
func TestAKeyAtItsLimitCanStillCancel(t *testing.T) {
	t.Parallel()
	h, a, b := traded(t)
	const order = `{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10}`
	first := a.place(order)
	a.place(order)
	second := h.in("POST", "/users/"+a.id+"/apikeys", `{"name":"second"}`)
	own := &keys{h, a.id, second["publicKey"].(string), second["privateKey"].(string)}
	a.spend(auth.MaxNoncesPerKey - auth.CancelNonces - 2)
	for _, c := range []struct{ method, target, body string }{
		{"GET", "/api/wallets/balances", ""},
		{"POST", "/api/orders", order},
		{"DELETE", "/api/apikeys/" + own.public, ""},
	} {
		got := a.call(c.method, c.target, c.body)
		h.wants(c.method+" "+c.target, got, 429, "RATE_LIMIT", "")
		if !strings.Contains(got.body, "DELETE /api/orders") || got.header.Get("Retry-After") == "" {
			t.Errorf("the refusal does not say what is left: %s", got.body)
		}
	}
	a.ok("DELETE", "/api/orders/"+first, "")
	a.ok("DELETE", "/api/orders?currencyPairCode=BTC_USDT", "")
	if got := own.balance("USDT"); got != "1000.0 0.0" {
		t.Errorf("after the cancels: %s", got)
	}
	own.place(order)
	b.place(order)
}
