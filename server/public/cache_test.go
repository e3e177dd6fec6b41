package public_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/server/objects"
	"github.com/tickhive/tickhive/server/public"
	"github.com/tickhive/tickhive/server/servertest"
)

// cached lists the public market-data routes with an ETag.
func cached() (all []string) {
	for _, r := range servertest.ReadRoutes() {
		if !strings.HasPrefix(r, "/api/healthcheck") && !strings.HasPrefix(r, "/api/time") &&
			!strings.HasPrefix(r, "/api/status") {
			all = append(all, r, r+"&decimals=string")
		}
	}
	return all
}

// Every public market-data answer has the headers of docs/contract/market-data.md#http-behaviour,
// and every form of If-None-Match that names it gives 304 without a body.
func TestConditionalRequests(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	for _, route := range cached() {
		a := m.OK(route, nil)
		tag := a.Header.Get("Etag")
		if len(tag) < 4 || tag[0] != '"' || tag[len(tag)-1] != '"' {
			t.Fatalf("GET %s: ETag %q", route, tag)
		}
		maxAge := "public, max-age=1"
		if strings.HasPrefix(route, servertest.Agg+"/tickers") {
			maxAge = "public, max-age=5"
		}
		for name, want := range map[string]string{
			"Cache-Control": maxAge, "Vary": "Accept-Encoding", "Access-Control-Allow-Origin": "*",
			"Content-Type": "application/json; charset=utf-8", "Content-Length": fmt.Sprint(len(a.Body)),
		} {
			if got := a.Header.Get(name); got != want {
				t.Errorf("GET %s: %s %q, want %q", route, name, got, want)
			}
		}
		gz := tag[:len(tag)-1] + `-g"`
		for _, sent := range []string{tag, "*", "W/" + tag, `"x", ` + tag, tag + `,"y"`, gz, `"a","b",W/` + gz} {
			b := m.Get(route, "If-None-Match", sent)
			if b.Status != http.StatusNotModified || b.Body != "" {
				t.Fatalf("GET %s If-None-Match %s: %d %q", route, sent, b.Status, b.Body)
			}
			for _, name := range []string{"Etag", "Cache-Control", "Vary", "X-Seq", "Access-Control-Allow-Origin"} {
				if b.Header.Get(name) != a.Header.Get(name) {
					t.Errorf("GET %s: 304 with %s %q, 200 with %q", route, name, b.Header.Get(name), a.Header.Get(name))
				}
			}
		}
		for _, sent := range []string{
			`"x"`, tag[:len(tag)-1], "W/" + gz + "x", strings.Trim(tag, `"`),
			`"` + strings.Repeat("0", 16) + `"`,
		} {
			if b := m.Get(route, "If-None-Match", sent); b.Status != 200 || b.Body != a.Body {
				t.Errorf("GET %s If-None-Match %s: %d", route, sent, b.Status)
			}
		}
	}
}

// The tickers of a listing site may be reused for the same time at both of their addresses.
func TestTickersOfListingSitesAge(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	for _, route := range []string{
		servertest.Agg + "/tickers", "/v1/spot/market/tickers", "/listing/coingecko/tickers",
	} {
		if got := m.OK(route, nil).Header.Get("Cache-Control"); got != "public, max-age=5" {
			t.Errorf("%s: %s", route, got)
		}
	}
}

// HEAD returns the same answer as GET, without the body.
func TestHead(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	for _, route := range append(cached(), "/api/healthcheck", servertest.Agg+"/historical_trades", "/nope") {
		a, b := m.Get(route, "X-Request-Id", "x"), m.Do(http.MethodHead, route, "", "X-Request-Id", "x")
		if b.Status != a.Status || b.Body != "" {
			t.Errorf("HEAD %s: %d %q", route, b.Status, b.Body)
		}
		for _, name := range []string{"Etag", "Content-Length", "Content-Type", "X-Seq", "Cache-Control", "Vary"} {
			if a.Header.Get(name) != b.Header.Get(name) {
				t.Errorf("HEAD %s: %s %q, GET %q", route, name, b.Header.Get(name), a.Header.Get(name))
			}
		}
	}
}

