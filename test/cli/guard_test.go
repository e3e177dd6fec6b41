package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// rest places an order and a stop of a user in each of two pairs.
func rest(in *harness.Instance, u *harness.Voter) {
	in.T.Helper()
	for _, pair := range []string{"AA_USDT", "BB_USDT"} {
		for _, stop := range []string{"", `"stopPrice":200,`} {
			body := fmt.Sprintf(`{"side":"buy","currencyPairCode":%q,%s"price":100,"amount":1}`, pair, stop)
			if a := in.As(u, "/api/orders", body); a.Status != 200 {
				in.T.Fatal(a.Status, a.Body)
			}
		}
	}
}

// holds checks the amount that the orders of a user hold: 400 with their fees for the orders of rest.
func holds(in *harness.Instance, u *harness.Voter, want string) {
	in.T.Helper()
	var user struct {
		Balances []struct {
			CurrencyCode string
			Held         json.Number
		}
	}
	if err := json.Unmarshal([]byte(in.Do("GET", in.Internal+"/users/"+u.ID, "").Body), &user); err != nil {
		in.T.Fatal(err)
	}
	for _, b := range user.Balances {
		if b.CurrencyCode == "USDT" && b.Held.String() != want {
			in.T.Errorf("orders hold %s, want %s", b.Held, want)
		}
	}
}

const allHeld, nothingHeld = "400.0", "0.0"

// A halt is in force after a kill -9, and after one with a snapshot behind it, until it is lifted.
func TestAHaltOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	args := []string{"--data-dir", t.TempDir()}
	in := harness.StartEmpty(t, args...)
	in.TwoPairs()
	a, b := in.Trader(), in.Trader()
	rest(in, a)
	rest(in, b)
	path := "/users/" + a.ID + "/halt"
	expect(t, in.Call(200, "POST", path, ""), map[string]string{"halted": "true", "canceled": "4", "open": "0"})
	for range 2 {
		in.Signal(syscall.SIGKILL)
		in.Wait()
		in = harness.StartEmpty(t, args...)
		holds(in, a, nothingHeld)
		holds(in, b, allHeld)
		if got := in.Call(200, "GET", "/users/"+a.ID, "")["halted"]; got != true {
			t.Fatalf("halted: %v", got)
		}
		const order = `"side":"buy","currencyPairCode":"AA_USDT","price":1,"amount":1`
		if got := in.As(a, "/api/orders", "{"+order+"}"); got.Status != 403 ||
			harness.Object(t, got.Body)["code"] != "ACCOUNT_HALTED" {
			t.Errorf("a signed order: %d %s", got.Status, got.Body)
		}
		internal := fmt.Sprintf(`{"accountId":%q,"type":"limit",%s}`, a.ID, order)
		expect(t, in.Call(200, "POST", "/orders", internal),
			map[string]string{"status": "Rejected", "rejectReason": "account_halted"})
		batch := in.Do("POST", in.Internal+"/orders/batch", `{"commands":[{"place":`+internal+`}]}`).Body
		if !strings.Contains(batch, `"rejectReason":"account_halted"`) {
			t.Error(batch)
		}
		if got := in.As(b, "/api/orders", "{"+order+"}"); got.Status != 200 {
			t.Errorf("an order of another user: %d %s", got.Status, got.Body)
		}
		in.Call(200, "DELETE", "/orders?accountId="+b.ID, "")
		rest(in, b)
		in.Signal(syscall.SIGTERM) // leaves a snapshot
		in.Wait()
		in = harness.StartEmpty(t, args...)
	}
	expect(t, in.Call(200, "DELETE", path, ""), map[string]string{"halted": "false", "canceled": "0", "open": "0"})
	rest(in, a)
	holds(in, a, allHeld)
}

// A dead man's switch cancels at its time, on the way of a virtual clock and after a kill -9 that it fell due in.
// It touches no other account, and none that turned it off.
func TestASwitchFiresOnTheClockAndAfterAKill(t *testing.T) {
	t.Parallel()
	args := []string{"--data-dir", t.TempDir()}
	in := harness.StartEmpty(t, args...)
	in.TwoPairs()
	a, off, b := in.Trader(), in.Trader(), in.Trader()
	set := func(u *harness.Voter, body, fires string) {
		t.Helper()
		got := in.As(u, "/api/orders/cancel-all-after", body)
		if got.Status != 200 || fmt.Sprint(harness.Object(t, got.Body)["firesAt"]) != fires {
			t.Errorf("%d %s, want %s", got.Status, got.Body, fires)
		}
	}
	for _, u := range []*harness.Voter{a, off, b} {
		rest(in, u)
	}
	set(a, `{"timeoutMs":30000}`, "2026-01-01T00:00:30.000Z")
	set(off, `{"timeoutMs":30000}`, "2026-01-01T00:00:30.000Z")
	set(off, `{"timeoutMs":0}`, "<nil>")
	in.Call(200, "POST", "/clock", `{"advance":"29s"}`)
	holds(in, a, allHeld)
	set(a, `{"timeoutMs":10000}`, "2026-01-01T00:00:39.000Z")
	in.Call(200, "POST", "/clock", `{"advance":"9s"}`)
	holds(in, a, allHeld)
	in.Call(200, "POST", "/clock", `{"advance":"1h"}`)
	holds(in, a, nothingHeld)
	holds(in, off, allHeld)
	holds(in, b, allHeld)
	rest(in, a)
	in.Call(200, "POST", "/clock", `{"advance":"1h"}`) // it fires once
	holds(in, a, allHeld)
	set(a, `{"timeoutMs":60000}`, "2026-01-01T02:01:38.000Z")
	in.Signal(syscall.SIGKILL)
	in.Wait()
	in = harness.Start(t, append([]string{
		"--pairs", "none", "--sim", "off", "--clock", "virtual", "--clock-start", "2026-01-01T02:05:00Z",
	}, args...)...)
	holds(in, a, nothingHeld) // before the first request
	holds(in, off, allHeld)
	holds(in, b, allHeld)
	if in.Opened(a) != 0 || in.Opened(b) != 2 { // stops are not in the book's orders
		t.Errorf("%d open, %d of another user", in.Opened(a), in.Opened(b))
	}
	for _, body := range []string{`{}`, `{"timeoutMs":999}`, `{"timeoutMs":86400001}`, `{"timeoutMs":1.5}`} {
		if got := in.As(a, "/api/orders/cancel-all-after", body); got.Status != 400 ||
			harness.Object(t, got.Body)["field"] != "timeoutMs" {
			t.Errorf("%s: %d %s", body, got.Status, got.Body)
		}
	}
}
