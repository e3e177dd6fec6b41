package stream_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"tickhive/engine"
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
	if err := json.Unmarshal(first.Raw, &snap); err != nil || len(snap.Status.Pairs) != 2 || snap.Status.Status != "ok" {
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
	if err := json.Unmarshal(m.Raw, &update); err != nil || len(update.Pairs) != 1 || update.Pairs[0].CurrencyPairCode != "C01_USDT" || update.Seq <= snap.Seq {
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
func TestHeartbeatOfTradesTellsTheTrade(t *testing.T) {
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
func TestStreamObjectsAreThoseOfREST(t *testing.T) {
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
