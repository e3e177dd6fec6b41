package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server"
)

// startNs is 2026-01-01T00:00:00Z, the initial time of every test market's clock.
const startNs = int64(1_767_225_600_000_000_000)

const (
	secondNs = int64(time.Second)
	dayNs    = 24 * int64(time.Hour)
)

// market is a real core and a real feed behind a real server on an in-memory listener.
type market struct {
	t       testing.TB
	core    *engine.Core
	feed    *marketdata.Feed
	clk     *clock.Manual
	machine atomic.Int64 // the server's machine clock
	srv     *server.Server
	ln      *pipeListener
	events  []engine.Event
	pairs   map[string]engine.PairID
	client  *http.Client
}

func newMarket(t testing.TB, change ...func(*serverOptions)) *market {
	return newMarketKeeping(t, marketdata.Options{}, change...)
}

func newMarketKeeping(t testing.TB, keep marketdata.Options, change ...func(*serverOptions)) *market {
	t.Helper()
	m := &market{
		t: t, core: engine.NewCore(engine.Options{}), feed: marketdata.NewFeed(keep),
		clk: clock.NewManual(startNs), pairs: map[string]engine.PairID{},
		ln: newPipeListener(),
	}
	m.machine.Store(startNs)
	o := serverOptions{
		Options: server.Options{
			Clock: m.clk, MachineNs: m.machine.Load, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		},
		market: server.MarketOptions{Board: m.feed.Board(), Clock: m.clk},
	}
	for _, f := range change {
		f(&o)
	}
	srv, err := server.New(o.withMarket())
	if err != nil {
		t.Fatal(err)
	}
	m.srv = srv
	srv.SetReady()
	done := make(chan struct{})
	go func() { _ = srv.Serve(m.ln); close(done) }()
	m.client = &http.Client{Transport: &http.Transport{
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return m.dial("192.0.2.1") },
		DisableCompression: true, MaxIdleConnsPerHost: 64,
	}}
	t.Cleanup(func() {
		m.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = srv.Shutdown(ctx)
		<-done
	})
	return m
}

// serverOptions are the options of a server that has market data.
type serverOptions struct {
	server.Options
	market server.MarketOptions
	udf    bool // the server has the routes of the charting library too
}

// withMarket returns the options of the server, with the routes of its market first.
func (o serverOptions) withMarket() server.Options {
	m := server.NewMarket(o.market)
	resources := []server.Resource{m.Resource}
	if o.udf {
		resources = append(resources, m.UDF)
	}
	o.Resources = append(resources, o.Resources...)
	return o.Options
}

// newTraded returns a market with assets, three pairs, books and trades.
func newTraded(t testing.TB, change ...func(*serverOptions)) *market {
	m := newMarket(t, change...)
	m.furnish()
	return m
}

func (m *market) furnish() {
	m.asset("BTC", false)
	m.asset("ETH", false)
	m.asset("EUR", true)
	m.asset("USDT", false)
	m.pair("BTC_USDT", 2, 8)
	m.pair("ETH_BTC", 6, 4)
	m.pair("ETH_EUR", 0, 0)
	for i := int64(1); i <= 60; i++ {
		m.limit("BTC_USDT", engine.Buy, 6_500_000-i*7, i*12_345)
		m.limit("BTC_USDT", engine.Sell, 6_500_000+i*11, i*54_321)
	}
	for range 5 {
		m.advance(7 * secondNs)
		m.limit("BTC_USDT", engine.Buy, 6_500_011, 10_000)
		m.advance(61 * secondNs)
		m.limit("BTC_USDT", engine.Sell, 6_499_993, 2_500)
	}
	m.limit("ETH_BTC", engine.Sell, 50_000, 10_000)
	m.limit("ETH_BTC", engine.Buy, 50_000, 1)
}

func (m *market) asset(symbol string, fiat bool) {
	a := &engine.Asset{Symbol: symbol, Name: symbol + ` "coin"`, Fiat: fiat, CanDeposit: true, CanWithdraw: true}
	if symbol == "BTC" {
		a.MinWithdraw, _ = fixed.Parse("0.001")
		a.TakerFee, _ = fixed.Parse("0.001")
		a.HasMinWithdraw, a.HasTakerFee, a.UnifiedCryptoassetID, a.HasUnifiedID = true, true, 1, true
	}
	m.apply(engine.Command{Kind: engine.SetAsset, Pair: engine.ControlPair, Asset: a})
}

func (m *market) pair(code string, digitsPrice, digitsAmount int) {
	base, quote, _ := strings.Cut(code, "_")
	m.pairs[code] = engine.PairID(len(m.pairs))
	m.apply(engine.Command{Kind: engine.AddPair, Pair: m.pairs[code], Instrument: &engine.Instrument{
		Code: code, Base: base, Quote: quote, DigitsPrice: digitsPrice, DigitsAmount: digitsAmount,
		MakerFee: 100_000, TakerFee: 200_000,
	}})
}

