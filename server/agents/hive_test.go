package agents_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/server/servertest"
)

// Checks of a vote in their order (docs/contract/hive.md#votes).
func TestVoteRefusesInOrder(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	id, other := c.Token(1, "AAA"), c.Token(2, "BBB")
	prop, foreign := c.Propose(id, true), c.Propose(other, true)
	closed := c.Propose(id, true)
	c.Transfer(id, 1, 3, "0.999999999999999999")
	c.Transfer(id, 1, 4, "1")
	c.Transfer(id, 1, 5, "10")
	c.Levels[4], c.Levels[6] = 19, 19
	target := "/api/agents/workers/" + id + "/vote"
	yes := func(p string) string { return fmt.Sprintf(`{"proposalId":%q,"vote":"yes"}`, p) }
	c.Must(c.PostAs(5, target, yes(prop)))
	for _, row := range []struct {
		name, target, key, body string
		status                  int
		code, field             string
	}{
		{"no key", target, "", `{`, 401, "UNAUTHORIZED", "API-PublicKey"},
		{"bad key", target, "x", `{`, 401, "UNAUTHORIZED", "API-Signature"},
		{"key that only reads", target, "ro-5", `{`, 403, "FORBIDDEN", ""},
		{"no proposal", "/api/agents/workers/1/vote", "key-4", `{"vote":"maybe"}`, 400, "INVALID_PARAM", "proposalId"},
		{"empty proposal", target, "key-4", `{"proposalId":"","vote":"yes"}`, 400, "INVALID_PARAM", "proposalId"},
		{"no vote", target, "key-4", `{"proposalId":"x"}`, 400, "INVALID_PARAM", "vote"},
		{"unknown vote", target, "key-4", `{"proposalId":"x","vote":"Yes"}`, 400, "INVALID_PARAM", "vote"},
		{"long comment", target, "key-4", `{"proposalId":"x","vote":"yes","comment":"` + strings.Repeat("ä", 501) +
			`"}`, 400, "INVALID_PARAM", "comment"},
		{
			"comment is a number", target, "key-4", `{"proposalId":"x","vote":"yes","comment":1}`, 400,
			"INVALID_PARAM", "comment",
		},
		{
			"unknown member", target, "key-4", `{"proposalId":"x","vote":"yes","weight":1}`, 400,
			"INVALID_PARAM", "weight",
		},
		{"unknown worker", "/api/agents/workers/10009/vote", "key-4", yes("x"), 404, "NOT_FOUND", "tokenId"},
		{"worker is a word", "/api/agents/workers/x/vote", "key-4", yes("x"), 404, "NOT_FOUND", "tokenId"},
		{"unknown proposal", target, "key-4", yes("prop-99"), 404, "PROPOSAL_NOT_FOUND", "proposalId"},
		{"another token's", target, "key-4", yes(foreign), 404, "PROPOSAL_NOT_FOUND", "proposalId"},
		{"level before holdings", target, "key-6", yes(prop), 403, "LEVEL_TOO_LOW", ""},
		{"level", target, "key-4", yes(prop), 403, "LEVEL_TOO_LOW", ""},
		{"holdings", target, "key-3", yes(prop), 403, "NO_HOLDINGS", ""},
		{"voted", target, "key-5", yes(prop), 409, "ALREADY_VOTED", "proposalId"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var header []string
			if row.key != "" {
				header = append(header, "API-PublicKey", row.key)
			}
			a := c.Do("POST", row.target, row.body, header...)
			c.CheckRefusal(a, row.status, row.code, row.field)
			if a.Header.Get("X-RateLimit-Limit") == "" {
				t.Error("no limit headers")
			}
		})
	}
	c.Advance(servertest.DayNs - 1)
	c.Must(c.PostAs(5, target, yes(closed))) // votes count while now < closesAt
	c.Advance(1)
	c.CheckRefusal(c.PostAs(1, target, yes(closed)), 409, "PROPOSAL_CLOSED", "proposalId")
	c.CheckRefusal(c.PostAs(5, target, yes(closed)), 409, "PROPOSAL_CLOSED", "proposalId") // before ALREADY_VOTED
	c.Levels[1] = 19
	c.CheckRefusal(c.PostAs(1, target, yes(closed)), 403, "LEVEL_TOO_LOW", "")
}

