package public_test

import (
	"encoding/json"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/server/public"
	"github.com/tickhive/tickhive/server/servertest"
)

// rat returns the exact value of a JSON number.
func rat(t testing.TB, n json.Number) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		t.Fatalf("%q is no number", n)
	}
	return r
}

type aggTicker struct {
	TickerID, Base, Target string
	LastPrice              json.Number `json:"last_price"`
	BaseVolume             json.Number `json:"base_volume"`
	TargetVolume           json.Number `json:"target_volume"`
	Bid, Ask, High, Low    json.Number
}

type ticker struct {
	Timestamp                                    int64
	CurrencyPairCode                             string
	Price, Price24hAgo, PriceChangePercentage24h json.Number
	Volume24h, BidPrice, AskPrice                json.Number
}

type summaryRow struct {
	TradingPairs string      `json:"trading_pairs"`
	LastPrice    json.Number `json:"last_price"`
	LowestAsk    json.Number `json:"lowest_ask"`
	HighestBid   json.Number `json:"highest_bid"`
	BaseVolume   json.Number `json:"base_volume"`
	QuoteVolume  json.Number `json:"quote_volume"`
	Change       json.Number `json:"price_change_percent_24h"`
	High         json.Number `json:"highest_price_24h"`
	Low          json.Number `json:"lowest_price_24h"`
}

// All routes agree on one state: the volumes equal the sum of the trades in the window's whole
// seconds and the sums of the candles, and last, high and low are the same.
func TestRoutesAgree(t *testing.T) {
	m := servertest.NewMarket(t)
	m.Pair("BTC_USDT", 2, 8)
	for i := range int64(400) {
		trade(m, "BTC_USDT", engine.Side(i%2), 6_500_000+(i*7919)%1000-500, 1+(i*104729)%100_000)
		m.Limit("BTC_USDT", engine.Buy, 6_400_000-i, 100)
		m.Limit("BTC_USDT", engine.Sell, 6_600_000+i, 100)
		m.Advance(333_333_333_333 % (600 * servertest.SecondNs))
		if i%10 == 0 {
			agree(m, i)
		}
	}
}

func agree(m *servertest.Market, step int64) {
	t := m.T
	t.Helper()
	now := m.Clock.NowNs() / servertest.SecondNs
	var trades aggTrades
	m.OK(servertest.Agg+"/historical_trades?ticker_id=BTC_USDT", &trades)
	base, target := new(big.Rat), new(big.Rat)
	high, low := new(big.Rat), new(big.Rat)
	var newest aggTrade
	for _, tr := range append(slices.Clone(trades.Buy), trades.Sell...) {
		if tr.TradeID > newest.TradeID {
			newest = tr
		}
		sec := tr.TradeTimestamp / 1000
		if sec <= now-86400 || sec > now {
			continue
		}
		p, q := rat(t, tr.Price), rat(t, tr.BaseVolume)
		base.Add(base, q)
		target.Add(target, rat(t, tr.TargetVolume))
		if new(big.Rat).Mul(p, q).Cmp(rat(t, tr.TargetVolume)) != 0 {
			t.Fatalf("step %d: target_volume %s of %+v", step, tr.TargetVolume, tr)
		}
		if high.Sign() == 0 || p.Cmp(high) > 0 {
			high = p
		}
		if low.Sign() == 0 || p.Cmp(low) < 0 {
			low = p
		}
	}
	var all []aggTicker
	m.OK(servertest.Agg+"/tickers", &all)
	var one ticker
	m.OK("/api/tickers?currencyPairCode=BTC_USDT", &one)
	var sum []summaryRow
	m.OK("/api/summary", &sum)
	if len(all) != 1 || len(sum) != 1 {
		t.Fatalf("step %d: %d tickers, %d summaries", step, len(all), len(sum))
	}
	a, s := all[0], sum[0]
	same := func(what string, want *big.Rat, got ...json.Number) {
		t.Helper()
		for _, n := range got {
			if rat(t, n).Cmp(want) != 0 {
				t.Fatalf("step %d: %s %s, want %s", step, what, n, want.FloatString(12))
			}
		}
	}
	same("base volume", base, a.BaseVolume, one.Volume24h, s.BaseVolume)
	same("target volume", target, a.TargetVolume, s.QuoteVolume)
	same("high", high, a.High, s.High)
	same("low", low, a.Low, s.Low)
	same("last", rat(t, newest.Price), a.LastPrice, one.Price, s.LastPrice)
	same("bid", rat(t, one.BidPrice), a.Bid, s.HighestBid)
	same("ask", rat(t, one.AskPrice), a.Ask, s.LowestAsk)
	same("change", rat(t, one.PriceChangePercentage24h), s.Change)

	var book aggBook
	m.OK(servertest.Agg+"/orderbook?ticker_id=BTC_USDT&depth=2", &book)
	same("best bid", rat(t, book.Bids[0][0]), one.BidPrice)
	same("best ask", rat(t, book.Asks[0][0]), one.AskPrice)

	candleBase, candleQuote := new(big.Rat), new(big.Rat)
	allBase, allQuote := new(big.Rat), new(big.Rat)
	for _, tr := range append(slices.Clone(trades.Buy), trades.Sell...) {
		allBase.Add(allBase, rat(t, tr.BaseVolume))
		allQuote.Add(allQuote, rat(t, tr.TargetVolume))
	}
	var k []candle
	m.OK(ohlcPath+"hour&start=2026-01-01&end=2026-12-31", &k)
	for _, row := range k {
		candleBase.Add(candleBase, rat(t, row.VolumeBase))
		candleQuote.Add(candleQuote, rat(t, row.Volume))
	}
	if candleBase.Cmp(allBase) != 0 || candleQuote.Cmp(allQuote) != 0 {
		t.Fatalf("step %d: candles sum to %s and %s", step, candleBase.FloatString(8), candleQuote.FloatString(10))
	}
}

