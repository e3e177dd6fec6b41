package client

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type roundTrip func(r *http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// A request that comes directly after a start of the exchange is signed again and sent once more, when the answer says.
// One that is refused for another reason, or for longer, is not.
func TestARequestDirectlyAfterAStartIsSentOnceMore(t *testing.T) {
	for _, c := range []struct {
		retryAfter string
		sent       int
		waited     time.Duration
		code       string
	}{
		{"1", 2, time.Second, ""},
		{"2", 2, 2 * time.Second, ""},
		{"", 1, 0, "UNAUTHORIZED"},
		{"3600", 1, 0, "UNAUTHORIZED"},
		{"-1", 1, 0, "UNAUTHORIZED"},
	} {
		synctest.Test(t, func(t *testing.T) {
			nonces := map[string]bool{}
			x := &Client{Base: "http://x", PublicKey: "p", PrivateKey: "s", HTTP: &http.Client{
				Transport: roundTrip(func(r *http.Request) *http.Response {
					header := map[string][]string(r.Header) // with the names that the client writes
					nonces[header["API-Nonce"][0]] = true
					a := &http.Response{
						StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("[]")),
					}
					if len(nonces) == 1 {
						a.StatusCode, a.Body = 401, io.NopCloser(strings.NewReader(`{"code":"UNAUTHORIZED"}`))
						a.Header.Set("Retry-After", c.retryAfter)
					}
					return a
				}),
			}}
			begin := time.Now()
			_, err := x.Do(t.Context(), "POST", "/api/orders", map[string]int{"a": 1}, nil)
			if waited := time.Since(begin); (err == nil) != (c.code == "") || err != nil && !IsCode(err, c.code) ||
				len(nonces) != c.sent || waited != c.waited {
				t.Errorf("Retry-After %q: %v, sent %d times after %v", c.retryAfter, err, len(nonces), waited)
			}
		})
	}
}
