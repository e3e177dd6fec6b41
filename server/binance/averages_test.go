package binance_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// An average has max(8, digitsPrice + 6) digits, at most 18, in the answer to an order, in its view, and in every
// figure of the facade, so that the average of a small price is not 0.
func TestAveragesHaveTheDigitsOfSmallPrices(t *testing.T) {
	r := newRig(t)
	r.Call("POST", "/assets", `{"symbol":"USDT","digits":18}`)
	for i, c := range []struct {
		digitsPrice    int
		first, second  string // prices of one lot each, then of two
		average, whole string // of the first and half of the second; of all
	}{
		{0, "7", "8", "7.50000000", "7.66666667"},
		{2, "0.01", "0.02", "0.01500000", "0.01666667"},
		{8, "0.00000002", "0.00000003", "0.00000002500000", "0.00000002666667"},
		{10, "0.0000000001", "0.0000000002", "0.0000000001500000", "0.0000000001666667"},
		{12, "0.000000004321", "0.000000004322", "0.000000004321500000", "0.000000004321666667"},
		{18, "0.000000000000000001", "0.000000000000000002", "0.000000000000000002", "0.000000000000000002"},
	} {
		base := fmt.Sprintf("C%d", i)
		pair, symbol := base+"_USDT", base+"USDT"
		r.Call("POST", "/pairs", fmt.Sprintf(`{"code":%q,"digitsPrice":%d,"digitsAmount":0}`, pair, c.digitsPrice))
		stream := r.socket("/ws/" + strings.ToLower(symbol) + "@ticker")
		r.Limit(pair, "sell", c.first, "1")
		r.Limit(pair, "sell", c.second, "2")
		order := r.Call("POST", "/orders", fmt.Sprintf(
			`{"currencyPairCode":%q,"side":"buy","type":"limit","price":%s,"amount":2}`, pair, c.second))
		id := order["orderId"].(json.Number)
		again := r.Call("GET", "/orders/"+id.String(), "")
		for what, got := range map[string]any{"answer": order["averagePrice"], "order": again["averagePrice"]} {
			if got != json.Number(c.average) {
				t.Errorf("%s: the average of the %s is %v, want %s", pair, what, got, c.average)
			}
		}
		r.Limit(pair, "buy", c.second, "1")
		r.advance("2s")
		for target, member := range map[string]string{
			"/api/v3/avgPrice?symbol=": "price", "/api/v3/ticker/24hr?symbol=": "weightedAvgPrice",
			"/api/v3/ticker?windowSize=1h&symbol=": "weightedAvgPrice",
			"/api/v3/ticker/tradingDay?symbol=":    "weightedAvgPrice",
		} {
			_, body, _ := r.get(target + symbol)
			if !strings.Contains(body, fmt.Sprintf(`"%s":"%s"`, member, c.whole)) {
				t.Errorf("%s%s: %s, want %s %s", target, symbol, body, member, c.whole)
			}
		}
		for last := ""; ; last = stream.next() {
			if strings.Contains(last, `"n":3`) {
				if !strings.Contains(last, `"w":"`+c.whole+`"`) {
					t.Errorf("stream of %s: %s, want w %s", pair, last, c.whole)
				}
				break
			}
		}
		r.advance("25h")
		zero := "0." + strings.Repeat("0", len(c.whole)-2)
		_, body, _ := r.get("/api/v3/ticker/24hr?symbol=" + symbol)
		if !strings.Contains(body, `"weightedAvgPrice":"`+zero+`"`) {
			t.Errorf("%s without trades: %s, want %s", pair, body, zero)
		}
		// without a trade of five minutes it is the last price, with the same digits
		last := c.second + map[bool]string{true: "."}[c.digitsPrice == 0] +
			strings.Repeat("0", len(zero)-2-c.digitsPrice)
		if _, body, _ := r.get("/api/v3/avgPrice?symbol=" + symbol); !strings.Contains(body, `"price":"`+last+`"`) {
			t.Errorf("%s without trades: %s, want %s", pair, body, last)
		}
	}
}