// A pair without volume or without a book is not in the aggregator's tickers; a missing
// side is left out.
func TestListing(t *testing.T) {
	m := servertest.NewMarket(t)
	for _, code := range []string{"BB_USDT", "AA_USDT", "CC_USDT", "DD_USDT"} {
		m.Pair(code, 2, 8)
	}
	trade(m, "BB_USDT", engine.Buy, 100, 1)
	m.Limit("BB_USDT", engine.Buy, 90, 1)
	trade(m, "CC_USDT", engine.Buy, 100, 1)
	m.Limit("DD_USDT", engine.Buy, 100, 1)
	m.Limit("DD_USDT", engine.Sell, 101, 1)
	if got := m.OK(servertest.Agg+"/tickers", nil).Body; got != `[{"ticker_id":"BB_USDT","base_currency":"BB",`+
		`"target_currency":"USDT","last_price":1.00,`+
		`"base_volume":0.00000001,"target_volume":0.0000000100,"bid":0.90,"high":1.00,"low":1.00}]` {
		t.Error(got)
	}
	trade(m, "AA_USDT", engine.Sell, 100, 1)
	m.Limit("AA_USDT", engine.Sell, 110, 1)
	if got := m.OK(servertest.Agg+"/tickers", nil).Body; !strings.HasPrefix(got, `[{"ticker_id":"AA_USDT"`) ||
		strings.Contains(got, `"bid":0.0`) || strings.Count(got, "ticker_id") != 2 {
		t.Error(got)
	}
	m.Advance(servertest.DayNs - servertest.SecondNs)
	if got := m.OK(servertest.Agg+"/tickers", nil).Body; strings.Count(got, "ticker_id") != 2 {
		t.Error("a trade of the window's last second is gone:", got)
	}
	m.Advance(servertest.SecondNs)
	if got := m.OK(servertest.Agg+"/tickers", nil).Body; got != "[]" {
		t.Error("a trade exactly 24 h old still counts:", got)
	}
	if got := m.OK(servertest.Agg+"/pairs", nil).Body; strings.Count(got, "market_pair\"") != 4 {
		t.Error(got)
	}
}

// The alias answers identical bytes, including the headers.
func TestAlias(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	for _, path := range []string{
		"/pairs", "/tickers", "/orderbook?ticker_id=BTC_USDT", "/orderbook?ticker_id=BTC_USDT" +
			"&depth=100", "/orderbook?ticker_id=BTC_USDT&depth=7",
		"/historical_trades?ticker_id=BTC_USDT", "/historical_trades?ticker_id=BTC_USDT" +
			"&limit=100", "/asset", "/tickers?decimals=string",
		"/orderbook", "/orderbook?ticker_id=NO_PAIR", "/orderbook?ticker_id=BTC_USDT&depth=x",
	} {
		a := m.Get(servertest.Agg+path, "X-Request-Id", "same")
		b := m.Get("/v1/spot/market"+path, "X-Request-Id", "same")
		a.Header.Del("Date")
		b.Header.Del("Date")
		if a.Status != b.Status || a.Body != b.Body || !maps.EqualFunc(a.Header, b.Header, slices.Equal[[]string]) {
			t.Errorf("%s: %v, alias %v", path, a, b)
		}
	}
}

var numberToken = regexp.MustCompile(`-?[0-9][0-9eE+.-]*`)

