package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// faulty is a running exchange whose public listener is called over a new connection each time, so that no client
// library repeats a request on its own.
type faulty struct {
	*harness.Instance
	alice *harness.Voter
	once  *http.Client
}

// startFaulty starts an exchange with a pair, a book of 20 orders and a user who may trade.
func startFaulty(t *testing.T, args ...string) *faulty {
	t.Helper()
	f := &faulty{
		Instance: harness.StartEmpty(t, args...),
		once: &http.Client{
			Transport: &http.Transport{DisableKeepAlives: true}, Timeout: harness.Patience,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	f.Pair("AA_BB")
	for i := range 20 {
		f.Limit("AA_BB", []string{"buy", "sell"}[i%2], fmt.Sprint(100+i%2*100+i), "1")
	}
	f.alice = f.Voter(0, "1", "1")
	f.Call(200, "POST", "/users/"+f.alice.ID+"/deposits", `{"currencyCode":"BB","amount":"100000"}`)
	return f
}

// rules puts rules in force and returns their first id.
func (f *faulty) rules(texts ...string) string {
	f.T.Helper()
	m := f.Call(200, "POST", "/faults", `{"rules":["`+strings.Join(texts, `","`)+`"]}`)
	return fmt.Sprint(m["rules"].([]any)[0].(map[string]any)["id"])
}

// get calls the public listener. err is the client library's error, also of a body that ends too early.
func (f *faulty) get(target string) (a harness.Answer, err error) {
	resp, err := f.once.Get(f.Public + target)
	if err != nil {
		return a, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return harness.Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(body)}, err
}

// hash returns the hash of the market: the accounts of two runs have other keys.
func (f *faulty) hash() string {
	f.T.Helper()
	return fmt.Sprint(f.Call(200, "GET", "/state-hash", "")["parts"].(map[string]any)["market"])
}

const faultyBook = "/api/orderbook?currencyPairCode=AA_BB"

// A client sees each fault of requests. The state of the market does not change, the internal listener is never
// affected, and without the rules the answers are as before.
func TestFaultsOfRequests(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	before, hash := f.Do("GET", f.Public+faultyBook, "").Body, f.hash()
	f.see([]faultyCase{
		{"status method=GET status=502 retry-after=7", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Status == 502 && a.Header.Get("Retry-After") == "7" &&
				strings.HasPrefix(a.Body, `{"code":"UNAVAILABLE"`)
		}},
		{"status status=504 pair=AA_BB", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Status == 504 && strings.HasPrefix(a.Body, `{"code":"OUTCOME_UNKNOWN"`)
		}},
		{"status status=418 retry-after=60", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Status == 418 && a.Header.Get("Retry-After") == "60" &&
				strings.HasPrefix(a.Body, `{"code":"RATE_LIMIT"`) && strings.Contains(a.Body, " banned until ")
		}},
		{"rate-limit route=/api/order* retry-after=3", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Status == 429 && a.Header.Get("Retry-After") == "3" &&
				strings.HasPrefix(a.Body, `{"code":"RATE_LIMIT"`)
		}},
		{"close listener=public", faultyBook, func(_ harness.Answer, err error) bool { return errors.Is(err, io.EOF) }},
		{"half-open delay=1ms", faultyBook, func(_ harness.Answer, err error) bool { return errors.Is(err, io.EOF) }},
		{"truncate keep=40", faultyBook, func(a harness.Answer, err error) bool {
			return errors.Is(err, io.ErrUnexpectedEOF) && len(a.Body) == 40 && a.Status == 200
		}},
		{"latency delay=1ms", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil &&
				a.Status == 200
		}},
		{"skew skew=-90s", "/api/time", func(a harness.Answer, err error) bool {
			return err == nil && strings.Contains(a.Body, `"iso":"2025-12-31T23:58:30.000Z"`)
		}},
	})
	f.unchanged(before, hash)
}

