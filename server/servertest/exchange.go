package servertest

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/server/web"
)

// accountContract describes every part. Every public answer of these tests is
// validated against it.
var accountContract = sync.OnceValues(func() (*contract, error) {
	return LoadContract(web.PartMarket,
		web.PartAccounts, web.PartLaunchpad)
})

// Exchange is an exchange with clients of both listeners.
type Exchange struct {
	*exchangetest.Rig
	T        testing.TB
	State    *accounts.State // read only inside Owned, but for Shown
	Public   *http.Client
	Internal *http.Client
	nonce    atomic.Int64
}

// NewExchange returns a test exchange with accounts.
func NewExchange(t testing.TB, change ...func(*exchange.Options)) *Exchange {
	t.Helper()
	o := exchangetest.Options("")
	o.Accounts.Withdrawal.Percent = accounts.RateOne / 1000
	for _, f := range change {
		f(&o)
	}
	h := &Exchange{T: t, Rig: exchangetest.StartInMemory(t, o)}
	h.State = h.Accounts()
	h.Public = ClientOf(func() (net.Conn, error) { return h.Dial("192.0.2.1") })
	h.Internal = ClientOf(h.DialInternal)
	t.Cleanup(func() {
		h.Public.CloseIdleConnections()
		h.Internal.CloseIdleConnections()
		h.Stop()
		h.CheckTotals()
	})
	return h
}

// ClientOf returns a client that connects through dial.
func ClientOf(dial func() (net.Conn, error)) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return dial() },
		DisableCompression: true, MaxIdleConnsPerHost: 128,
	}}
}

// Send sends a request and reads the answer.
func (e *Exchange) Send(c *http.Client, method, target, body string, header http.Header) Answer {
	e.T.Helper()
	host := "http://test"
	if c == e.Internal {
		host = "http://localhost" // without a token the listener refuses other hosts
	}
	req, err := http.NewRequest(method, host+target, strings.NewReader(body))
	if err != nil {
		e.T.Fatalf("%s %s: %v", method, target, err)
	}
	req.URL.Opaque, req.URL.RawQuery = target, "" // Opaque keeps the bytes of the target unchanged
	for k, v := range header {
		req.Header[k] = v
	}
	res, err := c.Do(req)
	if err != nil {
		e.T.Fatalf("%s %s: %v", method, target, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		e.T.Fatalf("%s %s: %v", method, target, err)
	}
	a := Answer{res.StatusCode, res.Header, string(b)}
	load := accountContract
	if c != e.Public {
		load = internalContract(e.T)
	}
	checked(e.T, load, method, target, a)
	return a
}

// MustInternal sends a request to the internal API, which must succeed.
func (e *Exchange) MustInternal(method, path, body string) map[string]any {
	e.T.Helper()
	a := e.Send(e.Internal, method, "/internal/v1"+path, body, nil)
	if a.Status != 200 {
		e.T.Fatalf("%s %s %s: %d %s", method, path, body, a.Status, a.Body)
	}
	return ParseObject(e.T, a.Body)
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

// CheckRefusal checks status, code and field of a refusal.
func (e *Exchange) CheckRefusal(what string, a Answer, status int, code, field string) {
	e.T.Helper()
	m := Market{T: e.T}
	before := e.T.Failed()
	m.CheckRefusal(a, status, code, field)
	if !before && e.T.Failed() {
		e.T.Logf("in the case: %s", what)
	}
}

// CheckTotals fails the test unless the balances add up to the totals.
func (e *Exchange) CheckTotals() {
	e.T.Helper()
	e.Owned(func() {
		if err := e.State.Check(); err != nil {
			e.T.Errorf("the accounts do not add up: %v", err)
		}
	})
}

// Owned runs read on the goroutine that owns the accounts.
func (e *Exchange) Owned(read func()) {
	if err := e.Loop().Query(read); err != nil { // the loop has ended
		read()
	}
}

// CallInternal sends a request to the internal API and returns the answer, whatever its status.
func (e *Exchange) CallInternal(method, path, body string) Answer {
	e.T.Helper()
	return e.Send(e.Internal, method, "/internal/v1"+path, body, nil)
}

// Now returns the time of the virtual clock.
func (e *Exchange) Now() time.Time { return time.Unix(0, e.Clock.NowNs()) }

// Socket opens a stream of the test exchange over a real connection, as package client does.
func (e *Exchange) Socket() *client.Stream {
	e.T.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		e.T.Fatal(err)
	}
	go func() { _ = e.Running.Public().Serve(ln) }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := client.Dial(ctx, client.StreamURL("http://"+ln.Addr().String()))
	if err != nil {
		e.T.Fatal(err)
	}
	e.T.Cleanup(func() { _ = s.Close() })
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
