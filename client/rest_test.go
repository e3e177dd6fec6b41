package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Each method sends the request that its comment promises.
func TestEachMethodSendsItsRequest(t *testing.T) {
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Method + " " + r.RequestURI
		answer := "[]"
		if r.Method == http.MethodDelete || r.URL.Path == "/api/wallets/balances" {
			answer = "{}"
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer s.Close()
	c, ctx := &Client{Base: s.URL}, context.Background()
	for want, call := range map[string]func() error{
		"GET /api/user/orders?status=active&currencyPairCode=AA_BB": func() error {
			_, err := c.OpenOrders(ctx, "AA_BB")
			return err
		},
		"DELETE /api/orders?currencyPairCode=AA_BB": func() error {
			_, err := c.CancelAll(ctx, "AA_BB")
			return err
		},
		"DELETE /api/orders?all=true": func() error {
			_, err := c.CancelAll(ctx, "")
			return err
		},
		"GET /api/user/lists?status=executing": func() error {
			_, _, err := c.Lists(ctx, ListQuery{Status: "executing"})
			return err
		},
		"DELETE /api/orders/lists/7": func() error {
			_, err := c.CancelList(ctx, "7")
			return err
		},
		"GET /api/orders/7/amendments": func() error {
			_, err := c.Amendments(ctx, "7")
			return err
		},
		"DELETE /api/orders/7?onlyIf=partial": func() error {
			_, err := c.CancelOrderIf(ctx, "7", "partial")
			return err
		},
		"DELETE /api/orders/by-client-id/AA_BB/a": func() error {
			_, err := c.CancelOrderByClientID(ctx, "AA_BB", "a")
			return err
		},
		"DELETE /api/orders/lists/by-client-id/AA_BB/a": func() error {
			_, err := c.CancelListByClientID(ctx, "AA_BB", "a")
			return err
		},
		"GET /api/user/prevented-matches?currencyPairCode=AA_BB&from=3": func() error {
			_, err := c.PreventedMatches(ctx, "AA_BB", 3)
			return err
		},
		"GET /api/user/deals?currencyPairCode=AA_BB&" +
			"endDate=2026-01-02T00%3A00%3A00&sinceDate=2026-01-01T00%3A00%3A00.5": func() error {
			day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			_, _, err := c.Fills(ctx, ListQuery{
				Pair: "AA_BB", Since: day.Add(time.Second / 2), End: day.Add(24 * time.Hour),
			})
			return err
		},
		"GET /api/wallets/balances": func() error {
			_, err := c.Balances(ctx)
			return err
		},
	} {
		if err := call(); err != nil || got != want {
			t.Errorf("%s (%v), want %s", got, err, want)
		}
	}
}

// A text that no client order id can be is refused before it makes another path.
func TestAClientOrderIDHasItsForm(t *testing.T) {
	c := &Client{Base: "http://127.0.0.1:1"}
	for _, id := range []string{"", "a/b", "ä", strings.Repeat("a", 65)} {
		_, err := c.CancelOrderByClientID(t.Context(), "A_B", id)
		if err == nil || !strings.Contains(err.Error(), "1 to 64 of A-Z a-z 0-9 _ . : -") {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// An error tells when a repetition makes sense.
func TestAnErrorHasRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"3": 3 * time.Second, "": 0, "-1": 0, "soon": 0} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"code":"RATE_LIMIT"}`)
		}))
		_, err := (&Client{Base: s.URL}).Time(t.Context())
		var api *APIError
		if !errors.As(err, &api) || api.RetryAfter != want {
			t.Errorf("Retry-After %q: %+v, want %v", header, api, want)
		}
		s.Close()
	}
}

// A client takes its key from the file of demo-key; any other file is refused by its name.
func TestAKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key.json")
	for text, want := range map[string]string{
		`{"kind":"tickhive-demo-key","userId":"u","publicKey":"p","privateKey":"s"}`: "",
		`{"publicKey":"p"}`: "a member is missing",
		`[]`:                "cannot unmarshal array",
		`PUBLIC=1`:          "invalid character",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := FromKeyFile("http://x", file)
		switch {
		case want == "" && (err != nil || c.Base+c.PublicKey+c.PrivateKey != "http://xps"):
			t.Errorf("%+v, %v", c, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file)):
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := FromKeyFile("http://x", file+".none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
