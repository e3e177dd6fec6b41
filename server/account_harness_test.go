package server_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tickhive/accounts"
	"tickhive/client"
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
	h.state = accounts.New(opts)
	store, err := durable.Open(durable.Options[accounts.Command, accounts.Record, accounts.Result]{
		Config: durable.Config{Clock: h.clk},
		New:    func() durable.State[accounts.Command, accounts.Record, accounts.Result] { return h.state },
	})
	if err != nil {
		t.Fatal(err)
	}
	gate := &h.gate
	public := server.NewMarket(server.MarketOptions{Board: h.feed.Board(), Clock: h.clk})
	ao := server.AccountOptions{
		Exchange: gate, Core: h.core, History: h.feed.History(), Board: h.feed.Board(), Clock: h.clk,
		Commissions: public.Commissions,
	}
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
		Clock: h.clk, Log: log, Authenticate: h.desk.Authenticate,
		Resources: []server.Resource{public.Resource, h.desk.Resource, server.Streams(hub)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var ready atomic.Bool
	ready.Store(true)
	io := server.InternalOptions{
		Exchange: gate, Core: h.core, History: h.feed.History(), Board: h.feed.Board(), Clock: h.clk, Ready: &ready, Log: log,
		Entry: h.desk.Entry(), Resources: []server.InternalResource{h.desk.InternalResource},
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

// inner calls the internal API for any answer.
func (h *house) innerCall(method, path, body string) answer {
	h.t.Helper()
	return h.send(h.intern, method, "/internal/v1"+path, body, nil)
}

func (h *house) now() time.Time { return time.Unix(0, h.clk.NowNs()) }

// socket opens a stream of the test exchange over a real connection, as package client does.
func (h *house) socket() *client.Stream {
	h.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	go func() { _ = h.srv.Serve(ln) }()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := client.Dial(ctx, client.StreamURL("http://"+ln.Addr().String()))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = s.Close() })
	return s
}

// next returns the next message that is no heartbeat.
func next(t *testing.T, s *client.Stream) map[string]any {
	t.Helper()
	for {
		m, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if m.Type != "heartbeat" {
			return parseObject(t, string(m.Raw))
		}
	}
}

// keysOf returns the names of an object's members, sorted.
func keysOf(m map[string]any) string {
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	sort.Strings(names)
	return strings.Join(names, " ")
}
