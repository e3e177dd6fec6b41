package servertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/public"
)

// StartNs is 2026-01-01T00:00:00Z, the initial time of every test market's clock.
const StartNs = exchangetest.StartNs

const (
	// SecondNs is a second in ns.
	SecondNs = int64(time.Second)
	// DayNs is a day in ns.
	DayNs = 24 * int64(time.Hour)
)

// Market is an exchange whose public listener serves only market data.
type Market struct {
	*exchangetest.Rig
	T       testing.TB
	Machine atomic.Int64 // the server's machine clock
	Server  *edge.Server
	Pairs   map[string]engine.PairID
	Client  *http.Client
}

// NewMarket returns a market without pairs.
func NewMarket(t testing.TB, change ...func(*Options)) *Market {
	t.Helper()
	return newMarket(t, exchangetest.Options(""), change...)
}

// NewMarketRetaining returns a market without pairs with the limits of retained data in keep.
func NewMarketRetaining(t testing.TB, keep marketdata.Options) *Market {
	t.Helper()
	o := exchangetest.Options("")
	o.Market = keep
	return newMarket(t, o)
}

// newMarket applies change twice: the routes of the market data are made before the listener.
func newMarket(t testing.TB, o exchange.Options, change ...func(*Options)) *Market {
	t.Helper()
	m := &Market{T: t, Pairs: map[string]engine.PairID{}}
	m.Machine.Store(StartNs)
	o.Hooks.Market = func(p *public.Options) {
		so := Options{Market: public.Options{Board: p.Board, Clock: p.Clock}}
		for _, f := range change {
			f(&so)
		}
		*p = so.Market
	}
	o.Hooks.Public = func(e *edge.Options) {
		all := e.Resources // of exchange.Open: market data first, then streams, page, UDF, accounts, agents
		so := Options{Options: edge.Options{Clock: e.Clock, MachineNs: m.Machine.Load, Log: e.Log, SeqOf: e.SeqOf}}
		for _, f := range change {
			f(&so)
		}
		resources := all[:1:1]
		if so.UDF {
			resources = append(resources, all[3])
		}
		if so.agents {
			resources = append(resources, all[5])
		}
		so.Resources = append(resources, so.Resources...)
		*e = so.Options
	}
	m.Rig = exchangetest.StartInMemory(t, o)
	m.Server = m.Running.Public()
	m.Client = ClientOf(func() (net.Conn, error) { return m.Dial("192.0.2.1") })
	t.Cleanup(m.Client.CloseIdleConnections)
	return m
}

// Options configures a server that has market data.
type Options struct {
	edge.Options
	Market public.Options
	UDF    bool // the server also has the routes of the charting library
	agents bool // the server also has the routes of launchpad and hive
}

// NewTradedMarket returns a market with assets, three pairs, books and trades.
func NewTradedMarket(t testing.TB, change ...func(*Options)) *Market {
	m := NewMarket(t, change...)
	m.fill()
	return m
}

func (m *Market) fill() {
	m.Asset("BTC", false)
	m.Asset("ETH", false)
	m.Asset("EUR", true)
	m.Asset("USDT", false)
	m.Pair("BTC_USDT", 2, 8)
	m.Pair("ETH_BTC", 6, 4)
	m.Pair("ETH_EUR", 0, 0)
	for i := int64(1); i <= 60; i++ {
		m.Limit("BTC_USDT", engine.Buy, 6_500_000-i*7, i*12_345)
		m.Limit("BTC_USDT", engine.Sell, 6_500_000+i*11, i*54_321)
	}
	for range 5 {
		m.Advance(7 * SecondNs)
		m.Limit("BTC_USDT", engine.Buy, 6_500_011, 10_000)
		m.Advance(61 * SecondNs)
		m.Limit("BTC_USDT", engine.Sell, 6_499_993, 2_500)
	}
	m.Limit("ETH_BTC", engine.Sell, 50_000, 10_000)
	m.Limit("ETH_BTC", engine.Buy, 50_000, 1)
}

// Asset adds a currency of ten digits, which the totals of BTC_USDT have.
func (m *Market) Asset(symbol string, fiat bool) {
	a := &engine.Asset{
		Symbol: symbol, Name: symbol + ` "coin"`, Fiat: fiat, Digits: 10, CanDeposit: true, CanWithdraw: true,
	}
	if symbol == "BTC" {
		a.MinWithdraw, _ = fixed.Parse("0.001")
		a.TakerFee, _ = fixed.Parse("0.001")
		a.HasMinWithdraw, a.HasTakerFee, a.UnifiedCryptoassetID, a.HasUnifiedID = true, true, 1, true
	}
	m.Apply(engine.Command{Kind: engine.SetAsset, Pair: engine.ControlPair, Control: &engine.ControlRecord{Asset: a}})
}

// Pair adds a pair.
func (m *Market) Pair(code string, digitsPrice, digitsAmount int) {
	base, quote, _ := strings.Cut(code, "_")
	m.Pairs[code] = engine.PairID(len(m.Pairs))
	m.Apply(engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &engine.Instrument{
		Code: code, Base: base, Quote: quote, DigitsPrice: digitsPrice, DigitsAmount: digitsAmount,
		MakerFee: 100_000, TakerFee: 200_000,
	}})
}

// Apply sequences one command at the clock's time, which must not be refused, and returns its
// events.
func (m *Market) Apply(cmd engine.Command) []engine.Event {
	m.T.Helper()
	events := m.Try(cmd)
	for i := range events {
		if e := &events[i]; e.Kind == engine.EventRejected && e.Reason != engine.NotRejected {
			m.T.Fatalf("command %+v was refused: %s", cmd, e.Reason)
		}
	}
	return events
}

