package server_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// to moves the clock over HTTP.
func (c *colony) to(ns int64) {
	c.t.Helper()
	c.must(c.inner("POST", "/clock", fmt.Sprintf(`{"advance":"%dns"}`, ns-c.clk.NowNs())))
}

// Boosts, proposals, idle workers and windows change at their exact second without a request in
// between, also when the process is down at that second.
func TestTimePassesByItself(t *testing.T) {
	for _, slept := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %t", slept), func(t *testing.T) {
			c := freed(t)
			id := c.token(1, "AAA")
			c.fund(1, 0, 1_000)
			c.call("/launchpad/tokens/"+id+"/liquidity", fmt.Sprintf(`{"userId":%q,"tokenAmount":1000,"quoteAmount":"100"}`, userUUID(1)))
			c.advance(secondNs / 2)
			c.call("/launchpad/tokens/"+id+"/swaps", fmt.Sprintf(`{"userId":%q,"side":"buy","amountIn":10}`, userUUID(1)))
			boost := c.call("/launchpad/tokens/"+id+"/boosts", `{"tier":"short"}`)
			prop := c.propose(id, true)
			for n := 1; n <= 9; n++ {
				if n > 1 {
					c.give(id, 1, n, "1000000")
				}
				c.must(c.as(n, "/api/agents/workers/"+id+"/vote", fmt.Sprintf(`{"proposalId":%q,"vote":"yes"}`, prop)))
			}
			start := startNs / secondNs
			if at(boost, "expiresAt") != fmt.Sprint(start+3600) || at(boost, "tier") != "short" {
				t.Errorf("boost %v", boost)
			}
			for _, step := range []struct {
				sec           int64
				target, path  string
				before, after string
			}{
				{start + 3600, "/api/launchpad/tokens/" + id, "boost.active", "true", "false"},
				{start + 86400, "/api/launchpad/tokens/" + id, "pool.volume24h", "10.00", "0.00"},
				{start + 7*86400 + 86400, "/api/agents/workers/" + id, "worker.status", "active", "idle"},
			} {
				for i, want := range []string{step.before, step.after} {
					ns := step.sec*secondNs - 1 + int64(i)
					if slept {
						c.restart(ns - c.clk.NowNs())
					} else {
						c.to(ns)
					}
					if got := c.see(step.target, step.path); got != want {
						t.Errorf("%s at %d + %d: %s, want %s", step.path, step.sec-start, i-1, got, want)
					}
				}
				if step.sec == start+86400 {
					if got := c.see("/api/agents/proposals/"+prop, "status"); got != "passed" {
						t.Errorf("the proposal is %s", got)
					}
					w := c.must(c.get("/api/agents/workers/" + id))
					if at(w, "config.slippageCapBps") != "150" || at(w, "recentActions.0.reasonCode") != "user_vote" || at(w, "votes.recentlyClosed") != "1" {
						t.Errorf("a passed proposal changed: %v", w)
					}
				}
			}
			c.must(c.act("worker-1", "0", "observation", "{}"))
			if got := c.see("/api/agents/workers/"+id, "worker.status"); got != "active" {
				t.Errorf("after an action of its own the worker is %s", got)
			}
		})
	}
}

// A walk with asOf over tokens and workers sees each exactly once while others spawn. A walk
// without asOf misses none that existed at its start.
func TestWalksWhileTokensAreSpawned(t *testing.T) {
	c := freed(t)
	const before, during = 60, 120
	for n := range before + during {
		c.fund(n+1, 100, 0)
	}
	body := func(n int) string {
		return fmt.Sprintf(`{"name":"N","symbol":"%c%c%c"}`, 'A'+n/676%26, 'A'+n/26%26, 'A'+n%26)
	}
	there := map[string]bool{}
	for n := range before {
		there[at(c.must(c.spawn(n+1, body(n))), "token.address")] = true
		if n%7 == 0 {
			c.advance(secondNs)
		}
	}
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for n := range during {
			c.must(c.spawn(before+n+1, body(before+n)))
			c.clk.Set(c.clk.NowNs() + secondNs/5)
		}
	}()
	for range 4 {
		for _, sort := range []string{"recent", "holders", "tvl", "volume"} {
			c.walk(t, "/api/launchpad/tokens?pageSize=7&sort="+sort, "address", there)
		}
		c.walk(t, "/api/agents/workers?pageSize=7", "tokenAddress", there)
	}
	seen := map[string]bool{}
	for page := 1; ; page++ {
		items, _ := c.must(c.get(fmt.Sprintf("/api/launchpad/tokens?pageSize=7&page=%d", page)))["items"].([]any)
		if len(items) == 0 {
			break
		}
		for _, it := range items {
			seen[at(it, "address")] = true
		}
	}
	for a := range there {
		if !seen[a] {
			t.Errorf("a walk without asOf missed %s", a)
		}
	}
	wg.Wait()
	if got := c.see("/api/agents/workers", "totalItems"); got != strconv.Itoa(before+during) {
		t.Errorf("%s workers in the end", got)
	}
}

