package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
)

// While the exchange starts, every page shows the progress, and it continues by itself.
func TestBrowserPageWhileTheExchangeStarts(t *testing.T) {
	t.Parallel()
	in := startEmpty(t)
	in.pair("CC_USDT")
	target, err := url.Parse(in.public)
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
	through.public = site.URL
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
