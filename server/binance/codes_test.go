package binance_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// Currencies of one letter and of the longest code trade on every route; a longer one is refused by the rule's words.
func TestCodesOfEveryLengthOnEveryRoute(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("L", engine.MaxCurrencyCode-2)
	tooLong := strings.Repeat("L", engine.MaxCurrencyCode+1)
	r.Pair("BTC_USDT")
	user := r.user("codes").id
	for _, pair := range []string{"W_USDT", "W_T", long + "1A_" + long + "2B"} {
		base, quote, _ := strings.Cut(pair, "_")
		r.Call("POST", "/pairs", fmt.Sprintf(`{"code":%q,"digitsPrice":2,"digitsAmount":2}`, pair))
		r.Limit(pair, "sell", "10", "2")
		r.Limit(pair, "buy", "10", "1")
		for _, code := range []string{base, quote} {
			r.Call("PATCH", "/assets/"+code, `{"name":"Coin"}`)
			r.Call("POST", "/users/"+user+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":"100"}`, code))
		}
		r.Call("POST", "/orders", fmt.Sprintf(`{"accountId":%q,"currencyPairCode":%q,"side":"buy","type":"limit",`+
			`"price":9,"amount":1}`, user, pair))
		symbol := base + quote
		for _, target := range []string{
			r.Public + "/api/tickers?currencyPairCode=" + pair, r.Public + "/api/orderbook?currencyPairCode=" + pair,
			r.Public + "/api/deals?currencyPairCode=" + pair, r.Public + "/udf/symbols?symbol=" + pair,
			r.Public + "/udf/symbols?symbol=TickHive:" + pair, r.Public + "/udf/symbols?symbol=" + base + "/" + quote,
			r.Public + "/udf/history?resolution=1&from=0&to=9999999999&symbol=" + pair,
			r.Public + "/listing/coingecko/orderbook?ticker_id=" + pair,
			r.Public + "/listing/coinmarketcap/orderbook/" + pair, r.base + "/api/v3/depth?symbol=" + symbol,
			r.base + "/api/v3/ticker/24hr?symbol=" + symbol, r.base + "/api/v3/exchangeInfo?symbol=" + symbol,
		} {
			if a := r.Do("GET", target, ""); a.Status != http.StatusOK || strings.Contains(a.Body, `"s":"error"`) {
				t.Errorf("%s: %d %s", target, a.Status, a.Body)
			}
		}
		stream := r.socket("/ws/" + strings.ToLower(symbol) + "@trade")
		r.Limit(pair, "buy", "10", "1")
		if event := stream.next(); !strings.Contains(event, `"s":"`+symbol+`"`) {
			t.Errorf("%s: %s", symbol, event)
		}
	}
	for _, code := range []string{tooLong + "_USDT", "USDT_" + tooLong} {
		for _, target := range []string{
			r.Public + "/api/tickers?currencyPairCode=" + code, r.Public + "/udf/symbols?symbol=" + code,
		} {
			a := r.Do("GET", target, "")
			if a.Status != http.StatusBadRequest && !strings.Contains(a.Body, `"s":"error"`) {
				t.Errorf("%s: %d %s", target, a.Status, a.Body)
			}
		}
		answer := r.Do("POST", r.Internal+"/pairs", `{"code":"`+code+`","digitsPrice":2,"digitsAmount":2}`)
		if answer.Status != http.StatusBadRequest || !strings.Contains(answer.Body, engine.CurrencyForm) {
			t.Errorf("%s: %d %s", code, answer.Status, answer.Body)
		}
	}
}
