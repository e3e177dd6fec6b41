package public_test

import (
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

// Every row of the error table of docs/contract/api.md#errors that belongs to market data, and the
// strict parameters of docs/contract/errors.md#parameters.
func TestRefusedParameters(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	const (
		ticker = "/api/tickers?currencyPairCode="
		deals  = "/api/deals?currencyPairCode=BTC_USDT&"
		ohlc   = "/api/ohlc?currencyPairCode=BTC_USDT&interval=minute&start=2026-01-01&end=2026-01-02&"
		book   = servertest.Agg + "/orderbook?"
		trades = servertest.Agg + "/historical_trades?"
	)
	for _, c := range []struct {
		target string
		status int
		field  string
	}{
		{"/api/tickers", 400, "currencyPairCode"},
		{ticker, 400, "currencyPairCode"},
		{ticker + "btc_usdt", 400, "currencyPairCode"},
		{ticker + "BTCUSDT", 400, "currencyPairCode"},
		{ticker + "ABCDEFGHIJKLMNOPQRSTU_USDT", 400, "currencyPairCode"},
		{ticker + "BTC_USDT_X", 400, "currencyPairCode"},
		{ticker + "BTC_ABCDEFGHIJKLMNOPQRSTU", 400, "currencyPairCode"},
		{ticker + "BTC_USDT%0A", 400, "currencyPairCode"},
		{ticker + "NO_PAIR", 404, "currencyPairCode"},
		{ticker + "W_USDT", 404, "currencyPairCode"},
		{ticker + "BTC_USDT&currencyPairCode=BTC_USDT", 400, "currencyPairCode"},
		{ticker + "BTC_USDT&decimals=x", 400, "decimals"},
		{ticker + "BTC_USDT&decimals=string&decimals=string", 400, "decimals"},
		{"/api/summary?decimals=1", 400, "decimals"},
		{"/api/orderbook", 400, "currencyPairCode"},
		{"/api/orderbook?currencyPairCode=NO_PAIR&aliases=1", 400, "aliases"},
		{"/api/orderbook?currencyPairCode=NO_PAIR", 404, "currencyPairCode"},
		{"/api/deals", 400, "currencyPairCode"},
		{"/api/deals?currencyPairCode=NO_PAIR", 404, "currencyPairCode"},
		{deals + "sinceDate=yesterday", 400, "sinceDate"},
		{deals + "sinceDate=2026-02-30", 400, "sinceDate"},
		{deals + "sinceDate=2026-01-01T24:00:00", 400, "sinceDate"},
		{deals + "sinceDate=2026-01-01T00:00:00%2B00:00", 400, "sinceDate"},
		{deals + "sinceDate=2026-01-01T00:00:00.1234567890", 400, "sinceDate"},
		{deals + "sinceDate=2026-01-01T00:00:00.", 400, "sinceDate"},
		{deals + "sinceDate=2026-01-01T00:00", 400, "sinceDate"},
		{deals + "endDate=2026-1-1", 400, "endDate"},
		{deals + "endDate=2026-01-01Z", 400, "endDate"},
		{deals + "endDate=2026-01-01%2000:00:00", 400, "endDate"},
		{deals + "sinceDate=2026-01-02&endDate=2026-01-01", 400, "sinceDate"},
		{deals + "sinceDate=2026-01-01T00:00:00.000000001&endDate=2026-01-01", 400, "sinceDate"},
		{deals + "sinceDate=9999-01-01&endDate=9998-01-01", 400, "sinceDate"},
		{deals + "pageNumber=0", 400, "pageNumber"},
		{deals + "pageNumber=-1", 400, "pageNumber"},
		{deals + "pageNumber=1.0", 400, "pageNumber"},
		{deals + "pageNumber=%2B1", 400, "pageNumber"},
		{deals + "pageNumber=1&pageNumber=2", 400, "pageNumber"},
		{deals + "pageNumber=12345678901234567890", 400, "pageNumber"},
		{deals + "pageSize=0", 400, "pageSize"},
		{deals + "pageSize=101", 400, "pageSize"},
		{deals + "pageSize=x", 400, "pageSize"},
		{deals + "sinceDate=2026-01-02&endDate=2026-01-01&pageSize=x", 400, "pageSize"},
		{"/api/ohlc", 400, "currencyPairCode"},
		{"/api/ohlc?currencyPairCode=BTC_USDT", 400, "interval"},
		{"/api/ohlc?currencyPairCode=BTC_USDT&interval=week&start=2026-01-01&end=2026-01-01", 400, "interval"},
		{"/api/ohlc?currencyPairCode=BTC_USDT&interval=minute", 400, "start"},
		{"/api/ohlc?currencyPairCode=BTC_USDT&interval=minute&start=2026-01-01", 400, "end"},
		{"/api/ohlc?currencyPairCode=BTC_USDT&interval=minute&start=&end=2026-01-01", 400, "start"},
		{"/api/ohlc?currencyPairCode=BTC_USDT&interval=minute&start=2026-01-02&end=2026-01-01", 400, "start"},
		{ohlc + "fill=zero", 400, "fill"},
		{strings.Replace(ohlc, "BTC_USDT", "NO_PAIR", 1), 404, "currencyPairCode"},
		{book, 400, "ticker_id"},
		{book + "ticker_id=", 400, "ticker_id"},
		{book + "ticker_id=BTC-USDT", 400, "ticker_id"},
		{book + "ticker_id=NO_PAIR", 404, "ticker_id"},
		{book + "ticker_id=BTC_USDT&depth=-1", 400, "depth"},
		{book + "ticker_id=BTC_USDT&depth=x", 400, "depth"},
		{book + "ticker_id=BTC_USDT&depth=1.5", 400, "depth"},
		{book + "ticker_id=BTC_USDT&depth=-", 400, "depth"},
		{book + "ticker_id=NO_PAIR&depth=x", 400, "depth"},
		{book + "ticker_id=BTC_USDT&ticker_id=BTC_USDT", 400, "ticker_id"},
		{trades, 400, "ticker_id"},
		{trades + "ticker_id=%C3%A9", 400, "ticker_id"},
		{trades + "ticker_id=NO_PAIR", 404, "ticker_id"},
		{trades + "ticker_id=BTC_USDT&type=BUY", 400, "type"},
		{trades + "ticker_id=BTC_USDT&type=buy&type=buy", 400, "type"},
		{trades + "ticker_id=BTC_USDT&limit=-1", 400, "limit"},
		{trades + "ticker_id=BTC_USDT&limit=x", 400, "limit"},
		{trades + "ticker_id=BTC_USDT&start_time=x", 400, "start_time"},
		{trades + "ticker_id=BTC_USDT&end_time=1e3", 400, "end_time"},
		{trades + "ticker_id=BTC_USDT&start_time=2&end_time=1", 400, "start_time"},
		{trades + "ticker_id=NO_PAIR&start_time=2&end_time=1", 400, "start_time"},
	} {
		a := m.Get(c.target)
		code := map[int]string{400: "INVALID_PARAM", 404: "NOT_FOUND"}[c.status]
		m.CheckRefusal(a, c.status, code, c.field)
		if t.Failed() {
			t.Fatalf("GET %s", c.target)
		}
		if a.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("GET %s: an error without CORS", c.target)
		}
	}
}

