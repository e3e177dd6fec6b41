package exchange_test

import (
	stdjson "encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
)

// pagedBy returns the parameter by which a route counts pages; empty: it has none.
func pagedBy(r *edge.Route) string {
	for _, f := range r.Params {
		if f.Name == "pageNumber" || f.Name == "page" {
			return f.Name
		}
	}
	return ""
}

// Every list with pages of the public listener can be read by cursor, and the internal one has no pages.
func TestEveryListWithPagesHasACursor(t *testing.T) {
	r := exchangetest.Start(t, exchangetest.Options(""))
	var paged []string
	for _, route := range slices.Concat(r.Running.Public().Routes(), r.Running.Internal().Routes()) {
		if page := pagedBy(route); page != "" {
			paged = append(paged, route.Path)
			cursor := func(f *json.Field) bool { return f.Name == "cursor" && f.Pattern != "" }
			if !slices.ContainsFunc(route.Params, cursor) {
				t.Errorf("GET %s has %s and no cursor", route.Path, page)
			}
		}
	}
	slices.Sort(paged)
	if want := []string{
		"/api/affiliate/accruals", "/api/agents/action-logs", "/api/agents/proposals", "/api/agents/workers",
		"/api/deals", "/api/launchpad/tokens", "/api/user/deals", "/api/user/lists", "/api/user/orders",
		"/internal/v1/users",
	}; !slices.Equal(paged, want) {
		t.Errorf("lists with pages: %v, want %v", paged, want)
	}
}

// While trades arrive, reads by cursor, by fromId and by `to` neither lose nor repeat one.
func TestListsOfTradesUnderLoad(t *testing.T) {
	o := exchangetest.Options("")
	o.Binance.Listen = []string{"127.0.0.1:0"}
	r := exchangetest.Start(t, o)
	r.Pair("BTC_USDT")
	trade := func(n int) {
		for range n {
			r.Limit("BTC_USDT", "sell", "100", "1")
			r.Limit("BTC_USDT", "buy", "100", "1")
		}
	}
	trade(60)
	stop := make(chan struct{})
	var busy sync.WaitGroup
	busy.Add(1)
	go func() {
		defer busy.Done()
		for {
			select {
			case <-stop:
				return
			default:
				trade(1)
			}
		}
	}()
	defer busy.Wait()
	defer close(stop)
	get := func(url string, rows any) string {
		t.Helper()
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		if err := stdjson.NewDecoder(res.Body).Decode(rows); err != nil || res.StatusCode != 200 {
			t.Fatalf("GET %s: %d %v", url, res.StatusCode, err)
		}
		return res.Header.Get("X-Next-Cursor")
	}
	deals := uuid.NewSHA1(uuid.NameSpaceURL, []byte("tickhive:deal"))
	for _, query := range []string{
		"&pageSize=7", "&pageSize=100", "&pageSize=7&sinceDate=2026-01-01", "&pageSize=7&pageNumber=2",
	} {
		var ids []string
		cursor := ""
		for {
			url := r.Public + "/api/deals?currencyPairCode=BTC_USDT" + query
			if cursor != "" {
				url = strings.Replace(url, "&pageNumber=2", "", 1) + "&cursor=" + cursor
			}
			var rows []struct{ ID string }
			cursor = get(url, &rows)
			for _, row := range rows {
				ids = append(ids, row.ID)
			}
			if cursor == "" {
				break
			}
		}
		for i := range ids { // the last row is trade 1
			want := uuid.NewSHA1(deals, fmt.Appendf(nil, "BTC_USDT:%d", len(ids)-i)).String()
			if ids[i] != want {
				t.Fatalf("%s: row %d of %d is %s, want %s", query, i, len(ids), ids[i], want)
			}
		}
		if len(ids) < 53 {
			t.Errorf("%s: %d rows", query, len(ids))
		}
	}
	for next := 1; next < 60; {
		var rows []struct{ A int }
		get(fmt.Sprintf("http://%s/api/v3/aggTrades?symbol=BTCUSDT&limit=7&fromId=%d", r.BinanceAddrs()[0], next), &rows)
		for _, row := range rows {
			if row.A != next {
				t.Fatalf("aggTrades: trade %d, want %d", row.A, next)
			}
			next++
		}
	}
}
