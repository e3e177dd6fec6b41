package admin_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/fault"
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/server/servertest"
)

// withConsole returns an exchange whose public listener serves the internal API.
func withConsole(t *testing.T, kind, token string) *servertest.Exchange {
	return servertest.NewExchange(t, func(o *exchange.Options) {
		o.Server.Console, o.Internal.Token = kind, token
	})
}

// console sends a request with these header lines to the public listener, from an address.
func console(h *servertest.Exchange, from, request, body string, lines ...string) servertest.Answer {
	h.T.Helper()
	conn, err := h.Dial(from)
	if err != nil {
		h.T.Fatal(err)
	}
	defer conn.Close()
	head := strings.Join(append(lines, "Connection: close", fmt.Sprint("Content-Length: ", len(body))), "\r\n")
	go func() { _, _ = io.WriteString(conn, request+" HTTP/1.1\r\n"+head+"\r\n\r\n"+body) }()
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		h.T.Fatalf("%q: %v", request, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		h.T.Fatalf("%q: %v", request, err)
	}
	return servertest.Answer{Status: res.StatusCode, Header: res.Header, Body: string(text)}
}

// consoleUser asks the console for a user. made reports whether there is one more.
func consoleUser(h *servertest.Exchange, from string, lines ...string) (a servertest.Answer, made bool) {
	h.T.Helper()
	before := h.State.Shown().UserCount()
	a = console(h, from, "POST "+makeUser, "{}", lines...)
	return a, h.State.Shown().UserCount() > before
}

