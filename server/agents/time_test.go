package agents_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

// to moves the clock over HTTP.
func to(c *servertest.Agents, ns int64) {
	c.T.Helper()
	c.Must(c.CallInternal("POST", "/clock", fmt.Sprintf(`{"advance":"%dns"}`, ns-c.Clock.NowNs())))
}

// Boosts, proposals, idle workers and windows change at their exact second without a request in
// between, also when the process is down at that second.
func TestTimePassesByItself(t *testing.T) {
	for _, slept := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %t", slept), func(t *testing.T) {
			c := servertest.NewUnlimitedAgents(t)
			id := c.Token(1, "AAA")
			c.Fund(1, 0, 1_000)
			c.MustInternal("/launchpad/tokens/"+id+"/liquidity",
				fmt.Sprintf(`{"userId":%q,"tokenAmount":1000,"quoteAmount":"100"}`, servertest.UserUUID(1)))
			c.Advance(servertest.SecondNs / 2)
			c.MustInternal("/launchpad/tokens/"+id+"/swaps",
				fmt.Sprintf(`{"userId":%q,"side":"buy","amountIn":10}`, servertest.UserUUID(1)))
			boost := c.MustInternal("/launchpad/tokens/"+id+"/boosts", `{"tier":"short"}`)
			for n := 2; n <= 9; n++ {
				c.Transfer(id, 1, n, "1000000")
			}
			prop := c.Propose(id, true)
			for n := 1; n <= 9; n++ {
				c.Must(c.PostAs(n, "/api/agents/workers/"+id+"/vote",
					fmt.Sprintf(`{"proposalId":%q,"vote":"yes"}`, prop)))
			}
			start := servertest.StartNs / servertest.SecondNs
			if servertest.At(boost, "expiresAt") != fmt.Sprint(start+3600) || servertest.At(boost, "tier") != "short" {
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
					ns := step.sec*servertest.SecondNs - 1 + int64(i)
					if slept {
						c.Restart(ns - c.Clock.NowNs())
					} else {
						to(c, ns)
					}
					if got := c.MustGet(step.target, step.path); got != want {
						t.Errorf("%s at %d + %d: %s, want %s", step.path, step.sec-start, i-1, got, want)
					}
				}
				if step.sec == start+86400 {
					if got := c.MustGet("/api/agents/proposals/"+prop, "status"); got != "passed" {
						t.Errorf("the proposal is %s", got)
					}
					w := c.Must(c.Get("/api/agents/workers/" + id))
					if servertest.At(w, "config.slippageCapBps") != "150" ||
						servertest.At(w, "recentActions.0.reasonCode") != "user_vote" ||
						servertest.At(w, "votes.recentlyClosed") != "1" {
						t.Errorf("a passed proposal changed: %v", w)
					}
				}
			}
			c.Must(c.AddAction("worker-1", "0", "observation", "{}"))
			if got := c.MustGet("/api/agents/workers/"+id, "worker.status"); got != "active" {
				t.Errorf("after its own action the worker is %s", got)
			}
		})
	}
}

// A walk with asOf over tokens and workers sees each exactly once while others spawn. A walk
// without asOf misses none that existed at its start.
func TestWalksWhileTokensAreSpawned(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	const before, during = 60, 120
	for n := range before + during {
		c.Fund(n+1, 100, 0)
	}
	body := func(n int) string {
		return fmt.Sprintf(`{"name":"N","symbol":"%c%c%c"}`, 'A'+n/676%26, 'A'+n/26%26, 'A'+n%26)
	}
	there := map[string]bool{}
	for n := range before {
		there[servertest.At(c.Must(c.Spawn(n+1, body(n))), "token.address")] = true
		if n%7 == 0 {
			c.Advance(servertest.SecondNs)
		}
	}
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for n := range during {
			c.Must(c.Spawn(before+n+1, body(before+n)))
			c.Clock.Set(c.Clock.NowNs() + servertest.SecondNs/5)
		}
	}()
	for range 4 {
		for _, sort := range []string{"recent", "holders", "tvl", "volume"} {
			walk(c, t, "/api/launchpad/tokens?pageSize=7&sort="+sort, "address", there)
		}
		walk(c, t, "/api/agents/workers?pageSize=7", "tokenAddress", there)
	}
	seen := map[string]bool{}
	for page := 1; ; page++ {
		items, _ := c.Must(c.Get(fmt.Sprintf("/api/launchpad/tokens?pageSize=7&page=%d", page)))["items"].([]any)
		if len(items) == 0 {
			break
		}
		for _, it := range items {
			seen[servertest.At(it, "address")] = true
		}
	}
	for a := range there {
		if !seen[a] {
			t.Errorf("a walk without asOf missed %s", a)
		}
	}
	wg.Wait()
	if got := c.MustGet("/api/agents/workers", "totalItems"); got != strconv.Itoa(before+during) {
		t.Errorf("%s workers in the end", got)
	}
}

