package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/fault"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/servertest"
)

const smallTrades = `[{"ticker_id":"AA_BB","price":"9","bid":1,"ask":2}]`

// largeTrades is a document that is longer than what fault rules read.
var largeTrades = smallTrades[:len(smallTrades)-1] + strings.Repeat(" ", 8<<20) + `]`

// faultyMarket returns a market whose documents /api/small and /api/large come in pieces of an unknown length. put puts
// the rules in force, alone.
func faultyMarket(t *testing.T) (m *servertest.Market, put func(rules ...string) []*fault.Active) {
	s := &fault.Switch{}
	inPieces := func(body string) edge.Handler {
		return func(c *edge.Ctx) *refuse.Refusal {
			if _, ok := c.SendHead(1, 7, false); !ok {
				return nil
			}
			return c.SendPieces(struct{ io.Reader }{strings.NewReader(body)}, -1)
		}
	}
	m = servertest.NewTradedMarket(t, func(o *servertest.Options) {
		o.Faults = s
		o.Resources = []edge.Resource{func(*edge.Server) []*edge.Route {
			return []*edge.Route{
				{Method: "GET", Path: "/api/small", Public: true, Handle: inPieces(smallTrades)},
				{Method: "GET", Path: "/api/large", Public: true, Handle: inPieces(largeTrades)},
				{Method: "POST", Path: "/api/wrong", Handle: func(*edge.Ctx) *refuse.Refusal {
					return refuse.Param("x", "The parameter x is wrong.")
				}},
			}
		}}
	})
	return m, func(texts ...string) []*fault.Active {
		t.Helper()
		s.Remove(0)
		rules, err := fault.ParseAll(texts)
		if err != nil {
			t.Fatal(err)
		}
		added, err := s.Add(rules, 0)
		if err != nil {
			t.Fatal(err)
		}
		return added
	}
}

// ask sends a request; header holds pairs of name and value. Its answer may be one that the description does not have.
func ask(m *servertest.Market, method, target string, header ...string) servertest.Answer {
	m.T.Helper()
	req, err := http.NewRequest(method, "http://test"+target, nil)
	if err != nil {
		m.T.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := m.Client.Do(req)
	if err != nil {
		m.T.Fatalf("%s %s: %v", method, target, err)
	}
	return m.Read(res, "an answer with a fault")
}

// An answer that is too long for a fault of its body is as without rules, also to a client that has it already, and the
// rule counts it as skipped. A shorter one has the fault although its length is not known before its end.
func TestAnswersThatAreTooLongForAFaultAreWhole(t *testing.T) {
	m, put := faultyMarket(t)
	plain := ask(m, "GET", "/api/large")
	if plain.Status != 200 || plain.Body != largeTrades || plain.Header.Get("ETag") == "" {
		t.Fatalf("without rules: %d, %d bytes, %v", plain.Status, len(plain.Body), plain.Header)
	}
	for _, rule := range []string{
		"broken-json", "broken-json keep=50", "truncate keep=100", "slow rate=1000000", "stale", "null", "zero",
		"crossed", "doubled",
	} {
		a := put(rule)[0]
		got := ask(m, "GET", "/api/large")
		if got.Status != 200 || got.Body != largeTrades || got.Header.Get("ETag") != plain.Header.Get("ETag") ||
			got.Header.Get("X-Fault") != "" {
			t.Errorf("%s: %d, %d bytes, %v", rule, got.Status, len(got.Body), got.Header)
		}
		if n := a.Counts(); n != (fault.Counts{Matched: 1, Skipped: 1}) {
			t.Errorf("%s: %+v", rule, n)
		}
		if rule == "stale" { // keeps no answer without a body, so nothing is left out
			continue
		}
		got = ask(m, "GET", "/api/large", "If-None-Match", plain.Header.Get("ETag"))
		if got.Status != 304 || got.Body != "" || got.Header.Get("X-Fault") != "" {
			t.Errorf("%s, with its tag: %d, %d bytes, %v", rule, got.Status, len(got.Body), got.Header)
		}
		if n := a.Counts(); n != (fault.Counts{Matched: 2, Skipped: 2}) {
			t.Errorf("%s, with its tag: %+v", rule, n)
		}
	}
	book := "/listing/coingecko/orderbook?ticker_id=BTC_USDT"
	for _, rule := range []string{"broken-json keep=60", "slow rate=1000000", "null", "zero", "crossed", "doubled"} {
		for _, target := range []string{"/api/small", book} {
			put()
			tag := ask(m, "GET", target).Header.Get("ETag")
			a := put(rule)[0]
			got := ask(m, "GET", target, "If-None-Match", tag)
			if got.Status != 200 || !strings.HasPrefix(got.Header.Get("X-Fault"), a.Action.String()+"; ") {
				t.Errorf("%s of %s: %d %s %v", rule, target, got.Status, got.Body, got.Header)
			}
			if n := a.Counts(); n != (fault.Counts{Matched: 1, Applied: 1}) {
				t.Errorf("%s of %s: %+v", rule, target, n)
			}
		}
	}
}

// A rule counts a fault only when it has happened: not the answer that stale keeps for later, none of an answer that
// has no such fault, none that another rule forestalls.
func TestOnlyFaultsThatHappenAreCounted(t *testing.T) {
	m, put := faultyMarket(t)
	const book, unknown = "/api/orderbook?currencyPairCode=BTC_USDT", "/api/orderbook?currencyPairCode=NO_PAIR"
	for _, c := range []struct {
		rules  []string
		ask    []string
		counts []fault.Counts
		faults string // the headers X-Fault of the answers
	}{
		{[]string{"stale"}, []string{book, book, book}, []fault.Counts{{Matched: 3, Applied: 2}}, "/stale/stale"},
		{[]string{"stale count=1"}, []string{book, book, book}, []fault.Counts{{Matched: 3, Applied: 1}}, "/stale/"},
		{[]string{"lost-ack"}, []string{"POST /api/wrong"}, []fault.Counts{{Matched: 1}}, ""},
		{
			[]string{"truncate", "slow rate=100", "broken-json", "content-type", "null"},
			[]string{unknown},
			[]fault.Counts{{Matched: 1}, {Matched: 1}, {Matched: 1}, {Matched: 1}, {}},
			"",
		},
		{
			[]string{"truncate", "content-type", "html"},
			[]string{"/api/small"},
			[]fault.Counts{{Matched: 1}, {Matched: 1}, {Matched: 1, Applied: 1}},
			"html",
		},
		{
			[]string{"slow rate=100", "stale"},
			[]string{unknown, "HEAD /api/small"},
			[]fault.Counts{{Matched: 2}, {Matched: 2}},
			"/",
		},
		{[]string{"content-type"}, []string{"/api/small"}, []fault.Counts{{Matched: 1, Applied: 1}}, "content-type"},
	} {
		rules := put(c.rules...)
		var faults []string
		for _, target := range c.ask {
			method, path, ok := strings.Cut(target, " ")
			if !ok {
				method, path = "GET", target
			}
			named, _, _ := strings.Cut(ask(m, method, path).Header.Get("X-Fault"), ";")
			faults = append(faults, named)
		}
		if got := strings.Join(faults, "/"); got != c.faults {
			t.Errorf("%q: X-Fault is %q, want %q", c.rules, got, c.faults)
		}
		for i, a := range rules {
			if got := a.Counts(); got != c.counts[i] {
				t.Errorf("%q: %s counts %+v, want %+v", c.rules, a.Action, got, c.counts[i])
			}
		}
	}
}
