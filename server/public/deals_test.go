package public_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/servertest"
)

type deal struct {
	ID, DealDateUtc, CurrencyPairCode string
	Volume, Price                     json.Number
	IsBuy                             bool
	IsUserBuyer                       *bool
}

// trade prints one trade of lots at price, the taker on side.
func trade(m *servertest.Market, code string, side engine.Side, price, lots int64) {
	m.Limit(code, side.Opposite(), price, lots)
	m.Limit(code, side, price, lots)
}

// Ids are UUIDs of the pair and the trade's number in the project's namespace.
func TestDealID(t *testing.T) {
	m := servertest.NewMarket(t)
	m.Pair("BTC_USDT", 2, 8)
	for range 17 {
		trade(m, "BTC_USDT", engine.Buy, 100, 1)
	}
	var d []deal
	m.OK("/api/deals?currencyPairCode=BTC_USDT", &d)
	if len(d) != 17 || d[0].ID != "104005bc-4719-5da3-a132-e2f39f148787" {
		t.Fatalf("%d deals, the newest %+v", len(d), d[0])
	}
	space := uuid.NewSHA1(uuid.NameSpaceURL, []byte("tickhive:deal"))
	for i := range d {
		if want := uuid.NewSHA1(space, fmt.Appendf(nil, "BTC_USDT:%d", 17-i)).String(); d[i].ID != want {
			t.Errorf("deal %d: %s, want %s", i, d[i].ID, want)
		}
	}
}

// Paging over 1,000 deals of one instant neither loses nor repeats a deal.
func TestDealsOfOneInstantPageOut(t *testing.T) {
	m := servertest.NewMarket(t)
	m.Pair("BTC_USDT", 2, 8)
	for i := range int64(1000) {
		trade(m, "BTC_USDT", engine.Side(i%2), 100, i+1)
	}
	for _, size := range []int{100, 7} {
		seen := map[string]bool{}
		lots := int64(1000)
		for page := 1; ; page++ {
			var d []deal
			m.OK(fmt.Sprintf("/api/deals?currencyPairCode=BTC_USDT&pageNumber=%d&pageSize=%d", page, size), &d)
			for _, one := range d {
				if seen[one.ID] {
					t.Fatalf("page %d of %d repeats %s", page, size, one.ID)
				}
				seen[one.ID] = true
				if one.Volume.String() != fmt.Sprintf("0.%08d", lots) {
					t.Fatalf("page %d of %d: volume %s, want %d lots", page, size, one.Volume, lots)
				}
				lots--
			}
			if len(d) < size {
				break
			}
		}
		if len(seen) != 1000 {
			t.Fatalf("pages of %d: %d distinct deals", size, len(seen))
		}
	}
}

// Date parameters compare with the printed date (100 ns) and include a row whose printed date
// equals them.
func TestDealsBounds(t *testing.T) {
	m := servertest.NewMarket(t)
	m.Pair("BTC_USDT", 2, 8)
	for range 5 {
		trade(m, "BTC_USDT", engine.Buy, 100, 1)
		m.Advance(150)
	}
	var all []deal
	m.OK("/api/deals?currencyPairCode=BTC_USDT", &all)
	want := []string{"0.0000006Z", "0.0000004Z", "0.0000003Z", "0.0000001Z", "0.0000000Z"}
	for i, d := range all {
		if d.DealDateUtc != "2026-01-01T00:00:0"+want[i] || d.IsUserBuyer != nil || !d.IsBuy {
			t.Fatalf("deal %d: %+v", i, d)
		}
	}
	for from := range all {
		for to := from; to < len(all); to++ {
			var d []deal
			m.OK(fmt.Sprintf("/api/deals?currencyPairCode=BTC_USDT&sinceDate=%s&endDate=%s", all[to].DealDateUtc,
				all[from].DealDateUtc), &d)
			if !slices.EqualFunc(d, all[from:to+1], func(a, b deal) bool { return a.ID == b.ID }) {
				t.Errorf("%s to %s: %d deals, want %d", all[to].DealDateUtc, all[from].DealDateUtc, len(d), to+1-from)
			}
		}
	}
	for bound, n := range map[string]int{
		"sinceDate=2026-01-01T00:00:00.000000301": 2, "sinceDate=2026-01-01T00:00:00.000000300": 3,
		"endDate=2026-01-01T00:00:00.000000399": 3, "endDate=2026-01-01T00:00:00": 1, "endDate=2026-01-01": 1,
	} {
		var d []deal
		if m.OK("/api/deals?currencyPairCode=BTC_USDT&"+bound, &d); len(d) != n {
			t.Errorf("%s: %d deals, want %d", bound, len(d), n)
		}
	}
}

