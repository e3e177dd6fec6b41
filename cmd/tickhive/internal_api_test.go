package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The internal listener is named by its address, or by the URL that serve --ephemeral prints.
func TestTheInternalListenerIsNamedByAddressOrURL(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:8081":         "http://127.0.0.1:8081/internal/v1",
		"http://127.0.0.1:8081":  "http://127.0.0.1:8081/internal/v1",
		"http://127.0.0.1:8081/": "http://127.0.0.1:8081/internal/v1",
		"unix:/run/t.sock":       "http://localhost/internal/v1",
	} {
		f := internalFlags{Internal: text}
		if a, err := f.api(&program{}); err != nil || a.base != want {
			t.Errorf("%s: %v, error %v, want %s", text, a, err, want)
		}
	}
}

// A command waits for an exchange that starts and says so once; another refusal is an error at once.
func TestACommandWaitsForAnExchangeThatStarts(t *testing.T) {
	t.Parallel()
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked++; {
		case strings.HasSuffix(r.URL.Path, "/broken"):
			w.WriteHeader(http.StatusServiceUnavailable)
		case asked < 3:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(s.Close)
	var said bytes.Buffer
	p, f := &program{err: &said}, internalFlags{Internal: s.URL}
	if err := f.send(p, http.MethodGet, "/faults", nil, nil); err != nil || asked != 3 ||
		said.String() != "waiting until the exchange is ready\n" {
		t.Errorf("asked %d times, said %q: %v", asked, said.String(), err)
	}
	if err := f.send(p, http.MethodGet, "/broken", nil, nil); err == nil || asked != 4 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
