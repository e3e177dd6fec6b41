package web_test

import (
	"encoding/json"
	"html"
	"io/fs"
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

// pageFiles returns the pages of the folder docs by their paths.
func pageFiles(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := fs.WalkDir(docs.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(docs.Files, name)
		at := strings.TrimSuffix(strings.TrimSuffix(name, ".md"), "README")
		pages[strings.TrimSuffix("/docs/"+at, "/")] = string(text)
		return err
	})
	if err != nil || len(pages) < 40 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	return pages
}

// Each file of the folder docs is a page with all of its programs, tables and headings.
func TestThePagesAreTheFiles(t *testing.T) {
	h := programs(t, false)
	fences := regexp.MustCompile("(?ms)^```(.*?)\n.*?^```$")
	for at, text := range pageFiles(t) {
		r, body := static(t, h, at)
		if r.StatusCode() != 200 {
			t.Errorf("%s: %d", at, r.StatusCode())
			continue
		}
		runs := 0
		for _, m := range fences.FindAllStringSubmatch(text, -1) {
			if strings.HasSuffix(m[1], " run") {
				runs++
			}
		}
		prose := "\n" + fences.ReplaceAllString(text, "")
		_, main, _ := strings.Cut(body, `<main id="page" class="doc"`)
		main, _, _ = strings.Cut(main, "</main>")
		for markup, want := range map[string]int{
			`class="language-`: strings.Count(text, "\n```") - strings.Count(text, "\n```\n"),
			`<pre class="run"`: runs, "<pre>": 0, "<h1": 1, "<h2": strings.Count(prose, "\n## "),
			"<h3": strings.Count(prose, "\n### "), `<div class="wide"><table>`: strings.Count(prose, "\n|---"),
			" style=": 0, "<script": 0, "&lt;code": 0,
		} {
			if got := strings.Count(main, markup); got != want {
				t.Errorf("%s: %s: %d instead of %d", at, markup, got, want)
			}
		}
		if strings.Count(body, `aria-current="page"`) < 1 {
			t.Errorf("%s is not in the menu", at)
		}
	}
}

// Every link and anchor of every page leads somewhere, and from /docs all pages are reached.
func TestTheLinksOfThePages(t *testing.T) {
	h := programs(t, false)
	bodies := map[string]string{}
	var visit func(from, at string) string
	visit = func(from, at string) string {
		if body, seen := bodies[at]; seen {
			return body
		}
		r, body := static(t, h, at)
		if r.StatusCode() != 200 {
			t.Errorf("%s links to %s: %d", from, at, r.StatusCode())
		}
		bodies[at] = body
		if !strings.HasPrefix(at, "/docs") {
			return body
		}
		for _, m := range regexp.MustCompile(` (?:href|src)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			to, anchor, _ := strings.Cut(html.UnescapeString(m[1]), "#")
			if strings.HasPrefix(to, "https://") {
				continue
			}
			if to == "" {
				to = at
			}
			if !strings.HasPrefix(to, "/") {
				t.Errorf("%s: the link %s depends on the page", at, m[1])
				continue
			}
			if target := visit(at, to); anchor != "" && !strings.Contains(target, ` id="`+anchor+`"`) {
				t.Errorf("%s links to %s, which has no such anchor", at, m[1])
			}
		}
		return body
	}
	visit("", "/docs")
	for at := range pageFiles(t) {
		if bodies[at] == "" {
			t.Errorf("%s is not reached from /docs", at)
		}
	}
	if _, programs := bodies["/docs/programs"]; !programs || bodies["/swagger"] == "" {
		t.Error("the visit is not complete")
	}
}

// A page answers 304 to its tag, as long as the address in its programs is the same one.
func TestThePagesHaveTags(t *testing.T) {
	h := programs(t, false)
	for _, at := range []string{"/docs/programs", "/docs/guide/tour"} {
		r, _ := static(t, h, at)
		if r, _ := static(t, h, at, "If-None-Match", etag(r)); r.StatusCode() != 304 {
			t.Errorf("%s: %d", at, r.StatusCode())
		}
		if r, _ := static(t, h, at, "If-None-Match", etag(r), "Host", "y"); r.StatusCode() != 304 {
			t.Errorf("%s: without a listener the host does not count: %d", at, r.StatusCode())
		}
		other, _ := static(t, programs(t, false, "127.0.0.1:9001"), at, "If-None-Match", etag(r))
		if fresh := other.StatusCode() == 200; fresh != (at == "/docs/programs") {
			t.Errorf("%s: with another listener: %d", at, other.StatusCode())
		}
	}
}

// A slash at the end leads to the page; a page that is not there is 404 with a page for a browser.
func TestAPageHasOneAddress(t *testing.T) {
	h := programs(t, false)
	const browser = "text/html,*/*;q=0.8"
	for at, want := range map[string]string{
		"/docs/": "/docs", "/docs/programs/": "/docs/programs", "/docs/contract//": "/docs/contract",
		"/status/": "/status",
	} {
		for _, accept := range []string{browser, "*/*"} {
			r, _ := static(t, h, at, "Accept", accept)
			if got := string(r.Header.Peek("Location")); r.StatusCode() != 301 || got != want {
				t.Errorf("%s with Accept: %s: %d to %q", at, accept, r.StatusCode(), got)
			}
		}
	}
	for _, at := range []string{"/docs/nothing", "/docs/nothing/", "/docs/programs.md", "/docs/README"} {
		r, body := static(t, h, at, "Accept", browser)
		if r.StatusCode() != 404 || !strings.Contains(body, "<main") {
			t.Errorf("%s: %d %.80s", at, r.StatusCode(), body)
		}
		r, body = static(t, h, at)
		if r.StatusCode() != 404 || !strings.HasPrefix(body, `{"code":"NOT_FOUND"`) {
			t.Errorf("%s: %d %.80s", at, r.StatusCode(), body)
		}
	}
}

// The page of the streams has a heading for each message and object, and each example, of the AsyncAPI document.
func TestThePageOfTheStreams(t *testing.T) {
	_, body := static(t, programs(t, false), "/docs/streams")
	raw, err := web.AsyncAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Messages map[string]struct{ Examples []any }
			Schemas  map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil || len(doc.Components.Messages) < 20 {
		t.Fatal(len(doc.Components.Messages), err)
	}
	examples := 0
	for name, m := range doc.Components.Messages {
		if strings.Count(body, ">"+name+"</h3>") != 1 {
			t.Errorf("no message %s", name)
		}
		examples += len(m.Examples)
	}
	if got := strings.Count(body, `class="language-json"`); got != examples {
		t.Errorf("%d of %d examples", got, examples)
	}
	for name, s := range doc.Components.Schemas {
		if s.Properties != nil && strings.Count(body, ">"+name+"</h3>") != 1 {
			t.Errorf("no object %s", name)
		}
	}
}
