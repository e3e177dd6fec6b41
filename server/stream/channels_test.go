package stream_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/markettest"
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

// The streams of a delisted pair end with its last change and an error; those of other pairs go on, and subscriptions
// to it are refused as those to an unknown pair.
func TestStreamsOfADelistedPairEnd(t *testing.T) {
	t.Parallel()
	x := newLive(t, 2)
	x.order(0, engine.Buy, 100, 1)
	ws := rawDial(t, x, "")
	ws.send(`{"op":"subscribe","channel":"book","pairs":["C00_USDT","C01_USDT"],"interval":1000}`)
	for _, channel := range []string{"trades", "ticker", "candles.hour"} {
		ws.send(`{"op":"subscribe","channel":"` + channel + `","pairs":["C00_USDT"]}`)
	}
	ws.send(`{"op":"subscribe","channel":"status"}`)
	for range 6 {
		ws.until("snapshot")
	}
	gone := markettest.Instrument("C00_USDT", 2, 4)
	gone.State = engine.Delisted
	x.submit(
		engine.Command{Kind: engine.CancelAll, Pair: 0, Flags: engine.FlagAllAccount | engine.FlagOperator},
		engine.Command{Kind: engine.SetPair, Pair: 0, Instrument: gone},
	)
	ended, last, row := map[string]bool{}, false, ""
	for len(ended) < 4 || row == "" {
		switch m := ws.next(); {
		case m.Type == "error":
			if m.Code != "NOT_FOUND" || m.Pair != "C00_USDT" || m.ID != nil && string(m.ID) != "null" ||
				!strings.Contains(m.Text, "was delisted: this subscription has ended") || ended[m.Channel] {
				t.Errorf("%s", m.Raw)
			}
			ended[m.Channel] = true
		case m.Type == "update" && m.Channel == "status":
			row = string(m.Raw)
		case m.Type == "update" && m.Channel == "book" && m.Pair == "C00_USDT":
			last = len(m.Bids) == 1 && strings.Trim(string(m.Bids[0][1]), "0.") == ""
			if ended["book"] {
				t.Errorf("an update behind the end: %s", m.Raw)
			}
		}
	}
	if !last || !strings.Contains(row, `"state":"delisted"`) {
		t.Errorf("the last change of the book came: %t; the last row of the status: %s", last, row)
	}
	ws.send(`{"op":"list"}`)
	if list := string(ws.until("subscriptions").Raw); strings.Contains(list, "C00_USDT") ||
		!strings.Contains(list, "C01_USDT") {
		t.Error(list)
	}
	ws.send(`{"op":"subscribe","channel":"book","pairs":["C00_USDT"]}`)
	if m := ws.until("error"); m.Code != "NOT_FOUND" || m.Text != "There is no pair C00_USDT." {
		t.Errorf("%s", m.Raw)
	}
	x.order(1, engine.Buy, 100, 1)
	if m := ws.until("update"); m.Channel != "book" && m.Channel != "status" {
		t.Errorf("%s", m.Raw)
	}
	other := rawDial(t, x, "?streams=status")
	if m := other.until("snapshot"); strings.Contains(string(m.Raw), "C00_USDT") {
		t.Errorf("a new status has the pair: %s", m.Raw)
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
		if deal, id, ok := strings.Cut(want, `,"tradeId":`); ok { // a trade of a stream begins with it
			want = `"tradeId":` + id + "," + deal
		}
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
