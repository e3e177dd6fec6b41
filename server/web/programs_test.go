package web_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/docs"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/web"
)

// programs returns the handler of a server whose Binance-compatible listener has these addresses.
func programs(t *testing.T, secure bool, addresses ...string) fasthttp.RequestHandler {
	t.Helper()
	page, err := web.Page(web.Options{Binance: func() []string { return addresses }, Secure: secure})
	if err != nil {
		t.Fatal(err)
	}
	server, err := edge.New(edge.Options{Clock: clock.Real{}, Resources: []edge.Resource{page}})
	if err != nil {
		t.Fatal(err)
	}
	return server.Handler()
}

// codeBlock finds the programs of the page.
var codeBlock = regexp.MustCompile(`(?s)<pre.*?</pre>`)

// The programs name the address of the reader's exchange, and none the address of the document.
func TestTheProgramsNameTheReadersExchange(t *testing.T) {
	for _, c := range []struct {
		listeners []string
		secure    bool
		host      string
		want      string // the address in the programs
		says      string
	}{
		{[]string{"127.0.0.1:9001", "127.0.0.1:9002"}, false, "localhost:8080", "127.0.0.1:9001", "listens for"},
		{[]string{"[::]:9001"}, false, "exchange.example:8080", "exchange.example:9001", "listens for"},
		{[]string{"0.0.0.0:9001"}, true, "exchange.example", "exchange.example:9001", "listens for"},
		{[]string{"[::]:9001"}, false, "[2001:db8::1]:8080", "[2001:db8::1]:9001", "listens for"},
		{[]string{"unix:/run/x", "192.0.2.1:9001"}, false, "x", "192.0.2.1:9001", "listens for"},
		{[]string{"[::]:9001"}, false, `<b>&"x`, "&lt;b&gt;&amp;&#34;x:9001", "listens for"},
		{nil, false, "exchange.example:8080", "127.0.0.1:8090", "--binance-listen"},
	} {
		r, body := static(t, programs(t, c.secure, c.listeners...), "/docs/programs", "Host", c.host)
		http, ws := "http://", "ws://"
		if c.secure {
			http, ws = "https://", "wss://"
		}
		code := strings.Join(codeBlock.FindAllString(body, -1), "\n")
		if r.StatusCode() != 200 || strings.Count(code, http+c.want) < 8 || strings.Count(code, ws+c.want) < 3 {
			t.Errorf("%v for %s: %d\n%s", c.listeners, c.host, r.StatusCode(), code)
		}
		if named := strings.Contains(code, "127.0.0.1:8090"); named != (c.listeners == nil) {
			t.Errorf("%v for %s: names the address of the document: %v", c.listeners, c.host, named)
		}
		if c.secure && (strings.Contains(code, `"http:`) || strings.Contains(code, "'ws:")) {
			t.Errorf("%v for %s: plain text", c.listeners, c.host)
		}
		notice := regexp.MustCompile(`<p class="notice">.*`).FindAllString(body, -1)
		if len(notice) != 1 || !strings.Contains(notice[0], c.says) || !strings.Contains(notice[0], c.want) {
			t.Errorf("%v for %s: %q", c.listeners, c.host, notice)
		}
		if strings.Contains(body, "<b>&") {
			t.Errorf("%v for %s: the host is not escaped", c.listeners, c.host)
		}
	}
}

// The page has every program, table and heading of the document, and its links lead somewhere.
func TestThePageOfProgramsIsTheDocument(t *testing.T) {
	h := programs(t, false)
	r, body := static(t, h, "/docs/programs")
	text := string(docs.Programs)
	for markup, want := range map[string]int{
		"<pre tabindex=\"0\">": strings.Count(text, "\n```") / 2, "<h1": 1, "<h2": strings.Count(text, "\n## "),
		"<h3": strings.Count(text, "\n### "), `<div class="wide"><table>`: strings.Count(text, "\n|---"),
		`aria-current="page"`: 0, "</main>": 1,
		"docs/contract/binance.md": strings.Count(text, "](contract/binance.md"),
	} {
		if got := strings.Count(body, markup); got != want {
			t.Errorf("%s: %d instead of %d", markup, got, want)
		}
	}
	for _, m := range regexp.MustCompile(` (?:href|src)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		if at := strings.TrimPrefix(m[1], "#"); at != m[1] {
			if !strings.Contains(body, ` id="`+at+`"`) {
				t.Errorf("no anchor %s", m[1])
			}
			continue
		}
		if r, _ := static(t, h, m[1]); r.StatusCode() != 200 {
			t.Errorf("%s: %d", m[1], r.StatusCode())
		}
	}
	tag := etag(r)
	if r, _ := static(t, h, "/docs/programs", "If-None-Match", tag); r.StatusCode() != 304 {
		t.Errorf("%d", r.StatusCode())
	}
	if r, _ := static(t, h, "/docs/programs", "If-None-Match", tag, "Host", "y"); r.StatusCode() != 304 {
		t.Errorf("without a listener the host does not count: %d", r.StatusCode())
	}
	h = programs(t, false, "127.0.0.1:9001")
	if r, _ := static(t, h, "/docs/programs", "If-None-Match", tag); r.StatusCode() != 200 {
		t.Errorf("another address has another tag: %d", r.StatusCode())
	}
}
