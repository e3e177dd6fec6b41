package edge_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"tickhive/internal/refuse"
	"tickhive/server/edge"
	"tickhive/server/public"
	"tickhive/server/servertest"
)

// Paths are strict: each has one spelling.
func TestPaths(t *testing.T) {
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) {
		o.Resources = []edge.Resource{func(*edge.Server) []*edge.Route {
			return []*edge.Route{{Method: "GET", Path: "/api/keys/{key}", Handle: func(c *edge.Ctx) *refuse.Refusal {
				c.Private([]byte(`"` + c.PathParam("key") + `"`))
				return nil
			}}}
		}}
	})
	for _, target := range []string{
		"/", "/nope", "/api", "/api/", "/api/Tickers", "/API/tickers", "/api/tickers/", "//api/tickers", "/api//tickers",
		"/api/./tickers", "/api/../api/tickers", "/api/deals/../tickers", "/api/%74ickers", "/api/tickers%3F", "/api%2Ftickers",
		"/api/keys", "/api/keys/", "/api/keys/a/b", "/api/keys/%41", "/api/keys/..", "/api/keys/.", "/api/keys/a%2Fb", "/api/keys//",
		"/api/marketdata/getaggregator", "/api/marketdata/getaggregator/", "/v1/spot/market", "/api/tickers;x",
	} {
		for _, more := range []string{"", "?currencyPairCode=BTC_USDT"} {
			a := m.Raw("192.0.2.9", "GET "+target+more+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			m.CheckRefusal(a, 404, "NOT_FOUND", "")
			if t.Failed() {
				t.Fatalf("GET %s", target+more)
			}
		}
	}
	if a := m.Get("/api/keys/Ab-_.9"); a.Body != `"Ab-_.9"` {
		t.Errorf("a plain parameter: %d %s", a.Status, a.Body)
	}
	if a := m.Raw("192.0.2.9", "GET http://other/api/time HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); a.Status != 200 {
		t.Errorf("absolute form: %d", a.Status)
	}
	if a := m.Raw("192.0.2.9", "GET /x://y/api/time HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); a.Status != 404 {
		t.Errorf("a scheme inside a path: %d %s", a.Status, a.Body)
	}
}

// Wrong methods: 405 with Allow; OPTIONS: 204 with Allow and, where public, CORS.
func TestMethods(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	for _, route := range m.Server.Routes() {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW"} {
			a := m.Do(method, route.Path, "")
			m.CheckRefusal(a, 405, "METHOD_NOT_ALLOWED", "")
			if got := a.Header.Get("Allow"); got != "GET, HEAD, OPTIONS" {
				t.Errorf("%s %s: Allow %q", method, route.Path, got)
			}
		}
		a := m.Do(http.MethodOptions, route.Path, "", "Origin", "https://a.example", "Access-Control-Request-Method", "GET")
		if a.Status != 204 || a.Body != "" || a.Header.Get("Allow") != "GET, HEAD, OPTIONS" ||
			a.Header.Get("Access-Control-Allow-Origin") != "*" || a.Header.Get("Access-Control-Allow-Methods") != "GET, HEAD, OPTIONS" {
			t.Errorf("OPTIONS %s: %d %v", route.Path, a.Status, a.Header)
		}
	}
	m.CheckRefusal(m.Do(http.MethodOptions, "/nope", ""), 404, "NOT_FOUND", "")
	m.CheckRefusal(m.Do(http.MethodPost, "/nope", ""), 404, "NOT_FOUND", "")
}

// A request beyond a limit of the listener gets the error object, even when fasthttp refuses it.
func TestSizes(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	get := func(target, header string) servertest.Answer {
		return m.Raw("192.0.2.9", "GET "+target+" HTTP/1.1\r\nHost: x\r\n"+header+"\r\n")
	}
	query := "/api/tickers?currencyPairCode=BTC_USDT&x="
	pad := func(n int) string { return strings.Repeat("a", n) }
	if a := get(query+pad(8192-len(query)), ""); a.Status != 200 {
		t.Errorf("a target of 8 KiB: %d %s", a.Status, a.Body)
	}
	m.CheckRefusal(get(query+pad(8193-len(query)), ""), 414, "URI_TOO_LONG", "")
	m.CheckRefusal(get("/"+pad(15_000), ""), 414, "URI_TOO_LONG", "")
	m.CheckRefusal(get("/"+pad(17_000), ""), 431, "HEADERS_TOO_LARGE", "")
	m.CheckRefusal(get("/api/time", "X-Large: "+pad(17_000)+"\r\n"), 431, "HEADERS_TOO_LARGE", "")
	if a := get("/api/time", "X-Large: "+pad(15_000)+"\r\n"); a.Status != 200 {
		t.Errorf("a head of 15 KB: %d", a.Status)
	}
	post := func(n int, expect string) servertest.Answer {
		return m.Raw("192.0.2.9", fmt.Sprintf("POST /api/time HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", expect, n, pad(n)))
	}
	m.CheckRefusal(post(65_536, ""), 405, "METHOD_NOT_ALLOWED", "")
	m.CheckRefusal(post(65_537, ""), 413, "PAYLOAD_TOO_LARGE", "")
	m.CheckRefusal(post(500_000, ""), 413, "PAYLOAD_TOO_LARGE", "")
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 60_000, pad(60_000))
	m.CheckRefusal(m.Raw("192.0.2.9", "POST /api/time HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk+chunk+"0\r\n\r\n"),
		413, "PAYLOAD_TOO_LARGE", "")
	for _, broken := range []string{
		"GET\r\n\r\n", "GET /api/time HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n", "GET /api/time HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n",
	} {
		m.CheckRefusal(m.Raw("192.0.2.9", broken), 400, "INVALID_PARAM", "")
	}
}

