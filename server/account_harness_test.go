package server_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
	"tickhive/internal/durable"
	"tickhive/marketdata"
	"tickhive/server"
	"tickhive/server/web"
)

// accountContract describes market data and accounts. Every public answer of these tests is
// validated against it.
var accountContract = sync.OnceValues(func() (*contract, error) { return loadContract(web.PartMarket, web.PartAccounts) })

type lockedText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// house is a whole test exchange with accounts on two in-memory listeners: sequencer, market
// data, balances, both servers, streams.
type house struct {
	t      testing.TB
	clk    *clock.Manual
	core   *engine.Core
	feed   *marketdata.Feed
	loop   *sequencer.Loop
	gate   loopGate
	state  *accounts.State
	desk   *server.AccountDesk
	srv    *server.Server
	inner  *server.Internal
	public *http.Client
	intern *http.Client
	ln     *pipeListener
	log    lockedText
	nonce  atomic.Int64
}

func newHouse(t testing.TB, change ...func(*server.AccountOptions)) *house {
	t.Helper()
	return newHouseInside(t, func(*server.InternalOptions) {}, change...)
}

// newHouseInside is newHouse with other options of the internal listener.
func newHouseInside(t testing.TB, inside func(*server.InternalOptions), change ...func(*server.AccountOptions)) *house {
	t.Helper()
	h := &house{
		t: t, clk: clock.NewManual(startNs), core: engine.NewCore(engine.Options{}), feed: marketdata.NewFeed(marketdata.Options{}),
		ln: newPipeListener(),
	}
	log := slog.New(slog.NewTextHandler(&h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	inner := newPipeListener()
	opts := accounts.Options{Random: rand.Reader}
	opts.Withdrawal.Percent = accounts.RateOne / 1000
	store, err := durable.Open(durable.Options[*accounts.State, accounts.Command, accounts.Record, accounts.Result, *accounts.View]{
		Clock: h.clk, New: func() *accounts.State { return accounts.New(opts) },
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = store.Fold(func(s *accounts.State) { h.state = s })
	gate := &h.gate
	ao := server.AccountOptions{Exchange: gate, Core: h.core, History: h.feed.History(), Board: h.feed.Board(), Clock: h.clk}
	for _, f := range change {
		f(&ao)
	}
	if h.desk, err = server.NewAccountDesk(ao); err != nil {
		t.Fatal(err)
	}
	h.desk.Attach(server.AccountStore{State: h.state, Do: func(cmd accounts.Command) (accounts.Result, error) {
		if gate.fail != nil {
			return accounts.Result{}, gate.fail
		}
		return store.Do(cmd)
	}})
	hub := server.NewHub(server.HubOptions{
		Board: h.feed.Board(), Clock: h.clk, Epoch: "0123456789abcdef", Private: h.desk.Private(),
		Status: func(dst []byte) []byte { return append(dst, "{}"...) }, StatusRow: server.AppendPairStatus,
	})
	h.loop = sequencer.NewLoop(sequencer.LoopOptions{Core: h.core, Clock: h.clk, Sinks: []sequencer.Sink{accounts.Sink{State: h.state}, h.feed.Sink(), hub}})
	gate.Loop = h.loop
	go h.loop.Run()
	go hub.Run()
	h.srv, err = server.New(server.Options{
		Board: h.feed.Board(), Clock: h.clk, Log: log, Authenticate: h.desk.Authenticate,
		Resources: []server.Resource{h.desk.Resource, server.Streams(hub)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var ready atomic.Bool
	ready.Store(true)
	io := server.InternalOptions{
		Exchange: gate, Core: h.core, History: h.feed.History(), Board: h.feed.Board(), Clock: h.clk, Ready: &ready, Log: log,
		Accounts: h.desk, Resources: []server.InternalResource{h.desk.InternalResource},
	}
	inside(&io)
	if h.inner, err = server.NewInternal(io); err != nil {
		t.Fatal(err)
	}
	h.srv.SetReady()
	done := make(chan struct{}, 2)
	go func() { _ = h.srv.Serve(h.ln); done <- struct{}{} }()
	go func() { _ = h.inner.Serve(loopback{inner}); done <- struct{}{} }()
	h.public = clientOf(func() (net.Conn, error) { return h.dial("192.0.2.1") })
	h.intern = clientOf(func() (net.Conn, error) { return inner.Dial() })
	t.Cleanup(func() {
		h.public.CloseIdleConnections()
		h.intern.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		hub.Shutdown()
		_ = h.srv.Shutdown(ctx)
		_ = h.inner.Shutdown(ctx)
		<-done
		<-done
		h.loop.Stop()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if err := h.state.View().Check(); err != nil {
			t.Errorf("the accounts do not add up: %v", err)
		}
	})
	return h
}

// loopGate is the route to the sequencer and, for the accounts, to their store. While fail is
// set, it reaches neither and returns fail. It calls before ahead of each Submit.
type loopGate struct {
	*sequencer.Loop
	fail   error
	before func()
}

func (g *loopGate) Submit(b *sequencer.Batch) error {
	if g.before != nil {
		g.before()
	}
	if g.fail != nil {
		return g.fail
	}
	return g.Loop.Submit(b)
}

func (g *loopGate) AdvanceTo(ns int64) error {
	if g.fail != nil {
		return g.fail
	}
	return g.Loop.AdvanceTo(ns)
}

// loopback is an in-memory listener that reports a loopback address.
type loopback struct{ *pipeListener }

func (loopback) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func clientOf(dial func() (net.Conn, error)) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return dial() },
		DisableCompression: true, MaxIdleConnsPerHost: 128,
	}}
}

func (h *house) dial(ip string) (net.Conn, error) {
	return h.ln.DialWithLocalAddr(&net.TCPAddr{IP: net.ParseIP(ip), Port: 40_000})
}

// send sends a request and reads the answer.
func (h *house) send(c *http.Client, method, target, body string, header http.Header) answer {
	h.t.Helper()
	host := "http://test"
	if c == h.intern {
		host = "http://localhost" // it takes no other without a token
	}
	req, err := http.NewRequest(method, host+target, strings.NewReader(body))
	if err != nil {
		h.t.Fatalf("%s %s: %v", method, target, err)
	}
	req.URL.Opaque, req.URL.RawQuery = target, "" // the bytes as they are
	for k, v := range header {
		req.Header[k] = v
	}
	res, err := c.Do(req)
	if err != nil {
		h.t.Fatalf("%s %s: %v", method, target, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatalf("%s %s: %v", method, target, err)
	}
	a := answer{res.StatusCode, res.Header, string(b)}
	if c == h.public {
		k, err := accountContract()
		if err != nil {
			h.t.Fatal(err)
		}
		if err := k.check(method, target, a.status, a.header, a.body); err != nil {
			h.t.Errorf("the answer is not what the description says: %v\n%.600s", err, a.body)
		}
	}
	return a
}

// keys is a user with a key pair.
type keys struct {
	h               *house
	id              string
	public, private string
}

// call signs and sends a request and returns the answer.
func (k *keys) call(method, target, body string, header ...string) answer {
	k.h.t.Helper()
	return k.h.send(k.h.public, method, target, body, k.sign(method, target, body, header...))
}

// sendLarge posts a signed body on its own connection and reads the answer while it sends:
// net/http may give up a request whose connection the server closes before the body's end.
func (k *keys) sendLarge(target, body string) answer {
	k.h.t.Helper()
	text := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n", target, len(body))
	for name, values := range k.sign("POST", target, body) {
		text += name + ": " + values[0] + "\r\n"
	}
	m := &market{t: k.h.t, ln: k.h.ln}
	return m.raw("192.0.2.1", text+"\r\n"+body)
}

// sign is the headers of a signed request; more headers come in pairs.
func (k *keys) sign(method, target, body string, more ...string) http.Header {
	ts := strconv.FormatInt(k.h.clk.NowNs()/1_000_000, 10)
	nonce := "n-" + strconv.FormatInt(k.h.nonce.Add(1), 10)
	h := http.Header{
		"API-PublicKey": {k.public}, "API-Timestamp": {ts}, "API-Nonce": {nonce},
		"API-Signature": {signature(k.private, ts, nonce, method, target, body)},
	}
	if body != "" {
		h["Content-Type"] = []string{"application/json"}
	}
	for i := 0; i+1 < len(more); i += 2 {
		h[more[i]] = []string{more[i+1]}
	}
	return h
}

// signature is a second implementation, so that the tests do not check the program against
// itself.
func signature(private, ts, nonce, method, target, body string) string {
	sum := sha256.Sum256([]byte(body))
	mac := hmac.New(sha256.New, []byte(private))
	_, _ = mac.Write([]byte(ts + "\n" + nonce + "\n" + method + "\n" + target + "\n" + hex.EncodeToString(sum[:])))
	return hex.EncodeToString(mac.Sum(nil))
}

// in calls the internal API, which must succeed.
func (h *house) in(method, path, body string) map[string]any {
	h.t.Helper()
	a := h.send(h.intern, method, "/internal/v1"+path, body, nil)
	if a.status != 200 {
		h.t.Fatalf("%s %s %s: %d %s", method, path, body, a.status, a.body)
	}
	return parseObject(h.t, a.body)
}

func parseObject(t testing.TB, body string) map[string]any {
	t.Helper()
	var m map[string]any
	parse(t, body, &m)
	return m
}

func parse(t testing.TB, body string, v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
}

// user creates a user with a key that may trade; body holds the members of POST /users.
func (h *house) user(body string) *keys {
	h.t.Helper()
	u := h.in("POST", "/users", "{"+body+"}")
	id := u["id"].(string)
	k := h.in("POST", "/users/"+id+"/apikeys", `{"name":"test"}`)
	return &keys{h, id, k["publicKey"].(string), k["privateKey"].(string)}
}

func (h *house) deposit(k *keys, currency, amount string) {
	h.t.Helper()
	h.in("POST", "/users/"+k.id+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":%q}`, currency, amount))
}

// traded returns a test exchange with a pair and two funded users.
func traded(t testing.TB, change ...func(*server.AccountOptions)) (h *house, a, b *keys) {
	t.Helper()
	h = newHouse(t, change...)
	h.in("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":4,"makerFee":"0.001","takerFee":"0.002"}`)
	a, b = h.user(`"nickname":"alice"`), h.user(`"nickname":"bob"`)
	h.deposit(a, "USDT", "1000")
	h.deposit(a, "BTC", "10")
	h.deposit(b, "USDT", "1000")
	h.deposit(b, "BTC", "10")
	return h, a, b
}

// ok is call for a request that must succeed.
func (k *keys) ok(method, target, body string) answer {
	k.h.t.Helper()
	a := k.call(method, target, body)
	if a.status != 200 {
		k.h.t.Fatalf("%s %s %s: %d %s", method, target, body, a.status, a.body)
	}
	return a
}

// place places an order through the trading API and returns its id.
func (k *keys) place(body string) string {
	k.h.t.Helper()
	var id string
	parse(k.h.t, k.ok("POST", "/api/orders", body).body, &id)
	return id
}

// balance returns "free held" of a currency.
func (k *keys) balance(currency string) string {
	k.h.t.Helper()
	var w struct {
		Balances []struct {
			CurrencyCode      string
			Free, Held, Total json.Number
		}
	}
	parse(k.h.t, k.ok("GET", "/api/wallets/balances", "").body, &w)
	for _, b := range w.Balances {
		if b.CurrencyCode == currency {
			return b.Free.String() + " " + b.Held.String()
		}
	}
	return "0.0 0.0"
}

// wants checks status, code and field of a refusal.
func (h *house) wants(what string, a answer, status int, code, field string) {
	h.t.Helper()
	m := market{t: h.t}
	before := h.t.Failed()
	m.refused(a, status, code, field)
	if !before && h.t.Failed() {
		h.t.Logf("that was %s", what)
	}
}

// settled waits until the totals add up.
func (h *house) settled() {
	h.t.Helper()
	if err := h.state.View().Check(); err != nil {
		h.t.Fatal(err)
	}
}
