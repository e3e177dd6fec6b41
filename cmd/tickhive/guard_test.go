package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// trader is a user with 10,000 USDT.
func (in *instance) trader() *voter {
	in.t.Helper()
	u := in.voter(0, "1", "1")
	in.call(200, "POST", "/users/"+u.id+"/deposits", `{"currencyCode":"USDT","amount":10000}`)
	return u
}

// rest places an order and a stop of a user in each of two pairs.
func (in *instance) rest(u *voter) {
	in.t.Helper()
	for _, pair := range []string{"AA_USDT", "BB_USDT"} {
		for _, stop := range []string{"", `"stopPrice":200,`} {
			body := fmt.Sprintf(`{"side":"buy","currencyPairCode":%q,%s"price":100,"amount":1}`, pair, stop)
			if a := in.as(u, "/api/orders", body); a.status != 200 {
				in.t.Fatal(a.status, a.body)
			}
		}
	}
}

// opened returns the number of open orders of a user in the book, as the internal API shows it.
func (in *instance) opened(u *voter) (n int) {
	in.t.Helper()
	for _, pair := range []string{"AA_USDT", "BB_USDT"} {
		n += strings.Count(in.do("GET", in.internal+"/book/"+pair+"?depth=0", "").body, u.id)
	}
	return n
}

// holds checks the amount that the orders of a user hold: 400 with their fees for the orders of rest.
func (in *instance) holds(u *voter, want string) {
	in.t.Helper()
	var user struct {
		Balances []struct {
			CurrencyCode string
			Held         json.Number
		}
	}
	if err := json.Unmarshal([]byte(in.do("GET", in.internal+"/users/"+u.id, "").body), &user); err != nil {
		in.t.Fatal(err)
	}
	for _, b := range user.Balances {
		if b.CurrencyCode == "USDT" && b.Held.String() != want {
			in.t.Errorf("orders hold %s, want %s", b.Held, want)
		}
	}
}

func (in *instance) twoPairs() {
	in.t.Helper()
	for _, pair := range []string{"AA_USDT", "BB_USDT"} {
		in.pair(pair)
	}
}

const allHeld, nothingHeld = "400.4", "0.0"

// A halt is in force after a kill -9, and after one with a snapshot behind it, until it is lifted.
func TestAHaltOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	args := []string{"--data-dir", t.TempDir()}
	in := startEmpty(t, args...)
	in.twoPairs()
	a, b := in.trader(), in.trader()
	in.rest(a)
	in.rest(b)
	path := "/users/" + a.id + "/halt"
	expect(t, in.call(200, "POST", path, ""), map[string]string{"halted": "true", "canceled": "4", "open": "0"})
	for range 2 {
		in.signal(syscall.SIGKILL)
		in.wait()
		in = startEmpty(t, args...)
		in.holds(a, nothingHeld)
		in.holds(b, allHeld)
		if got := in.call(200, "GET", "/users/"+a.id, "")["halted"]; got != true {
			t.Fatalf("halted: %v", got)
		}
		const order = `"side":"buy","currencyPairCode":"AA_USDT","price":1,"amount":1`
		if got := in.as(a, "/api/orders", "{"+order+"}"); got.status != 403 ||
			object(t, got.body)["code"] != "ACCOUNT_HALTED" {
			t.Errorf("a signed order: %d %s", got.status, got.body)
		}
		internal := fmt.Sprintf(`{"accountId":%q,"type":"limit",%s}`, a.id, order)
		expect(t, in.call(200, "POST", "/orders", internal),
			map[string]string{"status": "Rejected", "rejectReason": "account_halted"})
		batch := in.do("POST", in.internal+"/orders/batch", `{"commands":[{"place":`+internal+`}]}`).body
		if !strings.Contains(batch, `"rejectReason":"account_halted"`) {
			t.Error(batch)
		}
		if got := in.as(b, "/api/orders", "{"+order+"}"); got.status != 200 {
			t.Errorf("an order of another user: %d %s", got.status, got.body)
		}
		in.call(200, "DELETE", "/orders?accountId="+b.id, "")
		in.rest(b)
		in.signal(syscall.SIGTERM) // leaves a snapshot
		in.wait()
		in = startEmpty(t, args...)
	}
	expect(t, in.call(200, "DELETE", path, ""), map[string]string{"halted": "false", "canceled": "0", "open": "0"})
	in.rest(a)
	in.holds(a, allHeld)
}

// A dead man's switch cancels at its time, on the way of a virtual clock and after a kill -9 that it fell due in.
// It touches no other account, and none that turned it off.
func TestASwitchFiresOnTheClockAndAfterAKill(t *testing.T) {
	t.Parallel()
	args := []string{"--data-dir", t.TempDir()}
	in := startEmpty(t, args...)
	in.twoPairs()
	a, off, b := in.trader(), in.trader(), in.trader()
	set := func(u *voter, body, fires string) {
		t.Helper()
		got := in.as(u, "/api/orders/cancel-all-after", body)
		if got.status != 200 || fmt.Sprint(object(t, got.body)["firesAt"]) != fires {
			t.Errorf("%d %s, want %s", got.status, got.body, fires)
		}
	}
	for _, u := range []*voter{a, off, b} {
		in.rest(u)
	}
	set(a, `{"timeoutMs":30000}`, "2026-01-01T00:00:30.000Z")
	set(off, `{"timeoutMs":30000}`, "2026-01-01T00:00:30.000Z")
	set(off, `{"timeoutMs":0}`, "<nil>")
	in.call(200, "POST", "/clock", `{"advance":"29s"}`)
	in.holds(a, allHeld)
	set(a, `{"timeoutMs":10000}`, "2026-01-01T00:00:39.000Z")
	in.call(200, "POST", "/clock", `{"advance":"9s"}`)
	in.holds(a, allHeld)
	in.call(200, "POST", "/clock", `{"advance":"1h"}`)
	in.holds(a, nothingHeld)
	in.holds(off, allHeld)
	in.holds(b, allHeld)
	in.rest(a)
	in.call(200, "POST", "/clock", `{"advance":"1h"}`) // it fires once
	in.holds(a, allHeld)
	set(a, `{"timeoutMs":60000}`, "2026-01-01T02:01:38.000Z")
	in.signal(syscall.SIGKILL)
	in.wait()
	in = start(t, append([]string{
		"--pairs", "none", "--sim", "off", "--clock", "virtual", "--clock-start", "2026-01-01T02:05:00Z",
	}, args...)...)
	in.holds(a, nothingHeld) // before the first request
	in.holds(off, allHeld)
	in.holds(b, allHeld)
	if in.opened(a) != 0 || in.opened(b) != 2 { // stops are not in the book's orders
		t.Errorf("%d open, %d of another user", in.opened(a), in.opened(b))
	}
	for _, body := range []string{`{}`, `{"timeoutMs":999}`, `{"timeoutMs":86400001}`, `{"timeoutMs":1.5}`} {
		if got := in.as(a, "/api/orders/cancel-all-after", body); got.status != 400 ||
			object(t, got.body)["field"] != "timeoutMs" {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
}