// digitsOf returns the number of fractional digits of a member: -1 for an integer, -2 for the
// shortest text, -3 for a member that is no number.
func digitsOf(member, code string, route string) int {
	digits := map[string][2]int{"BTC_USDT": {2, 8}, "ETH_BTC": {6, 4}, "ETH_EUR": {0, 0}}[code]
	price, amount, total := digits[0], digits[1], digits[0]+digits[1]
	switch member {
	case "price", "price24hAgo", "bidPrice", "askPrice", "last_price", "bid", "ask", "high", "low",
		"open", "max", "min", "close",
		"lowest_ask", "highest_bid", "highest_price_24h", "lowest_price_24h":
		return price
	case "amount", "currencyTo", "volume24h", "base_volume", "volumeBase":
		return amount
	case "quoteAmount", "currencyFrom", "target_volume", "quote_volume":
		return total
	case "volume":
		if strings.HasPrefix(route, "/api/ohlc") {
			return total
		}
		return amount
	case "priceChangePercentage24h", "price_change_percent_24h":
		return 8
	case "percent", "minimum", "minQuoteAmount", "min_withdraw", "max_withdraw", "maker_fee", "taker_fee", "progress":
		return -2
	}
	return -1
}

// Every number of every route has no exponent, is not -0, and has the digits of
// docs/contract/market-data.md#decimals. With decimals=string every decimal is a string of the
// same text.
func TestNumbers(t *testing.T) {
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) {
		o.Market.Status = func() public.StatusInfo { return public.StatusInfo{ProgressPPM: 250_000} }
	})
	numbers := 0
	for _, route := range servertest.ReadRoutes() {
		body := m.OK(route, nil).Body
		d := json.NewDecoder(strings.NewReader(body))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("GET %s: %v", route, err)
		}
		code := ""
		if i := strings.Index(route, "_id="); i >= 0 {
			code, _, _ = strings.Cut(route[i+4:], "&")
		} else if i := strings.Index(route, "PairCode="); i >= 0 {
			code, _, _ = strings.Cut(route[i+9:], "&")
		}
		walk(v, code, "", func(code, member string, n json.Number) {
			numbers++
			checkNumber(t, route, code, member, n.String())
		})
		if strings.HasPrefix(route, "/api/healthcheck") {
			continue
		}
		text := m.OK(route+"&decimals=string", nil).Body
		if want := numberToken.ReplaceAllStringFunc(maskStrings(body), func(n string) string {
			if strings.Contains(n, ".") {
				return `"` + n + `"`
			}
			return n
		}); maskStrings(text) != maskStrings(want) {
			t.Errorf("GET %s: decimals=string %s", route, text)
		}
		if strings.Contains(stripStrings(text), ".") {
			t.Errorf("GET %s: decimals=string leaves a decimal: %s", route, text)
		}
	}
	if numbers < 1400 {
		t.Errorf("only %d numbers seen", numbers)
	}
}

var stringToken = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// maskStrings hides strings that are not decimals.
func maskStrings(body string) string {
	return stringToken.ReplaceAllStringFunc(body, func(s string) string {
		if regexp.MustCompile(`^"-?[0-9]+\.[0-9]+"$`).MatchString(s) {
			return s
		}
		return `"x"`
	})
}

func stripStrings(body string) string { return stringToken.ReplaceAllString(body, "") }

func checkNumber(t *testing.T, route, code, member, n string) {
	t.Helper()
	want := digitsOf(member, code, route)
	whole, frac, point := strings.Cut(n, ".")
	switch {
	case strings.ContainsAny(n, "eE+") || strings.Trim(n, "-0.") == "" && strings.HasPrefix(n, "-") ||
		len(whole) > 1 && whole[0] == '0':
		t.Errorf("GET %s: %s is %s", route, member, n)
	case want == -1 && point:
		t.Errorf("GET %s: %s is no integer: %s", route, member, n)
	case want >= 0 && len(frac) != max(want, 1):
		t.Errorf("GET %s: %s of %s is %s, want %d digits", route, member, code, n, want)
	case want == -2 && (!point || len(frac) > 1 && frac[len(frac)-1] == '0'):
		t.Errorf("GET %s: %s is not the shortest text: %s", route, member, n)
	}
}

// walk visits every number with the pair and the member that it belongs to.
func walk(v any, code, member string, visit func(code, member string, n json.Number)) {
	switch v := v.(type) {
	case json.Number:
		visit(code, member, v)
	case map[string]any:
		for _, name := range []string{"currencyPairCode", "ticker_id", "trading_pairs", "code"} {
			if s, ok := v[name].(string); ok && strings.Contains(s, "_") {
				code = s
			}
		}
		for name, one := range v {
			walk(one, code, name, visit)
		}
	case []any:
		for i, one := range v {
			name := member
			if _, pair := one.(json.Number); pair && len(v) == 2 {
				name = []string{"price", "amount"}[i] // [price, quantity]
			}
			walk(one, code, name, visit)
		}
	}
}