type aggTrade struct {
	TradeID        int64       `json:"trade_id"`
	Price          json.Number `json:"price"`
	BaseVolume     json.Number `json:"base_volume"`
	TargetVolume   json.Number `json:"target_volume"`
	TradeTimestamp int64       `json:"trade_timestamp"`
	Type           string      `json:"type"`
}

type aggTrades struct{ Buy, Sell []aggTrade }

func (a aggTrades) ids() (ids []int64) {
	for _, t := range append(slices.Clone(a.Buy), a.Sell...) {
		ids = append(ids, t.TradeID)
	}
	slices.Sort(ids)
	return ids
}

// The answer has the newest `limit` trades of the filtered set, then splits them by side. Large
// answers are written in pieces and have the same text.
func TestHistoricalTrades(t *testing.T) {
	t.Parallel()
	m := servertest.NewMarket(t)
	m.Pair("BTC_USDT", 2, 8)
	const n = 6000
	type row struct {
		side engine.Side
		ms   int64
	}
	rows := make([]row, n+1)
	for id := int64(1); id <= n; id++ {
		side := engine.Side(id % 3 % 2)
		rows[id] = row{side, m.Clock.NowNs() / 1e6}
		trade(m, "BTC_USDT", side, 100+id%7, id)
		m.Advance(333_333)
	}
	mid := rows[n/2].ms
	for _, q := range []string{
		"", "&limit=0", "&limit=1", "&limit=5", "&limit=100", "&limit=5000", "&limit=6000", "&limit=6001",
		"&limit=123456789012345678901234567890", "&type=buy", "&type=sell&limit=10", "&type=buy&limit=2000&type=",
		fmt.Sprintf("&start_time=%d", mid), fmt.Sprintf("&end_time=%d",
			mid), fmt.Sprintf("&start_time=%d&end_time=%d", mid, mid),
		fmt.Sprintf("&start_time=%d&end_time=%d&type=sell&limit=1", mid, mid), fmt.Sprintf("&end_time=%d&limit=3", mid),
		"&start_time=-5" +
			"&end_time=9999999999999999999", "&start_time=9223372036854775807", "&end_time=-9223372036854775808",
		"&start_time=0&end_time=0", "&type=sell",
	} {
		want := wantTrades(rows[1:], q, func(r row) (engine.Side, int64) { return r.side, r.ms })
		if strings.Contains(q, "&type=&") || strings.HasSuffix(q, "&type=") {
			m.CheckRefusal(m.Get(servertest.Agg+"/historical_trades?ticker_id=BTC_USDT"+q),
				400, "INVALID_PARAM", "type")
			continue
		}
		var got aggTrades
		m.OK(servertest.Agg+"/historical_trades?ticker_id=BTC_USDT"+q, &got)
		if !slices.Equal(got.ids(), want) {
			t.Errorf("%s: %d trades, want %d", q, len(got.ids()), len(want))
		}
		for side, list := range [][]aggTrade{got.Buy, got.Sell} {
			for i, r := range list {
				lots, price := r.TradeID, 100+r.TradeID%7
				if i > 0 && r.TradeID >= list[i-1].TradeID || r.Type != engine.Side(side).String() ||
					r.TradeTimestamp != rows[r.TradeID].ms ||
					r.BaseVolume.String() != fmt.Sprintf("0.%08d", lots) ||
					r.Price.String() != fmt.Sprintf("%d.%02d", price/100, price%100) ||
					r.TargetVolume.String() != fmt.Sprintf("0.%010d", price*lots) {
					t.Fatalf("%s: row %d of %s: %+v", q, i, engine.Side(side), r)
				}
			}
		}
		var text map[string][]map[string]any
		m.OK(servertest.Agg+"/historical_trades?decimals=string&ticker_id=BTC_USDT"+q, &text)
		if len(text["buy"])+len(text["sell"]) != len(want) {
			t.Errorf("%s with decimals=string: %d rows", q, len(text["buy"])+len(text["sell"]))
		}
	}
}

// wantTrades selects trades naively.
func wantTrades[R any](rows []R, q string, of func(R) (engine.Side, int64)) (ids []int64) {
	p := map[string]string{}
	for _, kv := range strings.Split(strings.TrimPrefix(q, "&"), "&") {
		k, v, _ := strings.Cut(kv, "=")
		p[k] = v
	}
	num := func(s string, def float64) float64 {
		if s == "" {
			return def
		}
		var f float64
		_, _ = fmt.Sscan(s, &f)
		return f
	}
	limit := num(p["limit"], 0)
	for i := len(rows) - 1; i >= 0; i-- {
		side, ms := of(rows[i])
		if p["type"] != "" && p["type"] != side.String() || float64(ms) < num(p["start_time"], -1e30) ||
			float64(ms) > num(p["end_time"], 1e30) {
			continue
		}
		if limit != 0 && float64(len(ids)) == limit {
			break
		}
		ids = append(ids, int64(i+1))
	}
	slices.Sort(ids)
	return ids
}

