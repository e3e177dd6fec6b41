package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/public"
	"github.com/tickhive/tickhive/server/servertest"
)

// Until it is ready every route but healthcheck and status answers 503 with Retry-After.
func TestNotReady(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	cold, err := edge.New(edge.Options{
		Clock:     m.Clock,
		Resources: []edge.Resource{public.New(public.Options{Board: m.Feed().Board(), Clock: m.Clock}).Routes},
		Authenticate: func(*edge.Ctx) (*edge.Principal, *refuse.Refusal) {
			t.Error("the signature is checked before the accounts are there")
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	old := m.Server
	m.Server = cold
	go func() { _ = cold.Serve(m.Listener()) }()
	defer func() { m.Server = old }()
	// Two servers accept on one listener: ask until the cold one has answered each route.
	for _, route := range cold.Routes() {
		early := route.Path == "/api/healthcheck" || route.Path == "/api/status"
		for range 64 {
			a := m.Raw("192.0.2.9", "GET "+route.Path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			if early && a.Status != 200 {
				t.Errorf("GET %s: %d", route.Path, a.Status)
			}
			if a.Status == 503 {
				m.CheckRefusal(a, 503, "UNAVAILABLE", "")
				if a.Header.Get("Retry-After") != "1" {
					t.Errorf("GET %s: Retry-After %q", route.Path, a.Header.Get("Retry-After"))
				}
				break
			}
		}
	}
	var signed fasthttp.RequestCtx // clients sign whatever they ask
	signed.Request.SetRequestURI("/api/status")
	signed.Request.Header.Set("API-PublicKey", "key")
	if cold.Handler()(&signed); signed.Response.StatusCode() != 200 {
		t.Errorf("a signed request for the status: %d", signed.Response.StatusCode())
	}
	cold.SetReady()
	if !cold.Ready() {
		t.Error("not ready after SetReady")
	}
}

// The status has the state, the pairs and the incidents.
func TestStatus(t *testing.T) {
	info := public.StatusInfo{Epoch: "00112233445566ff", StartedNs: servertest.StartNs, ProgressPPM: -1}
	m := servertest.NewTradedMarket(t,
		func(o *servertest.Options) { o.Market.Status = func() public.StatusInfo { return info } })
	m.Advance(1500 * int64(time.Millisecond))
	type status struct {
		Status, Version, Epoch, StartedAt string
		UptimeSeconds, Time, Seq          int64
		Progress                          *float64
		Pairs                             []struct {
			CurrencyPairCode, State   string
			Seq, LastTradeID          int64
			LastTradeAt, LastChangeAt *int64
			ViewAgeMs                 int64
		}
		Incidents []struct {
			At, FirstAt, Count    int64
			Kind, Message, Detail string
		}
	}
	var s status
	m.OK("/api/status", &s)
	sum := int64(0)
	for _, p := range s.Pairs {
		sum += p.Seq
	}
	if s.Status != "ok" || s.Version != "1.0.0.0" || s.Epoch != info.Epoch ||
		s.StartedAt != "2026-01-01T00:00:00.000Z" ||
		s.UptimeSeconds != 341 || s.Time != servertest.StartNs/1e6+341_500 || s.Seq != sum || s.Progress != nil ||
		len(s.Pairs) != 3 || len(s.Incidents) != 0 {
		t.Errorf("%+v", s)
	}
	if p := s.Pairs[0]; p.CurrencyPairCode != "BTC_USDT" || p.State != "online" || p.LastTradeID != 10 ||
		*p.LastTradeAt != servertest.StartNs/1e6+340_000 || p.ViewAgeMs != 0 {
		t.Errorf("%+v", p)
	}
	if p := s.Pairs[2]; p.LastTradeID != 0 || p.LastTradeAt != nil || p.LastChangeAt == nil {
		t.Errorf("%+v", p)
	}
	info.OldestUnpublishedNs = m.Machine.Load() - 1_500_000_000
	info.Incidents = make([]edge.Incident, 60)
	info.Incidents[0] = edge.Incident{
		AtMs: 5, FirstMs: 3, Count: 2, Kind: "store_stopped", Message: `disk "full"`,
		Detail: "write /var/lib/th: no space",
	}
	m.OK("/api/status", &s)
	if s.Status != "degraded" || s.Pairs[0].ViewAgeMs != 1500 || len(s.Incidents) != 50 ||
		s.Incidents[0].Message != `disk "full"` || s.Incidents[0].At != 5 || s.Incidents[0].FirstAt != 3 ||
		s.Incidents[0].Count != 2 || s.Incidents[0].Detail != "" {
		t.Errorf("%+v", s)
	}
	info = public.StatusInfo{Recovering: true, ProgressPPM: 123_400}
	m.OK("/api/status", &s)
	if s.Status != "recovering" || *s.Progress != 0.1234 {
		t.Errorf("%+v", s)
	}
	info.Seeking = true
	m.OK("/api/status", &s)
	if s.Status != "seeking" {
		t.Errorf("%+v", s)
	}
}

// Connections beyond the limit of an address get an error and are closed; other addresses and
// allow-listed ones are served.
func TestConnectionsPerIP(t *testing.T) {
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) {
		o.ConnectionsPerIP = 2
		o.Rate.Allow = []string{"192.0.2.77"}
	})
	hold := func(ip string) {
		t.Helper()
		conn, err := m.Dial(ip)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := conn.Write([]byte("GET /api/time HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	const ask = "GET /api/time HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	for range 2 {
		hold("192.0.2.5")
		hold("2001:db8::1")
	}
	for range 5 {
		hold("192.0.2.77")
	}
	for _, full := range []string{"192.0.2.5", "2001:db8::ffff"} {
		a := m.Raw(full, ask)
		m.CheckRefusal(a, 429, "RATE_LIMIT", "")
	}
	for _, free := range []string{"192.0.2.6", "2001:db8:0:1::1", "192.0.2.77"} {
		if a := m.Raw(free, ask); a.Status != 200 {
			t.Errorf("%s: %d", free, a.Status)
		}
	}
}

// Connections that never complete a request do not keep others out: a full server closes the
// oldest of them.
func TestHalfRequestsDoNotFillTheServer(t *testing.T) {
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) { o.Connections = 4 })
	var half []net.Conn
	for _, ip := range []string{"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1"} {
		conn, err := m.Dial(ip)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, "GET /api/time HTTP/1.1\r\nHost: x\r\nX-Slow: "); err != nil {
			t.Fatal(err)
		}
		half = append(half, conn)
	}
	const ask = "GET /api/time HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	if a := m.Raw("100.64.0.1", ask); a.Status != 200 {
		t.Errorf("another client: %d %s", a.Status, a.Body)
	}
	if n, err := half[0].Read(make([]byte, 1)); err == nil {
		t.Errorf("the oldest connection reads %d bytes", n)
	}
	if m.Server.Evicted() != 1 {
		t.Errorf("%d connections closed for others, want 1", m.Server.Evicted())
	}
	for i, conn := range half[1:] {
		if _, err := io.WriteString(conn, "\r\n\r\n"); err != nil {
			t.Errorf("connection %d: %v", i+1, err)
		}
		if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || res.StatusCode != 200 {
			t.Errorf("connection %d: %v %v", i+1, res, err)
		}
	}
}

// With AggregatorHost, the Host header selects the namespace.
func TestAggregatorHost(t *testing.T) {
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) { o.AggregatorHost = "agg.example" })
	for _, c := range []struct {
		host, path string
		status     int
	}{
		{"agg.example", servertest.Agg + "/pairs", 200},
		{"agg.example", "/v1/spot/market/pairs", 200},
		{"agg.example", "/api/currencies", 404},
		{"agg.example", "/api/tickers?currencyPairCode=BTC_USDT", 404},
		{"agg.example", "/api/healthcheck", 200},
		{"other", servertest.Agg + "/pairs", 404},
		{"other", "/api/currencies", 200},
		{"other", "/api/healthcheck", 200},
	} {
		a := m.Raw("192.0.2.9", "GET "+c.path+" HTTP/1.1\r\nHost: "+c.host+"\r\nConnection: close\r\n\r\n")
		if a.Status != c.status {
			t.Errorf("%s%s: %d, want %d", c.host, c.path, a.Status, c.status)
		}
	}
}

