package client

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
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
