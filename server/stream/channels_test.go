package stream_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// status begins with the content of /api/status and continues with the rows that changed.
func TestStatusChannel(t *testing.T) {
	t.Parallel()
	x := newLive(t, 2)
	ws := rawDial(t, x, "?streams=status")
	var snap struct {
		Seq    uint64
		Status struct {
			Status string
			Pairs  []struct{ CurrencyPairCode string }
		}
	}
	first := ws.until("snapshot")
	if err := json.Unmarshal(first.Raw, &snap); err != nil || len(snap.Status.Pairs) != 2 ||
		snap.Status.Status != "ok" {
		t.Fatalf("%v: %s", err, first.Raw)
	}
	var rest, member map[string]any
	getJSON(t, x.base+"/api/status", &rest)
	if err := json.Unmarshal(first.Raw, &struct{ Status *map[string]any }{&member}); err != nil {
		t.Fatal(err)
	}
	for name := range rest {
		if _, ok := member[name]; !ok {
			t.Errorf("the snapshot's status lacks %q", name)
		}
	}
	x.order(1, engine.Buy, 100, 1)
	var update struct {
		Seq   uint64
		Pairs []struct {
			CurrencyPairCode, State string
			Seq                     uint64
		}
	}
	m := ws.until("update")
	if err := json.Unmarshal(m.Raw, &update); err != nil || len(update.Pairs) != 1 ||
		update.Pairs[0].CurrencyPairCode != "C01_USDT" || update.Seq <= snap.Seq {
		t.Errorf("%v: %s", err, m.Raw)
	}
	if beat := ws.until("heartbeat"); beat.Channel != "status" || beat.Seq != update.Seq {
		t.Errorf("heartbeat %s", beat.Raw)
	}
}

func getJSON(t *testing.T, url string, out any) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		t.Fatal(err)
	}
}

// A heartbeat carries the stream's seq; a heartbeat of trades carries the last trade's id.
func TestHeartbeatOfTradesHasTheLastTrade(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	for range 3 {
		x.order(0, engine.Sell, 100, 1)
		x.order(0, engine.Buy, 100, 1)
	}
	ws := rawDial(t, x, "?streams=trades:C00_USDT")
	snap := ws.until("snapshot")
	beat := ws.until("heartbeat")
	if beat.TradeID != 3 || beat.Seq != snap.Seq || beat.Pair != "C00_USDT" {
		t.Errorf("heartbeat %s after %s", beat.Raw, snap.Raw)
	}
}

// Tickers and candles of a stream equal those of the REST routes, byte for byte.
func TestStreamObjectsEqualREST(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	for range 3 {
		x.order(0, engine.Sell, 100, 1)
		x.order(0, engine.Buy, 100, 1)
	}
	ws := rawDial(t, x, "?streams=trades:C00_USDT,ticker:C00_USDT,candles.month:C00_USDT")
	for _, path := range []string{
		"/api/deals?pageSize=1&currencyPairCode=C00_USDT",
		"/api/tickers?currencyPairCode=C00_USDT",
		"/api/ohlc?interval=month&start=2020-01-01&end=2100-01-01&currencyPairCode=C00_USDT",
	} {
		m := ws.until("snapshot")
		resp, err := http.Get(x.base + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Trim(string(body), "[]{}\n")
		if !strings.Contains(string(m.Raw), want) {
			t.Errorf("%s\nlacks %s", m.Raw, want)
		}
	}
}

// A message of the channel ticker has, beside the document, the other figures of its 24 h. They are those of the same
// trades: the last price is never outside of high and low.
func TestATickerMessageHasTheRangeOfItsLastPrice(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	const pair, none = "C00_USDT", `"high24h":0.00,"low24h":0.00,"quoteVolume24h":0.000000}`
	ws := rawDial(t, x, "?streams=ticker:"+pair)
	if m := ws.until("snapshot"); !strings.HasSuffix(string(m.Raw), none) {
		t.Errorf("without a trade: %s", m.Raw)
	}
	for _, c := range []struct {
		price int64
		want  string
	}{
		{100, `"price":1.00,"high24h":1.00,"low24h":1.00,"quoteVolume24h":0.000100`},
		{250, `"price":2.50,"high24h":2.50,"low24h":1.00,"quoteVolume24h":0.000350`},
		{50, `"price":0.50,"high24h":2.50,"low24h":0.50,"quoteVolume24h":0.000400`},
	} {
		x.order(0, engine.Sell, c.price, 1)
		x.order(0, engine.Buy, c.price, 1)
		price, rest, _ := strings.Cut(c.want, ",")
		m := ws.until("update")
		for !strings.Contains(string(m.Raw), price+",") {
			m = ws.until("update")
		}
		if !strings.HasSuffix(string(m.Raw), "},"+rest+"}") {
			t.Errorf("%s lacks %s", m.Raw, rest)
		}
	}
	resp, err := http.Get(x.base + "/api/summary")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	for _, same := range []string{
		`"quote_volume":0.000400`, `"highest_price_24h":2.50`, `"lowest_price_24h":0.50`,
	} {
		if err != nil || !strings.Contains(string(body), same) {
			t.Errorf("/api/summary lacks %s: %s %v", same, body, err)
		}
	}
}

// A decimals=string stream carries the same digits as text.
func TestStreamsWithTextDecimals(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	x.order(0, engine.Buy, 100, 1)
	ws := rawDial(t, x, "")
	ws.send(`{"op":"subscribe","channel":"book","pairs":["C00_USDT"],"decimals":"string"}`)
	if m := ws.until("snapshot"); !strings.Contains(string(m.Raw), `"bids":[["1.00","0.0001"]]`) {
		t.Errorf("%s", m.Raw)
	}
}
