package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// While the exchange starts, every page shows the progress, and it continues by itself.
func TestBrowserPageWhileTheExchangeStarts(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("CC_USDT")
	target, err := url.Parse(in.Public)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	var ready atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api := len(r.URL.Path) > 4 && r.URL.Path[:5] == "/api/" || r.URL.Path == "/ws"
		switch {
		case ready.Load() || !api:
			proxy.ServeHTTP(w, r)
		case r.URL.Path == "/api/status": // as the exchange answers during recovery
			_, _ = w.Write([]byte(`{"status":"recovering","progress":0.43,"pairs":[],"incidents":[]}`))
		default:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(503)
			_, _ = w.Write([]byte(`{"code":"UNAVAILABLE","message":"The server is recovering."}`))
		}
	}))
	defer site.Close()
	through := *in
	through.Public = site.URL
	b := newBrowser(t, &through, 1280, 800)
	for _, page := range []string{"/hive", "/status", "/"} {
		b.open(page)
		b.wait(page+" shows the progress",
			`/starting/.test(document.querySelector('main').innerText) &&
				document.querySelector('progress').value === 0.43 &&
				document.querySelector('main').innerText.includes('43 %')`)
	}
	b.shot("starting")
	ready.Store(true)
	b.wait("the market",
		`document.querySelector('[data-panel=chart]') && !document.querySelector('.starting')`)
	b.wait("live", `document.getElementById('link').textContent === 'live'`)
}

// The button of the theme is drawn before its script is there, and takes no click until then.
func TestBrowserTheThemeWaitsForItsScript(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1280, 800)
	for path, script := range map[string]string{
		"/": "index", "/status": "pages", "/docs": "docs", "/swagger": "swagger",
	} {
		b.block(in.Public + "/app/*/" + script + ".js")
		b.open(path)
		b.wait(path+" without its script", `document.getElementById('theme').disabled`)
		b.block()
		b.open(path)
		b.wait(path, `!document.getElementById('theme').disabled`)
	}
}

// A page says why each 503 comes. It says that the exchange starts only when it does.
func TestBrowserPagesSayWhyTheyWait(t *testing.T) {
	in := ownDemo(t)
	target, err := url.Parse(in.Public)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	type refusal struct{ code, message, status string }
	var now atomic.Pointer[refusal]
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := now.Load()
		switch {
		case f == nil || !strings.HasPrefix(r.URL.Path, "/api/") && r.URL.Path != "/ws":
			proxy.ServeHTTP(w, r)
		case r.URL.Path == "/api/status":
			fmt.Fprintf(w, `{"status":%q,"version":"1","epoch":"1","startedAt":"2026-01-01T00:00:00.000Z",`+
				`"uptimeSeconds":1,"time":1767225700000,"seq":1,"progress":null,"pairs":[],"incidents":[],`+
				`"replication":{"role":"replica","term":1,"position":1,"lagMs":35242,"failed":false,`+
				`"staleSince":1767225670000}}`,
				f.status)
		default:
			w.WriteHeader(503)
			fmt.Fprintf(w, `{"code":%q,"message":%q,"field":null,"requestId":"1"}`, f.code, f.message)
		}
	}))
	defer site.Close()
	through := *in
	through.Public = site.URL
	b := newBrowser(t, &through, 1280, 800)
	const text = `document.querySelector('main').innerText`
	for _, f := range []refusal{
		{"STALE", "This replica is 35.2 s behind its writer, and at most 5.0 s are allowed.", "stale"},
		{"UNAVAILABLE", "This answer comes from a fault rule.", "ok"},
		{"UNAVAILABLE", "The queue of the exchange is full.", "degraded"},
	} {
		now.Store(&f)
		b.open("/")
		b.wait("the reason "+f.message, fmt.Sprintf(`%s.includes(%q) && !/starting/.test(%s) &&
			document.querySelector('progress').hidden`, text, f.message, text))
	}
	now.Store(&refusal{"STALE", "This replica is behind.", "stale"})
	b.open("/status")
	b.wait("the status page of a stale replica", text+`.includes('This replica is 35 s behind its writer. `+
		`It has refused reads since 2026-01-01 00:01:10 UTC') && `+text+`.includes('Recent incidents')`)
	now.Store(nil)
	b.open("/")
	b.wait("the market", `document.querySelector('[data-panel=chart]') && !document.querySelector('.starting')`)
}