// A client sees each fault of the content of an answer.
func TestFaultsOfContent(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	before, hash := f.Do("GET", f.Public+faultyBook, "").Body, f.hash()
	f.see([]faultyCase{
		{"slow chunk=40 every=1ms", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Body == before
		}},
		{"slow rate=1000000", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Body == before
		}},
		{"empty", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Status == 200 && a.Body == "" && a.Header.Get("Content-Length") == "0"
		}},
		{"html status=503 retry-after=5", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Status == 503 && a.Header.Get("Content-Type") == "text/html; charset=utf-8" &&
				a.Header.Get("Retry-After") == "5" && strings.HasPrefix(a.Body, "<!DOCTYPE html>")
		}},
		{"html", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Status == 200 && strings.HasPrefix(a.Body, "<!DOCTYPE html>")
		}},
		{"broken-json keep=40", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Status == 200 && a.Body == before[:40]
		}},
		{"broken-json", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Status == 200 && strings.HasPrefix(before, a.Body) && !json.Valid([]byte(a.Body))
		}},
		{"redirect location=/api/time", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Status == 302 && a.Header.Get("Location") == "/api/time"
		}},
		{"redirect status=307", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Status == 307 && a.Header.Get("Location") == faultyBook
		}},
		{"content-type type=text/plain;charset=ascii", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Body == before && a.Header.Get("Content-Type") == "text/plain;charset=ascii"
		}},
		{"missing", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Status == 404 &&
				strings.Contains(a.Body, `"There is no pair AA_BB.","field":"currencyPairCode"`)
		}},
		{"null pair=AA_BB", faultyBook, func(a harness.Answer, err error) bool {
			return err == nil && a.Status == 200 && a.Header.Get("ETag") == "" && json.Valid([]byte(a.Body)) &&
				strings.Count(a.Body, `"price":null`) == 1 && strings.Count(before, `"price":null`) == 0
		}},
	})
	f.unchanged(before, hash)
}

// faultyCase is a rule and what a client sees of it at a target.
type faultyCase struct {
	rule, target string
	check        func(a harness.Answer, err error) bool
}

// see puts each rule in force alone and requests its target.
func (f *faulty) see(cases []faultyCase) {
	f.T.Helper()
	for _, c := range cases {
		id := f.rules(c.rule)
		a, err := f.get(c.target)
		if !c.check(a, err) {
			f.T.Errorf("%s: %d %v %.200s, error %v", c.rule, a.Status, a.Header, a.Body, err)
		}
		action, _, _ := strings.Cut(c.rule, " ")
		want := action + "; rule=" + id
		if a.Status != 0 && a.Header.Get("X-Fault") != want {
			f.T.Errorf("%s: X-Fault is %q, want %q", c.rule, a.Header.Get("X-Fault"), want)
		}
		if got := f.Call(200, "DELETE", "/faults/"+id, ""); fmt.Sprint(got["removed"]) != "1" {
			f.T.Errorf("%s: %v rules removed", c.rule, got["removed"])
		}
	}
}

// A redirect leads to an answer: the rule leaves its own target alone.
func TestARedirectHasAnEnd(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	before := f.Do("GET", f.Public+faultyBook, "").Body
	f.rules("redirect location=" + faultyBook)
	a, err := f.get("/api/time")
	if err != nil || a.Status != 302 || a.Header.Get("Location") != faultyBook {
		t.Fatalf("%v, %+v", err, a)
	}
	if a, err = f.get(a.Header.Get("Location")); err != nil || a.Body != before || a.Header.Get("X-Fault") != "" {
		t.Errorf("%v, %+v", err, a)
	}
}

// unchanged checks that without rules the answers and the state are as before them.
func (f *faulty) unchanged(before, hash string) {
	f.T.Helper()
	if after := f.Do("GET", f.Public+faultyBook, "").Body; after != before || f.hash() != hash {
		f.T.Errorf("the faults changed the market:\n%v\n%v", before, after)
	}
	a, err := f.get("/api/status")
	if err != nil || strings.Contains(a.Body, "faults") || a.Header.Get("X-Fault") != "" {
		f.T.Errorf("the status without rules: %s, error %v", a.Body, err)
	}
}

const candlesOfDay = "/api/ohlc?currencyPairCode=CC_BB&interval=day&start=2026-01-01&end=2026-01-02"

