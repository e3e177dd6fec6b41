package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/setting"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/servertest"
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
		"/", "/nope", "/api", "/api/", "/api/Tickers", "/API/tickers", "/api/tickers/",
		"//api/tickers", "/api//tickers",
		"/api/./tickers", "/api/../api/tickers", "/api/deals/../tickers", "/api/%74ickers",
		"/api/tickers%3F", "/api%2Ftickers",
		"/api/keys", "/api/keys/", "/api/keys/a/b", "/api/keys/%41", "/api/keys/..", "/api/keys/.",
		"/api/keys/a%2Fb", "/api/keys//",
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
	if a := m.Raw("192.0.2.9", "GET http://other/api/time HTTP/1.1\r\nHost: x\r\n"+
		"Connection: close\r\n\r\n"); a.Status != 200 {
		t.Errorf("absolute form: %d", a.Status)
	}
	if a := m.Raw("192.0.2.9", "GET /x://y/api/time HTTP/1.1\r\nHost: x\r\n"+
		"Connection: close\r\n\r\n"); a.Status != 404 {
		t.Errorf("a scheme inside a path: %d %s", a.Status, a.Body)
	}
}

// Wrong methods: 405 with Allow; OPTIONS: 204 with Allow and, where public, CORS.
func TestMethods(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	for _, route := range m.Server.Routes() {
		path := strings.ReplaceAll(route.Path, "{pair}", "BTC_USDT")
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW"} {
			a := m.Do(method, path, "")
			m.CheckRefusal(a, 405, "METHOD_NOT_ALLOWED", "")
			if got := a.Header.Get("Allow"); got != "GET, HEAD, OPTIONS" {
				t.Errorf("%s %s: Allow %q", method, route.Path, got)
			}
		}
		a := m.Do(http.MethodOptions, path, "", "Origin", "https://a.example",
			"Access-Control-Request-Method", "GET")
		if a.Status != 204 || a.Body != "" || a.Header.Get("Allow") != "GET, HEAD, OPTIONS" ||
			a.Header.Get("Access-Control-Allow-Origin") != "*" ||
			a.Header.Get("Access-Control-Allow-Methods") != "GET, HEAD, OPTIONS" {
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
		return m.Raw("192.0.2.9", fmt.Sprintf("POST /api/time HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s",
			expect, n, pad(n)))
	}
	m.CheckRefusal(post(65_536, ""), 405, "METHOD_NOT_ALLOWED", "")
	m.CheckRefusal(post(65_537, ""), 413, "PAYLOAD_TOO_LARGE", "")
	m.CheckRefusal(post(500_000, ""), 413, "PAYLOAD_TOO_LARGE", "")
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 60_000, pad(60_000))
	m.CheckRefusal(m.Raw("192.0.2.9",
		"POST /api/time HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk+chunk+"0\r\n\r\n"),
		413, "PAYLOAD_TOO_LARGE", "")
	for _, broken := range []string{
		"GET\r\n\r\n", "GET /api/time HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n", "GET /api/time HTTP/1.1\r\n" +
			"Host: x\r\nContent-Length: x\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n",
	} {
		m.CheckRefusal(m.Raw("192.0.2.9", broken), 400, "INVALID_PARAM", "")
	}
}

// A request whose end another program may see elsewhere is refused, and the connection ends: what
// follows is not run as a request.
func TestAmbiguousFramingCloses(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	const next = "GET /api/time HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, c := range map[string]struct{ headers, body, field string }{
		"length, encoding":  {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", "Transfer-Encoding"},
		"encoding, length":  {"transfer-encoding: chunked\r\ncontent-length: 4\r\n", "0\r\n\r\n", "Transfer-Encoding"},
		"a folded encoding": {"Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n", ""},
		"a folded header":   {"X-A: b\r\n\tc\r\n", "", ""},
		"identity":          {"Transfer-Encoding: identity\r\n", "", "Transfer-Encoding"},
		"identity, length":  {"transfer-encoding:IDENTITY\r\nContent-Length: 0\r\n", "", "Transfer-Encoding"},
		"no coding":         {"Transfer-Encoding: \r\n", "", ""},
		"gzip":              {"Transfer-Encoding: gzip\r\n", "", ""},
		"chunked, gzip":     {"Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n", ""},
		"two codings":       {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n", ""},
		"identity, chunked": {"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", ""},
		"a space in a name": {"X Y: z\r\n", "", ""},
		"a tab in a name":   {"X\tY: z\r\n", "", ""},
		"a space behind it": {"X-Y : z\r\n", "", ""},
		"a spaced length":   {"Content Length: 5\r\n", "", ""},
		"no colon":          {"X-Y\r\n", "", ""},
	} {
		conn, err := m.Dial("192.0.2.9")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = io.WriteString(conn, "POST /api/time HTTP/1.1\r\nHost: x\r\n"+c.headers+"\r\n"+c.body+next)
		}()
		in := bufio.NewReader(conn)
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m.CheckRefusal(m.Read(res, name), 400, "INVALID_PARAM", c.field); !res.Close {
			t.Errorf("%s: the connection is kept", name)
		}
		if _, err := in.ReadByte(); err == nil {
			t.Errorf("%s: what follows was answered", name)
		}
		_ = conn.Close()
	}
	for _, text := range []string{
		"Content-Length: 2\r\n\r\n{}",
		"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"transfer-encoding:\tCHUNKED \r\nX-Y: a b: c\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"X-Content-Length: 2\r\nTransfer-Encodings: x\r\nContent-Length: 2\r\n\r\n{}",
	} {
		m.CheckRefusal(m.Raw("192.0.2.9", "POST /api/time HTTP/1.1\r\nHost: x\r\n"+text), 405, "METHOD_NOT_ALLOWED", "")
	}
}

