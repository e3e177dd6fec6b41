package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"tickhive/client"
)

// faulty is a running exchange whose public listener is called over a new connection each time, so that no client
// library repeats a request on its own.
type faulty struct {
	*instance
	alice *voter
	once  *http.Client
}

// startFaulty starts an exchange with a pair, a book of 20 orders and a user who may trade.
func startFaulty(t *testing.T, args ...string) *faulty {
	t.Helper()
	f := &faulty{
		instance: startEmpty(t, args...),
		once:     &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience},
	}
	f.pair("AA_BB")
	for i := range 20 {
		f.limit("AA_BB", []string{"buy", "sell"}[i%2], fmt.Sprint(100+i%2*100+i), "1")
	}
	f.alice = f.voter(0, "1", "1")
	f.call(200, "POST", "/users/"+f.alice.id+"/deposits", `{"currencyCode":"BB","amount":"100000"}`)
	return f
}

// rules puts rules in force and returns their first id.
func (f *faulty) rules(texts ...string) string {
	f.t.Helper()
	m := f.call(200, "POST", "/faults", `{"rules":["`+strings.Join(texts, `","`)+`"]}`)
	return fmt.Sprint(m["rules"].([]any)[0].(map[string]any)["id"])
}

// get calls the public listener. err is the client library's error, also of a body that ends too early.
func (f *faulty) get(target string) (a answer, err error) {
	resp, err := f.once.Get(f.public + target)
	if err != nil {
		return a, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(body)}, err
}

// hash returns the hash of the market's state.
func (f *faulty) hash() string {
	f.t.Helper()
	return fmt.Sprint(f.call(200, "GET", "/state-hash", "")["hash"])
}

const faultyBook = "/api/orderbook?currencyPairCode=AA_BB"