// With a separate aggregator listener, each listener serves only its namespace.
func TestSplitListener(t *testing.T) {
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) { o.SplitAggregator = true })
	if a := m.Get(servertest.Agg + "/pairs"); a.Status != 404 {
		t.Errorf("public listener: %d", a.Status)
	}
	done := make(chan struct{})
	go func() { _ = m.Server.ServeAggregator(m.Listener()); close(done) }()
	statuses := map[int]bool{}
	for range 100_000 { // which listener takes a connection is up to the scheduler
		if statuses[200] && statuses[404] {
			break
		}
		statuses[m.Raw("192.0.2.9", "GET "+servertest.Agg+"/pairs HTTP/1.1\r\nHost: x\r\n"+
			"Connection: close\r\n\r\n").Status] = true
	}
	if !statuses[200] || !statuses[404] {
		t.Errorf("both listeners on one address: %v", statuses)
	}
}

// Counters per route and status class, and the time of every request.
func TestRouteStats(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	for range 5 {
		m.Get("/api/currencies")
	}
	m.Get("/api/tickers")
	m.Get("/nope")
	got, timed := map[string][6]uint64{}, map[string]uint64{}
	for _, s := range m.Server.RouteStats() {
		got[s.Path] = s.Status
		for _, n := range s.Latency.Buckets {
			timed[s.Path] += n
		}
	}
	if timed["/api/currencies"] != 5 || timed["/api/tickers"] != 1 || timed[""] != 1 {
		t.Errorf("timed %v: want every request", timed)
	}
	if got["/api/currencies"][2] != 5 || got["/api/tickers"][4] != 1 || got[""][4] != 1 {
		t.Error(got)
	}
}

// A path of another listener is refused with the listener to which it belongs.
func TestAPathOfAnotherListener(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	for path, want := range map[string]string{
		"/internal/v1/ready": "belong to the internal listener", "/metrics": "belong to the internal listener",
		"/api/v3/time": "belong to the Binance-compatible listener, which --binance-listen",
		"/api/nothing": "are listed by its /swagger", "/tickers": "are listed by its /swagger",
	} {
		if a := m.Get(path); a.Status != 404 || !strings.Contains(string(a.Body), want) {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
}
