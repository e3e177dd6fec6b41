package admin_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/server/servertest"
)

// innerRaw sends request unchanged to the internal listener on a new connection.
func innerRaw(h *servertest.Exchange, request string) servertest.Answer {
	h.T.Helper()
	conn, err := h.DialInternal()
	if err != nil {
		h.T.Fatal(err)
	}
	defer conn.Close()
	written := make(chan struct{})
	go func() { defer close(written); _, _ = io.Copy(conn, strings.NewReader(request)) }()
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		h.T.Fatalf("%.60q: %v", request, err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		h.T.Fatalf("%.60q: %v", request, err)
	}
	_ = conn.Close()
	<-written
	return servertest.Answer{Status: res.StatusCode, Header: res.Header, Body: string(body)}
}

// makesUser sends a POST that creates a user, with only these header lines. It returns the
// answer and whether the user exists.
func makesUser(h *servertest.Exchange, target string, lines ...string) (a servertest.Answer, made bool) {
	h.T.Helper()
	before := h.State.Shown().UserCount()
	a = innerRaw(h, "POST "+target+" HTTP/1.1\r\nConnection: close\r\nContent-Type: "+
		"text/plain\r\nContent-Length: 2\r\n"+
		strings.Join(append(lines, ""), "\r\n")+"\r\n{}")
	return a, h.State.Shown().UserCount() > before
}

const makeUser = "/internal/v1/users"

// Without a token the internal listener accepts loopback names and configured names, with any
// port, and refuses all other names.
func TestWithoutATokenTheHostIsALoopbackNameOrAConfiguredOne(t *testing.T) {
	h := servertest.NewExchange(t, func(o *exchange.Options) {
		o.Internal.Hosts = []string{
			"ops.example", "Build-1.Example.", "box_2", "10.0.0.5",
			"fd00::5", "::ffff:10.0.0.6",
		}
	})
	for _, host := range []string{
		"localhost", "localhost:8081", "LocalHost:1", "localhost.", "localhost.:8081", "localhost:",
		"a.localhost", "a.b.LOCALHOST.:65535",
		"127.0.0.1", "127.0.0.1:8081", "127.255.255.254", "[::1]", "[::1]:8081",
		"[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]",
		"ops.example", "OPS.example:9", "ops.example.", "build-1.example", "BUILD-1.EXAMPLE.:1", "box_2:80",
		"10.0.0.5:8081", "[fd00::5]:1", "[fd00:0::5]", "10.0.0.6",
	} {
		if a, made := makesUser(h, makeUser, "Host: "+host); a.Status != 200 || !made {
			t.Errorf("Host %q: %d %s, made %v", host, a.Status, a.Body, made)
		}
	}
	for _, host := range []string{
		".", ":", ":8081", "evil.example", "evil.example:8081", "localhost.evil.example", "evil-localhost",
		"localhost..", ".localhost", "..localhost",
		"a..localhost", "localho\u017ft", "127.0.0.1.evil.example", "127.1", "0x7f.1", "2130706433", "0177.0.0.1",
		"0.0.0.0", "128.0.0.1", "10.0.0.7",
		"127.0.0.1.", "[::]", "[fd00::6]", "[::1%25lo]", "[::ffff:10.0.0.7]", "evil.ops.example", "ops.example.evil",
		"ops.exampl", "*", "null",
		"localhost:123456", strings.Repeat("a", 254) + ".localhost",
	} {
		a, made := makesUser(h, makeUser, "Host: "+host)
		h.CheckRefusal("Host "+host, a, 403, "FORBIDDEN", "Host")
		if made || !strings.Contains(a.Body, "internal.hosts") || !strings.Contains(a.Body, "internal.token") {
			t.Errorf("Host %q: made %v, %s", host, made, a.Body)
		}
	}
	for _, broken := range [][]string{
		nil,
		{"Host:"},
		{"Host: localhost", "Host: localhost"},
		{"Host: localhost", "Host: evil.example"},
		{"Host: [::1"},
		{"Host: ::1"},
		{"Host: localhost evil.example"},
		{"Host: evil.example/.localhost"},
		{"Host: localhost:80:80"},
		{"Host: localhost:-1"},
	} {
		if a, made := makesUser(h, makeUser, broken...); made || a.Status != 400 {
			t.Errorf("%q: %d, made %v", broken, a.Status, made)
		}
	}
}