// A request that does not arrive in time: 408.
func TestRequestTimeout(t *testing.T) {
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) { o.ReadTimeout = 50 * time.Millisecond })
	m.CheckRefusal(m.Raw("192.0.2.9", "GET /api/time HTTP/1.1\r\nHost: x\r\n"), 408, "REQUEST_TIMEOUT", "")
	m.CheckRefusal(m.Raw("192.0.2.9", "POST /api/time HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n123"), 408, "REQUEST_TIMEOUT", "")
}

// Every answer has X-Request-Id: the client's when it is well-formed, otherwise a new one.
func TestRequestID(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	made := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	seen := map[string]bool{}
	for _, target := range []string{"/api/time", "/api/tickers?currencyPairCode=BTC_USDT", "/nope", "/api/tickers"} {
		for _, id := range []string{"a", "A-b_9", strings.Repeat("z", 64)} {
			if got := m.Get(target, "X-Request-Id", id).Header.Get("X-Request-Id"); got != id {
				t.Errorf("GET %s: %q, want %q", target, got, id)
			}
		}
		for _, id := range []string{"", strings.Repeat("z", 65), "a b", "a.b", `"`, "é"} {
			got := m.Get(target, "X-Request-Id", id).Header.Get("X-Request-Id")
			if !made.MatchString(got) || got == id || seen[got] {
				t.Errorf("GET %s: %q for %q", target, got, id)
			}
			seen[got] = true
		}
	}
}

// A panic is answered with a 500 without the stack, and the server keeps running.
func TestPanic(t *testing.T) {
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) {
		o.Resources = []edge.Resource{func(*edge.Server) []*edge.Route {
			return []*edge.Route{{Method: "GET", Path: "/api/boom", Handle: func(*edge.Ctx) *refuse.Refusal { panic("secret detail") }}}
		}}
	})
	for range 3 {
		a := m.Get("/api/boom")
		m.CheckRefusal(a, 500, "INTERNAL", "")
		if strings.Contains(a.Body, "secret") || strings.Contains(a.Body, "goroutine") {
			t.Error(a.Body)
		}
	}
	if m.Server.Panics() != 3 || m.Get("/api/time").Status != 200 {
		t.Error("the server did not go on")
	}
}

// Until it is ready every route but healthcheck and status answers 503 with Retry-After.
func TestNotReady(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	cold, err := edge.New(edge.Options{
		Clock:     m.Clock,
		Resources: []edge.Resource{public.New(public.Options{Board: m.Feed().Board(), Clock: m.Clock}).Resource},
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
	cold.SetReady()
	if !cold.Ready() {
		t.Error("not ready after SetReady")
	}
}

// The status has the state, the pairs and the incidents.
func TestStatus(t *testing.T) {
	info := public.StatusInfo{Epoch: "00112233445566ff", StartedNs: servertest.StartNs, ProgressPPM: -1}
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) { o.Market.Status = func() public.StatusInfo { return info } })
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
			At            int64
			Kind, Message string
		}
	}
	var s status
	m.OK("/api/status", &s)
	sum := int64(0)
	for _, p := range s.Pairs {
		sum += p.Seq
	}
	if s.Status != "ok" || s.Version != "1.0.0.0" || s.Epoch != info.Epoch || s.StartedAt != "2026-01-01T00:00:00.000Z" ||
		s.UptimeSeconds != 341 || s.Time != servertest.StartNs/1e6+341_500 || s.Seq != sum || s.Progress != nil || len(s.Pairs) != 3 || len(s.Incidents) != 0 {
		t.Errorf("%+v", s)
	}
	if p := s.Pairs[0]; p.CurrencyPairCode != "BTC_USDT" || p.State != "online" || p.LastTradeID != 10 || *p.LastTradeAt != servertest.StartNs/1e6+340_000 || p.ViewAgeMs != 0 {
		t.Errorf("%+v", p)
	}
	if p := s.Pairs[2]; p.LastTradeID != 0 || p.LastTradeAt != nil || p.LastChangeAt == nil {
		t.Errorf("%+v", p)
	}
	info.OldestUnpublishedNs = m.Machine.Load() - 1_500_000_000
	info.Incidents = make([]edge.Incident, 60)
	info.Incidents[0] = edge.Incident{AtMs: 5, Kind: "store_stopped", Message: `disk "full"`}
	m.OK("/api/status", &s)
	if s.Status != "degraded" || s.Pairs[0].ViewAgeMs != 1500 || len(s.Incidents) != 50 || s.Incidents[0].Message != `disk "full"` {
		t.Errorf("%+v", s)
	}
	info = public.StatusInfo{Recovering: true, ProgressPPM: 123_400}
	m.OK("/api/status", &s)
	if s.Status != "recovering" || *s.Progress != 0.1234 {
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
	for range 200 {
		statuses[m.Raw("192.0.2.9", "GET "+servertest.Agg+"/pairs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").Status] = true
	}
	if !statuses[200] || !statuses[404] {
		t.Errorf("both listeners on one address: %v", statuses)
	}
}

