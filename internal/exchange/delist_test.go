package exchange_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/sim"
)

// listsOfPairs are the routes that list pairs, each on its listener.
var listsOfPairs = []string{
	"/api/currencies/pairs", "/api/currencies/commissions", "/api/summary", "/api/status",
	"/api/marketdata/getaggregator/pairs", "/api/marketdata/getaggregator/tickers", "/v1/spot/market/pairs",
	"/v1/spot/market/tickers", "/listing/coingecko/pairs", "/listing/coingecko/tickers",
	"/listing/coinmarketcap/summary", "/listing/coinmarketcap/ticker", "/udf/search?query=&limit=30",
	"binance/api/v3/exchangeInfo", "binance/api/v3/ticker/24hr", "binance/api/v3/ticker/price",
	"binance/api/v3/ticker/bookTicker",
}

// readsOfPair are the reads of one pair, with the status for a pair that does not exist.
var readsOfPair = map[string]int{
	"/api/tickers?currencyPairCode=": 404, "/api/orderbook?currencyPairCode=": 404, "/api/deals?currencyPairCode=": 404,
	"/api/ohlc?interval=hour&start=2020-01-01&end=2030-01-01&currencyPairCode=": 404,
	"/api/marketdata/getaggregator/orderbook?ticker_id=":                        404,
	"/v1/spot/market/historical_trades?ticker_id=":                              404,
	"/listing/coinmarketcap/orderbook/":                                         404,
	"/udf/symbols?symbol=":                                                      404,
	"binance/api/v3/depth?symbol=":                                              400,
	"binance/api/v3/klines?interval=1h&symbol=":                                 400,
	"binance/api/v3/ticker/24hr?symbol=":                                        400,
	"binance/api/v3/exchangeInfo?symbol=":                                       400,
}

// withoutID returns a refusal without the id of its request.
func withoutID(body string) string {
	return regexp.MustCompile(`"requestId":"[^"]*"`).ReplaceAllString(body, "")
}

// checkListed verifies that all lists have a pair, or none, and what the reads of the pair answer.
func checkListed(t *testing.T, r *exchangetest.Rig, code string, listed bool) {
	t.Helper()
	base, quote, _ := strings.Cut(code, "_")
	get := func(target, suffix string) (a exchangetest.Answer, name string) {
		if rest, ok := strings.CutPrefix(target, "binance"); ok {
			return r.Do("GET", "http://"+r.BinanceAddrs()[0]+rest+strings.ReplaceAll(suffix, "_", ""), ""), base + quote
		}
		return r.Do("GET", r.Public+target+suffix, ""), code
	}
	for _, target := range listsOfPairs {
		a, name := get(target, "")
		has := strings.Contains(a.Body, `"`+name+`"`) || strings.Contains(a.Body, base+"/"+quote)
		if !strings.Contains(target, "/summary") && a.Status != 200 || has != listed {
			t.Errorf("GET %s: %d, lists %s: %t, want %t", target, a.Status, code, has, listed)
		}
	}
	for target, missing := range readsOfPair {
		a, _ := get(target, code)
		unknown, _ := get(target, "XX_YY")
		want := 200
		if !listed {
			want = missing
		}
		if a.Status != want || !listed && withoutID(strings.ReplaceAll(a.Body, code,
			"XX_YY")) != withoutID(unknown.Body) {
			t.Errorf("GET %s%s: %d %.200s\nan unknown pair: %s", target, code, a.Status, a.Body, unknown.Body)
		}
	}
}

// A delisted pair is gone from all lists, its traders stop, and the operator still sees it. It stays so after a kill, a
// snapshot and a restart with a configuration that names it, and its code is never used again.
func TestDelistedPair(t *testing.T) {
	o := exchangetest.Options(t.TempDir())
	o.Binance.Listen = []string{"127.0.0.1:0"}
	o.Sim.Enabled = true
	for _, base := range []string{"AA", "BB"} {
		o.Pairs = append(o.Pairs, &engine.Instrument{
			Code: base + "_USDT", Base: base, Quote: "USDT", DigitsPrice: 2, DigitsAmount: 4,
		})
		o.Sim.Pairs = append(o.Sim.Pairs, sim.Pair{Code: base + "_USDT", Reference: 650_00, Weight: 1})
	}
	r := exchangetest.Start(t, o)
	r.Call("POST", "/clock", `{"advance":"1m"}`)
	r.Limit("BB_USDT", "buy", "1.5", "2")
	checkListed(t, r, "AA_USDT", true)
	checkListed(t, r, "BB_USDT", true)
	r.Call("PATCH", "/pairs/BB_USDT", `{"state":"halted"}`)
	for range 2 { // a repeat changes nothing
		if got := r.Call("DELETE", "/pairs/BB_USDT", ""); got["state"] != "delisted" {
			t.Errorf("%v", got)
		}
	}
	if log := r.Log.String(); strings.Count(log, "pair delisted") != 1 {
		t.Error("a repeat is logged, or nothing is")
	}
	check := func() {
		t.Helper()
		checkListed(t, r, "AA_USDT", true)
		checkListed(t, r, "BB_USDT", false)
		pairs := r.Do("GET", r.Internal+"/pairs", "").Body
		if strings.Count(pairs, `"state":"delisted"`) != 1 || !strings.Contains(pairs, `"code":"AA_USDT"`) ||
			r.Call("GET", "/pairs/BB_USDT", "")["state"] != "delisted" {
			t.Errorf("the operator's pairs: %s", pairs)
		}
		if n := r.Call("GET", "/figures", "")["pairs"]; fmt.Sprint(n) != "1" {
			t.Errorf("the figures count %v pairs", n)
		}
		book := r.Call("GET", "/book/BB_USDT", "")
		if book["state"] != "delisted" || len(book["bids"].([]any))+len(book["asks"].([]any)) != 0 {
			t.Errorf("%v", book)
		}
		for _, x := range []struct{ method, path, body, says string }{
			{"POST", "/pairs", `{"code":"BB_USDT","digitsPrice":2,"digitsAmount":4}`, "its code is never used again"},
			{"PATCH", "/pairs/BB_USDT", `{"state":"online"}`, "does not change any more"},
		} {
			if a := r.Do(x.method, r.Internal+x.path, x.body); a.Status != 409 || !strings.Contains(a.Body, x.says) {
				t.Errorf("%s %s: %d %s", x.method, x.path, a.Status, a.Body)
			}
		}
		order := `{"currencyPairCode":"BB_USDT","side":"buy","type":"limit","price":1,"amount":1}`
		if a := r.Do("POST", r.Internal+"/orders", order); a.Status != 404 {
			t.Errorf("an order: %d %s", a.Status, a.Body)
		}
	}
	check()
	r.Call("POST", "/clock", `{"advance":"10m"}`)
	check()
	hash := r.Hash()
	o.Dir = r.Kill()
	r = exchangetest.Start(t, o)
	if !strings.Contains(r.Log.String(), "these pairs of the configuration were delisted and stay so") {
		t.Error("the start does not say that a configured pair is delisted")
	}
	if r.Hash() != hash {
		t.Errorf("the state after the kill: %s\nbefore: %s", r.Hash(), hash)
	}
	check()
	r.Call("POST", "/clock", `{"advance":"1h"}`)
	r.Stop() // with a snapshot
	r = exchangetest.Start(t, o)
	check()
}