// walk reads all pages as of the first page's block.
func (c *colony) walk(t *testing.T, target, member string, there map[string]bool) {
	t.Helper()
	seen, asOf, total := map[string]int{}, "", ""
	for page := 1; ; page++ {
		q := fmt.Sprintf("%s&page=%d", target, page)
		if asOf != "" {
			q += "&asOf=" + asOf
		}
		a := c.get(q)
		m := c.must(a)
		if asOf == "" {
			asOf, total = a.header.Get("X-As-Of"), at(m, "totalItems")
		} else if at(m, "totalItems") != total || a.header.Get("X-As-Of") != asOf {
			t.Fatalf("%s: %s items as of %s, first %s as of %s", q, at(m, "totalItems"), a.header.Get("X-As-Of"), total, asOf)
		}
		items, _ := m["items"].([]any)
		if len(items) == 0 {
			break
		}
		for _, it := range items {
			seen[at(it, member)]++
		}
	}
	for a, n := range seen {
		if n != 1 {
			t.Errorf("%s: %s %d times", target, a, n)
		}
	}
	if strconv.Itoa(len(seen)) != total {
		t.Errorf("%s: %d seen of %s", target, len(seen), total)
	}
	for a := range there {
		if seen[a] == 0 {
			t.Errorf("%s: %s was missed", target, a)
		}
	}
}

// 60 requests spread over 50 s pass and the 61st is refused, the 11th within a second is
// refused, and after Retry-After it passes; no header of the client changes that.
func TestLaunchpadRequestsAreLimited(t *testing.T) {
	c := newColony(t)
	const target = "/api/agents/overview"
	forged := 0
	ask := func() answer {
		forged++
		return c.from("192.0.2.9", target, "X-Forwarded-For", fmt.Sprintf("198.51.100.%d", forged%250))
	}
	first := c.machine.Load()
	for i := range 60 {
		a := ask()
		if a.status != 200 || a.header.Get("X-RateLimit-Remaining") != strconv.Itoa(59-i) ||
			a.header.Get("X-RateLimit-Limit") != "60" || a.header.Get("X-RateLimit-Reset") != fmt.Sprint((first+60*secondNs)/1_000_000) {
			t.Fatalf("request %d: %d %v", i+1, a.status, a.header)
		}
		c.machine.Add(50 * secondNs / 60)
	}
	a := ask()
	c.refused(a, 429, "RATE_LIMIT", "")
	wait, err := strconv.ParseInt(a.header.Get("Retry-After"), 10, 64)
	if err != nil || a.header.Get("X-RateLimit-Remaining") != "0" ||
		!strings.Contains(a.body, fmt.Sprintf("Rate limit exceeded. Retry after %d seconds.", wait)) {
		t.Errorf("%v: %v %s", err, a.header, a.body)
	}
	c.refused(c.from("192.0.2.9", "/api/launchpad/tokens/1"), 429, "RATE_LIMIT", "") // one limit for all of them
	if a := c.from("192.0.2.10", target); a.status != 200 {
		t.Errorf("another client: %d", a.status)
	}
	if a := c.from("192.0.2.9", "/api/healthcheck"); a.status != 200 {
		t.Errorf("healthcheck: %d", a.status)
	}
	c.machine.Add(wait * secondNs)
	if a := ask(); a.status != 200 {
		t.Errorf("after Retry-After: %d", a.status)
	}
	c.machine.Add(61 * secondNs)
	for range 10 {
		if a := c.from("192.0.2.9", "/api/launchpad/tokens/1"); a.status != 404 || a.header.Get("X-RateLimit-Limit") != "60" {
			t.Fatalf("%d %v", a.status, a.header)
		}
	}
	c.refused(ask(), 429, "RATE_LIMIT", "")
	c.machine.Add(secondNs)
	if a := ask(); a.status != 200 {
		t.Errorf("a second later: %d", a.status)
	}
	// What counts for nothing shows how much is left.
	for method, status := range map[string]int{"OPTIONS": 204, "DELETE": 405} {
		a := c.raw("192.0.2.9", method+" "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if a.status != status || a.header.Get("X-RateLimit-Limit") != "60" || a.header.Get("X-RateLimit-Remaining") != "49" {
			t.Errorf("%s: %d %v", method, a.status, a.header)
		}
	}
	free := freed(t)
	for range 200 {
		if a := free.get(target); a.status != 200 || a.header.Get("X-RateLimit-Remaining") != "60" {
			t.Fatalf("allow-listed: %d %v", a.status, a.header)
		}
	}
}
