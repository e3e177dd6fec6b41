package servertest

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
	"tickhive/server/account"
	"tickhive/server/admin"
	"tickhive/server/edge"
	"tickhive/server/public"
	"tickhive/server/stream"
	"tickhive/server/web"
)

// accountContract describes market data and accounts. Every public answer of these tests is
// validated against it.
var accountContract = sync.OnceValues(func() (*contract, error) { return LoadContract(web.PartMarket, web.PartAccounts) })

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

// House is a whole test exchange with accounts on two in-memory listeners: sequencer, market
// data, balances, both servers, streams.
type House struct {
	T        testing.TB
	Clock    *clock.Manual
	Core     *engine.Core
	feed     *marketdata.Feed
	Loop     *sequencer.Loop
	Gate     loopGate
	State    *accounts.State
	Desk     *account.Service
	Server   *edge.Server
	Inner    *admin.Server
	Public   *http.Client
	Internal *http.Client
	ln       *pipeListener
	Log      lockedText
	nonce    atomic.Int64
}

// NewHouse returns a test exchange with accounts.
func NewHouse(t testing.TB, change ...func(*account.Options)) *House {
	t.Helper()
	return NewHouseInside(t, func(*admin.Options) {}, change...)
}

// NewHouseInside is NewHouse with other options of the internal listener.
func NewHouseInside(t testing.TB, inside func(*admin.Options), change ...func(*account.Options)) *House {
	t.Helper()
	h := &House{
		T: t, Clock: clock.NewManual(StartNs), Core: engine.NewCore(engine.Options{}), feed: marketdata.NewFeed(marketdata.Options{}),
		ln: newPipeListener(),
	}
	log := slog.New(slog.NewTextHandler(&h.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	inner := newPipeListener()
	opts := accounts.Options{Random: rand.Reader}
	opts.Withdrawal.Percent = accounts.RateOne / 1000
	h.State = accounts.New(opts)
	store, err := durable.Open(durable.Options[accounts.Command, accounts.Record, accounts.Result]{
		Config: durable.Config{Clock: h.Clock},
		New:    func() durable.State[accounts.Command, accounts.Record, accounts.Result] { return h.State },
	})
	if err != nil {
		t.Fatal(err)
	}
	gate := &h.Gate
	open := public.New(public.Options{Board: h.feed.Board(), Clock: h.Clock})
	ao := account.Options{
		Exchange: gate, Core: h.Core, History: h.feed.History(), Board: h.feed.Board(), Clock: h.Clock,
		Commissions: open.Commissions,
	}
	for _, f := range change {
		f(&ao)
	}
	if h.Desk, err = account.New(ao); err != nil {
		t.Fatal(err)
	}
	h.Desk.Attach(account.Store{State: h.State, Do: func(cmd accounts.Command) (accounts.Result, error) {
		if gate.Fail != nil {
			return accounts.Result{}, gate.Fail
		}
		return store.Do(cmd)
	}})
	hub := stream.NewHub(stream.Options{
		Board: h.feed.Board(), Clock: h.Clock, Epoch: "0123456789abcdef", Private: h.Desk.Private(),
		Status: func(dst []byte) []byte { return append(dst, "{}"...) }, StatusRow: public.AppendPairStatus,
	})
	h.Loop = sequencer.NewLoop(sequencer.LoopOptions{Core: h.Core, Clock: h.Clock, Sinks: []sequencer.Sink{accounts.Sink{State: h.State}, h.feed.Sink(), hub}})
	gate.Loop = h.Loop
	go h.Loop.Run()
	go hub.Run()
	h.Server, err = edge.New(edge.Options{
		Clock: h.Clock, Log: log, Authenticate: h.Desk.Authenticate,
		Resources: []edge.Resource{open.Resource, h.Desk.Resource, stream.Routes(hub)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var ready atomic.Bool
	ready.Store(true)
	io := admin.Options{
		Exchange: gate, Core: h.Core, History: h.feed.History(), Board: h.feed.Board(), Clock: h.Clock, Ready: &ready, Log: log,
		Entry: h.Desk.Entry(), Resources: []admin.Resource{h.Desk.InternalResource},
	}
	inside(&io)
	if h.Inner, err = admin.New(io); err != nil {
		t.Fatal(err)
	}
	h.serve(inner, hub, store)
	return h
}

// serve answers requests on both listeners until the test ends, then stops everything.
func (h *House) serve(inner *pipeListener, hub *stream.Hub, store interface{ Close() error }) {
	h.Server.SetReady()
	done := make(chan struct{}, 2)
	go func() { _ = h.Server.Serve(h.ln); done <- struct{}{} }()
	go func() { _ = h.Inner.Serve(loopback{inner}); done <- struct{}{} }()
	h.Public = ClientOf(func() (net.Conn, error) { return h.Dial("192.0.2.1") })
	h.Internal = ClientOf(func() (net.Conn, error) { return inner.Dial() })
	h.T.Cleanup(func() {
		h.Public.CloseIdleConnections()
		h.Internal.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		hub.Shutdown()
		_ = h.Server.Shutdown(ctx)
		_ = h.Inner.Shutdown(ctx)
		<-done
		<-done
		h.Loop.Stop()
		if err := store.Close(); err != nil {
			h.T.Error(err)
		}
		if err := h.State.View().Check(); err != nil {
			h.T.Errorf("the accounts do not add up: %v", err)
		}
	})
}

// loopGate is the route to the sequencer and, for the accounts, to their store. While fail is
// set, it reaches neither and returns fail. It calls before ahead of each Submit.
type loopGate struct {
	*sequencer.Loop
	Fail   error
	Before func()
}

func (g *loopGate) Submit(b *sequencer.Batch) error {
	if g.Before != nil {
		g.Before()
	}
	if g.Fail != nil {
		return g.Fail
	}
	return g.Loop.Submit(b)
}

func (g *loopGate) AdvanceTo(ns int64) error {
	if g.Fail != nil {
		return g.Fail
	}
	return g.Loop.AdvanceTo(ns)
}

// loopback is an in-memory listener that reports a loopback address.
type loopback struct{ *pipeListener }

func (loopback) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// ClientOf returns a client that connects through dial.
func ClientOf(dial func() (net.Conn, error)) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return dial() },
		DisableCompression: true, MaxIdleConnsPerHost: 128,
	}}
}

// Dial connects to the public listener from an address.
func (h *House) Dial(ip string) (net.Conn, error) {
	return h.ln.DialWithLocalAddr(&net.TCPAddr{IP: net.ParseIP(ip), Port: 40_000})
}

// Send sends a request and reads the answer.
func (h *House) Send(c *http.Client, method, target, body string, header http.Header) Answer {
	h.T.Helper()
	host := "http://test"
	if c == h.Internal {
		host = "http://localhost" // it takes no other without a token
	}
	req, err := http.NewRequest(method, host+target, strings.NewReader(body))
	if err != nil {
		h.T.Fatalf("%s %s: %v", method, target, err)
	}
	req.URL.Opaque, req.URL.RawQuery = target, "" // the bytes as they are
	for k, v := range header {
		req.Header[k] = v
	}
	res, err := c.Do(req)
	if err != nil {
		h.T.Fatalf("%s %s: %v", method, target, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		h.T.Fatalf("%s %s: %v", method, target, err)
	}
	a := Answer{res.StatusCode, res.Header, string(b)}
	load := accountContract
	if c != h.Public {
		load = internalContract
	}
	checked(h.T, load, method, target, a)
	return a
}

// In calls the internal API, which must succeed.
func (h *House) In(method, path, body string) map[string]any {
	h.T.Helper()
	a := h.Send(h.Internal, method, "/internal/v1"+path, body, nil)
	if a.Status != 200 {
		h.T.Fatalf("%s %s %s: %d %s", method, path, body, a.Status, a.Body)
	}
	return ParseObject(h.T, a.Body)
}

// ParseObject decodes a JSON object.
func ParseObject(t testing.TB, body string) map[string]any {
	t.Helper()
	var m map[string]any
	Parse(t, body, &m)
	return m
}

// Parse decodes JSON into v; numbers keep their text.
func Parse(t testing.TB, body string, v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
}

// Wants checks status, code and field of a refusal.
func (h *House) Wants(what string, a Answer, status int, code, field string) {
	h.T.Helper()
	m := Market{T: h.T}
	before := h.T.Failed()
	m.Refused(a, status, code, field)
	if !before && h.T.Failed() {
		h.T.Logf("that was %s", what)
	}
}

// Settled waits until the totals add up.
func (h *House) Settled() {
	h.T.Helper()
	if err := h.State.View().Check(); err != nil {
		h.T.Fatal(err)
	}
}

// inner calls the internal API for any answer.
func (h *House) InnerCall(method, path, body string) Answer {
	h.T.Helper()
	return h.Send(h.Internal, method, "/internal/v1"+path, body, nil)
}

// Now returns the time of the virtual clock.
func (h *House) Now() time.Time { return time.Unix(0, h.Clock.NowNs()) }

// Socket opens a stream of the test exchange over a real connection, as package client does.
func (h *House) Socket() *client.Stream {
	h.T.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.T.Fatal(err)
	}
	go func() { _ = h.Server.Serve(ln) }()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := client.Dial(ctx, client.StreamURL("http://"+ln.Addr().String()))
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { _ = s.Close() })
	return s
}

// Next returns the next message that is no heartbeat.
func Next(t *testing.T, s *client.Stream) map[string]any {
	t.Helper()
	for {
		m, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if m.Type != "heartbeat" {
			return ParseObject(t, string(m.Raw))
		}
	}
}

// KeysOf returns the names of an object's members, sorted.
func KeysOf(m map[string]any) string {
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	sort.Strings(names)
	return strings.Join(names, " ")
}