// Exactly the answers that lack part of the last 24 h have X-Truncated.
func TestTruncatedTrades(t *testing.T) {
	m := servertest.NewMarketRetaining(t, marketdata.Options{
		Retention: marketdata.Retention{TradesMin: 50, TradesMax: 100},
	})
	m.Pair("BTC_USDT", 2, 8)
	for range 100 {
		trade(m, "BTC_USDT", engine.Buy, 100, 1)
		m.Advance(servertest.SecondNs)
	}
	trades, deals := servertest.Agg+"/historical_trades?ticker_id=BTC_USDT", "/api/deals?currencyPairCode=BTC_USDT"
	check := func(target string, want string) {
		t.Helper()
		if got := m.OK(target, nil).Header.Get("X-Truncated"); got != want {
			t.Errorf("GET %s: X-Truncated %q, want %q", target, got, want)
		}
	}
	check(trades, "")
	trade(m, "BTC_USDT", engine.Buy, 100, 1) // drops the first
	first := servertest.StartNs / 1e6
	check(trades, "true")
	check(trades+"&type=sell", "true")
	check(trades+"&limit=100", "")
	check(trades+"&limit=101", "true")
	check(fmt.Sprintf("%s&start_time=%d", trades, first), "true")
	check(fmt.Sprintf("%s&start_time=%d", trades, first+1), "")
	check(deals, "")
	check(deals+"&pageNumber=2", "true")
	check(deals+"&pageNumber=2&sinceDate=2026-01-01T00:00:01", "")
	m.Advance(servertest.DayNs)
	check(trades, "")
	check(trades+"&limit=101", "")
}

// A page by number shifts when a trade arrives; a page by cursor does not.
func TestDealsByCursor(t *testing.T) {
	m := servertest.NewMarket(t)
	m.Pair("BTC_USDT", 2, 8)
	m.Pair("ETH_BTC", 0, 4)
	for range 7 {
		trade(m, "BTC_USDT", engine.Buy, 100, 1)
	}
	const list = "/api/deals?currencyPairCode=BTC_USDT&pageSize=3"
	page := func(target string) (ids []string, next string) {
		var rows []struct{ ID string }
		next = m.OK(target, &rows).Header.Get("X-Next-Cursor")
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		return ids, next
	}
	first, next := page(list)
	second, _ := page(list + "&cursor=" + next)
	if next != "5" || len(first) != 3 || len(second) != 3 {
		t.Fatalf("%v, %v, cursor %q", first, second, next)
	}
	trade(m, "BTC_USDT", engine.Buy, 100, 1) // of the same time
	if got, after := page(list + "&cursor=5"); !slices.Equal(got, second) || after != "2" {
		t.Errorf("by cursor: %v before %q, want %v", got, after, second)
	}
	if got, _ := page(list + "&pageNumber=2"); got[0] != first[2] {
		t.Errorf("by number: %v, want to begin with %s", got, first[2])
	}
	if got, after := page(list + "&cursor=2"); len(got) != 1 || after != "" {
		t.Errorf("the last page: %v before %q", got, after)
	}
	for _, target := range []string{
		list + "&cursor=1", list + "&cursor=8&endDate=2025-12-31", list + "&pageNumber=9",
		"/api/deals?currencyPairCode=ETH_BTC",
	} {
		if got, after := page(target); len(got) != 0 || after != "" {
			t.Errorf("%s: %v before %q", target, got, after)
		}
	}
	if got, after := page("/api/deals?currencyPairCode=BTC_USDT"); len(got) != 8 || after != "" {
		t.Errorf("one page: %d rows before %q", len(got), after)
	}
	for range 93 {
		trade(m, "BTC_USDT", engine.Buy, 100, 1)
	}
	for range 2 { // the second answer is the cached one
		if got, after := page("/api/deals?currencyPairCode=BTC_USDT"); len(got) != 100 || after != "2" {
			t.Errorf("the newest page: %d rows before %q", len(got), after)
		}
	}
	for _, bad := range []string{
		"cursor=0", "cursor=x", "cursor=1.2", "cursor=9223372036854775808", "cursor=2&pageNumber=1",
	} {
		m.CheckRefusal(m.Get(list+"&"+bad), 400, "INVALID_PARAM", "cursor")
	}
}