// Every answer has the headers that keep browsers from misusing it; only what every origin may read
// may be embedded everywhere.
func TestAnswersProtectBrowsers(t *testing.T) {
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) { o.ConnectionsPerIP = 50 })
	for target, corp := range map[string]string{
		"/api/currencies": "cross-origin", "/api/tickers?currencyPairCode=NO_PAIR": "cross-origin",
		"/nope": "same-origin", "/" + strings.Repeat("a", 17_000): "same-origin",
	} {
		h := m.Raw("192.0.2.9", "GET "+target+" HTTP/1.1\r\nHost: x\r\n\r\n").Header
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cross-Origin-Opener-Policy") != "same-origin" ||
			h.Get("Cross-Origin-Resource-Policy") != corp || h.Get("Strict-Transport-Security") != "" {
			t.Errorf("GET %.40s: %v", target, h)
		}
	}
}

// A request that does not arrive in time: 408.
func TestRequestTimeout(t *testing.T) {
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) {
		o.ReadTimeout = setting.Duration(500 * time.Millisecond)
	})
	m.CheckRefusal(m.Raw("192.0.2.9", "GET /api/time HTTP/1.1\r\nHost: x\r\n"), 408, "REQUEST_TIMEOUT", "")
	m.CheckRefusal(m.Raw("192.0.2.9", "POST /api/time HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n123"),
		408, "REQUEST_TIMEOUT", "")
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
			return []*edge.Route{{
				Method: "GET", Path: "/api/boom", Public: true,
				Handle: func(*edge.Ctx) *refuse.Refusal { panic("secret detail") },
			}}
		}}
	})
	for range 3 {
		a := m.Get("/api/boom")
		m.CheckRefusal(a, 500, "INTERNAL", "")
		if strings.Contains(a.Body, "secret") || strings.Contains(a.Body, "goroutine") {
			t.Error(a.Body)
		}
		if a.Header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(
			a.Header.Get("Access-Control-Expose-Headers"), "X-Request-Id") {
			t.Errorf("a page of another origin cannot read the error: %v", a.Header)
		}
	}
	if m.Server.Panics() != 3 || m.Get("/api/time").Status != 200 {
		t.Error("the server did not go on")
	}
}

// Every public POST accepts the four media types, and the order of checks holds.
func TestMediaTypesAndOrder(t *testing.T) {
	needed := edge.Text("n").Need()
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) {
		o.Authenticate = func(c *edge.Ctx) (*edge.Principal, *refuse.Refusal) {
			if string(c.Request.Header.Peek("API-PublicKey")) != "good" {
				return nil, refuse.New(refuse.Unauthorized, "", "The key is unknown or the signature is wrong.")
			}
			return &edge.Principal{CanTrade: c.QueryArgs().Has("trade")}, nil
		}
		o.Resources = []edge.Resource{func(*edge.Server) []*edge.Route {
			return []*edge.Route{{
				Method: "POST", Path: "/api/thing", Class: edge.ClassLimited, Auth: edge.AuthRequired,
				Trade: true, Body: edge.BodyJSON,
				Params: edge.Params(needed),
				Handle: func(c *edge.Ctx) *refuse.Refusal {
					if _, err := needed.Of(c); err != nil {
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
		"", "application/json", "application/json; charset=utf-8", "APPLICATION/JSON",
		"application/json-patch+json", "text/json",
		"application/vnd.api+json", "application/problem+json;v=1",
	} {
		if a := post("/api/thing?trade&n=1", kind, signed...); a.Status != 200 || a.Body != "{}" ||
			a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%q: %d %s", kind, a.Status, a.Body)
		}
	}
	for _, kind := range []string{
		"text/plain", "application/xml", "application/+json",
		"multipart/form-data; boundary=x", "json", "text/vnd+json",
	} {
		m.CheckRefusal(post("/api/thing?trade&n=1", kind, signed...), 415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type")
	}
	m.CheckRefusal(post("/api/thing?trade&n=1", "application/json", "API-PublicKey", "good", "Content-Encoding",
		"gzip"), 415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type")
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
