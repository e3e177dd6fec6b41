package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/hive"
	"tickhive/internal/durable"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
	"tickhive/launchpad"
	"tickhive/server"
	"tickhive/server/web"
)

// colony is a launchpad and a hive behind both listeners, on a virtual clock and in a
// file system in memory. User n signs as key-n, or as ro-n with a key that only reads.
type colony struct {
	*market
	desk     *server.LaunchpadDesk
	fs       *vfs.Mem
	ledger   *launchpad.Store
	swarm    *hive.Store
	internal *http.Client

	mu     sync.Mutex
	levels map[int]int64
}

func userUUID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

func userAddress(n int) string { return fmt.Sprintf("0x%040x", n+0xabc000) }

// maxUser is the number of the last existing user.
const maxUser = 999

func newColony(t testing.TB, change ...func(*serverOptions)) *colony {
	t.Helper()
	c := &colony{fs: vfs.NewMem(), levels: map[int]int64{}}
	var err error
	c.market = newMarket(t, append([]func(*serverOptions){func(o *serverOptions) {
		c.desk, err = server.NewLaunchpadDesk(server.LaunchpadOptions{Clock: o.Clock, User: c.user, Find: c.find})
		if err != nil {
			t.Fatal(err)
		}
		o.Resources = append(o.Resources, c.desk.Routes)
		o.Authenticate = authenticateByName
	}}, change...)...)
	c.open()
	t.Cleanup(c.close)
	c.serveInternal()
	return c
}

// freed returns a test cluster whose clients are on the allow-list.
func freed(t testing.TB) *colony {
	return newColony(t, func(o *serverOptions) { o.Rate.Allow = []string{"192.0.2.0/24"} })
}

func (c *colony) user(a engine.AccountID) (int64, string, bool) {
	if a < 1 || a > maxUser {
		return 0, "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	level, set := c.levels[int(a)]
	if !set {
		level = 25
	}
	return level, userAddress(int(a)), true
}

func (c *colony) find(id [16]byte) (engine.AccountID, bool) {
	for n := range maxUser {
		if strings.ReplaceAll(userUUID(n+1), "-", "") == fmt.Sprintf("%x", id) {
			return engine.AccountID(n + 1), true
		}
	}
	return 0, false
}

func authenticateByName(c *server.Ctx) (*server.Caller, *refuse.Refusal) {
	key := string(c.Request.Header.Peek("API-PublicKey"))
	name, number, _ := strings.Cut(key, "-")
	n, err := strconv.Atoi(number)
	if err != nil || name != "key" && name != "ro" {
		return nil, refuse.New(refuse.Unauthorized, "API-Signature", "The key is unknown or the signature is wrong.")
	}
	return &server.Caller{Account: engine.AccountID(n), UserID: userUUID(n), PublicKey: key, CanTrade: name == "key"}, nil
}

// open recovers both stores from the file system.
func (c *colony) open() {
	c.t.Helper()
	var err error
	options := wal.Options{NoLock: true, PreallocBytes: -1}
	c.ledger, err = launchpad.OpenStore(launchpad.StoreOptions{
		Options: launchpad.DefaultOptions(),
		Config:  durable.Config{FS: c.fs, Dir: "launchpad", Log: options, Clock: c.clk},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	o := hive.DefaultOptions()
	o.GenesisNs = c.ledger.View().GenesisNs()
	c.swarm, err = hive.OpenStore(hive.StoreOptions{Options: o, Config: durable.Config{FS: c.fs, Dir: "hive", Log: options, Clock: c.clk}})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.desk.Open(c.ledger, c.swarm); err != nil {
		c.t.Fatal(err)
	}
}

func (c *colony) close() {
	c.t.Helper()
	if err := c.swarm.Close(); err != nil {
		c.t.Error(err)
	}
	if err := c.ledger.Close(); err != nil {
		c.t.Error(err)
	}
}

// restart closes both stores and recovers them after it has advanced the clock by the downtime.
func (c *colony) restart(sleptNs int64) {
	c.t.Helper()
	c.close()
	c.clk.Set(c.clk.NowNs() + sleptNs)
	c.open()
}

// clockExchange is an engine that only has a clock.
type clockExchange struct{ m *market }

func (x clockExchange) Submit(*sequencer.Batch) error { return sequencer.ErrUnavailable }
func (x clockExchange) Query(fn func()) error         { fn(); return nil }
func (x clockExchange) AdvanceTo(ns int64) error      { x.m.clk.Set(ns); return nil }

func (c *colony) serveInternal() {
	c.t.Helper()
	var ready atomic.Bool
	ready.Store(true)
	in, err := server.NewInternal(server.InternalOptions{
		Exchange: clockExchange{c.market}, Core: c.core, History: c.feed.History(), Board: c.feed.Board(), Clock: c.clk,
		Ready: &ready, Resources: []server.InternalResource{c.desk.Internal},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ln := newPipeListener()
	done := make(chan struct{})
	loopback := loopbackListener{ln}
	go func() { _ = in.Serve(loopback); close(done) }()
	c.internal = &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }, MaxIdleConnsPerHost: 64,
	}}
	c.t.Cleanup(func() {
		c.internal.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = in.Shutdown(ctx)
		<-done
	})
}

// loopbackListener reports a loopback address.
type loopbackListener struct{ net.Listener }

func (loopbackListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8081} }

// inner sends a request to the internal API.
func (c *colony) inner(method, path, body string) answer {
	c.t.Helper()
	req, err := http.NewRequest(method, "http://localhost/internal/v1"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	res, err := c.internal.Do(req)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return c.read(res, "internal") // not described
}

// must decodes an answer whose status must be 200.
func (c *colony) must(a answer) map[string]any {
	c.t.Helper()
	if a.status != 200 {
		c.t.Fatalf("status %d: %s", a.status, a.body)
	}
	d := json.NewDecoder(strings.NewReader(a.body))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		c.t.Fatalf("%v in %s", err, a.body)
	}
	return m
}

// see is a GET that must succeed; path picks a member: token.symbol, items.0.address.
func (c *colony) see(target, path string) string {
	c.t.Helper()
	return at(c.must(c.get(target)), path)
}

// at picks a member of a decoded answer and prints it.
func at(v any, path string) string {
	for _, name := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			member, ok := x[name]
			if !ok {
				return "(missing)"
			}
			v = member
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(x) {
				return "(missing)"
			}
			v = x[i]
		}
	}
	if v == nil {
		return "null"
	}
	switch v.(type) {
	case map[string]any, []any:
		b, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	return fmt.Sprint(v)
}

