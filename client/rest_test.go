package client

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
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
	c := &Client{Base: s.URL}
	ctx := context.Background()
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
