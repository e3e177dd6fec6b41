package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/server/servertest"
)

// The answer to any target is JSON with a status of the contract, never 5xx.
func FuzzQuery(f *testing.F) {
	m := servertest.NewTradedMarket(f)
	for _, route := range servertest.ReadRoutes() {
		f.Add(route)
		f.Add(route + "&depth=3&limit=-1&start_time=99999999999999999999&type=buy")
		f.Add(route + "&sinceDate=2026-01-01T00:00:00.1Z&pageNumber=2&fill=previous&aliases=false")
		f.Add(strings.ReplaceAll(route, "_", "%5f") + "&decimals=string")
	}
	f.Fuzz(func(t *testing.T, target string) {
		if strings.ContainsAny(target, " \r\n\x00#") || len(target) > 4000 || !strings.HasPrefix(target, "/") {
			return
		}
		m.T = t
		a := m.Raw("192.0.2.1", "GET "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		switch a.Status {
		case http.StatusOK, http.StatusBadRequest, http.StatusNotFound:
		default:
			t.Fatalf("GET %q: %d %s", target, a.Status, a.Body)
		}
		if !json.Valid([]byte(a.Body)) {
			t.Fatalf("GET %q: no JSON: %s", target, a.Body)
		}
	})
}

// A date is accepted exactly when it has the form, and means the same as in package time.
func FuzzDate(f *testing.F) {
	m := servertest.NewTradedMarket(f)
	for _, s := range []string{
		"2026-01-01", "2026-02-29", "2024-02-29T23:59:59", "2026-01-01T00:00:00.123456789Z", "0000-01-01",
		"9999-12-31", "2026-01-01T00:00:60",
		"2026-13-01", "2026-01-01T00:00:00Z", "2026-1-1", "2026-01-01t00:00:00z", "+026-01-01",
		"2026-01-01T00:00:00.1234567890",
	} {
		f.Add(s)
	}
	forms := []string{"2006-01-02", "2006-01-02T15:04:05", "2006-01-02T15:04:05Z"}
	f.Fuzz(func(t *testing.T, s string) {
		if s == "" || strings.ContainsAny(s, " \r\n\x00#&=%+;") || len(s) > 200 {
			return
		}
		valid := false
		for _, form := range forms {
			// The library accepts any fraction after the seconds, with a comma too.
			_, err := time.Parse(form, s)
			_, frac, _ := strings.Cut(strings.TrimSuffix(s, "Z"), ".")
			valid = valid || err == nil && len(frac) <= 9 && !strings.Contains(s, ",") &&
				(len(s) == 10 || s[13] == ':') // and an hour of one digit
		}
		m.T = t
		a := m.Raw("192.0.2.1", "GET /api/deals?currencyPairCode=BTC_USDT&sinceDate="+s+" HTTP/1.1\r\n"+
			"Host: x\r\nConnection: close\r\n\r\n")
		if valid != (a.Status == 200) {
			t.Fatalf("%q: %d, the library says %v", s, a.Status, valid)
		}
	})
}