// as signs a POST for user n.
func (c *colony) as(n int, target, body string) answer {
	c.t.Helper()
	return c.do("POST", target, body, "API-PublicKey", fmt.Sprintf("key-%d", n), "Content-Type", "application/json")
}

func (c *colony) spawn(n int, body string) answer {
	c.t.Helper()
	return c.as(n, "/api/launchpad/spawn", body)
}

// fund deposits whole NATIVE and USBI for user n.
func (c *colony) fund(n int, native, usbi uint64) {
	c.t.Helper()
	for code, whole := range map[string]uint64{"NATIVE": native, "USBI": usbi} {
		if whole == 0 {
			continue
		}
		amount := money(c.t, strconv.FormatUint(whole, 10))
		if _, err := c.desk.Deposit(userAddress(n), code, amount); err != nil {
			c.t.Fatal(err)
		}
	}
}

// token spawns a funded token of user n and answers its registry id.
func (c *colony) token(n int, symbol string) string {
	c.t.Helper()
	c.fund(n, 100, 0)
	return at(c.must(c.spawn(n, fmt.Sprintf(`{"name":"Token %s","symbol":%q}`, symbol, symbol))), "worker.agentNftId")
}

// call is inner that must succeed.
func (c *colony) call(path, body string) map[string]any {
	c.t.Helper()
	return c.must(c.inner("POST", path, body))
}

func (c *colony) native(n int) string {
	a, _ := launchpad.ParseAddress(userAddress(n))
	return c.ledger.View().Balance(a, launchpad.NATIVE).String()
}

// agentContract is the description of launchpad and hive.
var agentContract = sync.OnceValues(func() (*contract, error) { return loadContract(web.PartMarket, web.PartLaunchpad) })

// do sends a request to the public listener and validates the answer against the description.
func (c *colony) do(method, target, body string, header ...string) answer {
	c.t.Helper()
	a := c.market.do(method, target, body, header...)
	described, err := agentContract()
	if err != nil {
		c.t.Fatal(err)
	}
	if a.status == http.StatusNoContent {
		return a
	}
	if err := described.check(method, target, a.status, a.header, a.body); err != nil {
		c.t.Errorf("the answer is not what the description says: %v\n%.600s", err, a.body)
	}
	return a
}

func (c *colony) get(target string, header ...string) answer {
	c.t.Helper()
	return c.do(http.MethodGet, target, "", header...)
}

func (c *colony) act(source, tokenID, kind, payload string) answer {
	c.t.Helper()
	return c.inner("POST", "/hive/actions", fmt.Sprintf(
		`{"sourceAgentId":%q,"targetTokenId":%s,"actionType":%q,"actionPayload":%s,"reasonCode":"test"}`, source, tokenID, kind, payload))
}

// give lets user n hold whole tokens, from the owner.
func (c *colony) give(tokenID string, owner, n int, amount string) {
	c.t.Helper()
	c.call("/launchpad/tokens/"+tokenID+"/transfers", fmt.Sprintf(
		`{"fromUserId":%q,"toUserId":%q,"amount":%s}`, userUUID(owner), userUUID(n), amount))
}

// propose opens a proposal and returns its id.
func (c *colony) propose(tokenID string, urgent bool) string {
	c.t.Helper()
	return at(c.call("/hive/proposals", fmt.Sprintf(
		`{"tokenId":%s,"topic":"slippage_cap","payload":{"slippageCapBps":150},"proposer":"somebody","urgent":%t}`, tokenID, urgent)), "proposalId")
}

func money(t testing.TB, text string) server.Money {
	t.Helper()
	v, err := fixed.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
