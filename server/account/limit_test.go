package account_test

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/server/servertest"
)

// spend sends signed requests that change nothing, on several connections.
func spend(k *servertest.Keys, n int) {
	k.Exchange.T.Helper()
	const workers = 4
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			c := &fasthttp.HostClient{
				Addr: "test",
				Dial: func(string) (net.Conn, error) { return k.Exchange.Dial("192.0.2.1") },
			}
			defer c.CloseIdleConnections()
			var req fasthttp.Request
			var res fasthttp.Response
			for range (n + i) / workers {
				req.Reset()
				signInto(k, &req, "GET", "/api/users/avatars/simple", "")
				if err := c.Do(&req, &res); err != nil || res.StatusCode() != 200 {
					k.Exchange.T.Errorf("%v %d %s", err, res.StatusCode(), res.Body())
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
	h, a, b := servertest.NewTradedExchange(t)
	const order = `{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10}`
	first := a.Place(order)
	a.Place(order)
	second := h.MustInternal("POST", "/users/"+a.ID+"/apikeys", `{"name":"second"}`)
	own := &servertest.Keys{
		Exchange: h, ID: a.ID, Public: second["publicKey"].(string),
		Private: second["privateKey"].(string),
	}
	spend(a, auth.MaxNoncesPerKey-auth.CancelNonces-2)
	for _, c := range []struct{ method, target, body string }{
		{"GET", "/api/wallets/balances", ""},
		{"POST", "/api/orders", order},
		{"DELETE", "/api/apikeys/" + own.Public, ""},
	} {
		got := a.Call(c.method, c.target, c.body)
		h.CheckRefusal(c.method+" "+c.target, got, 429, "RATE_LIMIT", "")
		if !strings.Contains(got.Body, "DELETE /api/orders") || got.Header.Get("Retry-After") == "" {
			t.Errorf("the refusal does not say what is left: %s", got.Body)
		}
	}
	a.OK("DELETE", "/api/orders/"+first, "")
	a.OK("DELETE", "/api/orders?currencyPairCode=BTC_USDT", "")
	if got := own.Balance("USDT"); got != "1000.0 0.0" {
		t.Errorf("after the cancels: %s", got)
	}
	own.Place(order)
	b.Place(order)
}
