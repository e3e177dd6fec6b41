package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/test/harness"
)

// see sends a GET to the public listener that must succeed.
func see(in *harness.Instance, target string) map[string]any {
	in.T.Helper()
	a := in.Do("GET", in.Public+target, "")
	if a.Status != 200 {
		in.T.Fatalf("GET %s: %d %s", target, a.Status, a.Body)
	}
	return harness.Object(in.T, a.Body)
}

// A token passes through spawn, pool, boost, proposal and vote over both listeners. Timed
// changes happen at their second, although the process is killed in between.
func TestLaunchpadAndHiveSurviveTheirProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{
		"--data-dir", dir, "--set", "rate.allow=127.0.0.1", "--set", "hive.quorum=10", "--set",
		"launchpad.fee=7.5",
	}
	in := harness.StartEmpty(t, args...)
	u, poor := in.Voter(25, "10", "1000"), in.Voter(19, "7", "1")
	const body = `{"name":"Alpha","symbol":"ALPHA","totalSupply":"1000000"}`
	if a := in.As(poor, "/api/launchpad/spawn", body); a.Status != 402 {
		t.Fatalf("poor: %d %s", a.Status, a.Body)
	}
	a := in.As(u, "/api/launchpad/spawn", body)
	if a.Status != 200 {
		t.Fatalf("spawn: %d %s", a.Status, a.Body)
	}
	spawned := harness.Object(t, a.Body)
	token := harness.Within(spawned, "worker.agentNftId")
	if b := in.Do("GET", in.Internal+"/users/"+u.ID, ""); !strings.Contains(b.Body,
		`"currencyCode":"NATIVE","free":2.5,`) {
		t.Errorf("the fee: %s", b.Body)
	}
	in.Call(200, "POST", "/launchpad/tokens/"+token+"/liquidity",
		fmt.Sprintf(`{"userId":%q,"tokenAmount":1000,"quoteAmount":100}`, u.ID))
	in.Call(200, "POST", "/launchpad/tokens/"+token+"/swaps",
		fmt.Sprintf(`{"userId":%q,"side":"buy","amountIn":10}`, u.ID))
	in.Call(200, "POST", "/launchpad/tokens/"+token+"/boosts", `{"tier":"short"}`)
	prop := in.Call(200, "POST", "/hive/proposals",
		`{"tokenId":`+token+`,"topic":"mev_protection","payload":{"mevProtection":"strict"},"proposer":"me",`+
			`"urgent":true}`)
	id := fmt.Sprint(prop["proposalId"])
	vote := fmt.Sprintf(`{"proposalId":%q,"vote":"yes"}`, id)
	if a := in.As(poor, "/api/agents/workers/"+token+"/vote", vote); a.Status != 403 ||
		!strings.Contains(a.Body, "LEVEL_TOO_LOW") {
		t.Errorf("level 19: %d %s", a.Status, a.Body)
	}
	if a := in.As(u, "/api/agents/workers/"+token+"/vote", vote); a.Status != 200 {
		t.Fatalf("vote: %d %s", a.Status, a.Body)
	}
	in.Call(200, "POST", "/clock", `{"advance":"3599s"}`)
	entries := see(in, "/api/agents/action-logs")
	in.Signal(syscall.SIGKILL)
	in.Wait()

	in = harness.StartEmpty(t, args...)
	if got := see(in, "/api/agents/action-logs"); fmt.Sprint(got) != fmt.Sprint(entries) {
		t.Errorf("the log after a kill: %s", differ.Diff(entries, got))
	}
	in.Call(200, "POST", "/clock", fmt.Sprintf(`{"to":%d}`,
		time.Date(2026, 1, 1, 0, 59, 59, 999e6, time.UTC).UnixMilli()))
	if d := see(in, "/api/launchpad/tokens/"+token); harness.Within(d, "boost.active") != "true" ||
		harness.Within(d, "pool.volume24h") != "10.00" {
		t.Errorf("an instant before the boost ends: %v", d)
	}
	in.Call(200, "POST", "/clock", `{"advance":"1ms"}`)
	if d := see(in, "/api/launchpad/tokens/"+token); harness.Within(d, "boost.active") != "false" {
		t.Errorf("at the end of the boost: %v", d)
	}
	if a := in.As(u, "/api/agents/workers/"+token+"/vote", vote); a.Status != 409 ||
		!strings.Contains(a.Body, "ALREADY_VOTED") {
		t.Errorf("a vote remembered: %d %s", a.Status, a.Body)
	}
	in.Call(200, "POST", "/clock", `{"advance":"23h"}`)
	if d := see(in, "/api/agents/proposals/"+id); d["status"] != "passed" {
		t.Errorf("the proposal: %v", d)
	}
	if d := see(in, "/api/agents/workers/"+token); harness.Within(d, "config.mevProtection") != "strict" {
		t.Errorf("the worker: %v", d)
	}
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	code, proof, errs := harness.Run(t, "journal", "verify", dir)
	if code != 0 || !strings.Contains(proof, "\nhive entries 1 to 3 head 0x") {
		t.Errorf("the chain, offline: exit code %d, %q %s", code, proof, errs)
	}
	if in = harness.StartEmpty(t, args...); harness.Within(see(in, "/api/launchpad/tokens/"+token),
		"token.address") != harness.Within(spawned,
		"token.address") {
		t.Error("another token after a snapshot")
	}
}