// apply sequences one command at the clock's time and publishes.
func (m *market) apply(cmd engine.Command) []engine.Event {
	m.t.Helper()
	cmd.TimeNs = m.clk.NowNs()
	m.events = m.core.Apply(&cmd, m.events[:0])
	for i := range m.events {
		if e := &m.events[i]; e.Kind == engine.EventRejected && e.Reason != engine.NotRejected {
			m.t.Fatalf("command %+v was refused: %s", cmd, e.Reason)
		}
	}
	m.feed.Fold(m.events)
	m.feed.Publish(cmd.TimeNs)
	return m.events
}

// limit places an order of the built-in account, in ticks and lots, and returns its id.
func (m *market) limit(code string, side engine.Side, price, amount int64) engine.OrderID {
	m.t.Helper()
	return m.apply(engine.Command{Kind: engine.Place, Pair: m.pairs[code], Side: side, Price: price, Amount: amount})[0].Order
}

func (m *market) cancel(id engine.OrderID) {
	m.t.Helper()
	m.apply(engine.Command{Kind: engine.Cancel, Pair: id.Pair(), Order: id})
}

// advance moves the clock and the windows.
func (m *market) advance(ns int64) {
	m.clk.Set(m.clk.NowNs() + ns)
	m.feed.Publish(m.clk.NowNs())
}

func (m *market) dial(ip string) (net.Conn, error) {
	return m.ln.DialWithLocalAddr(&net.TCPAddr{IP: net.ParseIP(ip), Port: 40_000})
}

// answer is one whole HTTP answer.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request through the client; header holds pairs of name and value.
func (m *market) do(method, target, body string, header ...string) answer {
	m.t.Helper()
	req, err := http.NewRequest(method, "http://test"+target, strings.NewReader(body))
	if err != nil {
		m.t.Fatalf("%s %s: %v", method, target, err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := m.client.Do(req)
	if err != nil {
		m.t.Fatalf("%s %s: %v", method, target, err)
	}
	return m.read(res, method+" "+target)
}

func (m *market) read(res *http.Response, what string) answer {
	m.t.Helper()
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		m.t.Fatalf("%s: %v", what, err)
	}
	if method, target, _ := strings.Cut(what, " "); strings.HasPrefix(target, "/") {
		target, _, _ = strings.Cut(target, " ")
		described(m.t, method, target, res.StatusCode, res.Header, string(b))
	}
	return answer{res.StatusCode, res.Header, string(b)}
}

// get sends a GET.
func (m *market) get(target string, header ...string) answer {
	m.t.Helper()
	return m.do(http.MethodGet, target, "", header...)
}

// ok sends a GET that must succeed and decodes its JSON into v.
func (m *market) ok(target string, v any) answer {
	m.t.Helper()
	a := m.get(target)
	if a.status != http.StatusOK {
		m.t.Fatalf("GET %s: %d %s", target, a.status, a.body)
	}
	if v != nil {
		d := json.NewDecoder(strings.NewReader(a.body))
		d.UseNumber()
		if err := d.Decode(v); err != nil {
			m.t.Fatalf("GET %s: %v in %s", target, err, a.body)
		}
	}
	return a
}

// raw sends bytes on a new connection from ip and reads one answer.
func (m *market) raw(ip, request string) answer {
	m.t.Helper()
	conn, err := m.dial(ip)
	if err != nil {
		m.t.Fatal(err)
	}
	defer conn.Close()
	written := make(chan struct{})
	go func() { defer close(written); _, _ = io.Copy(conn, strings.NewReader(request)) }()
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		m.t.Fatalf("%.60q: %v", request, err)
	}
	a := m.read(res, request[:min(len(request), 60)])
	_ = conn.Close()
	<-written
	return a
}

// refused checks the whole error object of docs/contract/errors.md#error-object.
func (m *market) refused(a answer, status int, code, field string) {
	m.t.Helper()
	if a.status != status {
		m.t.Errorf("status %d, want %d: %s", a.status, status, a.body)
		return
	}
	if got := a.header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		m.t.Errorf("%d: Content-Type %q", status, got)
	}
	var e struct {
		Code, Message, RequestID *string
		Field                    *string
	}
	d := json.NewDecoder(strings.NewReader(a.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil || e.Code == nil || e.Message == nil || e.RequestID == nil ||
		!bytes.Contains([]byte(a.body), []byte(`"field":`)) {
		m.t.Errorf("%d: not the error object: %v %s", status, err, a.body)
		return
	}
	if *e.Code != code {
		m.t.Errorf("code %s, want %s: %s", *e.Code, code, a.body)
	}
	if got := deref(e.Field); got != field {
		m.t.Errorf("field %q, want %q: %s", got, field, a.body)
	}
	if *e.RequestID == "" || *e.RequestID != a.header.Get("X-Request-Id") {
		m.t.Errorf("requestId %q, header %q", *e.RequestID, a.header.Get("X-Request-Id"))
	}
	if !strings.HasSuffix(*e.Message, ".") {
		m.t.Errorf("message %q is no sentence", *e.Message)
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (m *market) from(ip, path string, header ...string) answer {
	m.t.Helper()
	text := "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	for i := 0; i+1 < len(header); i += 2 {
		text += header[i] + ": " + header[i+1] + "\r\n"
	}
	return m.raw(ip, text+"\r\n")
}