// Try is Apply of a command that may be refused.
func (m *Market) Try(cmd engine.Command) (events []engine.Event) {
	m.T.Helper()
	b := sequencer.Batch{Commands: []engine.Command{cmd}}
	b.Collect = func(_ int, _ *engine.Command, got []engine.Event) { events = append(events, got...) }
	if err := m.Submit(&b); err != nil {
		m.T.Fatal(err)
	}
	return events
}

// Limit places an order of the built-in account, in ticks and lots, and returns its id.
func (m *Market) Limit(code string, side engine.Side, price, amount int64) engine.OrderID {
	m.T.Helper()
	return m.Apply(engine.Command{
		Kind: engine.Place, Pair: m.Pairs[code], Side: side,
		Price: price, Amount: amount,
	})[0].Order
}

// Cancel cancels an order.
func (m *Market) Cancel(id engine.OrderID) {
	m.T.Helper()
	m.Apply(engine.Command{Kind: engine.Cancel, Pair: id.Pair(), Order: id})
}

// Advance moves the clock and the windows.
func (m *Market) Advance(ns int64) {
	m.T.Helper()
	if err := m.AdvanceTo(m.Clock.NowNs() + ns); err != nil {
		m.T.Fatal(err)
	}
}

// Answer holds one whole HTTP answer.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Do sends a request through the client; header holds pairs of name and value.
func (m *Market) Do(method, target, body string, header ...string) Answer {
	m.T.Helper()
	req, err := http.NewRequest(method, "http://test"+target, strings.NewReader(body))
	if err != nil {
		m.T.Fatalf("%s %s: %v", method, target, err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := m.Client.Do(req)
	if err != nil {
		m.T.Fatalf("%s %s: %v", method, target, err)
	}
	return m.Read(res, method+" "+target)
}

// Read reads an answer and checks it against its description.
func (m *Market) Read(res *http.Response, what string) Answer {
	m.T.Helper()
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		m.T.Fatalf("%s: %v", what, err)
	}
	a := Answer{res.StatusCode, res.Header, string(b)}
	method, target, _ := strings.Cut(what, " ")
	target, _, _ = strings.Cut(target, " ")
	if strings.HasPrefix(target, "/") && a.Status != http.StatusNoContent && a.Header.Get("Content-Encoding") == "" {
		checked(m.T, TheContract, method, target, a)
	}
	return a
}

// Get sends a GET.
func (m *Market) Get(target string, header ...string) Answer {
	m.T.Helper()
	return m.Do(http.MethodGet, target, "", header...)
}

// OK sends a GET that must succeed and decodes its JSON into v.
func (m *Market) OK(target string, v any) Answer {
	m.T.Helper()
	a := m.Get(target)
	if a.Status != http.StatusOK {
		m.T.Fatalf("GET %s: %d %s", target, a.Status, a.Body)
	}
	if v != nil {
		Parse(m.T, a.Body, v)
	}
	return a
}

// Raw sends bytes on a new connection from ip and reads one answer.
func (m *Market) Raw(ip, request string) Answer {
	m.T.Helper()
	return raw(m.T, m, ip, request)
}

func raw(t testing.TB, to interface {
	Dial(ip string) (net.Conn, error)
}, ip, request string,
) Answer {
	t.Helper()
	conn, err := to.Dial(ip)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	written := make(chan struct{})
	go func() { defer close(written); _, _ = io.Copy(conn, strings.NewReader(request)) }()
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	a := (&Market{T: t}).Read(res, request[:min(len(request), 60)])
	_ = conn.Close()
	<-written
	return a
}

// CheckRefusal checks the whole error object of docs/contract/errors.md#error-object.
func (m *Market) CheckRefusal(a Answer, status int, code, field string) {
	m.T.Helper()
	if a.Status != status {
		m.T.Errorf("status %d, want %d: %s", a.Status, status, a.Body)
		return
	}
	if got := a.Header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		m.T.Errorf("%d: Content-Type %q", status, got)
	}
	var e struct {
		Code, Message, RequestID *string
		Field                    *string
	}
	d := json.NewDecoder(strings.NewReader(a.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil || e.Code == nil || e.Message == nil || e.RequestID == nil ||
		!bytes.Contains([]byte(a.Body), []byte(`"field":`)) {
		m.T.Errorf("%d: not the error object: %v %s", status, err, a.Body)
		return
	}
	if *e.Code != code {
		m.T.Errorf("code %s, want %s: %s", *e.Code, code, a.Body)
	}
	if got := deref(e.Field); got != field {
		m.T.Errorf("field %q, want %q: %s", got, field, a.Body)
	}
	if *e.RequestID == "" || *e.RequestID != a.Header.Get("X-Request-Id") {
		m.T.Errorf("requestId %q, header %q", *e.RequestID, a.Header.Get("X-Request-Id"))
	}
	if !strings.HasSuffix(*e.Message, ".") {
		m.T.Errorf("message %q is no sentence", *e.Message)
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// From sends a GET from an address.
func (m *Market) From(ip, path string, header ...string) Answer {
	m.T.Helper()
	text := "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	for i := 0; i+1 < len(header); i += 2 {
		text += header[i] + ": " + header[i+1] + "\r\n"
	}
	return m.Raw(ip, text+"\r\n")
}