// demoPicture returns everything of launchpad and hive that a visitor sees, except times.
func demoPicture(in *harness.Instance) string {
	var b strings.Builder
	for _, target := range []string{
		"/api/launchpad/tokens?pageSize=100", "/api/agents/overview", "/api/agents/workers?pageSize=100",
		"/api/agents/proposals?pageSize=100", "/api/agents/action-logs?pageSize=100",
	} {
		b.WriteString(in.Do("GET", in.Public+target, "").Body)
	}
	return b.String()
}

func TestADemoHasALaunchpadAndAHiveFromTheStart(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	args := []string{
		"--clock", "virtual", "--clock-start", "2026-01-10T00:00:00Z", "--backfill", "2h", "--set",
		"rate.allow=127.0.0.1",
	}
	in, again := harness.Start(t, args...), harness.Start(t, args...)
	total := func(target string) json.Number {
		n, _ := see(in, target)["totalItems"].(json.Number)
		return n
	}
	tokens, err := total("/api/launchpad/tokens").Int64()
	if err != nil || tokens < 20 {
		t.Errorf("%d tokens: %v", tokens, err)
	}
	for _, target := range []string{
		"/api/launchpad/tokens?boosted=true", "/api/agents/workers?status=idle", "/api/agents/workers?status=active",
		"/api/agents/proposals?status=active", "/api/agents/proposals?status=passed",
		"/api/agents/proposals?status=rejected",
	} {
		if total(target) == "0" {
			t.Errorf("%s: nothing there", target)
		}
	}
	// The first demo user can vote at once.
	holds := false
	items, _ := see(in, "/api/agents/proposals?status=active&pageSize=3")["items"].([]any)
	me := in.Call(200, "GET", "/users/"+accounts.UserID(1).String(), "")
	for _, it := range items {
		p, _ := it.(map[string]any)
		a := in.Do("POST", in.Internal+fmt.Sprintf("/launchpad/tokens/%v/transfers", p["tokenId"]),
			fmt.Sprintf(`{"fromUserId":%q,"toUserId":%q,"amount":1}`, me["id"], me["id"]))
		holds = holds || a.Status == 200
		again.Do("POST", again.Internal+fmt.Sprintf("/launchpad/tokens/%v/transfers", p["tokenId"]),
			fmt.Sprintf(`{"fromUserId":%q,"toUserId":%q,"amount":1}`, me["id"], me["id"]))
	}
	if !holds {
		t.Errorf("the demo user holds nothing of %v", items)
	}
	if a, b := demoPicture(in), demoPicture(again); a != b {
		t.Errorf("the same seed, two demos:\n%.2000s\n%.2000s", a, b)
	}
	before := demoPicture(in)
	in.Call(200, "POST", "/clock", `{"advance":"3h"}`)
	for range 3 {
		again.Call(200, "POST", "/clock", `{"advance":"1h"}`)
	}
	if a, b := demoPicture(in), demoPicture(again); a != b || a == before {
		t.Errorf("three hours at once and one by one:\n%.2000s\n%.2000s", a, b)
	}
}

// hiveLoad is one user's part of the load of a kill loop, with the acknowledged results.
type hiveLoad struct {
	user    *harness.Voter
	spent   int // USBI paid into the pool by acknowledged swaps
	pending int // swaps that may have been applied but were not acknowledged
	voted   map[string]bool
	entries map[string]string // entryId -> reasonCode
}

// run swaps, votes and adds actions until the process has ended, and counts the acknowledged swaps in acked.
func (l *hiveLoad) run(in *harness.Instance, token string, props []string, n int, acked *atomic.Int64) {
	client := &http.Client{Timeout: harness.Patience}
	defer client.CloseIdleConnections()
	post := func(url, body string, header ...string) (status int, m map[string]any) {
		req, err := http.NewRequest("POST", url, strings.NewReader(body))
		if err != nil {
			return 0, nil
		}
		for i := 0; i+1 < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := client.Do(req)
		if err != nil {
			return 0, nil
		}
		defer func() { _ = resp.Body.Close() }()
		if json.NewDecoder(resp.Body).Decode(&m) != nil {
			return 0, nil
		}
		return resp.StatusCode, m
	}
	for i := 0; ; i++ {
		l.pending++
		status, _ := post(in.Internal+"/launchpad/tokens/"+token+"/swaps",
			fmt.Sprintf(`{"userId":%q,"side":"buy","amountIn":1}`, l.user.ID))
		if status != 200 {
			return
		}
		l.pending--
		l.spent++
		acked.Add(1)
		reason := fmt.Sprintf("r-%d-%d", n, i)
		status, m := post(in.Internal+"/hive/actions", fmt.Sprintf(
			`{"sourceAgentId":"scout-1","targetTokenId":%s,"actionType":"signal","reasonCode":%q}`, token, reason))
		if status != 200 {
			return
		}
		l.entries[fmt.Sprintf("%.0f", m["entryId"])] = reason
		if i >= len(props) {
			continue
		}
		body := fmt.Sprintf(`{"proposalId":%q,"vote":"yes"}`, props[i])
		target := "/api/agents/workers/" + token + "/vote"
		status, _ = post(in.Public+target, body,
			l.user.Signed(fmt.Sprint(time.Now().UnixMilli()), "POST", target, body)...)
		if status == 200 || status == 409 {
			l.voted[props[i]] = true
		} else if status == 0 {
			return
		}
	}
}