// A client sees each fault of requests. The state of the market does not change, the internal listener is never
// affected, and without the rules the answers are as before.
func TestFaultsOfRequests(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	before, hash := f.do("GET", f.public+faultyBook, "").body, f.hash()
	for _, c := range []struct {
		rule   string
		target string
		check  func(a answer, err error) bool
	}{
		{"status method=GET status=502 retry-after=7", faultyBook, func(a answer, err error) bool {
			return err == nil && a.status == 502 && a.header.Get("Retry-After") == "7" &&
				strings.HasPrefix(a.body, `{"code":"UNAVAILABLE"`)
		}},
		{"status status=504 pair=AA_BB", faultyBook, func(a answer, err error) bool {
			return err == nil && a.status == 504 && strings.HasPrefix(a.body, `{"code":"OUTCOME_UNKNOWN"`)
		}},
		{"rate-limit route=/api/order* retry-after=3", faultyBook, func(a answer, err error) bool {
			return err == nil && a.status == 429 && a.header.Get("Retry-After") == "3" &&
				strings.HasPrefix(a.body, `{"code":"RATE_LIMIT"`)
		}},
		{"close listener=public", faultyBook, func(_ answer, err error) bool { return errors.Is(err, io.EOF) }},
		{"half-open delay=1ms", faultyBook, func(_ answer, err error) bool { return errors.Is(err, io.EOF) }},
		{"truncate keep=40", faultyBook, func(a answer, err error) bool {
			return errors.Is(err, io.ErrUnexpectedEOF) && len(a.body) == 40 && a.status == 200
		}},
		{"latency delay=1ms", faultyBook, func(a answer, err error) bool { return err == nil && a.status == 200 }},
		{"skew skew=-90s", "/api/time", func(a answer, err error) bool {
			return err == nil && strings.Contains(a.body, `"iso":"2025-12-31T23:58:30.000Z"`)
		}},
	} {
		id := f.rules(c.rule)
		a, err := f.get(c.target)
		if !c.check(a, err) {
			t.Errorf("%s: %d %v %.200s, error %v", c.rule, a.status, a.header, a.body, err)
		}
		action, _, _ := strings.Cut(c.rule, " ")
		want := action + "; rule=" + id
		if a.status != 0 && a.header.Get("X-Fault") != want {
			t.Errorf("%s: X-Fault is %q, want %q", c.rule, a.header.Get("X-Fault"), want)
		}
		if got := f.call(200, "DELETE", "/faults/"+id, ""); fmt.Sprint(got["removed"]) != "1" {
			t.Errorf("%s: %v rules removed", c.rule, got["removed"])
		}
	}
	if after := f.do("GET", f.public+faultyBook, "").body; after != before || f.hash() != hash {
		t.Errorf("the faults changed the market:\n%v\n%v", before, after)
	}
	a, err := f.get("/api/status")
	if err != nil || strings.Contains(a.body, "faults") || a.header.Get("X-Fault") != "" {
		t.Errorf("the status without rules: %s, error %v", a.body, err)
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
	for fmt.Sprint(f.call(200, "GET", "/faults", "")["rules"].([]any)[0].(map[string]any)["matched"]) == "0" {
	}
	select {
	case err := <-got:
		t.Fatalf("the answer did not wait: %v", err)
	default:
	}
	f.call(200, "DELETE", "/faults", "")
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
	if err != nil || first.header.Get("X-Fault") != "" {
		t.Fatalf("the first answer: %v %v", first.header, err)
	}
	f.limit("AA_BB", "buy", "50", "1")
	again, err := f.get(faultyBook)
	if err != nil || again.body != first.body || again.header.Get("X-Seq") != first.header.Get("X-Seq") ||
		again.header.Get("Etag") == "" || again.header.Get("Etag") != first.header.Get("Etag") ||
		again.header.Get("X-Fault") == "" {
		t.Errorf("the answer was not repeated: %v %v", again.header, err)
	}
	fresh, err := f.get(faultyBook + "&aliases=false")
	if err != nil || fresh.header.Get("X-Seq") == first.header.Get("X-Seq") {
		t.Errorf("another target gets an old answer: %v %v", fresh.header, err)
	}
	f.call(200, "DELETE", "/faults", "")
	if fresh, err := f.get(faultyBook); err != nil || fresh.body == first.body {
		t.Errorf("an old answer after the rule: %v", err)
	}
}

// The acknowledgement of an order is lost although the exchange has accepted the order, by a closed connection or an
// error. A read of another route is not affected.
func TestLostAcknowledgements(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	f.rules("lost-ack key="+f.alice.public+" count=1", "lost-ack status=504 route=/api/orders")
	place := func(id string) (answer, error) {
		now := fmt.Sprint(object(t, f.do("GET", f.public+"/api/time", "").body)["serverTime"])
		body := fmt.Sprintf(`{"currencyPairCode":"AA_BB","side":"buy","amount":1,"price":10,"clientOrderId":%q}`, id)
		req, err := http.NewRequestWithContext(context.Background(), "POST", f.public+"/api/orders",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		h := f.alice.signed(now, "POST", "/api/orders", body)
		for i := 0; i < len(h); i += 2 {
			req.Header.Set(h[i], h[i+1])
		}
		resp, err := f.once.Do(req)
		if err != nil {
			return answer{}, err
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		return answer{resp.StatusCode, resp.Header, string(text)}, err
	}
	if _, err := place("lost-1"); !errors.Is(err, io.EOF) {
		t.Errorf("the first acknowledgement: %v", err)
	}
	a, err := place("lost-2")
	if err != nil || a.status != 504 || !strings.HasPrefix(a.body, `{"code":"OUTCOME_UNKNOWN"`) {
		t.Errorf("the second acknowledgement: %d %s %v", a.status, a.body, err)
	}
	open := f.call(200, "GET", "/book/AA_BB", "")
	if n := strings.Count(fmt.Sprint(open["bids"]), f.alice.id); n != 2 {
		t.Errorf("%d orders of the user rest in the book, want both: %v", n, open["bids"])
	}
	if a := f.as(f.alice, "/api/apikeys", `{"name":"x"}`); a.status != 200 {
		t.Errorf("another route: %d %s", a.status, a.body)
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
		s, err := client.Dial(context.Background(), client.StreamURL(f.public))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SetReadDeadline(time.Now().Add(patience)); err != nil {
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
		f.call(200, "DELETE", "/faults", "")
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
		f.limit("AA_BB", "buy", fmt.Sprint(20+i%50), "1")
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
			outcome += fmt.Sprintf("%d ", a.status)
		}
		if a, err := f.get("/api/status"); err != nil || !strings.Contains(a.body,
			`"faults":[{"id":1,"rule":"status route=/api/orderbook probability=0.4 status=503"}]`) {
			t.Errorf("the status does not name the rule: %.900s, error %v", a.body, err)
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
