package binance_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	gobinance "github.com/adshao/go-binance/v2"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
)

// rig is an exchange with the facade, on a virtual clock, and the unmodified client of another project.
type rig struct {
	*exchangetest.Rig
	t      *testing.T
	base   string
	client *gobinance.Client
}

func newRig(t *testing.T, change ...func(*exchange.Options)) *rig {
	t.Helper()
	o := exchangetest.Options("")
	o.Binance.Listen = []string{"127.0.0.1:0"}
	for _, f := range change {
		f(&o)
	}
	r := &rig{Rig: exchangetest.Start(t, o), t: t}
	r.base = "http://" + r.BinanceAddrs()[0]
	r.client = gobinance.NewClient("", "")
	r.client.BaseURL = r.base
	return r
}

// traded returns a rig with two pairs, books and trades over two hours and a day.
func traded(t *testing.T, change ...func(*exchange.Options)) *rig {
	r := newRig(t, change...)
	r.Call("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":5,"minQuoteAmount":5,`+
		`"maxQuoteAmount":1000000,"priceBandUp":"10","priceBandDown":"0.1"}`)
	r.Call("POST", "/pairs", `{"code":"ETH_BTC","digitsPrice":5,"digitsAmount":3}`)
	r.Limit("BTC_USDT", "buy", "99.5", "3")
	r.Limit("BTC_USDT", "buy", "99.4", "2")
	for i, step := range []string{"0s", "1s", "61s", "1h", "24h"} {
		r.advance(step)
		r.Limit("BTC_USDT", "sell", "100.5", "0.5")
		r.Limit("BTC_USDT", "buy", "100.5", "0.25")
		r.Limit("BTC_USDT", "buy", []string{"100.5", "100.6", "100.7", "100.8", "100.9"}[i], "0.25")
		r.Limit("BTC_USDT", "sell", "99.5", "0.1")
	}
	r.Limit("BTC_USDT", "sell", "101.25", "7")
	return r
}

func (r *rig) advance(by string) {
	r.t.Helper()
	if by != "0s" {
		r.Call("POST", "/clock", `{"advance":"`+by+`"}`)
	}
}

// get reads a route of the facade.
func (r *rig) get(target string) (int, string, http.Header) {
	r.t.Helper()
	res, err := http.Get(r.base + target)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

// is checks an answer.
func (r *rig) is(target string, status int, want string) {
	r.t.Helper()
	if got, body, _ := r.get(target); got != status || body != want {
		r.t.Errorf("GET %s: %d %s\nwant %d %s", target, got, body, status, want)
	}
}

// native reads a public route of the exchange itself; numbers keep their text.
func (r *rig) native(target string, v any) http.Header {
	r.t.Helper()
	res, err := http.Get(r.Public + target)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	d := json.NewDecoder(res.Body)
	d.UseNumber()
	if err := d.Decode(v); err != nil || res.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: %d, %v", target, res.StatusCode, err)
	}
	return res.Header
}

// equal compares decimals by their digits.
func (r *rig) equal(what, got string, want json.Number) {
	r.t.Helper()
	if trim(got) != trim(want.String()) {
		r.t.Errorf("%s: %s, the native API has %s", what, got, want)
	}
}

func trim(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
