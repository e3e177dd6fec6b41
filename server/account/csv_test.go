package account_test

import (
	"encoding/csv"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

// Each list with rows has the same values as comma-separated values as in JSON: all members of one value, in the same
// text, on the same page.
func TestListsAsCommaSeparatedValues(t *testing.T) {
	t.Parallel()
	_, a, b := servertest.NewTradedExchange(t)
	b.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":5,"price":100,"clientOrderId":"x-1"}`)
	a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":2,"price":100}`)
	a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":100}`)
	for target, wanted := range map[string]int{
		"/api/user/orders?": 2, "/api/user/orders?pageSize=1&": 1, "/api/user/deals?": 2, "/api/wallets/balances?": 2,
		"/api/deals?currencyPairCode=BTC_USDT&":                                             2,
		"/api/ohlc?currencyPairCode=BTC_USDT&interval=day&start=2000-01-01&end=2100-01-01&": 1,
	} {
		plain, text := a.OK("GET", target+"decimals=number", ""), a.OK("GET", target+"format=csv", "")
		if kind := text.Header.Get("Content-Type"); kind != "text/csv; charset=utf-8; header=present" {
			t.Errorf("%s: %s", target, kind)
		}
		if p, c := plain.Header.Get("X-Next-Cursor"), text.Header.Get("X-Next-Cursor"); p != c {
			t.Errorf("%s: cursor %q, want %q", target, c, p)
		}
		rows := jsonRows(t, plain.Body)
		lines, err := csv.NewReader(strings.NewReader(text.Body)).ReadAll()
		if err != nil || len(rows) < wanted || len(lines) != len(rows)+1 {
			t.Fatalf("%s: %d lines for %d rows, %v", target, len(lines), len(rows), err)
		}
		names := slices.Sorted(slices.Values(lines[0]))
		for i, row := range rows {
			if !slices.Equal(slices.Sorted(maps.Keys(row)), names) {
				t.Errorf("%s: columns %v, members %v", target, names, slices.Sorted(maps.Keys(row)))
			}
			for k, name := range lines[0] {
				want := strings.Trim(string(row[name]), `"`)
				if want == "null" {
					want = ""
				}
				if lines[i+1][k] != want {
					t.Errorf("%s: row %d %s: %q, want %q", target, i, name, lines[i+1][k], want)
				}
			}
		}
	}
	if a := a.Call("GET", "/api/user/deals?format=xml", ""); a.Status != 400 {
		t.Error(a.Status)
	}
}

// jsonRows returns the objects of a list, or of the only list of an object.
func jsonRows(t *testing.T, body string) (rows []map[string]json.RawMessage) {
	t.Helper()
	if strings.HasPrefix(body, "[") {
		body = `{"list":` + body + `}`
	}
	var lists map[string][]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &lists); err != nil {
		t.Fatal(err)
	}
	for _, rows = range lists {
	}
	return rows
}
