package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tickhive/accounts"
)

// voter is a user with a key that may trade.
type voter struct {
	id, public, private string
	nonces              int
	mu                  sync.Mutex
}

// voter creates a user of the given level with NATIVE and USBI.
func (in *instance) voter(level int, native, usbi string) *voter {
	in.t.Helper()
	u := &voter{id: in.call(200, "POST", "/users", fmt.Sprintf(`{"level":%d}`, level))["id"].(string)}
	for code, amount := range map[string]string{"NATIVE": native, "USBI": usbi} {
		in.call(200, "POST", "/users/"+u.id+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":%q}`, code, amount))
	}
	key := in.call(200, "POST", "/users/"+u.id+"/apikeys", `{"name":"test","canTrade":true}`)
	u.public, u.private = key["publicKey"].(string), key["privateKey"].(string)
	return u
}

// signed returns the headers of a signed request (docs/contract/signing.md#signature).
func (u *voter) signed(nowMs, method, target, body string) []string {
	u.mu.Lock()
	u.nonces++
	nonce := fmt.Sprintf("n-%s-%d", nowMs, u.nonces)
	u.mu.Unlock()
	hash := sha256.Sum256([]byte(body))
	mac := hmac.New(sha256.New, []byte(u.private))
	fmt.Fprintf(mac, "%s\n%s\n%s\n%s\n%s", nowMs, nonce, method, target, hex.EncodeToString(hash[:]))
	return []string{
		"API-PublicKey", u.public, "API-Timestamp", nowMs, "API-Nonce", nonce,
		"API-Signature", hex.EncodeToString(mac.Sum(nil)), "Content-Type", "application/json",
	}
}

// as sends a signed POST request.
func (in *instance) as(u *voter, target, body string) answer {
	in.t.Helper()
	now := fmt.Sprint(object(in.t, in.do("GET", in.public+"/api/time", "").body)["serverTime"])
	return in.do("POST", in.public+target, body, u.signed(now, "POST", target, body)...)
}

// see sends a GET to the public listener that must succeed.
func (in *instance) see(target string) map[string]any {
	in.t.Helper()
	a := in.do("GET", in.public+target, "")
	if a.status != 200 {
		in.t.Fatalf("GET %s: %d %s", target, a.status, a.body)
	}
	return object(in.t, a.body)
}

func within(m map[string]any, path string) string {
	var v any = m
	for _, name := range strings.Split(path, ".") {
		x, ok := v.(map[string]any)
		if !ok {
			return "(missing)"
		}
		v = x[name]
	}
	return fmt.Sprint(v)
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
	in := startEmpty(t, args...)
	u, poor := in.voter(25, "10", "1000"), in.voter(19, "7", "1")
	const body = `{"name":"Alpha","symbol":"ALPHA","totalSupply":"1000000"}`
	if a := in.as(poor, "/api/launchpad/spawn", body); a.status != 402 {
		t.Fatalf("poor: %d %s", a.status, a.body)
	}
	a := in.as(u, "/api/launchpad/spawn", body)
	if a.status != 200 {
		t.Fatalf("spawn: %d %s", a.status, a.body)
	}
	spawned := object(t, a.body)
	token := within(spawned, "worker.agentNftId")
	if b := in.do("GET", in.internal+"/users/"+u.id, ""); !strings.Contains(b.body,
		`"currencyCode":"NATIVE","free":2.5,`) {
		t.Errorf("the fee: %s", b.body)
	}
	in.call(200, "POST", "/launchpad/tokens/"+token+"/liquidity",
		fmt.Sprintf(`{"userId":%q,"tokenAmount":1000,"quoteAmount":100}`, u.id))
	in.call(200, "POST", "/launchpad/tokens/"+token+"/swaps",
		fmt.Sprintf(`{"userId":%q,"side":"buy","amountIn":10}`, u.id))
	in.call(200, "POST", "/launchpad/tokens/"+token+"/boosts", `{"tier":"short"}`)
	prop := in.call(200, "POST", "/hive/proposals",
		`{"tokenId":`+token+`,"topic":"mev_protection","payload":{"mevProtection":"strict"},"proposer":"me",`+
			`"urgent":true}`)
	id := fmt.Sprint(prop["proposalId"])
	vote := fmt.Sprintf(`{"proposalId":%q,"vote":"yes"}`, id)
	if a := in.as(poor, "/api/agents/workers/"+token+"/vote", vote); a.status != 403 ||
		!strings.Contains(a.body, "LEVEL_TOO_LOW") {
		t.Errorf("level 19: %d %s", a.status, a.body)
	}
	if a := in.as(u, "/api/agents/workers/"+token+"/vote", vote); a.status != 200 {
		t.Fatalf("vote: %d %s", a.status, a.body)
	}
	in.call(200, "POST", "/clock", `{"advance":"3599s"}`)
	entries := in.see("/api/agents/action-logs")
	in.signal(syscall.SIGKILL)
	in.wait()

	in = startEmpty(t, args...)
	if got := in.see("/api/agents/action-logs"); fmt.Sprint(got) != fmt.Sprint(entries) {
		t.Errorf("the log after a kill: %v, before %v", got, entries)
	}
	in.call(200, "POST", "/clock", fmt.Sprintf(`{"to":%d}`,
		time.Date(2026, 1, 1, 0, 59, 59, 999e6, time.UTC).UnixMilli()))
	if d := in.see("/api/launchpad/tokens/" + token); within(d, "boost.active") != "true" ||
		within(d, "pool.volume24h") != "10.00" {
		t.Errorf("an instant before the boost ends: %v", d)
	}
	in.call(200, "POST", "/clock", `{"advance":"1ms"}`)
	if d := in.see("/api/launchpad/tokens/" + token); within(d, "boost.active") != "false" {
		t.Errorf("at the end of the boost: %v", d)
	}
	if a := in.as(u, "/api/agents/workers/"+token+"/vote", vote); a.status != 409 ||
		!strings.Contains(a.body, "ALREADY_VOTED") {
		t.Errorf("a vote remembered: %d %s", a.status, a.body)
	}
	in.call(200, "POST", "/clock", `{"advance":"23h"}`)
	if d := in.see("/api/agents/proposals/" + id); d["status"] != "passed" {
		t.Errorf("the proposal: %v", d)
	}
	if d := in.see("/api/agents/workers/" + token); within(d, "config.mevProtection") != "strict" {
		t.Errorf("the worker: %v", d)
	}
	in.signal(syscall.SIGTERM)
	if code := in.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	var proof strings.Builder
	if err := (&journalVerifyCmd{Dir: filepath.Join(dir, "hive")}).Run(&program{out: &proof}); err != nil ||
		!strings.HasPrefix(proof.String(), "hive entries 1 to 3 head 0x") {
		t.Errorf("the chain, offline: %q %v", proof.String(), err)
	}
	if in = startEmpty(t, args...); within(in.see("/api/launchpad/tokens/"+token), "token.address") != within(spawned,
		"token.address") {
		t.Error("another token after a snapshot")
	}
}

// demoPicture returns everything of launchpad and hive that a visitor sees, except times.
func demoPicture(in *instance) string {
	var b strings.Builder
	for _, target := range []string{
		"/api/launchpad/tokens?pageSize=100", "/api/agents/overview", "/api/agents/workers?pageSize=100",
		"/api/agents/proposals?pageSize=100", "/api/agents/action-logs?pageSize=100",
	} {
		b.WriteString(in.do("GET", in.public+target, "").body)
	}
	return b.String()
}

func TestADemoHasALaunchpadAndAHiveFromTheStart(t *testing.T) {
	t.Parallel()
	args := []string{
		"--clock", "virtual", "--clock-start", "2026-01-10T00:00:00Z", "--backfill", "2h", "--set",
		"rate.allow=127.0.0.1",
	}
	in, again := start(t, args...), start(t, args...)
	total := func(target string) json.Number {
		n, _ := in.see(target)["totalItems"].(json.Number)
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
	items, _ := in.see("/api/agents/proposals?status=active&pageSize=3")["items"].([]any)
	me := in.call(200, "GET", "/users/"+accounts.UserID(1).String(), "")
	for _, it := range items {
		p, _ := it.(map[string]any)
		a := in.do("POST", in.internal+fmt.Sprintf("/launchpad/tokens/%v/transfers", p["tokenId"]),
			fmt.Sprintf(`{"fromUserId":%q,"toUserId":%q,"amount":1}`, me["id"], me["id"]))
		holds = holds || a.status == 200
		again.do("POST", again.internal+fmt.Sprintf("/launchpad/tokens/%v/transfers", p["tokenId"]),
			fmt.Sprintf(`{"fromUserId":%q,"toUserId":%q,"amount":1}`, me["id"], me["id"]))
	}
	if !holds {
		t.Errorf("the demo user holds nothing of %v", items)
	}
	if a, b := demoPicture(in), demoPicture(again); a != b {
		t.Errorf("the same seed, two demos:\n%.2000s\n%.2000s", a, b)
	}
	before := demoPicture(in)
	in.call(200, "POST", "/clock", `{"advance":"3h"}`)
	for range 3 {
		again.call(200, "POST", "/clock", `{"advance":"1h"}`)
	}
	if a, b := demoPicture(in), demoPicture(again); a != b || a == before {
		t.Errorf("three hours at once and one by one:\n%.2000s\n%.2000s", a, b)
	}
}

// hiveLoad is one user's part of the load of a kill loop, with the acknowledged results.
type hiveLoad struct {
	user    *voter
	spent   int // USBI paid into the pool by acknowledged swaps
	pending int // swaps that may have been applied but were not acknowledged
	voted   map[string]bool
	entries map[string]string // entryId -> reasonCode
}

// run swaps, votes and adds actions until the process has ended.
func (l *hiveLoad) run(in *instance, token string, props []string, n int) {
	client := &http.Client{Timeout: patience}
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
		status, _ := post(in.internal+"/launchpad/tokens/"+token+"/swaps",
			fmt.Sprintf(`{"userId":%q,"side":"buy","amountIn":1}`, l.user.id))
		if status != 200 {
			return
		}
		l.pending--
		l.spent++
		reason := fmt.Sprintf("r-%d-%d", n, i)
		status, m := post(in.internal+"/hive/actions", fmt.Sprintf(
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
		status, _ = post(in.public+target, body,
			l.user.signed(fmt.Sprint(time.Now().UnixMilli()), "POST", target, body)...)
		if status == 200 || status == 409 {
			l.voted[props[i]] = true
		} else if status == 0 {
			return
		}
	}
}

// kill -9 at any moment neither loses nor repeats an acknowledged swap, vote or entry.
func TestKillNineLosesNothingOfLaunchpadAndHive(t *testing.T) {
	t.Parallel()
	kills := 3
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		kills = 60
	}
	args := []string{
		"--pairs", "none", "--sim", "off", "--data-dir", t.TempDir(), "--set", "rate.allow=127.0.0.1",
		"--set", "journal.segment_bytes=16384", "--set", "journal.snapshot_bytes=30000",
	}
	in := start(t, args...)
	loads := make([]*hiveLoad, 8)
	for i := range loads {
		loads[i] = &hiveLoad{
			user: in.voter(25, "100", "100000"), voted: map[string]bool{},
			entries: map[string]string{},
		}
	}
	owner := loads[0].user.id
	token := within(in.call(200, "POST", "/launchpad/tokens",
		fmt.Sprintf(`{"userId":%q,"name":"A","symbol":"AAA"}`, owner)), "worker.agentNftId")
	in.call(200, "POST", "/launchpad/tokens/"+token+"/liquidity",
		fmt.Sprintf(`{"userId":%q,"tokenAmount":1000000,"quoteAmount":1000}`, owner))
	loads[0].spent = 1000
	for k := range kills {
		var props []string
		for range 5 {
			p := in.call(200, "POST", "/hive/proposals",
				`{"tokenId":`+token+`,"topic":"slippage_cap","payload":{"slippageCapBps":60},"proposer":"x"}`)
			props = append(props, fmt.Sprint(p["proposalId"]))
		}
		var wg sync.WaitGroup
		for n, l := range loads {
			wg.Go(func() { l.run(in, token, props, k*100+n) })
		}
		<-time.After(time.Duration(100+70*(k%5)) * time.Millisecond)
		in.signal(syscall.SIGKILL)
		in.wait()
		wg.Wait()
		in = start(t, args...)
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

func (l *hiveLoad) check(t *testing.T, in *instance, n int) {
	t.Helper()
	body := in.do("GET", in.internal+"/users/"+l.user.id, "").body
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
		if a := in.as(l.user, "/api/agents/workers/10001/vote",
			fmt.Sprintf(`{"proposalId":%q,"vote":"no"}`, p)); !strings.Contains(a.body, "ALREADY_VOTED") {
			t.Errorf("user %d: the vote on %s is gone: %s", n, p, a.body)
		}
	}
	log := map[string]string{}
	for page := 1; ; page++ {
		items, _ := in.see(fmt.Sprintf("/api/agents/action-logs?actionType=signal&pageSize=100&page=%d",
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