// The server ignores unknown parameters, treats empty optional ones as missing and decodes
// encoded ones.
func TestParametersThatPass(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	plain := m.OK("/api/tickers?currencyPairCode=BTC_USDT", nil).Body
	for _, target := range []string{
		"/api/tickers?currencyPairCode=BTC_USDT&foo=1&foo=2&&x",
		"/api/tickers?%63urrencyPairCode=BTC%5FUSDT",
		"/api/tickers?currencyPairCode=BTC_USDT&decimals=number",
		"/api/tickers?currencyPairCode=BTC_USDT&decimals=",
		"/api/tickers?q=a+b&currencyPairCode=BTC_USDT",
	} {
		if got := m.OK(target, nil).Body; got != plain {
			t.Errorf("GET %s: %s", target, got)
		}
	}
	first := m.OK("/api/deals?currencyPairCode=BTC_USDT", nil).Body
	for _, more := range []string{
		"&pageNumber=1&pageSize=100", "&pageNumber=&pageSize=&sinceDate=&endDate=", "&pageNumber=01",
		"&sinceDate=0000-01-01&endDate=9999-12-31T23:59:59.999999999Z", "&sinceDate=2026-01-01",
		"&sinceDate=2026-01-01T00:00:00Z", "&endDate=2026-01-01T23:59:59.9", "&sinceDate=1500-06-30T00:00:00.5",
	} {
		if got := m.OK("/api/deals?currencyPairCode=BTC_USDT"+more, nil).Body; got != first {
			t.Errorf("%s: %s", more, got)
		}
	}
	var none []any
	for _, more := range []string{
		"&pageNumber=2", "&pageNumber=9223372036854775807&pageSize=100", "&pageNumber=9999999999999999999",
		"&sinceDate=2026-01-02", "&endDate=2025-12-31", "&sinceDate=9999-01-01", "&endDate=0001-01-01",
	} {
		if m.OK("/api/deals?currencyPairCode=BTC_USDT"+more, &none); len(none) != 0 {
			t.Errorf("%s: %v", more, none)
		}
	}
	// A pair without data: 200 and empty, never 404
	// (docs/contract/market-data.md#pair-codes-and-order-of-lists).
	for target, want := range map[string]string{
		"/api/orderbook?currencyPairCode=ETH_EUR":                                                       "[]",
		"/api/deals?currencyPairCode=ETH_EUR":                                                           "[]",
		"/api/ohlc?currencyPairCode=ETH_EUR&interval=day&start=2026-01-01&end=2026-01-02&fill=previous": "[]",
		servertest.Agg + "/historical_trades?ticker_id=ETH_EUR": `{"buy":[],` +
			`"sell":[]}`,
		servertest.Agg + "/orderbook?ticker_id=ETH_EUR": `{"ticker_id":"ETH_EUR","timestamp":1767225600000,"bids":[],` +
			`"asks":[]}`,
		"/api/tickers?currencyPairCode=ETH_EUR": `{"timestamp":1767225600,"currencyPairCode":"ETH_EUR","price":0.0,` +
			`"price24hAgo":0.0,` +
			`"priceChangePercentage24h":0.00000000,"volume24h":0.0,"bidPrice":0.0,"askPrice":0.0}`,
	} {
		if got := m.OK(target, nil).Body; got != want {
			t.Errorf("GET %s: %s, want %s", target, got, want)
		}
	}
}