// weight is 1 + 0.9 x (level - 20) + owned + log10(holdings): 1 + 4.5 + 1 + 9.
func TestAVoteAnswersItsWeightAndTheTally(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	id := c.Token(1, "AAA")
	prop := c.Propose(id, false)
	c.Advance(5 * servertest.SecondNs)
	a := c.PostAs(1, "/api/agents/workers/"+id+"/vote",
		fmt.Sprintf(`{"proposalId":%q,"vote":"abstain","comment":"why <not>?"}`, prop))
	if c.Must(a); !strings.Contains(a.Body, `"weight":15.50,`) {
		t.Errorf("weight: %s", a.Body)
	}
	if !strings.Contains(a.Body, `"currentTally":{"yesWeight":0.00,"noWeight":0.00,"abstainWeight":15.50,`+
		`"quorumThreshold":100.0,"quorumReached":false,"passingThreshold":0.6,"currentlyPassing":false}`) {
		t.Errorf("tally: %s", a.Body)
	}
	p := c.Must(c.Get("/api/agents/proposals/" + prop + "?decimals=string"))
	for path, want := range map[string]string{
		"tally.abstainWeight": "15.50", "comments.0.comment": "why <not>?",
		"comments.0.votedAt": fmt.Sprint(servertest.StartNs/servertest.SecondNs + 5),
		"status":             "active", "payload.slippageCapBps": "150", "proposer": "somebody",
		"closesAt": fmt.Sprint(servertest.StartNs/servertest.SecondNs + 7*86400),
	} {
		if got := servertest.At(p, path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if body := c.Get("/api/agents/proposals?decimals=string").Body; !strings.Contains(body,
		`"abstainWeight":"15.50"`) || !strings.Contains(body, `"slippageCapBps":150`) {
		t.Errorf("decimals as text: %s", body)
	}
	// The vote is logged by the token's worker, without the voter.
	e := c.Must(c.Get("/api/agents/action-logs?actionType=vote"))
	if servertest.At(e, "items.0.sourceAgentId") != "worker-1" ||
		strings.Contains(servertest.At(e, "items.0.actionPayload"), "user") || servertest.At(e, "totalItems") != "1" {
		t.Errorf("logged: %v", e)
	}
}

func TestFiftyParallelVotesOfOneUserCountOnce(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	id := c.Token(1, "AAA")
	prop := c.Propose(id, false)
	for n := 2; n <= 9; n++ {
		c.Transfer(id, 1, n, "1000")
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	won, sum := 0, int64(0)
	for i := range 50 + 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			user := max(i-48, 1) // fifty times user 1, then others among them
			a := c.PostAs(user, "/api/agents/workers/"+id+"/vote", fmt.Sprintf(`{"proposalId":%q,"vote":"yes"}`, prop))
			mu.Lock()
			defer mu.Unlock()
			if a.Status != 200 {
				c.CheckRefusal(a, 409, "ALREADY_VOTED", "proposalId")
				return
			}
			won++
			weight := strings.Replace(servertest.At(c.Must(a), "weight"), ".", "", 1)
			cents, err := strconv.ParseInt(weight, 10, 64)
			if err != nil {
				t.Error(err)
			}
			sum += cents
		}()
	}
	wg.Wait()
	if won != 9 {
		t.Errorf("%d votes counted, want 9", won)
	}
	if got := strings.Replace(c.MustGet("/api/agents/proposals/"+prop, "tally.yesWeight"), ".", "",
		1); got != fmt.Sprint(sum) {
		t.Errorf("tally %s, the weights sum to %d", got, sum)
	}
}

func TestVotesPerUserAreLimited(t *testing.T) {
	c := servertest.NewAgents(t)
	id := c.Token(1, "AAA")
	target := "/api/agents/workers/" + id + "/vote"
	const body = `{"proposalId":"prop-1","vote":"yes"}`
	for i := range 10 {
		if i == 5 {
			c.Machine.Add(20 * servertest.SecondNs) // the limit per address and second is another one
		}
		c.CheckRefusal(c.PostAs(1, target, body), 404, "PROPOSAL_NOT_FOUND", "proposalId")
	}
	c.Machine.Add(20 * servertest.SecondNs)
	c.CheckRefusal(c.Do("POST", target, body), 401, "UNAUTHORIZED", "API-PublicKey") // counts for no user
	a := c.PostAs(1, target, `{`)
	c.CheckRefusal(a, 429, "RATE_LIMIT", "")
	if a.Header.Get("Retry-After") != "20" || !strings.Contains(a.Body, "Retry after 20 seconds.") {
		t.Errorf("Retry-After %q: %s", a.Header.Get("Retry-After"), a.Body)
	}
	c.CheckRefusal(c.PostAs(2, target, body), 404, "PROPOSAL_NOT_FOUND", "proposalId") // another user
	c.Machine.Add(20*servertest.SecondNs - 1)
	c.CheckRefusal(c.PostAs(1, target, body), 429, "RATE_LIMIT", "")
	c.Machine.Add(1)
	c.CheckRefusal(c.PostAs(1, target, body), 404, "PROPOSAL_NOT_FOUND", "proposalId")

	free := servertest.NewUnlimitedAgents(t)
	id = free.Token(1, "AAA")
	for range 30 {
		free.CheckRefusal(free.PostAs(1, "/api/agents/workers/"+id+"/vote", body), 404,
			"PROPOSAL_NOT_FOUND", "proposalId")
	}
	byKey := servertest.NewAgents(t, func(o *servertest.Options) { o.Rate.Allow = []string{"key-1"} })
	id = byKey.Token(1, "AAA")
	for range 30 {
		byKey.CheckRefusal(byKey.PostAs(1, "/api/agents/workers/"+id+"/vote", body), 404,
			"PROPOSAL_NOT_FOUND", "proposalId")
	}
}

func TestActionLogFiltersAgainstANaiveScan(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	ids := []string{c.Token(1, "AAA"), c.Token(2, "BBB"), "0"}
	sources := []string{"queen-1", "scout-2", "worker-1", "worker-2"}
	kinds := []string{"observation", "risk_score", "signal", "flag", "directive"}
	type entry struct{ source, token, kind, sec string }
	var log []entry
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range 120 {
		c.Advance(rnd.Int64N(3 * servertest.SecondNs))
		e := entry{
			sources[rnd.IntN(4)], ids[rnd.IntN(3)], kinds[rnd.IntN(5)],
			fmt.Sprint(c.Clock.NowNs() / servertest.SecondNs),
		}
		got := c.Must(c.AddAction(e.source, e.token, e.kind, `{"n":1.50}`))
		if servertest.At(got, "entryId") != fmt.Sprint(len(log)+1) || len(servertest.At(got, "prevHash")) != 66 {
			t.Fatalf("entry: %v", got)
		}
		log = append(log, e)
	}
	start := servertest.StartNs / servertest.SecondNs
	for range 200 {
		var query []string
		keep := func(entry) bool { return true }
		add := func(q string, f func(entry) bool) {
			before := keep
			query = append(query, q)
			keep = func(e entry) bool { return before(e) && f(e) }
		}
		if v := ids[rnd.IntN(3)]; rnd.IntN(2) == 0 {
			add("tokenId="+v, func(e entry) bool { return e.token == v })
		}
		if v := kinds[rnd.IntN(5)]; rnd.IntN(2) == 0 {
			add("actionType="+v, func(e entry) bool { return e.kind == v })
		}
		if v := []string{"queen", "scout", "worker"}[rnd.IntN(3)]; rnd.IntN(2) == 0 {
			add("sourceTier="+v, func(e entry) bool { return strings.HasPrefix(e.source, v) })
		}
		since, until := start+rnd.Int64N(100), start+100+rnd.Int64N(100)
		if rnd.IntN(2) == 0 {
			add(fmt.Sprintf("since=%d", since), func(e entry) bool { return e.sec >= fmt.Sprint(since) })
		}
		if rnd.IntN(2) == 0 {
			add(fmt.Sprintf("until=%d", until), func(e entry) bool { return e.sec <= fmt.Sprint(until) })
		}
		var want []string
		for i := len(log) - 1; i >= 0; i-- {
			if keep(log[i]) {
				want = append(want, fmt.Sprint(i+1))
			}
		}
		size, page := 1+rnd.IntN(60), 1+rnd.IntN(3)
		from := min((page-1)*size, len(want))
		q := fmt.Sprintf("/api/agents/action-logs?%s&page=%d&pageSize=%d", strings.Join(query, "&"), page, size)
		m := c.Must(c.Get(q))
		var got []string
		for _, it := range m["items"].([]any) {
			got = append(got, servertest.At(it, "entryId"))
			if servertest.At(it, "prevHash") != "(missing)" {
				t.Errorf("prevHash is not for everyone: %v", it)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want[from:min(from+size, len(want))]) ||
			servertest.At(m, "totalItems") != fmt.Sprint(len(want)) {
			t.Fatalf("%s: %s rows, want %d, page: %s", q, servertest.At(m, "totalItems"), len(want),
				differ.Diff(want[from:min(from+size, len(want))], got))
		}
	}
	if n := c.Must(c.Get("/api/agents/action-logs"))["items"].([]any); len(n) != hive.DefaultLogPageSize {
		t.Errorf("default page of %d", len(n))
	}
	// Payloads are returned as they were sent, whatever the parameter decimals asks for.
	if body := c.Get("/api/agents/action-logs?pageSize=1&decimals=string").Body; !strings.Contains(body, `{"n":1.50}`) {
		t.Errorf("payload: %s", body)
	}
	for target, want := range map[string]string{
		"/api/agents/action-logs?tokenId=10009": "0", "/api/agents/action-logs?tokenId=-1": "0",
		"/api/agents/proposals?tokenId=10009": "0", "/api/agents/workers?tokenAddress=" +
			servertest.UserAddress(1): "0",
	} {
		if got := c.MustGet(target, "totalItems"); got != want {
			t.Errorf("%s: %s items", target, got)
		}
	}
}

func TestInternalHiveRefuses(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	id := c.Token(1, "AAA")
	for _, row := range []struct {
		path, body  string
		status      int
		code, field string
	}{
		{"/hive/actions", `{}`, 400, "INVALID_PARAM", "sourceAgentId"},
		{"/hive/actions", `{"sourceAgentId":"queen-1"}`, 400, "INVALID_PARAM", "targetTokenId"},
		{"/hive/actions", `{"sourceAgentId":"queen-1","targetTokenId":"10001"}`, 400, "INVALID_PARAM", "targetTokenId"},
		{
			"/hive/actions", `{"sourceAgentId":"queen-1","targetTokenId":10001,"actionType":"fly"}`, 400,
			"INVALID_PARAM", "actionType",
		},
		{"/hive/actions", `{"sourceAgentId":"queen-1","targetTokenId":10001,"actionType":"override",` +
			`"actionPayload":{"slippageCapBps":49}}`, 400, "INVALID_PARAM", "actionPayload.slippageCapBps"},
		{
			"/hive/actions", `{"sourceAgentId":"queen-1","targetTokenId":10001,"actionType":"flag"}`, 400,
			"INVALID_PARAM", "reasonCode",
		},
		{"/hive/actions", `{"sourceAgentId":"queen-1","targetTokenId":10001,"actionType":"flag","reasonCode":"` +
			strings.Repeat("r", 33) + `"}`, 400, "INVALID_PARAM", "reasonCode"},
		{
			"/hive/actions", `{"sourceAgentId":"queen-4","targetTokenId":10001,"actionType":"flag","reasonCode":"r"}`,
			404,
			"NOT_FOUND", "sourceAgentId",
		},
		{
			"/hive/actions", `{"sourceAgentId":"worker-2","targetTokenId":10001,"actionType":"flag","reasonCode":"r"}`,
			404, "NOT_FOUND", "sourceAgentId",
		},
		{
			"/hive/actions", `{"sourceAgentId":"queen-1","targetTokenId":10002,"actionType":"flag","reasonCode":"r"}`,
			404,
			"NOT_FOUND", "targetTokenId",
		},
		{
			"/hive/actions", `{"sourceAgentId":"worker-1","targetTokenId":10001,"actionType":"override",` +
				`"reasonCode":"r"}`,
			403, "FORBIDDEN", "actionType",
		},
		{"/hive/actions", `{"sourceAgentId":"scout-1","targetTokenId":10001,"actionType":"suspension",` +
			`"actionPayload":{"suspended":true},"reasonCode":"r"}`, 403, "FORBIDDEN", "actionType"},
		{"/hive/proposals", `{"topic":"slippage_cap"}`, 400, "INVALID_PARAM", "tokenId"},
		{"/hive/proposals", `{"tokenId":10001,"topic":"colour"}`, 400, "INVALID_PARAM", "topic"},
		{"/hive/proposals", `{"tokenId":10001,"topic":"slippage_cap"}`, 400, "INVALID_PARAM", "payload"},
		{
			"/hive/proposals", `{"tokenId":10001,"topic":"slippage_cap","payload":{"slippageCapBps":201},` +
				`"proposer":"x"}`,
			400, "INVALID_PARAM", "payload.slippageCapBps",
		},
		{
			"/hive/proposals", `{"tokenId":10001,"topic":"slippage_cap","payload":{"slippageCapBps":100}}`, 400,
			"INVALID_PARAM", "proposer",
		},
		{"/hive/proposals", `{"tokenId":10001,"topic":"slippage_cap","payload":{"slippageCapBps":100},"proposer":"x",` +
			`"urgent":"no"}`, 400, "INVALID_PARAM", "urgent"},
		{
			"/hive/proposals", `{"tokenId":10002,"topic":"slippage_cap","payload":{"slippageCapBps":100},` +
				`"proposer":"x"}`,
			404, "NOT_FOUND", "tokenId",
		},
	} {
		t.Run(row.path+row.body, func(t *testing.T) {
			c.CheckRefusal(c.CallInternal("POST", row.path, row.body), row.status, row.code, row.field)
		})
	}
	if c.MustGet("/api/agents/action-logs", "totalItems") != "0" {
		t.Error("a refusal was logged")
	}
	c.Must(c.AddAction("scout-1", id, "override", `{"mevProtection":"strict"}`))
	w := c.Must(c.Get("/api/agents/workers/" + id))
	for path, want := range map[string]string{
		"config.mevProtection": "strict", "stats.overridingTier": "scout",
		"stats.lastOverrideAt":       fmt.Sprint(servertest.StartNs / servertest.SecondNs),
		"recentActions.0.reasonCode": "test", "recentActions.0.params": `{"mevProtection":"strict"}`,
		"config.slippageCapBps":      "100",
		"config.signalSubscriptions": `["scout-token-quality","scout-trading-pattern"]`, "votes.activeProposals": "0",
	} {
		if got := servertest.At(w, path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// A token counts once for a proposal: the second holder's vote weighs what they held when it was made.
func TestATokenCountsOnceForAProposal(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	id := c.Token(1, "AAA")
	prop := c.Propose(id, false)
	vote := func(n int, prop string) any {
		t.Helper()
		return servertest.At(c.Must(c.PostAs(n, "/api/agents/workers/"+id+"/vote",
			fmt.Sprintf(`{"proposalId":%q,"vote":"yes"}`, prop))), "weight")
	}
	first := vote(1, prop)
	c.Transfer(id, 1, 2, "999999999")
	second := vote(2, prop)
	later := vote(2, c.Propose(id, false))
	if fmt.Sprint(first, " ", second, " ", later) != "15.50 5.50 14.50" {
		t.Errorf("weights %v, %v and %v", first, second, later)
	}
}
