package nets_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/test/nets"
)

// stated are defaults of the contract that no schema has: the parameter is a text of digits.
var stated = []struct{ path, name, value, other, doc, words string }{
	{"AGG/orderbook", "depth", "0", "4", "listing.md", "0 or a missing parameter gives the whole book"},
	{"AGG/historical_trades", "limit", "0", "2", "listing.md", "`limit=0` or a missing parameter returns everything"},
	{"/listing/coinmarketcap/orderbook/{pair}", "depth", "0", "4", "listing.md", "depth as above"},
	{"/listing/coinmarketcap/trades/{pair}", "limit", "0", "2", "listing.md", "`start_time`, `end_time` as above"},
}

// Each default of the documents, and each that the contract states in words, is what an answer without the parameter
// has: equal to the answer with the default, and different from the answer with another value.
func TestEveryDefaultIsTheStatedOne(t *testing.T) {
	t.Parallel()
	n := nodeOf(t, exchangetest.Start(t, options("")))
	w := nets.Build(n, stepOf(n))
	checked := 0
	check := func(r *nets.Route, name, value, other string) {
		checked++
		without, with := w.Ask(n, r, nil), w.Ask(n, r, url.Values{name: {value}})
		one := func(a nets.Read) map[string]nets.Read { return map[string]nets.Read{r.Path: a} }
		if d := nets.Differ(one(without), one(with)); without.Status != 200 || len(d) > 0 {
			t.Errorf("GET %s: without %s (%d) it differs from %s=%s: %.800s", r.Path, name, without.Status, name, value,
				strings.Join(d, ""))
		}
		another := w.Ask(n, r, url.Values{name: {other}})
		if another.Status != 200 || len(nets.Differ(one(without), one(another))) == 0 {
			t.Errorf("GET %s: %s=%s (%d) is what %s=%s is: the default cannot be told from it", r.Path, name, other,
				another.Status, name, value)
		}
	}
	found := map[string]bool{}
	for _, r := range nets.Routes(n) {
		if nets.Processes[r.Path] != "" {
			continue // its figures change by themselves
		}
		path := strings.NewReplacer("/api/marketdata/getaggregator/", "AGG/", "/v1/spot/market/", "AGG/",
			"/listing/coingecko/", "AGG/").Replace(r.Path)
		for _, s := range stated {
			if s.path == path {
				found[s.path] = true
				check(&r, s.name, s.value, s.other)
			}
		}
		for i := range r.Params {
			if p := &r.Params[i]; p.Default != nil {
				check(&r, p.Name, fmt.Sprint(p.Default), otherThan(p))
			}
		}
	}
	for _, s := range stated {
		text, err := nets.Document("docs/contract/" + s.doc)
		if err != nil {
			t.Fatal(err)
		}
		if !found[s.path] || !strings.Contains(strings.Join(strings.Fields(text), " "), s.words) {
			t.Errorf("%s: no such route, or docs/contract/%s does not say %q any more", s.path, s.doc, s.words)
		}
	}
	if checked < 60 {
		t.Errorf("%d defaults are too few: the documents have lost theirs", checked)
	}
}

// otherThan returns a value of a parameter next to its default.
func otherThan(p *nets.Param) string {
	value := fmt.Sprint(p.Default)
	for _, v := range p.Enum {
		if v != value {
			return v
		}
	}
	switch p.Type {
	case "boolean":
		return map[string]string{"true": "false", "false": "true"}[value]
	default:
		var n int64
		_, _ = fmt.Sscan(value, &n)
		if p.Max != 0 && n == p.Max {
			return fmt.Sprint(n - 1)
		}
		if p.Name == "from" { // numbers count from 1, so 0 and 1 are the same
			return fmt.Sprint(n + 2)
		}
		return fmt.Sprint(n + 1)
	}
}

var memberDefault = regexp.MustCompile("`?([a-zA-Z]+)=(\"[^\"]*\"|[0-9.]+|true|false)")

// The members with a default of the tables of docs/contract/internal.md have it when a body leaves them out.
func TestMembersLeftOutHaveTheStatedDefault(t *testing.T) {
	t.Parallel()
	n := nodeOf(t, exchangetest.Start(t, options("")))
	text, err := nets.Document("docs/contract/internal.md")
	if err != nil {
		t.Fatal(err)
	}
	for route, body := range map[string]string{
		"/pairs":  `{"code":"AA_BB","digitsPrice":2,"digitsAmount":4}`,
		"/users":  `{}`,
		"/orders": `{"currencyPairCode":"AA_BB","side":"buy","type":"limit","price":1,"amount":1}`,
	} {
		if route == "/orders" {
			n.Inside("POST", "/internal/v1/pairs", `{"code":"AA_BB","digitsPrice":2,"digitsAmount":4}`)
		}
		_, rest, _ := strings.Cut(text, "| `POST "+route+"` |")
		row, _, _ := strings.Cut(rest, "\n")
		if route == "/orders" {
			_, rest, _ = strings.Cut(text, "\nOrder request: ")
			row, _, _ = strings.Cut(rest, "\n\n")
		}
		defaults := memberDefault.FindAllStringSubmatch(row, -1)
		if len(defaults) == 0 {
			t.Errorf("docs/contract/internal.md states no default of POST %s", route)
		}
		if route == "/pairs" {
			body = strings.Replace(body, "AA_BB", "CC_DD", 1)
		}
		got := n.Call("POST", route, body)
		for _, d := range defaults {
			want := strings.Trim(d[2], `"`)
			have, ok := got[d[1]]
			switch {
			case strings.HasSuffix(want, "{n}"): // a number follows
				if !strings.HasPrefix(fmt.Sprint(have), strings.TrimSuffix(want, "{n}")) {
					t.Errorf("POST %s: %s is %v, want %s", route, d[1], have, want)
				}
			case d[1] == "nativeBalance": // a balance of the answer of GET
			case !ok || fmt.Sprint(have) != want && fmt.Sprint(have) != want+".0":
				t.Errorf("POST %s: %s is %v, docs/contract/internal.md states %s", route, d[1], have, want)
			}
		}
	}
}
