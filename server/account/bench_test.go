package account_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/server/servertest"
)

// ask sends requests one after another on one connection.
func ask(h *servertest.Exchange, b *testing.B, request func(i int, r *fasthttp.Request)) {
	b.Helper()
	c := &fasthttp.HostClient{Addr: "test", Dial: func(string) (net.Conn, error) { return h.Dial("192.0.2.1") }}
	var req fasthttp.Request
	var res fasthttp.Response
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		req.Reset()
		request(i, &req)
		if err := c.Do(&req, &res); err != nil || res.StatusCode() != 200 {
			b.Fatalf("%v %d %s", err, res.StatusCode(), res.Body())
		}
	}
	b.StopTimer()
	c.CloseIdleConnections()
}

func signInto(k *servertest.Keys, r *fasthttp.Request, method, target, body string) {
	r.SetRequestURI("http://test" + target)
	r.Header.SetMethod(method)
	r.SetBodyString(body)
	for name, v := range k.Sign(method, target, body) {
		r.Header.Set(name, v[0])
	}
}

// BenchmarkSignedGet minus BenchmarkUnsignedGet is the cost of a signature, including the
// client's own HMAC.
func BenchmarkSignedGet(b *testing.B) {
	h, a, _ := servertest.NewTradedExchange(b)
	ask(h, b, func(i int, r *fasthttp.Request) {
		if i%50_000 == 49_999 { // a key may make 80,000 requests that are not cancels
			h.Clock.Set(h.Clock.NowNs() + 122*servertest.SecondNs)
		}
		signInto(a, r, "GET", "/api/users/avatars/simple", "")
	})
}

// BenchmarkUnsignedGet measures the same answer without credentials.
func BenchmarkUnsignedGet(b *testing.B) {
	h, _, _ := servertest.NewTradedExchange(b)
	ask(h, b, func(_ int, r *fasthttp.Request) { r.SetRequestURI("http://test/api/users/avatars/simple") })
}

// BenchmarkSignedOrder sends POST /api/orders with a hold, one after another.
func BenchmarkSignedOrder(b *testing.B) {
	h, a, _ := servertest.NewTradedExchange(b)
	h.Deposit(a, "USDT", "1000000000")
	ask(h, b, func(i int, r *fasthttp.Request) {
		if i%50_000 == 49_999 { // a key may make 80,000 requests that are not cancels
			h.Clock.Set(h.Clock.NowNs() + 122*servertest.SecondNs)
		}
		signInto(a, r, "POST", "/api/orders", fmt.Sprintf(
			`{"side":"buy","currencyPairCode":"BTC_USDT","amount":"0.001","price":"%d.%02d",`+
				`"timeInForce":"gtc"}`, 10+i%50, i%100))
	})
}