// The ETag changes exactly when the body does: in a run with changes of every kind, equal
// bodies have equal tags and different bodies have different tags. X-Seq never decreases.
func TestTagsFollowBodies(t *testing.T) {
	t.Parallel()
	m := servertest.NewTradedMarket(t)
	tags, bodies := map[string]string{}, map[string]string{}
	seqs := map[string]string{}
	changed := 0
	for step := int64(0); step < 60; step++ {
		switch step % 5 {
		case 0:
			m.Limit("BTC_USDT", engine.Buy, 100+step, 1) // far below the levels shown
		case 1:
			m.Cancel(m.Limit("ETH_BTC", engine.Buy, 10, 10)) // there and back
		case 2:
			trade(m, "BTC_USDT", engine.Buy, 6_499_995, 1)
		case 3:
			m.Advance(17 * servertest.SecondNs)
		case 4:
			m.Advance(3 * 3600 * servertest.SecondNs)
		}
		for _, route := range cached() {
			a := m.OK(route, nil)
			key := route + "\n" + a.Header.Get("Etag")
			if old, ok := bodies[key]; ok && old != a.Body {
				t.Fatalf("step %d GET %s: one tag, two bodies:\n%s\n%s", step, route, old, a.Body)
			}
			key2 := route + "\n" + a.Body
			if old, ok := tags[key2]; ok && old != a.Header.Get("Etag") {
				t.Fatalf("step %d GET %s: one body, two tags", step, route)
			} else if !ok {
				changed++
			}
			bodies[key], tags[key2] = a.Body, a.Header.Get("Etag")
			seq := a.Header.Get("X-Seq")
			if old := seqs[route]; len(seq) < len(old) || len(seq) == len(old) && seq < old {
				t.Fatalf("step %d GET %s: X-Seq %s after %s", step, route, seq, old)
			}
			seqs[route] = seq
		}
	}
	if changed < 300 {
		t.Errorf("only %d versions seen", changed)
	}
}

// A document is compressed outside the request path once it is 100 ms old; until then clients
// get identity. gzip has the same text and another tag. Documents below 1 KB have no gzip.
func TestGzip(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	for _, route := range []string{
		"/api/orderbook?currencyPairCode=BTC_USDT", servertest.Agg + "/orderbook?ticker_id=BTC_USDT", servertest.Agg +
			"/orderbook?ticker_id=BTC_USDT&depth=100",
		"/api/deals?currencyPairCode=BTC_USDT", servertest.Agg +
			"/historical_trades?ticker_id=BTC_USDT&limit=100", "/api/currencies/commissions",
	} {
		plain := m.OK(route, nil)
		first := m.Get(route, "Accept-Encoding", "gzip")
		if first.Header.Get("Content-Encoding") != "" || first.Body != plain.Body ||
			first.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("GET %s: compressed on the request path", route)
		}
		z := first
		for end := time.Now().Add(time.Minute); z.Header.Get("Content-Encoding") == "" && time.Now().Before(end); {
			z = m.Get(route, "Accept-Encoding", "br;q=1, gzip;q=0.5")
		}
		if z.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("GET %s: no gzip", route)
			continue
		}
		r, err := gzip.NewReader(strings.NewReader(z.Body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || string(text) != plain.Body {
			t.Errorf("GET %s: gzip of another text: %v", route, err)
		}
		tag := plain.Header.Get("Etag")
		if z.Header.Get("Etag") != tag[:len(tag)-1]+`-g"` {
			t.Errorf("GET %s: tags %s and %s", route, tag, z.Header.Get("Etag"))
		}
		x := m.Get(route, "Accept-Encoding", "X-Gzip")
		if x.Body != z.Body || x.Header.Get("Content-Encoding") != "gzip" ||
			x.Header.Get("Etag") != z.Header.Get("Etag") {
			t.Errorf("GET %s: x-gzip differs from gzip: %v", route, x.Header)
		}
		for _, refuse := range []string{"", "br", "gzip;q=0", "gzip;q=0.000", "identity", "xgzip", "x-gzip;q=0"} {
			if b := m.Get(route, "Accept-Encoding", refuse); b.Header.Get("Content-Encoding") != "" ||
				b.Body != plain.Body {
				t.Errorf("GET %s: Accept-Encoding %q gets %q", route, refuse, b.Header.Get("Content-Encoding"))
			}
		}
		for _, sent := range []string{tag, z.Header.Get("Etag")} {
			b := m.Get(route, "Accept-Encoding", "gzip", "If-None-Match", sent)
			if b.Status != http.StatusNotModified || b.Header.Get("Content-Encoding") != "" {
				t.Errorf("GET %s: %d with tag %s", route, b.Status, sent)
			}
		}
	}
	small := "/api/tickers?currencyPairCode=BTC_USDT"
	m.Get(small, "Accept-Encoding", "gzip")
	if b := m.Get(small, "Accept-Encoding", "gzip"); b.Header.Get("Content-Encoding") != "" {
		t.Error("a body below 1 KB is compressed")
	}
}

