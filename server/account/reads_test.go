package account_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"tickhive/accounts"
	"tickhive/client"
	"tickhive/server/edge"
	"tickhive/server/servertest"
)

// Reads wait for nobody who changes the accounts: every GET of both listeners answers while a writer waits for the
// accounts' lock, which no reader gets then. The hash of the state alone is no read of what is shown: who owns the
// state encodes it.
func TestReadsWaitForNoWriter(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	order := a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10}`)
	h.MustInternal("PATCH", "/users/"+a.ID, `{"isAmbassador":true}`)
	reads := 0
	ask := func(client *http.Client, r *edge.Route) {
		target := signedTarget(r, a, order)
		if r.Method != "GET" || strings.Contains(target, "{") || strings.HasSuffix(target, "/ws") ||
			strings.HasPrefix(target, "/debug/") || strings.HasSuffix(target, "/state-hash") {
			return
		}
		var header http.Header
		if r.Auth == edge.AuthRequired {
			header = a.Sign("GET", target, "")
		}
		if got := h.Send(client, "GET", target, "", header); got.Status >= 500 || got.Status == 401 {
			t.Errorf("%s: %d %s", target, got.Status, got.Body)
		}
		reads++
	}
	a.OK("POST", "/api/orders/cancel-all-after", `{"timeoutMs":60000}`)
	held := false
	var writer sync.WaitGroup
	defer writer.Wait()
	h.State.Fired(math.MaxInt64, func(accounts.Deadline) bool { // runs under the lock, once: there is one switch
		held = true
		writer.Go(func() { h.State.FoldEvents(nil, 0) })
		for stacks := make([]byte, 1<<20); ; runtime.Gosched() {
			if bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("accounts.(*State).FoldEvents")) &&
				bytes.Contains(stacks, []byte("sync.runtime_SemacquireRWMutex(")) {
				break
			}
		}
		for _, r := range h.Running.Public().Routes() {
			ask(h.Public, r)
		}
		for _, r := range h.Running.Internal().Routes() {
			ask(h.Internal, r)
		}
		return true
	})
	if !held || reads < 60 {
		t.Errorf("%d reads, the lock was held: %t", reads, held)
	}
}

// A client reads its own change after the answer, whatever it has changed.
func TestAClientReadsItsOwnChange(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	user := "/users/" + a.ID
	internal := func(path string) string {
		got := h.CallInternal("GET", path, "")
		if got.Status != 200 {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
		return got.Body
	}
	public := func(path string) string { return a.OK("GET", path, "").Body }
	var order, key string
	for i, x := range []struct {
		change func()
		read   func() string
	}{
		{func() { h.Deposit(a, "USDT", "5") }, func() string { return a.Balance("USDT") }},
		{func() { h.Deposit(a, "USDT", "5") }, func() string { return internal("/totals") }},
		{func() {
			h.MustInternal("POST", user+"/withdrawals", `{"currencyCode":"USDT","amount":"5"}`)
		}, func() string { return a.Balance("USDT") }},
		{
			func() { order = a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10}`) },
			func() string { return a.Balance("USDT") },
		},
		{
			func() { a.OK("PATCH", "/api/orders/"+order, `{"price":11}`) },
			func() string { return a.Balance("USDT") },
		},
		{func() {
			b.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":"0.5","price":11}`)
		}, func() string { return a.Balance("BTC") }},
		{func() { a.OK("DELETE", "/api/orders/"+order, "") }, func() string { return a.Balance("USDT") }},
		{func() { h.MustInternal("PATCH", user, `{"nickname":"carol"}`) }, func() string { return internal(user) }},
		{
			func() { h.MustInternal("PATCH", user, `{"dealBidDiscountFraction":"0.25"}`) },
			func() string { return public("/api/currencies/user/commissions") },
		},
		{func() {
			key = servertest.ParseObject(t, a.OK("POST", "/api/apikeys", `{"name":"k"}`).Body)["publicKey"].(string)
		}, func() string { return public("/api/apikeys") }},
		{func() { a.OK("DELETE", "/api/apikeys/"+key, "") }, func() string { return public("/api/apikeys") }},
		{func() { h.MustInternal("POST", user+"/halt", "") }, func() string { return internal(user) }},
		{func() { h.MustInternal("DELETE", user+"/halt", "") }, func() string { return internal(user) }},
	} {
		before := x.read()
		x.change()
		if after := x.read(); after == before {
			t.Errorf("change %d: %s is read after the answer", i, after)
		}
	}
}

// The private channel brings every fill of an order that meets several makers, to the taker and to each maker, with
// the same members and in the same order as REST lists them.
func TestAPrivateChannelBringsEveryFill(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	const makers = 7
	sockets := map[*servertest.Keys]*client.Stream{a: h.Socket(), b: h.Socket()}
	for k, s := range sockets {
		if err := s.Authenticate(k.Public, k.Private, h.Now()); err != nil {
			t.Fatal(err)
		}
		for _, channel := range []string{"fills", "orders"} {
			_ = s.Send(client.Request{Op: "subscribe", Channel: channel})
			for m := servertest.Next(t, s); m["type"] != "snapshot"; {
				m = servertest.Next(t, s)
			}
		}
	}
	for i := range makers {
		b.Place(fmt.Sprintf(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":"0.1","price":%d}`, 50+i%3))
	}
	a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":2,"price":60}`) // the rest of it rests
	b.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":"0.2","price":60}`)
	for k, s := range sockets {
		last := k.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":"0.001","price":1}`)
		var fills []any
		for {
			m := servertest.Next(t, s)
			if m["channel"] == "fills" {
				fills = append(fills, m["fill"])
			} else if o, ok := m["order"].(map[string]any); ok && o["id"] == last {
				break // it comes behind everything before it
			}
		}
		var listed []any
		d := servertest.ParseObject(t, `{"list":`+k.OK("GET", "/api/user/deals?pageSize=100", "").Body+`}`)["list"]
		switch d := d.(type) {
		case []any:
			listed = d
		case map[string]any:
			t.Fatalf("%v", d)
		}
		slices.Reverse(listed) // newest first
		if len(listed) != makers+1 || !reflect.DeepEqual(fills, listed) {
			got, _ := json.Marshal(fills)
			want, _ := json.Marshal(listed)
			t.Errorf("the channel brought %d fills, REST lists %d\n%s\n%s", len(fills), len(listed), got, want)
		}
	}
}
