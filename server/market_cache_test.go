package server_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tickhive/engine"
	"tickhive/server"
)

// cached lists the public market-data routes with an ETag.
func cached() (all []string) {
	for _, r := range readRoutes() {
		if !strings.HasPrefix(r, "/api/healthcheck") && !strings.HasPrefix(r, "/api/time") && !strings.HasPrefix(r, "/api/status") {
			all = append(all, r, r+"&decimals=string")
		}
	}
	return all
}

// Every public market-data answer has the headers of docs/contract/market-data.md#http-behaviour,
// and every form of If-None-Match that names it gives 304 without a body.
func TestConditionalRequests(t *testing.T) {
	m := newTraded(t)
	for _, route := range cached() {
		a := m.ok(route, nil)
		tag := a.header.Get("Etag")
		if len(tag) < 4 || tag[0] != '"' || tag[len(tag)-1] != '"' {
			t.Fatalf("GET %s: ETag %q", route, tag)
		}
		maxAge := "public, max-age=1"
		if strings.HasPrefix(route, agg+"/tickers") {
			maxAge = "public, max-age=5"
		}
		for name, want := range map[string]string{
			"Cache-Control": maxAge, "Vary": "Accept-Encoding", "Access-Control-Allow-Origin": "*",
			"Content-Type": "application/json; charset=utf-8", "Content-Length": fmt.Sprint(len(a.body)),
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("GET %s: %s %q, want %q", route, name, got, want)
			}
		}
		gz := tag[:len(tag)-1] + `-g"`
		for _, sent := range []string{tag, "*", "W/" + tag, `"x", ` + tag, tag + `,"y"`, gz, `"a","b",W/` + gz} {
			b := m.get(route, "If-None-Match", sent)
			if b.status != http.StatusNotModified || b.body != "" {
				t.Fatalf("GET %s If-None-Match %s: %d %q", route, sent, b.status, b.body)
			}
			for _, name := range []string{"Etag", "Cache-Control", "Vary", "X-Seq", "Access-Control-Allow-Origin"} {
				if b.header.Get(name) != a.header.Get(name) {
					t.Errorf("GET %s: 304 with %s %q, 200 with %q", route, name, b.header.Get(name), a.header.Get(name))
				}
			}
		}
		for _, sent := range []string{`"x"`, tag[:len(tag)-1], "W/" + gz + "x", strings.Trim(tag, `"`), `"` + strings.Repeat("0", 16) + `"`} {
			if b := m.get(route, "If-None-Match", sent); b.status != 200 || b.body != a.body {
				t.Errorf("GET %s If-None-Match %s: %d", route, sent, b.status)
			}
		}
	}
}

// HEAD returns the same answer as GET, without the body.
func TestHead(t *testing.T) {
	m := newTraded(t)
	for _, route := range append(cached(), "/api/healthcheck", agg+"/historical_trades", "/nope") {
		a, b := m.get(route, "X-Request-Id", "x"), m.do(http.MethodHead, route, "", "X-Request-Id", "x")
		if b.status != a.status || b.body != "" {
			t.Errorf("HEAD %s: %d %q", route, b.status, b.body)
		}
		for _, name := range []string{"Etag", "Content-Length", "Content-Type", "X-Seq", "Cache-Control", "Vary"} {
			if a.header.Get(name) != b.header.Get(name) {
				t.Errorf("HEAD %s: %s %q, GET %q", route, name, b.header.Get(name), a.header.Get(name))
			}
		}
	}
}