// Answers that are made for one request are compressed at once: candles, trades in every form, further pages. They have
// the tag of the text with the suffix of gzip, and either tag gives 304.
func TestGzipOfAnswersForOneRequest(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	for i := range 5000 { // beyond the answers that are sent in one piece
		side := engine.Side(i % 2)
		m.Limit("BTC_USDT", side.Opposite(), 65_000_00, 100)
		m.Limit("BTC_USDT", side, 65_000_00, 100)
	}
	m.Advance(2 * 3600 * 1_000_000_000)
	for _, route := range []string{
		ohlcPath + "minute&fill=previous&start=2025-12-31T23:00:00&end=2026-01-03",
		servertest.Agg + "/historical_trades?ticker_id=BTC_USDT&limit=0",
		servertest.Agg + "/historical_trades?ticker_id=BTC_USDT&limit=0&decimals=string",
		servertest.Agg + "/historical_trades?ticker_id=BTC_USDT&limit=300&type=buy",
		"/listing/coingecko/historical_trades?ticker_id=BTC_USDT&limit=0",
		"/listing/coinmarketcap/trades/BTC_USDT?limit=0",
		"/listing/coinmarketcap/trades/BTC_USDT?limit=0&type=buy",
		"/listing/coinmarketcap/orderbook/BTC_USDT",
		"/api/deals?currencyPairCode=BTC_USDT&pageNumber=2",
	} {
		plain := m.OK(route, nil)
		tag := plain.Header.Get("Etag")
		if plain.Header.Get("Content-Encoding") != "" {
			t.Errorf("GET %s: compressed without being asked", route)
		}
		if len(plain.Body) < 1024 {
			t.Errorf("GET %s: only %d bytes", route, len(plain.Body))
		}
		packed := tag[:len(tag)-1] + `-g"`
		for range 2 {
			z := m.Get(route, "Accept-Encoding", "gzip")
			if z.Header.Get("Content-Encoding") != "gzip" || z.Header.Get("Etag") != packed ||
				z.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("GET %s: %v", route, z.Header)
				break
			}
			if len(z.Body)*2 > len(plain.Body) {
				t.Errorf("GET %s: %d bytes of %d", route, len(z.Body), len(plain.Body))
			}
			r, err := gzip.NewReader(strings.NewReader(z.Body))
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(r); err != nil || string(text) != plain.Body {
				t.Errorf("GET %s: gzip of another text: %v", route, err)
			}
		}
		for _, sent := range []string{tag, packed} {
			b := m.Get(route, "Accept-Encoding", "gzip", "If-None-Match", sent)
			if b.Status != http.StatusNotModified || b.Header.Get("Content-Encoding") != "" || b.Body != "" {
				t.Errorf("GET %s: %d with tag %s", route, b.Status, sent)
			}
		}
	}
}

// Answers about the service itself are not cached and have no tag.
func TestNoStore(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	for _, route := range []string{"/api/healthcheck", "/api/time", "/api/status"} {
		a := m.OK(route, nil)
		if a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Etag") != "" ||
			a.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("GET %s: %v", route, a.Header)
		}
	}
	if got := m.OK("/api/healthcheck", nil).Body; got != `"TickHive v1.0.0.0"` {
		t.Error(got)
	}
	m.Advance(1_234_567_891)
	// fill has moved the clock by 340 s.
	if got := m.OK("/api/time", nil).Body; got != `{"serverTime":1767225941234,"iso":"2026-01-01T00:05:41.234Z"}` {
		t.Error(got)
	}
}