// Every public POST accepts the four media types, and the order of checks holds.
func TestMediaTypesAndOrder(t *testing.T) {
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) {
		o.Authenticate = func(c *edge.Ctx) (*edge.Principal, *refuse.Refusal) {
			if string(c.Request.Header.Peek("API-PublicKey")) != "good" {
				return nil, refuse.New(refuse.Unauthorized, "", "The key is unknown or the signature is wrong.")
			}
			return &edge.Principal{CanTrade: c.QueryArgs().Has("trade")}, nil
		}
		o.Resources = []edge.Resource{func(*edge.Server) []*edge.Route {
			return []*edge.Route{{
				Method: "POST", Path: "/api/thing", Class: edge.ClassLimited, Auth: edge.AuthRequired, Trade: true, Body: edge.BodyJSON,
				Handle: func(c *edge.Ctx) *refuse.Refusal {
					if _, err := c.Required("n"); err != nil {
						return err
					}
					c.Private([]byte("{}"))
					return nil
				},
			}}
		}}
	})
	ip := 0
	post := func(target, kind string, header ...string) servertest.Answer {
		ip++
		m.Client.CloseIdleConnections()
		if kind != "" {
			header = append(header, "Content-Type", kind)
		}
		m.Machine.Add(120 * servertest.SecondNs)
		return m.Do("POST", target, "{}", header...)
	}
	signed := []string{"API-PublicKey", "good"}
	for _, kind := range []string{
		"", "application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/json-patch+json", "text/json",
		"application/vnd.api+json", "application/problem+json;v=1",
	} {
		if a := post("/api/thing?trade&n=1", kind, signed...); a.Status != 200 || a.Body != "{}" || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%q: %d %s", kind, a.Status, a.Body)
		}
	}
	for _, kind := range []string{"text/plain", "application/xml", "application/+json", "multipart/form-data; boundary=x", "json", "text/vnd+json"} {
		m.CheckRefusal(post("/api/thing?trade&n=1", kind, signed...), 415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type")
	}
	m.CheckRefusal(post("/api/thing?trade&n=1", "application/json", "API-PublicKey", "good", "Content-Encoding", "gzip"), 415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type")
	// 415 before 401, 401 before 403, 403 before 400.
	m.CheckRefusal(post("/api/thing", "text/plain"), 415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type")
	m.CheckRefusal(post("/api/thing", ""), 401, "UNAUTHORIZED", "API-PublicKey")
	m.CheckRefusal(post("/api/thing", "", "API-PublicKey", "bad"), 401, "UNAUTHORIZED", "")
	m.CheckRefusal(post("/api/thing", "", signed...), 403, "FORBIDDEN", "")
	m.CheckRefusal(post("/api/thing?trade", "", signed...), 400, "INVALID_PARAM", "n")
	// A read route with a key is authenticated: the signature must verify, the answer is private.
	m.CheckRefusal(m.Get("/api/currencies", "API-PublicKey", "bad"), 401, "UNAUTHORIZED", "")
	a := m.Get("/api/currencies", signed...)
	if a.Status != 200 || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Etag") != "" {
		t.Errorf("a signed read: %d %v", a.Status, a.Header)
	}
	if a := m.Get("/api/deals?currencyPairCode=BTC_USDT", signed...); !strings.Contains(a.Body, `"isUserBuyer":true`) {
		t.Errorf("a signed call for deals of the caller: %s", a.Body)
	}
}

// Counters per route and status class.
func TestRouteStats(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	for range 5 {
		m.Get("/api/currencies")
	}
	m.Get("/api/tickers")
	m.Get("/nope")
	got := map[string][6]uint64{}
	for _, s := range m.Server.RouteStats() {
		got[s.Path] = s.Status
	}
	if got["/api/currencies"][2] != 5 || got["/api/tickers"][4] != 1 || got[""][4] != 1 {
		t.Error(got)
	}
}
