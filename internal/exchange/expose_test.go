package exchange_test

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/server/edge"
)

// A page of another origin reads the headers of every answer of a public path, errors and preflights included. It reads
// none of other paths.
func TestPagesOfOtherOriginsReadHeaders(t *testing.T) {
	o := exchangetest.Options("")
	o.Binance.Listen = []string{"127.0.0.1:0"}
	var facade *edge.Facade
	o.Hooks.Public = func(e *edge.Options) { facade = e.Facade }
	r := exchangetest.Start(t, o)
	r.Pair("BTC_USDT")
	r.Limit("BTC_USDT", "buy", "99", "1")
	const (
		everywhere = "ETag, Retry-After, X-Fault, X-Lag-Ms, X-Next-Cursor, X-Next-Start, X-RateLimit-Limit, " +
			"X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, X-Seq, X-Served-By, X-Truncated"
		weights = everywhere + ", X-MBX-USED-WEIGHT, X-MBX-USED-WEIGHT-1M"
	)
	statuses, public := map[int]int{}, 0
	check := func(method, url, want string) {
		t.Helper()
		req, err := http.NewRequest(method, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", "https://page.example")
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatalf("%s %.200s: %v", method, url, err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Errorf("%s %.200s: %v", method, url, err)
		}
		_ = res.Body.Close()
		statuses[res.StatusCode]++
		origin := ""
		if want != "" {
			origin, public = "*", public+1
		}
		if got := res.Header.Values("Access-Control-Expose-Headers"); strings.Join(got, "|") != want ||
			res.Header.Get("Access-Control-Allow-Origin") != origin {
			t.Errorf("%s %.200s: %d exposes %q to %q, want %q", method, url, res.StatusCode, got,
				res.Header.Get("Access-Control-Allow-Origin"), want)
		}
		for name := range res.Header {
			known := strings.Split("Access-Control-Allow-Headers, Access-Control-Allow-Methods, "+
				"Access-Control-Allow-Origin, Access-Control-Expose-Headers, Access-Control-Max-Age, Allow, "+
				"Cache-Control, Connection, Content-Length, Content-Security-Policy, Content-Type, "+
				"Cross-Origin-Opener-Policy, Cross-Origin-Resource-Policy, Date, Etag, Referrer-Policy, Vary, "+
				"X-Content-Type-Options", ", ")
			if want != "" && !slices.Contains(known, name) && !slices.ContainsFunc(strings.Split(want, ", "),
				func(s string) bool { return strings.EqualFold(s, name) }) {
				t.Errorf("%s %.200s: pages cannot read %s", method, url, name)
			}
		}
	}
	parameter := regexp.MustCompile(`\{[^}]*\}`)
	routes := func(base, want string, table []*edge.Route) {
		open := map[string]bool{}
		for _, route := range table {
			open[route.Path] = open[route.Path] || route.Public
		}
		for path, isOpen := range open {
			url, want := base+parameter.ReplaceAllString(path, "BTC_USDT"), want
			if !isOpen {
				want = ""
			}
			for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "BREW"} {
				check(method, url, want)
				check(method, url+"?currencyPairCode=BTC_USDT&symbol=BTC_USDT&limit=x&count=x&depth=x", want)
			}
			check("GET", url+"?currencyPairCode=BTC_USDT&symbol=BTCUSDT&minSeq=999", want)
			check("GET", url+"?"+strings.Repeat("a", edge.MaxTargetBytes), want)
		}
	}
	routes(r.Public, everywhere, r.Running.Public().Routes())
	routes("http://"+r.BinanceAddrs()[0], weights, facade.Routes)
	check("GET", r.Public+"/api/nothing", "")
	check("GET", r.Internal+"/ready", "")
	for _, status := range []int{200, 204, 400, 401, 404, 405, 414, 503} {
		if statuses[status] == 0 {
			t.Errorf("no answer with status %d: %v", status, statuses)
		}
	}
	if public < 500 {
		t.Errorf("%d answers of public paths", public)
	}
}