// The next answer of every list shows a configuration change.
func TestConfigurationChangesAtOnce(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	if got := m.OK("/api/currencies/commissions", nil).Body; !strings.Contains(got, `"percent":0.002,`) ||
		strings.Count(got, "commissionId") != 2*4+2*3 {
		t.Error(got)
	}
	m.Apply(engine.Command{
		Kind: engine.SetPair, Pair: m.Pairs["BTC_USDT"],
		Instrument: &engine.Instrument{TakerFee: 12_345},
	})
	if got := m.OK("/api/currencies/commissions", nil).Body; !strings.Contains(got, `"percent":0.00012345,`) {
		t.Error(got)
	}
	m.Asset("SOL", false)
	const sorted = `["BTC","ETH","EUR","SOL","USDT"]`
	if got := m.OK("/api/currencies", nil).Body; got != sorted {
		t.Errorf("the currencies are %s, want them sorted by code: %s", got, sorted)
	}
	if got := m.OK(servertest.Agg+"/asset", nil).Body; !strings.Contains(got, `"SOL":{`) {
		t.Error(got)
	}
	m.Pair("SOL_EUR", 3, 2)
	for _, route := range []string{
		"/api/currencies/pairs", servertest.Agg + "/pairs", "/api/summary", "/api/status",
		"/api/currencies/commissions",
	} {
		if got := m.OK(route, nil).Body; !strings.Contains(got, "SOL") {
			t.Errorf("GET %s: %s", route, got)
		}
	}
}

// Deposit and withdrawal records come from the configuration, by adapter.
func TestCommissions(t *testing.T) {
	version, list := uint64(1), []public.AssetCommission{
		{Type: objects.CommissionWithdrawal, Currency: "USDT", Adapter: "trc20", Percent: 100_000},
		{Type: objects.CommissionWithdrawal, Currency: "USDT", Adapter: "erc20", Percent: 50_000_000},
	}
	m := servertest.NewMarket(t, func(o *servertest.Options) {
		o.Market.Commissions = func() []public.AssetCommission { return list }
		o.Market.CommissionsVersion = func() uint64 { return version }
	})
	m.Asset("USDT", false)
	m.Asset("BTC", false)
	m.Pair("BTC_USDT", 2, 8)
	type record struct {
		CommissionID, CurrencyCode, CurrencyPairCode, CurrencyAdapterCode *string
		CommissionTypeCode, HashCode                                      string
		CommissionType                                                    struct{ Code, Value, ValueKey string }
	}
	var all []record
	body := m.OK("/api/currencies/commissions", &all).Body
	hashes := ""
	for _, r := range all {
		hashes += r.HashCode + " "
		if r.CommissionType.Code != r.CommissionTypeCode || (r.CurrencyCode == nil) == (r.CurrencyPairCode == nil) {
			t.Errorf("%+v", r)
		}
	}
	if hashes != "1_BTC_ 1_USDT_ 2_BTC_ 2_USDT_erc20 2_USDT_trc20 3_BTC_USDT_ 4_BTC_USDT_ " {
		t.Error(hashes)
	}
	if !strings.Contains(body, `"currencyAdapterCode":"erc20","percent":0.5,"minimum":0.0,`+
		`"commissionCurrencyCode":"USDT","commissionTypeCode":"2",`+
		`"commissionType":{"code":"2","value":"Вывод","valueKey":"Withdrawal"},"hashCode":"2_USDT_erc20"`) {
		t.Error(body)
	}
	if !strings.Contains(body, `"minimum":0.0,"commissionCurrencyCode":null,"commissionTypeCode":"3",`) {
		t.Errorf("a commission of a trade has a currency: %s", body)
	}
	list, version = list[:1], 2 // without any change of pairs and assets
	body = m.OK("/api/currencies/commissions", nil).Body
	if strings.Contains(body, "erc20") || !strings.Contains(body, "trc20") {
		t.Errorf("after a change of the settings: %s", body)
	}
}