// Every document that a poller reads has the faults of listing data: a pair that is missing, null, 0, crossed or listed
// twice. The other pair, and documents without the pair, keep their bytes and their tags.
func TestFaultsOfListingData(t *testing.T) {
	t.Parallel()
	f := startFaulty(t, "--binance-listen", "127.0.0.1:0")
	f.Pair("CC_BB")
	for _, pair := range []string{"AA_BB", "CC_BB"} {
		f.Limit(pair, "sell", "150", "1")
		f.Limit(pair, "buy", "150", "1") // a trade: listed from now on
		f.Limit(pair, "buy", "90", "2")
		f.Limit(pair, "sell", "300", "3")
	}
	lists := []string{
		"/api/summary", "/api/marketdata/getaggregator/tickers", "/v1/spot/market/tickers",
		"/listing/coingecko/tickers",
		"/listing/coinmarketcap/summary", "/listing/coinmarketcap/ticker", "/listing/coingecko/pairs",
	}
	for _, target := range lists {
		before := f.Do("GET", f.Public+target, "")
		f.rules("missing pair=AA_BB")
		gone, err := f.get(target)
		if err != nil || !json.Valid([]byte(gone.Body)) || strings.Contains(gone.Body, "AA_BB") ||
			!strings.Contains(gone.Body, "CC_BB") || !strings.Contains(before.Body, "AA_BB") {
			t.Errorf("%s without the pair: %v %s", target, err, gone.Body)
		}
		f.Call(200, "DELETE", "/faults", "")
		f.rules("missing pair=DD_BB")
		same, err := f.get(target)
		if err != nil || same.Body != before.Body || same.Header.Get("ETag") != before.Header.Get("ETag") ||
			same.Header.Get("X-Fault") != "" {
			t.Errorf("%s, another pair: %v %v %s", target, err, same.Header, same.Body)
		}
		if a := f.Do("GET", f.Public+target, "", "If-None-Match", before.Header.Get("ETag")); a.Status != 304 {
			t.Errorf("%s, another pair, with its tag: %d", target, a.Status)
		}
		f.Call(200, "DELETE", "/faults", "")
	}
	f.see([]faultyCase{
		{"null pair=AA_BB", "/listing/coingecko/tickers", jsonWith(`"last_price":null`, `"last_price":"150.00"`)},
		{"zero pair=AA_BB", "/listing/coingecko/tickers", jsonWith(`"last_price":"0"`, `"last_price":"150.00"`)},
		{"zero pair=AA_BB member=amount", "/api/summary", jsonWith(`"base_volume":0,`, `"base_volume":1.00000000,`)},
		{"crossed pair=CC_BB", "/api/summary", jsonWith(`"lowest_ask":90.00,"highest_bid":300.00`)},
		{
			"crossed", "/listing/coinmarketcap/orderbook/CC_BB",
			jsonWith(`"bids":[[300.00,3.00000000]],"asks":[[90.00,2.00000000]]`),
		},
		{
			"crossed pair=CC_BB", "/api/orderbook?currencyPairCode=CC_BB",
			jsonWith(`[{"isBid":true,"price":300.00,"amount":3.00000000,`, `{"isBid":false,"price":90.00,`),
		},
		{
			"null pair=CC_BB", "/api/marketdata/getaggregator/orderbook?ticker_id=CC_BB",
			jsonWith(`"bids":[[null,2.00000000]],"asks":[[null,3.00000000]]`),
		},
		{"null", "/listing/coinmarketcap/trades/CC_BB", jsonWith(`[{"trade_id":1,"price":null,`)},
		{"null pair=CC_BB", candlesOfDay, jsonWith(`"open":150.00,`, `"close":null,`)},
		{"zero pair=CC_BB member=amount", candlesOfDay, jsonWith(`"close":150.00,`, `"volumeBase":0}`)},
		{"doubled pair=CC_BB", candlesOfDay, jsonWith(`},{"date":"2026-01-01T00:00:00"`)},
		{
			"null pair=CC_BB", "/udf/history?symbol=CC_BB&resolution=1D&from=1767225600&to=1767312000",
			jsonWith(`"o":[150.00]`, `"c":[null]`),
		},
		{
			"doubled pair=CC_BB", "/listing/coingecko/pairs",
			jsonWith(`{"ticker_id":"CC_BB","base":"CC","target":"BB"},{"ticker_id":"CC_BB"`),
		},
		{
			"doubled", "/listing/coingecko/historical_trades?ticker_id=CC_BB",
			jsonWith(`[{"trade_id":1,`, `},{"trade_id":1,`),
		},
		{"missing pair=CC_BB", "/listing/coinmarketcap/trades/CC_BB", func(a harness.Answer, err error) bool {
			return err == nil && a.Status == 404 && strings.Contains(a.Body, "There is no pair CC_BB.")
		}},
	})
}