// The ETag changes exactly when the body does: in a run with changes of every kind, equal
// bodies have equal tags and different bodies have different tags. X-Seq never decreases.
func TestTagsFollowBodies(t *testing.T) {
	t.Parallel()
	m := newTraded(t)
	tags, bodies := map[string]string{}, map[string]string{}
	seqs := map[string]string{}
	changed := 0
	for step := int64(0); step < 60; step++ {
		switch step % 5 {
		case 0:
			m.limit("BTC_USDT", engine.Buy, 100+step, 1) // far below the levels shown
		case 1:
			m.cancel(m.limit("ETH_BTC", engine.Buy, 10, 10)) // there and back
		case 2:
			m.trade("BTC_USDT", engine.Buy, 6_499_995, 1)
		case 3:
			m.advance(17 * secondNs)
		case 4:
			m.advance(3 * 3600 * secondNs)
		}
		for _, route := range cached() {
			a := m.ok(route, nil)
			key := route + "\n" + a.header.Get("Etag")
			if old, ok := bodies[key]; ok && old != a.body {
				t.Fatalf("step %d GET %s: one tag, two bodies:\n%s\n%s", step, route, old, a.body)
			}
			key2 := route + "\n" + a.body
			if old, ok := tags[key2]; ok && old != a.header.Get("Etag") {
				t.Fatalf("step %d GET %s: one body, two tags", step, route)
			} else if !ok {
				changed++
			}
			bodies[key], tags[key2] = a.body, a.header.Get("Etag")
			seq := a.header.Get("X-Seq")
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
	m := newTraded(t)
	for _, route := range []string{
		"/api/orderbook?currencyPairCode=BTC_USDT", agg + "/orderbook?ticker_id=BTC_USDT", agg + "/orderbook?ticker_id=BTC_USDT&depth=100",
		"/api/deals?currencyPairCode=BTC_USDT", agg + "/historical_trades?ticker_id=BTC_USDT&limit=100", "/api/currencies/commissions",
	} {
		plain := m.ok(route, nil)
		first := m.get(route, "Accept-Encoding", "gzip")
		if first.header.Get("Content-Encoding") != "" || first.body != plain.body || first.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("GET %s: compressed on the request path", route)
		}
		z := first
		for end := time.Now().Add(5 * time.Second); z.header.Get("Content-Encoding") == "" && time.Now().Before(end); {
			z = m.get(route, "Accept-Encoding", "br;q=1, gzip;q=0.5")
		}
		if z.header.Get("Content-Encoding") != "gzip" {
			t.Errorf("GET %s: no gzip", route)
			continue
		}
		r, err := gzip.NewReader(strings.NewReader(z.body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || string(text) != plain.body {
			t.Errorf("GET %s: gzip of another text: %v", route, err)
		}
		tag := plain.header.Get("Etag")
		if z.header.Get("Etag") != tag[:len(tag)-1]+`-g"` {
			t.Errorf("GET %s: tags %s and %s", route, tag, z.header.Get("Etag"))
		}
		for _, refuse := range []string{"", "br", "gzip;q=0", "gzip;q=0.000", "identity", "xgzip"} {
			if b := m.get(route, "Accept-Encoding", refuse); b.header.Get("Content-Encoding") != "" || b.body != plain.body {
				t.Errorf("GET %s: Accept-Encoding %q gets %q", route, refuse, b.header.Get("Content-Encoding"))
			}
		}
		for _, sent := range []string{tag, z.header.Get("Etag")} {
			b := m.get(route, "Accept-Encoding", "gzip", "If-None-Match", sent)
			if b.status != http.StatusNotModified || b.header.Get("Content-Encoding") != "" {
				t.Errorf("GET %s: %d with tag %s", route, b.status, sent)
			}
		}
	}
	small := "/api/tickers?currencyPairCode=BTC_USDT"
	m.get(small, "Accept-Encoding", "gzip")
	if b := m.get(small, "Accept-Encoding", "gzip"); b.header.Get("Content-Encoding") != "" {
		t.Error("a body below 1 KB is compressed")
	}
}

// Answers about the service itself are not cached and have no tag.
func TestNoStore(t *testing.T) {
	m := newTraded(t)
	for _, route := range []string{"/api/healthcheck", "/api/time", "/api/status"} {
		a := m.ok(route, nil)
		if a.header.Get("Cache-Control") != "no-store" || a.header.Get("Etag") != "" || a.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("GET %s: %v", route, a.header)
		}
	}
	if got := m.ok("/api/healthcheck", nil).body; got != `"TickHive v1.0.0.0"` {
		t.Error(got)
	}
	m.advance(1_234_567_891)
	// furnish has moved the clock by 340 s.
	if got := m.ok("/api/time", nil).body; got != `{"serverTime":1767225941234,"iso":"2026-01-01T00:05:41.234Z"}` {
		t.Error(got)
	}
}

// The next answer of every list shows a configuration change.
func TestConfigurationChangesAtOnce(t *testing.T) {
	m := newTraded(t)
	if got := m.ok("/api/currencies/commissions", nil).body; !strings.Contains(got, `"percent":0.002,`) || strings.Count(got, "commissionId") != 2*4+2*3 {
		t.Error(got)
	}
	m.apply(engine.Command{Kind: engine.SetPair, Pair: m.pairs["BTC_USDT"], Instrument: &engine.Instrument{TakerFee: 12_345}})
	if got := m.ok("/api/currencies/commissions", nil).body; !strings.Contains(got, `"percent":0.00012345,`) {
		t.Error(got)
	}
	m.asset("SOL", false)
	if got := m.ok("/api/currencies", nil).body; got != `["BTC","ETH","EUR","SOL","USDT"]` {
		t.Error(got)
	}
	if got := m.ok(agg+"/asset", nil).body; !strings.Contains(got, `"SOL":{`) {
		t.Error(got)
	}
	m.pair("SOL_EUR", 3, 2)
	for _, route := range []string{"/api/currencies/pairs", agg + "/pairs", "/api/summary", "/api/status", "/api/currencies/commissions"} {
		if got := m.ok(route, nil).body; !strings.Contains(got, "SOL") {
			t.Errorf("GET %s: %s", route, got)
		}
	}
}

// Deposit and withdrawal records come from the configuration, by adapter.
func TestCommissions(t *testing.T) {
	m := newMarket(t, func(o *serverOptions) {
		o.market.Commissions = []server.AssetCommission{
			{Type: server.CommissionWithdrawal, Currency: "USDT", Adapter: "trc20", Percent: 100_000},
			{Type: server.CommissionWithdrawal, Currency: "USDT", Adapter: "erc20", Percent: 50_000_000},
		}
	})
	m.asset("USDT", false)
	m.asset("BTC", false)
	m.pair("BTC_USDT", 2, 8)
	type record struct {
		CommissionID, CurrencyCode, CurrencyPairCode, CurrencyAdapterCode *string
		CommissionTypeCode, HashCode                                      string
		CommissionType                                                    struct{ Code, Value, ValueKey string }
	}
	var all []record
	body := m.ok("/api/currencies/commissions", &all).body
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
	if !strings.Contains(body, `"currencyAdapterCode":"erc20","percent":0.5,"minimum":0.0,"commissionCurrencyCode":"USDT","commissionTypeCode":"2",`+
		`"commissionType":{"code":"2","value":"Вывод","valueKey":"Withdrawal"},"hashCode":"2_USDT_erc20"`) {
		t.Error(body)
	}
}