// The public listener serves no path of the internal API, unless the console is on; then it serves the paths below
// /internal/v1, with the answers and the counters of the internal listener.
func TestTheConsoleHasTheRoutesOfTheInternalListener(t *testing.T) {
	off, on := withConsole(t, "", ""), withConsole(t, admin.ConsoleLoopback, "")
	for _, route := range on.Running.Internal().Routes() {
		path := strings.NewReplacer("{", "", "}", "").Replace(route.Path)
		if strings.HasPrefix(path, "/internal/v1/") {
			if a := console(off, "127.0.0.1", "OPTIONS "+path, "", "Host: localhost"); a.Status != 404 {
				t.Errorf("%s without a console: %d", path, a.Status)
			}
			inside := innerRaw(on, "OPTIONS "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
			a := console(on, "127.0.0.1", "OPTIONS "+path, "", "Host: localhost")
			if a.Status != 204 || a.Header.Get("Allow") != inside.Header.Get("Allow") {
				t.Errorf("%s: %d, Allow %q, on the internal listener %q", path, a.Status, a.Header.Get("Allow"),
					inside.Header.Get("Allow"))
			}
		}
	}
	for _, path := range []string{
		"/metrics", "/debug/pprof/", "/internal", "/internal/v1", "/internal/v2/users", "//internal/v1/users",
	} {
		if a := console(on, "127.0.0.1", "GET "+path, "", "Host: localhost"); a.Status != 404 {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	if a, made := consoleUser(on, "127.0.0.1", "Host: localhost"); a.Status != 200 || !made {
		t.Errorf("a user: %d %s, made %v", a.Status, a.Body, made)
	}
	answered := uint64(0)
	for _, s := range on.Running.Internal().RouteStats() {
		if s.Method == "POST" && s.Path == makeUser {
			for _, n := range s.Status {
				answered += n
			}
		}
	}
	if answered != 1 {
		t.Errorf("the counters of the internal routes have %d requests for users, want 1", answered)
	}
	// Public routes are as without a console.
	if a := console(on, "192.0.2.1", "GET /api/time", "", "Host: evil.example", "Via: 1.1 a"); a.Status != 200 {
		t.Errorf("/api/time through a proxy: %d %s", a.Status, a.Body)
	}
}

// server.console = loopback admits programs and the listener's own pages on this machine: a peer at a loopback address,
// a loopback name in Host, no header of a proxy, and of a browser the listener's own origin.
func TestALoopbackConsoleIsForThisMachineAlone(t *testing.T) {
	h := withConsole(t, admin.ConsoleLoopback, "")
	own := []string{"Origin: http://localhost:8080", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors"}
	for _, c := range []struct {
		from  string
		lines []string
	}{
		{"127.0.0.1", []string{"Host: 127.0.0.1:8080"}},
		{"127.8.9.10", []string{"Host: localhost"}},
		{"::1", []string{"Host: [::1]:8080"}},
		{"127.0.0.1", append([]string{"Host: localhost:8080"}, own...)},
	} {
		if a, made := consoleUser(h, c.from, c.lines...); a.Status != 200 || !made {
			t.Errorf("%s %q: %d %s, made %v", c.from, c.lines, a.Status, a.Body, made)
		}
	}
	const local = "Host: localhost:8080"
	for _, c := range []struct {
		field, from string
		lines       []string
	}{
		{"", "192.0.2.1", []string{local}},
		{"", "2001:db8::1", []string{local}},
		{"Host", "127.0.0.1", []string{"Host: evil.example"}},
		{"Host", "127.0.0.1", []string{"Host: 192.0.2.1:8080"}},
		{"Host", "127.0.0.1", []string{"Host: localhost.evil.example"}},
		{"Forwarded", "127.0.0.1", []string{local, "Forwarded: for=192.0.2.1"}},
		{"Via", "127.0.0.1", []string{local, "Via: 1.1 proxy"}},
		{"X-Forwarded-For", "127.0.0.1", []string{local, "X-Forwarded-For: 127.0.0.1"}},
		{"X-Forwarded-For", "127.0.0.1", []string{local, "x-forwarded-for:"}},
		{"X-Forwarded-Proto", "127.0.0.1", []string{local, "X-Forwarded-Proto: https"}},
		{"Origin", "127.0.0.1", []string{local, "Origin: https://evil.example"}},
		{"Origin", "127.0.0.1", []string{local, "Origin: http://localhost:8081"}},
		{"Origin", "127.0.0.1", []string{local, "Origin: null"}},
		{"Sec-Fetch-Site", "127.0.0.1", []string{local, "Sec-Fetch-Site: cross-site"}},
		{"Sec-Fetch-Site", "127.0.0.1", []string{local, "Sec-Fetch-Site: same-site"}},
		{"Sec-Fetch-Mode", "127.0.0.1", []string{local, "Sec-Fetch-Mode: navigate"}},
	} {
		a, made := consoleUser(h, c.from, c.lines...)
		if a.Status != 403 || made || a.Header.Get("Access-Control-Allow-Origin") != "" ||
			!strings.Contains(a.Body, `"code":"FORBIDDEN"`) ||
			c.field != "" && !strings.Contains(a.Body, `"field":"`+c.field+`"`) ||
			!strings.Contains(a.Body, "console") {
			t.Errorf("from %s with %q: %d %s, made %v", c.from, c.lines, a.Status, a.Body, made)
		}
	}
	for _, path := range []string{"/internal/v1/ready", "/internal/v1/nope"} {
		if a := console(h, "192.0.2.1", "GET "+path, "", local); a.Status != 403 {
			t.Errorf("%s from another machine: %d %s", path, a.Status, a.Body)
		}
	}
}

// server.console = token asks for the token on every path below /internal/v1, from everywhere, and for nothing else.
func TestATokenConsoleAsksForTheToken(t *testing.T) {
	h := withConsole(t, admin.ConsoleToken, "open sesame")
	foreign := []string{"Host: exchange.example", "X-Forwarded-For: 192.0.2.7", "Sec-Fetch-Site: same-origin"}
	if a, made := consoleUser(h, "192.0.2.1", append(foreign,
		"Authorization: Bearer open sesame")...); a.Status != 200 ||
		!made {
		t.Errorf("with the token: %d %s, made %v", a.Status, a.Body, made)
	}
	for _, from := range []string{"127.0.0.1", "192.0.2.1"} {
		for _, line := range []string{"A: b", "Authorization: Bearer open", "Authorization: open sesame"} {
			a, made := consoleUser(h, from, append(foreign, line)...)
			h.CheckRefusal(line, a, 401, "UNAUTHORIZED", "Authorization")
			if made {
				t.Errorf("%s: a user was made", line)
			}
		}
		for _, path := range []string{"/internal/v1/ready", "/internal/v1/nope", "/internal/v1/snapshot"} {
			if a := console(h, from, "GET "+path, "", foreign...); a.Status != 401 {
				t.Errorf("%s: %d %s", path, a.Status, a.Body)
			}
		}
	}
}

// Faults on demand do not concern the console, by which an operator ends them.
func TestFaultsDoNotConcernTheConsole(t *testing.T) {
	rules, err := fault.ParseAll([]string{"status status=500"})
	if err != nil {
		t.Fatal(err)
	}
	h := servertest.NewExchange(t, func(o *exchange.Options) {
		o.Server.Console, o.Faults = admin.ConsoleLoopback, rules
	})
	if a := console(h, "127.0.0.1", "GET /api/time", "", "Host: localhost"); a.Status != 500 {
		t.Errorf("/api/time with a fault: %d", a.Status)
	}
	if a := console(h, "127.0.0.1", "DELETE /internal/v1/faults", "", "Host: localhost"); a.Status != 200 {
		t.Errorf("the console with a fault: %d %s", a.Status, a.Body)
	}
	if a := console(h, "127.0.0.1", "GET /api/time", "", "Host: localhost"); a.Status != 200 {
		t.Errorf("/api/time after it: %d", a.Status)
	}
}

// A page says which console its reader may use: in a page that comes through a proxy or by another name there is none.
func TestThePageSaysWhichConsoleThereIs(t *testing.T) {
	kinds := map[string]*servertest.Exchange{
		"": withConsole(t, admin.ConsoleOff, ""), "loopback": withConsole(t, admin.ConsoleLoopback, ""),
		"token": withConsole(t, admin.ConsoleToken, "open sesame"),
	}
	local := []string{"Host: localhost:8080", "Sec-Fetch-Site: cross-site"} // from a link of another page
	for kind, h := range kinds {
		for _, c := range []struct {
			from  string
			lines []string
			near  bool
		}{
			{"127.0.0.1", local, true},
			{"192.0.2.1", local, false},
			{"127.0.0.1", []string{"Host: box.example"}, false},
			{"127.0.0.1", append(local, "X-Forwarded-For: 192.0.2.1"), false},
		} {
			want := kind
			if kind == "loopback" && !c.near {
				want = ""
			}
			for _, path := range []string{"/", "/status"} {
				a := console(h, c.from, "GET "+path, "", c.lines...)
				html, _, _ := strings.Cut(a.Body, "<head>")
				has := strings.Contains(html, `data-console="`+want+`"`)
				if want == "" {
					has = !strings.Contains(html, "data-console")
				}
				if a.Status != 200 || !has {
					t.Errorf("console %q, %s from %s with %q: %d %s", kind, path, c.from, c.lines, a.Status, html)
				}
			}
		}
	}
}