// walk reads all pages as of the first page's block.
func walk(c *servertest.Agents, t *testing.T, target, member string, there map[string]bool) {
	t.Helper()
	seen, asOf, total := map[string]int{}, "", ""
	for page := 1; ; page++ {
		q := fmt.Sprintf("%s&page=%d", target, page)
		if asOf != "" {
			q += "&asOf=" + asOf
		}
		a := c.Get(q)
		m := c.Must(a)
		if asOf == "" {
			asOf, total = a.Header.Get("X-As-Of"), servertest.At(m, "totalItems")
		} else if servertest.At(m, "totalItems") != total || a.Header.Get("X-As-Of") != asOf {
			t.Fatalf("%s: %s items as of %s, first %s as of %s", q, servertest.At(m, "totalItems"),
				a.Header.Get("X-As-Of"), total, asOf)
		}
		items, _ := m["items"].([]any)
		if len(items) == 0 {
			break
		}
		for _, it := range items {
			seen[servertest.At(it, member)]++
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
	c := servertest.NewAgents(t)
	const target = "/api/agents/overview"
	forged := 0
	ask := func() servertest.Answer {
		forged++
		return c.From("192.0.2.9", target, "X-Forwarded-For", fmt.Sprintf("198.51.100.%d", forged%250))
	}
	first := c.Machine.Load()
	for i := range 60 {
		a := ask()
		if a.Status != 200 || a.Header.Get("X-RateLimit-Remaining") != strconv.Itoa(59-i) ||
			a.Header.Get("X-RateLimit-Limit") != "60" ||
			a.Header.Get("X-RateLimit-Reset") != fmt.Sprint((first+60*servertest.SecondNs)/1_000_000) {
			t.Fatalf("request %d: %d %v", i+1, a.Status, a.Header)
		}
		c.Machine.Add(50 * servertest.SecondNs / 60)
	}
	a := ask()
	c.CheckRefusal(a, 429, "RATE_LIMIT", "")
	wait, err := strconv.ParseInt(a.Header.Get("Retry-After"), 10, 64)
	if err != nil || a.Header.Get("X-RateLimit-Remaining") != "0" ||
		!strings.Contains(a.Body, fmt.Sprintf("Rate limit exceeded. Retry after %d seconds.", wait)) {
		t.Errorf("%v: %v %s", err, a.Header, a.Body)
	}
	c.CheckRefusal(c.From("192.0.2.9", "/api/launchpad/tokens/1"), 429, "RATE_LIMIT", "") // one limit for all of them
	if a := c.From("192.0.2.10", target); a.Status != 200 {
		t.Errorf("another client: %d", a.Status)
	}
	if a := c.From("192.0.2.9", "/api/healthcheck"); a.Status != 200 {
		t.Errorf("healthcheck: %d", a.Status)
	}
	c.Machine.Add(wait * servertest.SecondNs)
	if a := ask(); a.Status != 200 {
		t.Errorf("after Retry-After: %d", a.Status)
	}
	c.Machine.Add(61 * servertest.SecondNs)
	for range 10 {
		if a := c.From("192.0.2.9", "/api/launchpad/tokens/1"); a.Status != 404 ||
			a.Header.Get("X-RateLimit-Limit") != "60" {
			t.Fatalf("%d %v", a.Status, a.Header)
		}
	}
	c.CheckRefusal(ask(), 429, "RATE_LIMIT", "")
	c.Machine.Add(servertest.SecondNs)
	if a := ask(); a.Status != 200 {
		t.Errorf("a second later: %d", a.Status)
	}
	// What counts for nothing shows how much is left.
	for method, status := range map[string]int{"OPTIONS": 204, "DELETE": 405} {
		a := c.Raw("192.0.2.9", method+" "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if a.Status != status || a.Header.Get("X-RateLimit-Limit") != "60" ||
			a.Header.Get("X-RateLimit-Remaining") != "49" {
			t.Errorf("%s: %d %v", method, a.Status, a.Header)
		}
	}
	free := servertest.NewUnlimitedAgents(t)
	for range 200 {
		if a := free.Get(target); a.Status != 200 || a.Header.Get("X-RateLimit-Remaining") != "60" {
			t.Fatalf("allow-listed: %d %v", a.Status, a.Header)
		}
	}
}

// A walk by cursor sees each row that was there at its beginning once, while others arrive before each page. Cursors
// are refused where the order of the list changes.
func TestWalksByCursorWhileRowsArrive(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	for n := range 200 {
		c.Fund(n+1, 100, 0)
	}
	tokens, made := []string{}, 0
	arrive := func() {
		symbol := fmt.Sprintf("%c%c%c", 'A'+made/676%26, 'A'+made/26%26, 'A'+made%26)
		tokens = append(tokens, c.Token(made+1, symbol))
		id := tokens[made/2]
		c.Must(c.AddAction("queen-1", id, "observation", `{"n":1}`))
		c.Propose(id, made%2 == 0)
		if made++; made%5 == 0 {
			c.Advance(servertest.SecondNs)
		}
	}
	for range 24 {
		arrive()
	}
	for target, member := range map[string]string{
		"/api/launchpad/tokens?pageSize=5":                           "address",
		"/api/launchpad/tokens?pageSize=5&sort=recent&poolSide=USBI": "address",
		"/api/agents/workers?pageSize=5":                             "workerId",
		"/api/agents/workers?pageSize=5&status=active":               "workerId",
		"/api/agents/action-logs?pageSize=5":                         "entryId",
		"/api/agents/action-logs?pageSize=5&actionType=observation":  "entryId",
		"/api/agents/action-logs?pageSize=1&tokenId=" + tokens[3]:    "entryId",
		"/api/agents/proposals?pageSize=5":                           "proposalId",
		"/api/agents/proposals?pageSize=5&status=active":             "proposalId",
		"/api/agents/proposals?pageSize=1&tokenId=" + tokens[2]:      "proposalId",
	} {
		there := map[string]bool{}
		all := c.Must(c.Get(target))
		for page := 1; ; page++ {
			items, _ := c.Must(c.Get(fmt.Sprintf("%s&page=%d", target, page)))["items"].([]any)
			if len(items) == 0 {
				break
			}
			for _, it := range items {
				there[servertest.At(it, member)] = true
			}
		}
		if len(there) < 2 || servertest.At(all, "totalItems") != strconv.Itoa(len(there)) {
			t.Fatalf("%s: %d rows, %s", target, len(there), servertest.At(all, "totalItems"))
		}
		seen, cursor, pages := map[string]int{}, "", 0
		for {
			q := target
			if cursor != "" {
				q += "&cursor=" + cursor
			}
			a := c.Get(q)
			items, _ := c.Must(a)["items"].([]any)
			for _, it := range items {
				seen[servertest.At(it, member)]++
			}
			pages++
			if cursor = a.Header.Get("X-Next-Cursor"); cursor == "" {
				break
			}
			if pages <= 3 { // the workers are ascending, so a walk over them ends behind the newest
				arrive()
			}
		}
		for row, n := range seen {
			if n != 1 {
				t.Errorf("%s: %s came %d times", target, row, n)
			}
		}
		for row := range there {
			if seen[row] == 0 {
				t.Errorf("%s: %s was lost", target, row)
			}
		}
		if pages < 2 {
			t.Errorf("%s: %d pages", target, pages)
		}
		for _, bad := range []string{
			"cursor=0", "cursor=x", "cursor=-1", "cursor=01", "cursor=9223372036854775808", "cursor=1&page=2",
		} {
			c.CheckRefusal(c.Get(target+"&"+bad), 400, "INVALID_PARAM", "cursor")
		}
		if items, _ := c.Must(c.Get(target + "&cursor=9223372036854775807"))["items"].([]any); member == "workerId" &&
			len(items) != 0 {
			t.Errorf("%s: rows behind a worker that does not exist: %v", target, items)
		}
	}
	for _, bad := range []string{"sort=volume", "sort=tvl", "sort=holders", "asOf=1"} {
		c.CheckRefusal(c.Get("/api/launchpad/tokens?cursor=3&"+bad), 400, "INVALID_PARAM", "cursor")
	}
}
