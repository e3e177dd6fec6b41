package agents_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tickhive/tickhive/launchpad"
	"github.com/tickhive/tickhive/server/agents"
	"github.com/tickhive/tickhive/server/servertest"
)

func TestLaunchpadRoutesAreThoseOfTheDescription(t *testing.T) {
	service, err := agents.New(agents.Options{
		Clock: servertest.NewMarket(t).Clock, User: (&servertest.Agents{}).User,
		Find: (&servertest.Agents{}).Find, VotesPerMinute: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	m := servertest.NewMarket(t, func(o *servertest.Options) { o.Resources = append(o.Resources, service.Routes) })
	servertest.Undescribed(t, m.Server.Routes())
	c, err := servertest.AgentContract()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range service.Routes(nil) {
		var described []string
		item := c.Doc.Paths.Value(r.Path)
		if item == nil {
			t.Fatalf("%s is not described", r.Path)
		}
		for _, p := range item.GetOperation(r.Method).Parameters {
			if p.Value.In == "query" && p.Value.Name != "decimals" {
				described = append(described, p.Value.Name)
			}
		}
		slices.Sort(described)
		var read []string
		for _, p := range r.Params {
			if !strings.Contains(r.Path, "{"+p.Name+"}") && p.Name != "decimals" {
				read = append(read, p.Name)
			}
		}
		slices.Sort(read)
		if !slices.Equal(read, described) {
			t.Errorf("%s %s reads %v, described are %v", r.Method, r.Path, read, described)
		}
	}
}

// Checks of a spawn in their order (docs/contract/launchpad.md#spawn): each row breaks its own rule
// and, where it can, a later one as well.
func TestSpawnRefusesInOrder(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	taken := c.Token(1, "TAKEN")
	if taken != "10001" {
		t.Fatalf("first registry id %s", taken)
	}
	const rest = `,"symbol":"taken","totalSupply":"0"}`
	for _, row := range []struct {
		name   string
		user   string
		media  string
		body   string
		status int
		code   string
		field  string
	}{
		{"media type before credentials", "", "text/plain", `{`, 415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type"},
		{"no key", "", "", `{`, 401, "UNAUTHORIZED", "API-PublicKey"},
		{"bad key", "nobody", "", `{`, 401, "UNAUTHORIZED", "API-Signature"},
		{"key that only reads", "ro-2", "", `{`, 403, "FORBIDDEN", ""},
		{"no body", "key-2", "", ``, 400, "INVALID_PARAM", ""},
		{"no JSON", "key-2", "", `{"name":`, 400, "INVALID_PARAM", ""},
		{"no object", "key-2", "", `[]`, 400, "INVALID_PARAM", ""},
		{"trailing data", "key-2", "", `{"name":"A","symbol":"AAA"} x`, 400, "INVALID_PARAM", ""},
		{"unknown member", "key-2", "", `{"name":"A","symbol":"AAA","owner":"me"}`, 400, "INVALID_PARAM", "owner"},
		{"duplicate member", "key-2", "", `{"name":"A","name":"A","symbol":"AAA"}`, 400, "INVALID_PARAM", "name"},
		{"no name", "key-2", "", `{"symbol":"taken"}`, 400, "INVALID_PARAM", "name"},
		{"name is null", "key-2", "", `{"name":null` + rest, 400, "INVALID_PARAM", "name"},
		{"name is a number", "key-2", "", `{"name":1` + rest, 400, "INVALID_PARAM", "name"},
		{"name is empty", "key-2", "", `{"name":""` + rest, 400, "INVALID_PARAM", "name"},
		{"name of 51", "key-2", "", `{"name":"` + strings.Repeat("ä", 51) + `"` + rest, 400, "INVALID_PARAM", "name"},
		{"control character", "key-2", "", `{"name":"a\u0007"` + rest, 400, "INVALID_PARAM", "name"},
		{"no symbol", "key-2", "", `{"name":"A","totalSupply":"0"}`, 400, "INVALID_PARAM", "symbol"},
		{
			"symbol is a number", "key-2", "", `{"name":"A","symbol":123,"totalSupply":"0"}`, 400,
			"INVALID_PARAM", "symbol",
		},
		{"lower case", "key-2", "", `{"name":"A"` + rest, 400, "INVALID_SYMBOL", "symbol"},
		{"two letters", "key-2", "", `{"name":"A","symbol":"AB"}`, 400, "INVALID_SYMBOL", "symbol"},
		{"six letters", "key-2", "", `{"name":"A","symbol":"ABCDEF"}`, 400, "INVALID_SYMBOL", "symbol"},
		{"a digit", "key-2", "", `{"name":"A","symbol":"AB1"}`, 400, "INVALID_SYMBOL", "symbol"},
		{
			"supply is a number", "key-2", "", `{"name":"A","symbol":"AAA","totalSupply":5,"decimals":6}`, 400,
			"INVALID_PARAM", "totalSupply",
		},
		{
			"supply 0", "key-2", "", `{"name":"A","symbol":"AAA","totalSupply":"0","decimals":6}`, 400,
			"INVALID_PARAM", "totalSupply",
		},
		{
			"supply 01", "key-2", "", `{"name":"A","symbol":"AAA","totalSupply":"01","decimals":6}`, 400,
			"INVALID_PARAM", "totalSupply",
		},
		{
			"supply with fraction", "key-2", "", `{"name":"A","symbol":"AAA","totalSupply":"1.5","decimals":6}`, 400,
			"INVALID_PARAM", "totalSupply",
		},
		{
			"supply above 10^30", "key-2", "",
			`{"name":"A","symbol":"AAA",` +
				`"totalSupply":"1000000000000000000000000000001"}`, 400, "INVALID_PARAM", "totalSupply",
		},
		{
			"decimals", "key-2", "", `{"name":"A","symbol":"AAA","decimals":17,"poolSide":"X"}`, 400,
			"INVALID_PARAM", "decimals",
		},
		{
			"pool side", "key-2", "", `{"name":"A","symbol":"AAA","poolSide":"usbi","metadata":[]}`, 400,
			"INVALID_PARAM", "poolSide",
		},
		{"metadata", "key-2", "", `{"name":"A","symbol":"AAA","metadata":[]}`, 400, "INVALID_PARAM", "metadata"},
		{"metadata above 4 KiB", "key-2", "", `{"name":"A","symbol":"AAA","metadata":{"a":"` +
			strings.Repeat("x", 4096) + `"}}`, 400, "INVALID_PARAM", "metadata"},
		{
			"website", "key-2", "", `{"name":"A","symbol":"AAA","metadata":{"website":"javascript:x"}}`, 400,
			"INVALID_PARAM", "metadata.website",
		},
		{
			"logo", "key-2", "", `{"name":"A","symbol":"AAA","metadata":{"logoUri":"data:x"}}`, 400,
			"INVALID_PARAM", "metadata.logoUri",
		},
		{"taken before fee", "key-2", "", `{"name":"A","symbol":"TAKEN"}`, 400, "SYMBOL_TAKEN", "symbol"},
		{"USBI is taken", "key-2", "", `{"name":"A","symbol":"USBI"}`, 400, "SYMBOL_TAKEN", "symbol"},
		{"taken before cooldown", "key-1", "", `{"name":"A","symbol":"TAKEN"}`, 400, "SYMBOL_TAKEN", "symbol"},
		{"cooldown before fee", "key-1", "", `{"name":"A","symbol":"AAA"}`, 400, "COOLDOWN_ACTIVE", ""},
		{"fee", "key-2", "", `{"name":"A","symbol":"AAA"}`, 402, "INSUFFICIENT_FEE", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var header []string
			if row.user != "" {
				header = append(header, "API-PublicKey", row.user)
			}
			if row.media != "" {
				header = append(header, "Content-Type", row.media)
			}
			a := c.Do("POST", "/api/launchpad/spawn", row.body, header...)
			c.CheckRefusal(a, row.status, row.code, row.field)
			if a.Header.Get("X-RateLimit-Limit") != "60" {
				t.Errorf("no limit headers on %d", row.status)
			}
		})
	}
	if n := c.MustGet("/api/launchpad/tokens", "totalItems"); n != "1" {
		t.Errorf("%s tokens after refusals", n)
	}
}

func TestASpawnIsAToken(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	c.Fund(7, 250, 0)
	const metadata = `{ "website":"https://a.example/?a=1&b=<2>", "x":[1.50, 2e3,{"d":0.10}],"logoUri":"ipfs://abc" }`
	a := c.Spawn(7, `{"name":"Größe","symbol":"ALPHA","totalSupply":"1000000000000000000000000000000","decimals":18,`+
		`"poolSide":"wNATIVE","metadata":`+metadata+`}`)
	m := c.Must(a)
	address := servertest.At(m, "token.address")
	for path, want := range map[string]string{
		"token.name": "Größe", "token.symbol": "ALPHA", "token.totalSupply": "1" + strings.Repeat("0", 30),
		"token.owner": servertest.UserAddress(7), "pool.side": "wNATIVE", "pool.feeTier": "10000", "worker.id": "1",
		"worker.agentNftId": "10001",
	} {
		if got := servertest.At(m, path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if got := c.Native(7); got != "150.0" {
		t.Errorf("after the fee: %s", got)
	}
	// By address in any case and by registry id; the metadata stands as it was sent, also
	// with its decimals asked for as text.
	for _, id := range []string{address, strings.ToUpper(address[2:]), "10001"} {
		if len(id) == 40 {
			id = "0x" + id
		}
		for _, query := range []string{"", "?decimals=string"} {
			a := c.Get("/api/launchpad/tokens/" + id + query)
			if c.Must(a); !strings.Contains(a.Body, `"metadata":`+metadata+`,"boost":`) {
				t.Errorf("metadata of %s%s: %s", id, query, a.Body)
			}
			if a.Header.Get("Etag") != "" || a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("cached: %v", a.Header)
			}
		}
	}
	d := c.Must(c.Get("/api/launchpad/tokens/10001"))
	for path, want := range map[string]string{
		"token.spawnedAt": fmt.Sprint(servertest.StartNs / servertest.SecondNs), "pool.tvl": "0.00",
		"pool.volume24h": "0.00", "pool.lastTradeAt": "0",
		"worker.status": "active", "worker.lastActionAt": "0", "worker.actionCount": "0",
		"boost.active": "false", "boost.tier": "null", "boost.expiresAt": "null",
	} {
		if got := servertest.At(d, path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	p := c.Must(c.Get("/api/launchpad/tokens/10001/pool"))
	if servertest.At(p, "price") != "null" || servertest.At(p, "tokenAddress") != address ||
		servertest.At(p, "tokenSymbol") != "ALPHA" {
		t.Errorf("empty pool: %v", p)
	}
	if got := c.MustGet("/api/launchpad/tokens/10001/worker",
		"worker.deployedAt"); got != fmt.Sprint(servertest.StartNs/servertest.SecondNs) {
		t.Errorf("deployedAt %s", got)
	}
	// The cooldown ends exactly 24 h after spawnedAt.
	c.Advance(servertest.DayNs - 1)
	c.CheckRefusal(c.Spawn(7, `{"name":"A","symbol":"BETA"}`), 400, "COOLDOWN_ACTIVE", "")
	c.Advance(1)
	c.Must(c.Spawn(7, `{"name":"A","symbol":"BETA"}`))
}

func TestLaunchpadReadsRefuse(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	c.Token(1, "AAA")
	for target, want := range map[string]struct {
		status      int
		code, field string
	}{
		"/api/launchpad/tokens?page=0":                                     {400, "INVALID_PARAM", "page"},
		"/api/launchpad/tokens?page=x&pageSize=0":                          {400, "INVALID_PARAM", "page"},
		"/api/launchpad/tokens?pageSize=0":                                 {400, "INVALID_PARAM", "pageSize"},
		"/api/launchpad/tokens?pageSize=101":                               {400, "INVALID_PARAM", "pageSize"},
		"/api/launchpad/tokens?sort=Recent":                                {400, "INVALID_PARAM", "sort"},
		"/api/launchpad/tokens?sort=tvl&sort=tvl":                          {400, "INVALID_PARAM", "sort"},
		"/api/launchpad/tokens?boosted=1":                                  {400, "INVALID_PARAM", "boosted"},
		"/api/launchpad/tokens?poolSide=usbi":                              {400, "INVALID_PARAM", "poolSide"},
		"/api/launchpad/tokens?asOf=-1":                                    {400, "INVALID_PARAM", "asOf"},
		"/api/launchpad/tokens?decimals=text":                              {400, "INVALID_PARAM", "decimals"},
		"/api/launchpad/tokens/10002":                                      {404, "NOT_FOUND", "id"},
		"/api/launchpad/tokens/0":                                          {404, "NOT_FOUND", "id"},
		"/api/launchpad/tokens/AAA":                                        {404, "NOT_FOUND", "id"},
		"/api/launchpad/tokens/0x0000000000000000000000000000000000000000": {404, "NOT_FOUND", "id"},
		"/api/launchpad/tokens/10002/pool":                                 {404, "NOT_FOUND", "id"},
		"/api/launchpad/tokens/10002/ohlc?interval=day":                    {404, "NOT_FOUND", "id"},
		"/api/launchpad/tokens/10001/ohlc":                                 {400, "INVALID_PARAM", "interval"},
		"/api/launchpad/tokens/10001/ohlc?interval=week":                   {400, "INVALID_PARAM", "interval"},
		"/api/launchpad/tokens/10002/worker":                               {404, "NOT_FOUND", "id"},
		"/api/launchpad/tokens/10001/":                                     {404, "NOT_FOUND", ""},
		"/api/launchpad/spawn":                                             {405, "METHOD_NOT_ALLOWED", ""},
		"/api/agents/workers?status=Active":                                {400, "INVALID_PARAM", "status"},
		"/api/agents/workers?tokenAddress=0x12":                            {400, "INVALID_PARAM", "tokenAddress"},
		"/api/agents/workers?pageSize=101":                                 {400, "INVALID_PARAM", "pageSize"},
		"/api/agents/workers/10002":                                        {404, "NOT_FOUND", "tokenId"},
		"/api/agents/workers/x":                                            {404, "NOT_FOUND", "tokenId"},
		"/api/agents/action-logs?tokenId=x":                                {400, "INVALID_PARAM", "tokenId"},
		"/api/agents/action-logs?actionType=fly":                           {400, "INVALID_PARAM", "actionType"},
		"/api/agents/action-logs?sourceTier=drone":                         {400, "INVALID_PARAM", "sourceTier"},
		"/api/agents/action-logs?since=2&until=1":                          {400, "INVALID_PARAM", "since"},
		"/api/agents/action-logs?since=2&until=1&pageSize=0":               {400, "INVALID_PARAM", "pageSize"},
		"/api/agents/action-logs?page=0":                                   {400, "INVALID_PARAM", "page"},
		"/api/agents/proposals?status=closed":                              {400, "INVALID_PARAM", "status"},
		"/api/agents/proposals?tokenId=x":                                  {400, "INVALID_PARAM", "tokenId"},
		"/api/agents/proposals?page=0":                                     {400, "INVALID_PARAM", "page"},
		"/api/agents/proposals/prop-1":                                     {404, "PROPOSAL_NOT_FOUND", "proposalId"},
		"/api/agents/proposals/1":                                          {404, "PROPOSAL_NOT_FOUND", "proposalId"},
	} {
		t.Run(target, func(t *testing.T) { c.CheckRefusal(c.Get(target), want.status, want.code, want.field) })
	}
	a := c.Get("/api/agents/overview", "API-PublicKey", "nobody")
	c.CheckRefusal(a, 401, "UNAUTHORIZED", "API-Signature")
	if a := c.Do("OPTIONS", "/api/launchpad/tokens", ""); a.Status != 204 ||
		a.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("OPTIONS: %d %v", a.Status, a.Header)
	}
	if a := c.Do("HEAD", "/api/launchpad/tokens", ""); a.Status != 200 || a.Body != "" ||
		a.Header.Get("X-As-Of") == "" {
		t.Errorf("HEAD: %d %q %v", a.Status, a.Body, a.Header)
	}
}

func TestTokenListSortsFiltersAndPages(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	for n, symbol := range []string{"AAA", "BBB", "CCC", "DDD"} {
		c.Token(n+1, symbol)
		c.Advance(3 * servertest.SecondNs)
	}
	c.Fund(9, 0, 10_000)
	for n, quote := range map[int]string{1: "100", 2: "300", 3: "200"} {
		c.Fund(n, 0, 1_000)
		c.MustInternal(fmt.Sprintf("/launchpad/tokens/%d/liquidity", 10_000+n),
			fmt.Sprintf(`{"userId":%q,"tokenAmount":"1000","quoteAmount":%s}`, servertest.UserUUID(n), quote))
	}
	for _, amount := range []string{"1", "2"} { // CCC trades 3, AAA 2
		c.MustInternal("/launchpad/tokens/10003/swaps", fmt.Sprintf(`{"userId":%q,"side":"buy","amountIn":%s}`,
			servertest.UserUUID(9), amount))
	}
	c.MustInternal("/launchpad/tokens/10001/swaps",
		fmt.Sprintf(`{"userId":%q,"side":"buy","amountIn":"2.0"}`, servertest.UserUUID(9)))
	c.MustInternal("/launchpad/tokens/10002/boosts", `{"tier":"short"}`)
	for target, want := range map[string]string{
		"":                                       "DDD CCC BBB AAA",
		"?sort=recent&pageSize=3":                "DDD CCC BBB",
		"?pageSize=3&page=2":                     "AAA",
		"?page=9223372036854775807&pageSize=100": "",
		"?sort=tvl&pageSize=3":                   "BBB CCC AAA",
		"?sort=volume&pageSize=2":                "CCC AAA",
		"?sort=holders&pageSize=1&page=5":        "",
		"?boosted=true":                          "BBB",
		"?boosted=true&poolSide=wNATIVE":         "",

		"?boosted=false&poolSide=USBI&page=2&pageSize=2": "BBB AAA",
		"?unknown=1&pageSize=1":                          "DDD",
	} {
		m := c.Must(c.Get("/api/launchpad/tokens" + target))
		var got []string
		items, _ := m["items"].([]any)
		for _, it := range items {
			got = append(got, servertest.At(it, "symbol"))
		}
		if strings.Join(got, " ") != want || items == nil {
			t.Errorf("%s: %v, want %s", target, got, want)
		}
	}
	if n := c.MustGet("/api/launchpad/tokens?page=50", "totalItems"); n != "4" {
		t.Errorf("beyond the end: %s in all", n)
	}
}

func TestFiftyParallelSpawnsOfOneSymbolTakeOneFee(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	for n := range 50 {
		c.Fund(n+1, 100, 0)
	}
	answers := make([]servertest.Answer, 50)
	var wg sync.WaitGroup
	for n := range answers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			answers[n] = c.Spawn(n+1, `{"name":"One","symbol":"ONE"}`)
		}()
	}
	wg.Wait()
	won, paid := 0, 0
	for n, a := range answers {
		if a.Status == 200 {
			won++
		} else {
			c.CheckRefusal(a, 400, "SYMBOL_TAKEN", "symbol")
		}
		if c.Native(n+1) == "0.0" {
			paid++
		}
	}
	if won != 1 || paid != 1 {
		t.Errorf("%d spawned, %d paid", won, paid)
	}
	if fees := c.View().Totals()[launchpad.NATIVE].Fees.String(); fees != "100.0" {
		t.Errorf("fees %s", fees)
	}
}

func TestAnInjectedFailureLeavesNoTrace(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	c.Fund(1, 100, 0)
	for body, field := range map[string]string{
		`{"kind":"engine","count":1}`: "kind", `{"count":1}`: "kind", `{"kind":"spawner"}`: "count",
		`{"kind":"spawner","count":0}`: "count", `{"kind":"spawner","count":"1"}`: "count", `{"kind":"spawner",` +
			`"count":1,"x":1}`: "x",
	} {
		c.CheckRefusal(c.CallInternal("POST", "/launchpad/faults", body), 400, "INVALID_PARAM", field)
	}
	if a := c.CallInternal("POST", "/launchpad/faults", `{"kind":"spawner","count":2}`); a.Status != 200 ||
		a.Body != "{}" {
		t.Fatalf("fault: %d %s", a.Status, a.Body)
	}
	const body = `{"name":"A","symbol":"AAA"}`
	c.CheckRefusal(c.Spawn(2, body), 402, "INSUFFICIENT_FEE", "") // refused before the ledger: uses none up
	c.CheckRefusal(c.Spawn(1, body), 500, "SPAWNER_FAILED", "")
	c.Restart(0)
	c.CheckRefusal(c.CallInternal("POST", "/launchpad/tokens", fmt.Sprintf(`{"userId":%q,"name":"A","symbol":"AAA"}`,
		servertest.UserUUID(1))), 500, "SPAWNER_FAILED", "")
	if got := c.Native(1); got != "100.0" || c.MustGet("/api/launchpad/tokens", "totalItems") != "0" ||
		c.MustGet("/api/agents/overview", "hive.totalWorkers") != "0" {
		t.Errorf("a failed spawn left a trace: balance %s", got)
	}
	c.Must(c.Spawn(1, body)) // no cooldown either
}

// A caller swaps for himself, signed, and sees what he holds; another account holds nothing.
func TestACallerSwapsForHimself(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	id := c.Token(1, "AAA")
	c.MustInternal("/launchpad/tokens/"+id+"/liquidity",
		fmt.Sprintf(`{"userId":%q,"tokenAmount":"1000","quoteAmount":100.0}`, rich(c, 1)))
	rich(c, 2)
	target := "/api/launchpad/tokens/" + id + "/swaps"
	held := func(key string) string {
		return string(c.Do("GET", "/api/launchpad/holdings", "", "API-PublicKey", key).Body)
	}
	if got := held("key-2"); got != "[]" {
		t.Errorf("before: %s", got)
	}
	s := c.Must(c.Do("POST", target, `{"side":"buy","amountIn":10,"minOut":"90.08"}`, "API-PublicKey", "key-2"))
	if got := servertest.At(s, "pool.reserveQuote"); got != "110.0" {
		t.Errorf("the pool has %s", got)
	}
	const holding = `"tokenSymbol":"AAA","agentNftId":10001,"amount":"90.0818926296633303"`
	if got := held("key-2"); !strings.Contains(got, holding) {
		t.Errorf("after: %s", got)
	}
	if row := servertest.At(c.Must(c.Get("/api/launchpad/tokens")), "items.0.price"); !strings.HasPrefix(row,
		"0.1208") {
		t.Errorf("the list has the price %s", row)
	}
	for _, wrong := range []struct {
		key, body, code string
		status          int
	}{
		{"", `{"side":"buy","amountIn":1}`, "UNAUTHORIZED", 401},
		{"key-2", `{"side":"buy","amountIn":1,"userId":"x"}`, "INVALID_PARAM", 400},
		{"key-2", `{"side":"sell","amountIn":1000}`, "INSUFFICIENT_FUNDS", 400},
		{"key-2", `{"side":"sell","amountIn":1,"minOut":1}`, "CONFLICT", 409},
	} {
		var header []string
		if wrong.key != "" {
			header = []string{"API-PublicKey", wrong.key}
		}
		a := c.Do("POST", target, wrong.body, header...)
		if a.Status != wrong.status || !strings.Contains(string(a.Body), wrong.code) {
			t.Errorf("%s: %d %s", wrong.body, a.Status, a.Body)
		}
	}
}

// The candles of a longer interval are the sums of the minutes in it; start and end bound their dates, inclusive.
func TestCandlesOfATokenAreSumsOfItsMinutes(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	id := c.Token(1, "ALPHA")
	base := "/api/launchpad/tokens/" + id
	candles := func(query string) (rows []map[string]string) {
		t.Helper()
		if err := json.Unmarshal([]byte(c.Get(base+"/ohlc?"+query).Body), &rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	if rows := candles("interval=minute"); len(rows) != 0 {
		t.Fatalf("an empty pool has the candles %v", rows)
	}
	c.Fund(1, 0, 1000)
	c.MustInternal("/launchpad/tokens/"+id+"/liquidity", fmt.Sprintf(
		`{"userId":%q,"tokenAmount":400,"quoteAmount":100}`, servertest.UserUUID(1)))
	for _, swap := range []string{`"buy","amountIn":10`, `"sell","amountIn":90`, `"buy","amountIn":1`} {
		c.MustInternal("/launchpad/tokens/"+id+"/swaps", fmt.Sprintf(`{"userId":%q,"side":%s}`,
			servertest.UserUUID(1), swap))
		c.MustInternal("/clock", `{"advance":"61s"}`)
	}
	minutes, days := candles("interval=minute"), candles("interval=day")
	first, last := minutes[0], minutes[2]
	if len(minutes) != 3 || first["open"] != "0.25" || first["volume"] != "10.0" || last["volume"] != "1.0" {
		t.Fatalf("the minutes are %v", minutes)
	}
	if price := servertest.At(c.Must(c.Get(base+"/pool")), "price"); last["close"] != price {
		t.Errorf("the newest candle closes at %s, the price is %s", last["close"], price)
	}
	sum := func(member string) string {
		var all launchpad.Amount
		for _, row := range minutes {
			a, err := launchpad.ParseAmount(row[member])
			if err != nil {
				t.Fatal(err)
			}
			all = all.Add(a)
		}
		return all.String()
	}
	want := map[string]string{
		"date": first["date"][:10] + "T00:00:00", "open": first["open"], "max": first["max"], "min": minutes[1]["min"],
		"close": last["close"], "volume": sum("volume"), "volumeBase": sum("volumeBase"),
	}
	if len(days) != 1 || !maps.Equal(days[0], want) {
		t.Errorf("the day is %v, not %v", days, want)
	}
	c.CheckRefusal(c.Get(base+"/ohlc?interval=day&start=2026-01-02&end=2026-01-01"), 400, "INVALID_PARAM", "start")
	second := minutes[1]["date"]
	for query, n := range map[string]int{
		"start=" + second: 2, "end=" + second: 2, "start=" + second + ".5": 1, "start=" + second + "&end=" + second: 1,
	} {
		if rows := candles("interval=minute&" + query); len(rows) != n {
			t.Errorf("%s: %d rows, not %d", query, len(rows), n)
		}
	}
}
