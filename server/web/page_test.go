package web_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/web"
)

// static requests a file with a header and returns the answer and its decoded body.
func static(t *testing.T, h fasthttp.RequestHandler, path string, headers ...string) (*fasthttp.Response, string) {
	t.Helper()
	var c fasthttp.RequestCtx
	c.Request.SetRequestURI(path)
	c.Request.Header.SetHost("x")
	for i := 0; i < len(headers); i += 2 {
		c.Request.Header.Set(headers[i], headers[i+1])
	}
	h(&c)
	body, err := c.Response.BodyUncompressed()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return &c.Response, string(body)
}

// etag returns the tag; its header has a name that Peek would normalize.
func etag(r *fasthttp.Response) (tag string) {
	for name, value := range r.Header.All() {
		if strings.EqualFold(string(name), "ETag") {
			tag = string(value)
		}
	}
	return tag
}

// The bundles in app are made of the files in src and of the client's order book: app/sources.sum
// has the hashes of all. An edit of one without "go generate ./server/web" fails here; "make drift"
// bundles again and compares.
func TestBundlesAreCurrent(t *testing.T) {
	var want bytes.Buffer
	for _, pattern := range []string{"src/*", "../../client/js/book.mjs", "app/*.js", "app/*.css"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range names {
			body, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(body), filepath.ToSlash(name))
		}
	}
	const sums = "app/sources.sum"
	if *update {
		if err := os.WriteFile(sums, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(sums); err != nil || !bytes.Equal(have, want.Bytes()) {
		t.Errorf("the bundles are not made of these sources (go generate ./server/web): %v", err)
	}
}

// Every file that a page names exists below a hash and is kept for good; pages are revalidated. The
// encodings have the same content and different tags, each of which answers 304.
func TestStaticFilesAreHashedAndCompressed(t *testing.T) {
	files, err := web.Page(web.Options{Binance: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	server, err := edge.New(edge.Options{Clock: clock.Real{}, Resources: []edge.Resource{files}})
	if err != nil {
		t.Fatal(err)
	}
	h := server.Handler() // never ready: the files are sent during recovery too
	refers := regexp.MustCompile(`(?:src|href)="(/(?:app|swagger)/[^"]+)"`)
	hashed := regexp.MustCompile(`^/(app|swagger)/[0-9a-f]{12}/`)
	seen := map[string]bool{}
	for _, page := range []string{
		"/", "/launchpad", "/hive", "/status", "/admin", "/docs", "/docs/programs", "/swagger",
	} {
		r, html := static(t, h, page, "Accept-Encoding", "br")
		if got := string(r.Header.Peek("Cache-Control")); got != "no-cache" || r.StatusCode() != 200 {
			t.Errorf("%s: %d %s", page, r.StatusCode(), got)
		}
		if preload := strings.Contains(html, "modulepreload"); preload != (page == "/") {
			t.Errorf("%s: loads the chart ahead: %v", page, preload)
		}
		for _, m := range refers.FindAllStringSubmatch(html, -1) {
			seen[m[1]] = true
		}
	}
	if len(seen) < 8 {
		t.Errorf("the pages name only %v", seen)
	}
	for path := range seen {
		plain, want := static(t, h, path, "Accept-Encoding", "identity")
		if plain.StatusCode() != 200 || len(want) == 0 || !hashed.MatchString(path) ||
			string(plain.Header.Peek("Cache-Control")) != "public, max-age=31536000, immutable" {
			t.Errorf("%s: %d, %d bytes, %s", path, plain.StatusCode(), len(want), plain.Header.Peek("Cache-Control"))
		}
		tags := map[string]bool{etag(plain): true}
		for _, coding := range []string{"gzip", "br"} {
			r, got := static(t, h, path, "Accept-Encoding", coding+", identity;q=0.5")
			tags[etag(r)] = true
			small := len(want) < 512 || strings.HasSuffix(path, ".png") || strings.HasSuffix(path, ".woff2")
			if got != want || small != (len(r.Header.ContentEncoding()) == 0) ||
				small != (len(r.Header.Peek("Vary")) == 0) ||
				!small && (string(r.Header.ContentEncoding()) != coding || len(r.Body()) >= len(want)) {
				t.Errorf("%s %s: %q, %d of %d bytes", path, coding, r.Header.ContentEncoding(), len(r.Body()),
					len(want))
			}
		}
		if want := 3; len(tags) != want && len(plain.Header.Peek("Vary")) > 0 {
			t.Errorf("%s: tags %v", path, tags)
		}
		for tag := range tags {
			if r, _ := static(t, h, path, "If-None-Match", tag); r.StatusCode() != 304 || len(r.Body()) != 0 {
				t.Errorf("%s with %s: %d", path, tag, r.StatusCode())
			}
		}
	}
}

// docs/contract/market-data.md#time-summary-status: a browser gets a page at a path without a route, in each
// encoding; a program, a HEAD and the paths of interfaces get the error object.
func TestABrowserGetsAPageAtAPathWithoutARoute(t *testing.T) {
	files, err := web.Page(web.Options{Binance: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	server, err := edge.New(edge.Options{Clock: clock.Real{}, Resources: []edge.Resource{files}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range server.Routes() {
		if r.Class != edge.ClassExempt {
			t.Errorf("%s counts for a limit: a page must not use up what its requests need", r.Path)
		}
	}
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, c := range []struct {
		path, accept string
		page         bool
	}{
		{"/markets", browser, true},
		{"/status/x", browser, true},
		{"/app/000000000000/index.js", browser, true},
		{"/markets", "*/*", false},
		{"/markets", "", false},
		{"/api/markets", browser, false},
		{"/udf/markets", browser, false},
	} {
		for _, coding := range []string{"identity", "br"} {
			r, body := static(t, server.Handler(), c.path, "Accept", c.accept, "Accept-Encoding", coding)
			shell := strings.Contains(body, `<main id="page"`) && strings.Contains(body, `src="/app/`)
			if r.StatusCode() != 404 || shell != c.page || strings.Contains(body, `"code":"NOT_FOUND"`) == c.page ||
				etag(r) != "" || c.page != (string(r.Header.Peek("Content-Security-Policy")) != "") {
				t.Errorf("%s for %q in %s: %d %s %.80q", c.path, c.accept, coding, r.StatusCode(), etag(r), body)
			}
		}
	}
	if r, body := static(t, server.Handler(), "/favicon.ico"); r.StatusCode() != 200 ||
		!strings.HasPrefix(body, "<svg") || string(r.Header.ContentType()) != "image/svg+xml" {
		t.Errorf("/favicon.ico: %d %s %.80q", r.StatusCode(), r.Header.ContentType(), body)
	}
}