// jsonWith returns the check that an answer is valid JSON with status 200 and has all texts.
func jsonWith(texts ...string) func(harness.Answer, error) bool {
	return func(a harness.Answer, err error) bool {
		for _, text := range texts {
			if !strings.Contains(a.Body, text) {
				return false
			}
		}
		return err == nil && a.Status == 200 && json.Valid([]byte(a.Body))
	}
}

// The answer waits for as long as the rule says; removing the rule ends the wait.
func TestLatencyEndsWithItsRule(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	f.rules("latency route=/api/time delay=1m")
	got := make(chan error, 1)
	go func() {
		_, err := f.get("/api/time")
		got <- err
	}()
	for fmt.Sprint(f.Call(200, "GET", "/faults", "")["rules"].([]any)[0].(map[string]any)["matched"]) == "0" {
	}
	select {
	case err := <-got:
		t.Fatalf("the answer did not wait: %v", err)
	default:
	}
	f.Call(200, "DELETE", "/faults", "")
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// A stale answer is repeated with its own X-Seq and tag until the rule ends, for each target and key on its own.
func TestStaleAnswers(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	f.rules("stale age=1m route=/api/orderbook")
	first, err := f.get(faultyBook)
	if err != nil || first.Header.Get("X-Fault") != "" {
		t.Fatalf("the first answer: %v %v", first.Header, err)
	}
	f.Limit("AA_BB", "buy", "50", "1")
	again, err := f.get(faultyBook)
	if err != nil || again.Body != first.Body || again.Header.Get("X-Seq") != first.Header.Get("X-Seq") ||
		again.Header.Get("Etag") == "" || again.Header.Get("Etag") != first.Header.Get("Etag") ||
		again.Header.Get("X-Fault") == "" {
		t.Errorf("the answer was not repeated: %v %v", again.Header, err)
	}
	fresh, err := f.get(faultyBook + "&aliases=false")
	if err != nil || fresh.Header.Get("X-Seq") == first.Header.Get("X-Seq") {
		t.Errorf("another target gets an old answer: %v %v", fresh.Header, err)
	}
	f.Call(200, "DELETE", "/faults", "")
	if fresh, err := f.get(faultyBook); err != nil || fresh.Body == first.Body {
		t.Errorf("an old answer after the rule: %v", err)
	}
}

// The acknowledgement of an order is lost although the exchange has accepted the order, by a closed connection or an
// error. A read of another route is not affected.
func TestLostAcknowledgements(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	f.rules("lost-ack key="+f.alice.Public+" count=1", "lost-ack status=504 route=/api/orders")
	place := func(id string) (harness.Answer, error) {
		now := fmt.Sprint(harness.Object(t, f.Do("GET", f.Public+"/api/time", "").Body)["serverTime"])
		body := fmt.Sprintf(`{"currencyPairCode":"AA_BB","side":"buy","amount":1,"price":10,"clientOrderId":%q}`, id)
		req, err := http.NewRequestWithContext(context.Background(), "POST", f.Public+"/api/orders",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		h := f.alice.Signed(now, "POST", "/api/orders", body)
		for i := 0; i < len(h); i += 2 {
			req.Header.Set(h[i], h[i+1])
		}
		resp, err := f.once.Do(req)
		if err != nil {
			return harness.Answer{}, err
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		return harness.Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}, err
	}
	if _, err := place("lost-1"); !errors.Is(err, io.EOF) {
		t.Errorf("the first acknowledgement: %v", err)
	}
	a, err := place("lost-2")
	if err != nil || a.Status != 504 || !strings.HasPrefix(a.Body, `{"code":"OUTCOME_UNKNOWN"`) {
		t.Errorf("the second acknowledgement: %d %s %v", a.Status, a.Body, err)
	}
	open := f.Call(200, "GET", "/book/AA_BB", "")
	if n := strings.Count(fmt.Sprint(open["bids"]), f.alice.ID); n != 2 {
		t.Errorf("%d orders of the user rest in the book, want both: %v", n, open["bids"])
	}
	if a := f.As(f.alice, "/api/apikeys", `{"name":"x"}`); a.Status != 200 {
		t.Errorf("another route: %d %s", a.Status, a.Body)
	}
}

// A client of the streams sees lost, repeated, reordered and falsified messages and closed connections, while the
// market's state stays what it would be.
func TestFaultsOfStreamsReachAClient(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	kinds := map[string]string{}
	for _, rule := range []string{
		"drop channel=book count=1", "repeat count=1", "reorder count=1", "gap count=1", "checksum count=1",
		"close channel=book count=1", "delay delay=100ms count=1",
	} {
		s, err := client.Dial(context.Background(), client.StreamURL(f.Public))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
			t.Fatal(err)
		}
		every := 0
		if err := s.Send(client.Request{
			Op: "subscribe", Channel: "book", Pairs: []string{"AA_BB"}, Interval: &every,
		}); err != nil {
			t.Fatal(err)
		}
		book := &client.Book{}
		for !book.Ready() {
			m, err := s.Next()
			if err != nil {
				t.Fatal(err)
			}
			if m.Channel == "book" && m.Type == "snapshot" {
				if err := book.Apply(m); err != nil {
					t.Fatal(err)
				}
			}
		}
		f.Call(200, "DELETE", "/faults", "")
		f.rules(rule)
		kinds[rule] = f.outcomeWhileOrdersCome(s, book)
		_ = s.Close()
	}
	want := map[string]string{
		"drop channel=book count=1": "chain broken", "repeat count=1": "repeated", "reorder count=1": "chain broken",
		"gap count=1": "chain broken", "checksum count=1": "checksum wrong", "close channel=book count=1": "closed",
		"delay delay=100ms count=1": "ok",
	}
	for rule, outcome := range want {
		if kinds[rule] != outcome {
			t.Errorf("%s: %s, want %s", rule, kinds[rule], outcome)
		}
	}
}

// outcomeWhileOrdersCome places orders until streamOutcome has an answer: on a busy machine the hub joins the changes
// of several orders in one update.
func (f *faulty) outcomeWhileOrdersCome(s *client.Stream, book *client.Book) string {
	outcome := make(chan string, 1)
	go func() { outcome <- streamOutcome(s, book) }()
	for i := 0; ; i++ {
		f.Limit("AA_BB", "buy", fmt.Sprint(20+i%50), "1")
		select {
		case found := <-outcome:
			return found
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// streamOutcome reads three updates and returns what a careful client finds wrong first.
func streamOutcome(s *client.Stream, book *client.Book) string {
	for n := 0; n < 3; {
		m, err := s.Next()
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout():
			return "silent"
		case err != nil:
			return "closed"
		case m.Channel != "book" || m.Type != "update":
			continue
		}
		n++
		if m.Seq == book.Seq {
			return "repeated"
		}
		switch err := book.Apply(m); {
		case err == nil:
		case strings.Contains(err.Error(), "checksum"):
			return "checksum wrong"
		default:
			return "chain broken"
		}
	}
	return "ok"
}

// The same rules with the same seed cause the same faults in a second run; another seed causes others. The rules of
// the configuration are in force from the start, and /api/status names them.
func TestFaultsRepeatWithTheirSeed(t *testing.T) {
	t.Parallel()
	run := func(seed string) (outcome, hash string) {
		f := startFaulty(t, "--set", "faults.rules=status probability=0.4 route=/api/orderbook seed="+seed)
		for range 40 {
			a, err := f.get(faultyBook)
			if err != nil {
				t.Fatal(err)
			}
			outcome += fmt.Sprintf("%d ", a.Status)
		}
		if a, err := f.get("/api/status"); err != nil || !strings.Contains(a.Body,
			`"faults":[{"id":1,"rule":"status route=/api/orderbook probability=0.4 status=503"}]`) {
			t.Errorf("the status does not name the rule: %.900s, error %v", a.Body, err)
		}
		return outcome, f.hash()
	}
	first, hash := run("5")
	again, hash2 := run("5")
	other, hash3 := run("6")
	if first != again || first == other || !strings.Contains(first, "503") || !strings.Contains(first, "200") {
		t.Errorf("statuses\n%s\n%s\n%s", first, again, other)
	}
	if hash != hash2 || hash != hash3 {
		t.Errorf("the faults changed the state: %s %s %s", hash, hash2, hash3)
	}
}