// kill -9 at any moment neither loses nor repeats an acknowledged swap, vote or entry.
func TestKillNineLosesNothingOfLaunchpadAndHive(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	kills := 3
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		kills = 60
	}
	args := []string{
		"--pairs", "none", "--sim", "off", "--data-dir", t.TempDir(), "--set", "rate.allow=127.0.0.1",
		"--set", "journal.segment_bytes=16384", "--set", "journal.snapshot_bytes=30000",
	}
	in := harness.Start(t, args...)
	loads := make([]*hiveLoad, 8)
	for i := range loads {
		loads[i] = &hiveLoad{
			user: in.Voter(25, "100", "100000"), voted: map[string]bool{},
			entries: map[string]string{},
		}
	}
	owner := loads[0].user.ID
	token := harness.Within(in.Call(200, "POST", "/launchpad/tokens",
		fmt.Sprintf(`{"userId":%q,"name":"A","symbol":"AAA"}`, owner)), "worker.agentNftId")
	in.Call(200, "POST", "/launchpad/tokens/"+token+"/liquidity",
		fmt.Sprintf(`{"userId":%q,"tokenAmount":1000000,"quoteAmount":1000}`, owner))
	loads[0].spent = 1000
	for k := range kills {
		var props []string
		for range 5 {
			p := in.Call(200, "POST", "/hive/proposals",
				`{"tokenId":`+token+`,"topic":"slippage_cap","payload":{"slippageCapBps":60},"proposer":"x"}`)
			props = append(props, fmt.Sprint(p["proposalId"]))
		}
		var wg sync.WaitGroup
		var acked atomic.Int64
		for n, l := range loads {
			wg.Go(func() { l.run(in, token, props, k*100+n, &acked) })
		}
		harness.WaitFor(t, func() bool { return acked.Load() >= 40+int64(k%5)*30 })
		in.Signal(syscall.SIGKILL)
		in.Wait()
		wg.Wait()
		in = harness.Start(t, args...)
		for n, l := range loads {
			l.check(t, in, n)
		}
	}
	acked := 0
	for _, l := range loads {
		acked += l.spent + len(l.entries) + len(l.voted)
	}
	t.Logf("%d kills, %d acknowledged changes are there", kills, acked)
	if acked < 1100 {
		t.Errorf("only %d changes were acknowledged", acked)
	}
}

func (l *hiveLoad) check(t *testing.T, in *harness.Instance, n int) {
	t.Helper()
	body := in.Do("GET", in.Internal+"/users/"+l.user.ID, "").Body
	found := -1
	for extra := range l.pending + 1 {
		if strings.Contains(body, fmt.Sprintf(`"currencyCode":"USBI","free":%d.0,`, 100_000-l.spent-extra)) {
			found = extra
		}
	}
	if found < 0 {
		t.Errorf("user %d: %d swaps acknowledged, %d open: %s", n, l.spent, l.pending, body)
		return
	}
	l.spent, l.pending = l.spent+found, 0
	for p := range l.voted {
		if a := in.As(l.user, "/api/agents/workers/10001/vote",
			fmt.Sprintf(`{"proposalId":%q,"vote":"no"}`, p)); !strings.Contains(a.Body, "ALREADY_VOTED") {
			t.Errorf("user %d: the vote on %s is gone: %s", n, p, a.Body)
		}
	}
	log := map[string]string{}
	for page := 1; ; page++ {
		items, _ := see(in, fmt.Sprintf("/api/agents/action-logs?actionType=signal&pageSize=100&page=%d",
			page))["items"].([]any)
		for _, it := range items {
			e, _ := it.(map[string]any)
			log[fmt.Sprint(e["entryId"])] = fmt.Sprint(e["reasonCode"])
		}
		if len(items) < 100 {
			break
		}
	}
	for id, reason := range l.entries {
		if log[id] != reason {
			t.Errorf("user %d: entry %s is %q, acknowledged %q", n, id, log[id], reason)
		}
	}
}