// A target in absolute form names the host a second time: it must be the same.
func TestAnAbsoluteTargetHasTheHostOfTheRequest(t *testing.T) {
	h := servertest.NewExchange(t)
	for _, c := range []struct {
		target, host string
		status       int
	}{
		{"http://localhost:8081" + makeUser, "localhost:8081", 200},
		{"http://LOCALHOST:8081" + makeUser, "localhost:8081", 200},
		{"http://evil.example" + makeUser, "localhost", 403},
		{"http://localhost" + makeUser, "evil.example", 403},
		{"http://localhost:8081" + makeUser, "localhost", 403},
		{"http://evil@localhost" + makeUser, "localhost", 200},
		{"http://localhost@evil.example" + makeUser, "localhost", 403},
		{"//evil.example" + makeUser, "localhost", 404},
		{makeUser + "?u=http://evil.example", "evil.example", 403},
		{"http://localhost" + makeUser, "", 400},
	} {
		if a, made := makesUser(h, c.target, "Host: "+c.host); a.Status != c.status || made != (c.status == 200) {
			t.Errorf("%s with Host %q: %d %s, made %v", c.target, c.host, a.Status, a.Body, made)
		}
	}
	h.CheckRefusal("OPTIONS *", innerRaw(h, "OPTIONS * HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
		403, "FORBIDDEN", "Host")
	h.CheckRefusal("HTTP/1.0", innerRaw(h, "GET /internal/v1/clock HTTP/1.0\r\n\r\n"), 403, "FORBIDDEN", "Host")
	if a := innerRaw(h, "GET /internal/v1/clock HTTP/1.0\r\nHost: localhost\r\n\r\n"); a.Status != 200 {
		t.Errorf("HTTP/1.0 with a Host: %d %s", a.Status, a.Body)
	}
}

// Headers that only a browser sends are checked besides the host: the origin and the site must
// be the listener's own, and a navigation may only read.
func TestWithoutATokenRequestsOfPagesAreRefused(t *testing.T) {
	h := servertest.NewExchange(t, func(o *exchange.Options) { o.Internal.Hosts = []string{"ops.example"} })
	for _, lines := range [][]string{
		{"Host: localhost:8081"},
		{"Host: localhost:8081", "Origin: http://localhost:8081"},
		{
			"Host: LOCALHOST:8081", "ORIGIN: http://localhost:8081",
			"sec-fetch-site: same-origin", "Sec-Fetch-Mode: cors",
		},
		{"Host: localhost", "Origin: http://localhost"},
		{"Host: localhost:80", "Origin: http://localhost"},
		{
			"Host: ops.example", "Origin: https://ops.example", "Sec-Fetch-Site: same-origin",
			"Sec-Fetch-Mode: same-origin",
		},
		{"Host: [::1]:8081", "Origin: http://[::1]:8081"},
		{"Host: localhost", "Sec-Fetch-Site: none"},
		{"Host: localhost", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: no-cors"},
		{"Host: localhost", "Referer: https://evil.example/", "Cookie: a=b"},
	} {
		if a, made := makesUser(h, makeUser, lines...); a.Status != 200 || !made {
			t.Errorf("%q: %d %s, made %v", lines, a.Status, a.Body, made)
		}
	}
	for _, c := range []struct {
		field string
		lines []string
	}{
		{"Origin", []string{"Origin: https://evil.example"}},
		{"Origin", []string{"Origin: null"}},
		{"Origin", []string{"Origin:"}},
		{"Origin", []string{"Origin: http://localhost"}},
		{"Origin", []string{"Origin: http://localhost:8080"}},
		{"Origin", []string{"Origin: http://127.0.0.1:8081"}},
		{"Origin", []string{"Origin: http://localhost:8081.evil.example"}},
		{"Origin", []string{"Origin: http://evil.example/http://localhost:8081"}},
		{"Origin", []string{"Origin: ftp://localhost:8081"}},
		{"Origin", []string{"Origin: localhost:8081"}},
		{"Origin", []string{"Origin: http://localhost:8081 http://evil.example"}},
		{"Origin", []string{"Origin: http://localhost:8081", "Origin: https://evil.example"}},
		{"Origin", []string{"Origin: https://evil.example", "origin: http://localhost:8081"}},
		{"Sec-Fetch-Site", []string{"Sec-Fetch-Site: cross-site"}},
		{"Sec-Fetch-Site", []string{"Sec-Fetch-Site: same-site"}},
		{"Sec-Fetch-Site", []string{"Sec-Fetch-Site:"}},
		{"Sec-Fetch-Site", []string{"Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"}},
		{"Sec-Fetch-Site", []string{"Origin: http://localhost:8081", "Sec-Fetch-Site: new-word"}},
		{"Sec-Fetch-Mode", []string{"Sec-Fetch-Mode: navigate"}},
		{"Sec-Fetch-Mode", []string{
			"Origin: http://localhost:8081", "Sec-Fetch-Site: same-origin",
			"Sec-Fetch-Mode: navigate",
		}},
		{"Sec-Fetch-Mode", []string{"Sec-Fetch-Site: none", "Sec-Fetch-Mode: cors", "Sec-Fetch-Mode: navigate"}},
	} {
		a, made := makesUser(h, makeUser, append(c.lines, "Host: localhost:8081")...)
		h.CheckRefusal(fmt.Sprint(c.lines), a, 403, "FORBIDDEN", c.field)
		if made || !strings.Contains(a.Body, "internal.token") {
			t.Errorf("%q: made %v, %s", c.lines, made, a.Body)
		}
	}
	// The server accepts a GET from the address bar; it refuses a link on another page.
	get := func(site string) servertest.Answer {
		return innerRaw(h, "GET /internal/v1/totals HTTP/1.1\r\nHost: localhost\r\n"+
			"Connection: close\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: "+site+"\r\n\r\n")
	}
	if a := get("none"); a.Status != 200 {
		t.Errorf("from the address bar: %d %s", a.Status, a.Body)
	}
	h.CheckRefusal("from a link", get("cross-site"), 403, "FORBIDDEN", "Sec-Fetch-Site")
}

// The page check precedes every route and method, profiles, unknown paths, upgrades and
// preflights. Only the probes are served to every client.
func TestThePageFilterIsBeforeEveryRouteButTheProbes(t *testing.T) {
	h := servertest.NewExchange(t)
	for _, route := range h.Running.Internal().Routes() {
		path := strings.NewReplacer("{", "", "}", "").Replace(route.Path)
		want := 403
		if path == "/internal/v1/ready" || path == "/healthz" || path == "/readyz" {
			want = 200
		}
		for _, foreign := range []string{
			"Host: evil.example\r\n",
			"Host: localhost\r\nOrigin: http://evil.example\r\n",
		} {
			a := innerRaw(h, route.Method+" "+path+" HTTP/1.1\r\nConnection: close\r\n"+foreign+"Content-Length: "+
				"0\r\n\r\n")
			if a.Status != want {
				t.Errorf("%s %s with %q: %d %s", route.Method, path, foreign, a.Status, a.Body)
			}
		}
	}
	for _, request := range []string{
		"GET /debug/pprof/", "GET /debug/pprof/heap?debug=1", "GET /debug/pprof/cmdline", "GET /nope", "OPTIONS " +
			"/internal/v1/orders", "BREW /internal/v1/orders",
		"GET /internal/v1/ready/", "GET /internal/v1/ready/../totals", "GET /internal/v1/READY",
		"GET /internal/v1/totals?/internal/v1/ready",
	} {
		for _, foreign := range []string{
			"Host: evil.example\r\n", "Host: localhost\r\nOrigin: " +
				"http://evil.example\r\nAccess-Control-Request-Method: DELETE\r\n",
			"Host: localhost\r\nOrigin: http://evil.example\r\nUpgrade: websocket\r\nSec-WebSocket-Key: " +
				"dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n",
		} {
			a := innerRaw(h, request+" HTTP/1.1\r\nConnection: close\r\n"+foreign+"\r\n")
			if a.Status != 403 || a.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s with %q: %d %v %s", request, foreign, a.Status, a.Header, a.Body)
			}
		}
	}
}

// A browser sends GET and HEAD by links and images, and an old one does not say that they
// come from another origin: none of them changes anything.
func TestNoGETOfTheInternalAPIChangesAnything(t *testing.T) {
	h := servertest.NewExchange(t)
	h.MustInternal("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":8}`)
	user := h.MustInternal("POST", "/users", "{}")["id"].(string)
	order := h.MustInternal("POST", "/orders", `{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":1,`+
		`"amount":1}`)["orderId"]
	list := h.MustInternal("POST", "/orders/lists", `{"kind":"oto","currencyPairCode":"BTC_USDT","clientOrderId":"l",`+
		`"orders":[{"side":"buy","type":"limit","price":1,"amount":1},`+
		`{"side":"sell","type":"market","amount":1}]}`)["listId"]
	state := func() string {
		view := h.State.Shown()
		return fmt.Sprint(h.Loop().Stats().Commands.Load(), view.UserCount(), view.Totals(), view.Balances(1),
			view.Keys(1, servertest.StartNs), h.Clock.NowNs())
	}
	before, asked := state(), 0
	fill := strings.NewReplacer("{pair}", "BTC_USDT", "{code}", "BTC_USDT", "{symbol}", "BTC", "{name}", "goroutine",
		"/users/{id}", "/users/"+user, "/orders/{id}", fmt.Sprint("/orders/", order),
		"{listId}", fmt.Sprint(list), "{currencyPairCode}", "BTC_USDT", "{clientOrderId}", "l")
	for _, route := range h.Running.Internal().Routes() {
		// these two take seconds
		if route.Method != "GET" || route.Path == "/debug/pprof/profile" || route.Path == "/debug/pprof/trace" {
			continue
		}
		for _, method := range []string{"GET", "HEAD"} {
			if a := h.Send(h.Internal, method, fill.Replace(route.Path), "", nil); a.Status != 200 &&
				!strings.Contains(route.Path, "/assets/") && // the market has no asset
				!(strings.HasSuffix(route.Path, "/snapshot") && a.Status == 409) && // no data directory
				!(strings.HasSuffix(route.Path, "/replay") && a.Status == 409) { // and no recording
				t.Errorf("%s %s: %d %s", method, fill.Replace(route.Path), a.Status, a.Body)
			}
		}
		asked++
	}
	if after := state(); after != before || asked < 8 {
		t.Errorf("after %d routes\n%s, before\n%s", asked, after, before)
	}
}

// A token replaces the page check, because no page knows it. Every request without the token
// gets 401.
func TestATokenReplacesTheGate(t *testing.T) {
	h := servertest.NewExchange(t, func(o *exchange.Options) { o.Internal.Token = "open sesame" })
	foreign := []string{
		"Host: evil.example", "Origin: http://other.example", "Sec-Fetch-Site: cross-site",
		"Sec-Fetch-Mode: navigate",
	}
	if a, made := makesUser(h, makeUser, append(foreign, "Authorization: Bearer open sesame")...); a.Status != 200 ||
		!made {
		t.Errorf("with the token: %d %s, made %v", a.Status, a.Body, made)
	}
	for _, lines := range [][]string{nil, {"Authorization: Bearer open"}, {"Authorization: open sesame"}} {
		for _, host := range [][]string{foreign, {"Host: localhost"}} {
			a, made := makesUser(h, makeUser, append(lines, host...)...)
			h.CheckRefusal(fmt.Sprint(lines, host), a, 401, "UNAUTHORIZED", "Authorization")
			if made {
				t.Errorf("%q %q made a user", lines, host)
			}
		}
	}
}

// Values that internal.hosts must not contain.
func TestHostsAreNamesAndAddresses(t *testing.T) {
	for _, good := range []string{
		"a", "ops.example", "ops.example.", "xn--bcher-kva.example", "box_2",
		"10.0.0.1", "::1", "fd00::5",
	} {
		if err := admin.CheckHost(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", ".", "..", "*", "*.example", "http://ops.example", "ops.example:8081", "10.0.0.0/8", "[::1]",
		"fe80::1%eth0", "127.1", "10.0.0.1.", "a b", "a/b", "b\u00fccher.example",
		strings.Repeat("a", 254),
	} {
		if err := admin.CheckHost(bad); err == nil || !strings.Contains(err.Error(), "list the name alone") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
