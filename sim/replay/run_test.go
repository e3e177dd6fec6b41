package replay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/player"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/sim/replay/format"
)

// fed runs a trades file through a market and returns its public trades.
func fed(t *testing.T, o Options) ([]marketdata.Trade, Report, *testMarket) {
	t.Helper()
	report, m := run(t, o)
	trades, err := m.board.Trades(1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return trades, report, m
}

func sides(trades []marketdata.Trade) (s string) {
	for i := range trades {
		s += trades[i].TakerSide.String()[:1]
	}
	return s
}

func TestATradeIsAMakerAndATakerAndLeavesNothing(t *testing.T) {
	t.Parallel()
	path := file(t, "a1b1.csv", "1700000000.5,10.25,0.125,sell\n1700000001,10.5,3,buy\n")
	trades, report, m := fed(t, Options{Format: "trades", Files: []string{path}, Check: true})
	if len(trades) != 2 || trades[0].Price != 1025 || trades[0].Amount != 125 ||
		trades[0].TimeNs != 1700000000_500000000 ||
		trades[0].TakerSide != engine.Sell || trades[1].Price != 1050 || trades[1].TakerSide != engine.Buy {
		t.Errorf("trades %+v", trades)
	}
	if trades[0].Buyer == trades[0].Seller {
		t.Error("an account traded with itself")
	}
	if n := m.Core.OpenOrders(m.pair); n != 0 {
		t.Errorf("%d orders stay in the book", n)
	}
	atLeast(t, report, "trades", 2, 2)
}

// The quote of a recording has 8 digits, or as many as its totals have; the base as many as its amounts.
func TestTheCurrenciesOfARecordingHaveTheDigitsThatItNeeds(t *testing.T) {
	t.Parallel()
	for trade, want := range map[string][2]int{
		"10.25,0.125":        {8, 8},
		"10.25,0.123456":     {8, 8},
		"10.25,0.12345678":   {8, 10},
		"0.000000000012,1.5": {8, 13},
		"2,0.123456789012":   {12, 12},
	} {
		path := file(t, "a1b1.csv", "1700000000,"+trade+",buy\n")
		r, err := New(Options{Format: "trades", Files: []string{path}})
		if err != nil {
			t.Fatal(err)
		}
		if spec := r.PairSpec(); spec.BaseDigits != want[0] || spec.QuoteDigits != want[1] {
			t.Errorf("%s: the base has %d digits, the quote %d, want %v", trade, spec.BaseDigits, spec.QuoteDigits,
				want)
		}
	}
}

func TestColumnsMayBeNamedAndSidesFollowTheTickRule(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"named.csv": "size,price,ts\n1,10,1700000000\n1,11,1700000001\n1,11,1700000002\n1,9,1700000003\n" +
			"1,9,1700000003\n",
		"rows.jsonl": "{\"time\":1700000000,\"price\":10,\"amount\":\"1\"}\n{\"t\":1700000001,\"p\":\"11\",\"q\":1}\n" +
			"{\"time\":1700000002,\"price\":11,\"amount\":1,\"side\":null}\n" +
			"{\"time\":1700000003,\"price\":9,\"amount\":1}\n{\"time\":1700000003,\"price\":9,\"amount\":1}\n",
	} {
		trades, _, _ := fed(t, Options{Format: "trades", Files: []string{file(t, name, text)}, Pair: "AA_BB"})
		if got := sides(trades); got != "bbbss" {
			t.Errorf("%s: sides %s, want bbbss", name, got)
		}
	}
	text := "{\"time\":1700000000,\"price\":10,\"amount\":1,\"m\":true}\n" +
		"{\"trade_timestamp\":1700000000001,\"price\":10,\"base_volume\":1,\"type\":\"buy\"}\n" +
		"{\"dealDateUtc\":\"2023-11-14T22:13:21.0000000Z\",\"price\":10,\"volume\":1,\"isBuy\":false}\n"
	trades, _, _ := fed(t, Options{Format: "trades", Files: []string{file(t, "m.jsonl", text)}})
	if got := sides(trades); got != "sbs" {
		t.Errorf("sides %s, want sbs", got)
	}
}

func TestABarIsMadeOfItsFourPricesAndItsVolume(t *testing.T) {
	t.Parallel()
	path := file(t, "bars.csv", "1700000040,10,12,9,11,1\n1700000041,11,11,11,11,0.5\n1700000042,11,11,11,11,0\n")
	trades, _, m := fed(t, Options{Format: "trades", Files: []string{path}})
	var prices []int64
	for i := range trades {
		prices = append(prices, trades[i].Price)
	}
	if want := []int64{10, 9, 12, 11, 11}; !slices.Equal(prices, want) {
		t.Errorf("prices %v, want %v", prices, want)
	}
	c, err := m.board.Candles(marketdata.Minute, 1700000040, 1700000040)
	if err != nil || len(c) != 1 || c[0].Open != 10 || c[0].High != 12 || c[0].Low != 9 || c[0].Close != 11 ||
		c[0].Volume.Lo != 15 {
		t.Errorf("candle %+v, %v", c, err)
	}
}

func TestFromSkipsAndLoopStartsOverLater(t *testing.T) {
	t.Parallel()
	path := file(t, "x.csv", "1700000000,10,1,buy\n1700000010,11,1,buy\n1700000020,12,1,sell\n")
	trades, _, _ := fed(t, Options{Format: "trades", Files: []string{path}, From: "2023-11-14T22:13:25Z"})
	if len(trades) != 2 || trades[0].Price != 11 {
		t.Errorf("from the second on: %+v", trades)
	}
	if _, err := New(Options{Format: "trades", Files: []string{path}, From: "2024-01-01"}); err == nil {
		t.Error("a start after the last record was taken")
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, err := New(Options{Format: "trades", Files: []string{path}, Loop: true, Progress: func(p Progress) {
		if p.Pass == 3 {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	m := newTestMarket(t, r)
	report, err := r.Run(ctx, m.loop, m.pair, nil)
	if !errors.Is(err, context.Canceled) || report.Passes < 3 {
		t.Fatalf("%d passes, %v", report.Passes, err)
	}
	got, _ := m.board.Trades(6)
	for i := 1; i < len(got); i++ {
		if got[i].TimeNs <= got[i-1].TimeNs {
			t.Errorf("the second pass is not after the first: %d, %d", got[i-1].TimeNs, got[i].TimeNs)
		}
	}
}

func TestSpeedFollowsTheMachinesClock(t *testing.T) {
	path := file(t, "x.csv", "1700000000,10,1,buy\n1700000100,11,1,buy\n")
	synctest.Test(t, func(t *testing.T) {
		r, err := New(Options{Format: "trades", Files: []string{path}})
		if err != nil {
			t.Fatal(err)
		}
		r.Play(player.New(r.Recording(), 10_000, true, nil))
		m := newTestMarket(t, r)
		began := time.Now()
		done := make(chan error, 1)
		go func() {
			_, err := r.Run(context.Background(), m.loop, m.pair, nil)
			done <- err
		}()
		<-time.After(5 * time.Second)
		synctest.Wait()
		if got := m.Clock.NowNs() - 1700000000*secondNs; got < 49*secondNs || got > 50*secondNs {
			t.Errorf("after 5 s at ten times the speed the market's clock moved %d ms, want about 50 s", got/1e6)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("100 s took %v at ten times the speed", took)
		}
	})
}

func TestAnOrderOfAnotherAccountInTheWayIsFilledFirst(t *testing.T) {
	t.Parallel()
	path := file(t, "x.csv", "1700000000,10,1,buy\n1700000010,10,1,buy\n")
	r, err := New(Options{Format: "trades", Files: []string{path}, Digits: "0,1"})
	if err != nil {
		t.Fatal(err)
	}
	m := newTestMarket(t, r)
	other := sequencer.Batch{Commands: []engine.Command{{
		Kind: engine.Place, Pair: m.pair, Side: engine.Sell, Type: engine.Limit, Price: 9, Amount: 4,
	}}}
	if err := m.loop.Submit(&other); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(context.Background(), m.loop, m.pair, nil); err != nil {
		t.Fatal(err)
	}
	trades, _ := m.board.Trades(10)
	var got [][2]int64
	for i := range trades {
		got = append(got, [2]int64{trades[i].Price, trades[i].Amount})
	}
	if want := [][2]int64{{9, 4}, {10, 6}, {10, 10}}; !slices.Equal(got, want) {
		t.Errorf("trades %v, want %v", got, want)
	}
	if n := m.Core.OpenOrders(m.pair); n != 0 {
		t.Errorf("%d orders stay in the book", n)
	}
}

func TestATradeOfAStreamLeavesTheBookAsTheDepthStreamHasIt(t *testing.T) {
	t.Parallel()
	path := file(t, "x", `1700000000000000000 {"lastUpdateId":5,"bids":[["99","1"],["98","2"]],"asks":[["101","1"],`+
		`["102","2"]]}
1700000001000000000 {"stream":"aabtc@trade","data":{"s":"AABTC","p":"102","q":"3","m":false}}
1700000002000000000 {"stream":"aabtc@trade","data":{"s":"AABTC","p":"98","q":"0.5","m":true}}
1700000003000000000 {"stream":"aabtc@bookTicker","data":{"s":"AABTC","u":7,"b":"100","B":"4","a":"101","A":"1"}}
1700000004000000000 {"stream":"aabtc@depth","data":{"s":"AABTC","U":6,"u":7,"b":[["100","4"],["98","0"]],`+
		`"a":[["102","1"]]}}
`)
	trades, report, m := fed(t, Options{Format: "binance", Files: []string{path}, Check: true})
	if len(trades) != 2 || trades[0].Price != 102 || trades[0].Amount != 30 || trades[1].Price != 98 ||
		trades[1].TakerSide != engine.Sell {
		t.Errorf("trades %+v", trades)
	}
	bids, asks, err := m.board.Book(5, nil, nil)
	if err != nil || fmt.Sprint(bids, asks) != "[{100 40} {99 10}] [{101 10} {102 10}]" {
		t.Errorf("book %v %v %v", bids, asks, err)
	}
	atLeast(t, report, "best bid and ask", 1, 1)
	atLeast(t, report, "trades", 2, 2)
	if spec := "AA_BTC"; m.board.Pair != spec {
		t.Errorf("pair %s, want %s", m.board.Pair, spec)
	}
}

func TestChecksFailWhenTheMarketIsAnother(t *testing.T) {
	t.Parallel()
	message := "34200.1,1,1,10,1000000,1\n34200.2,1,2,10,1000100,1\n34200.3,4,1,5,1000000,1\n"
	row := "1000500,7,1000000,10\n1000500,7,1000100,10\n1000500,8,1000100,10\n"
	report, _ := run(t, Options{
		Format: "lobster", Check: true,
		Files: []string{file(t, "m", message), file(t, "b", row)},
	})
	atLeast(t, report, "book rows", 1, 2)
	for _, c := range report.Checks {
		if c.Kind == "executions" && c.Good != 0 || c.Kind == "book rows" && c.Good != 1 {
			t.Errorf("%s: %d of %d agree with a file that is wrong", c.Kind, c.Good, c.All)
		}
	}
}

func TestTheSameChecksOverHTTP(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	answer := func(path, query, body, next string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if got := r.URL.Query().Encode(); got != query && next == "" {
				t.Errorf("%s asked with %s, want %s", path, got, query)
			}
			if next != "" && r.FormValue("start") != next {
				w.Header().Set("X-Next-Start", next)
			}
			fmt.Fprint(w, body)
		})
	}
	answer("/api/marketdata/getaggregator/orderbook", "depth=4&ticker_id=AA_BB",
		`{"bids":[[9.50,1.0],[9.25,2.0]],"asks":[[10.00,0.5]]}`, "")
	answer("/api/marketdata/getaggregator/historical_trades", "limit=3&ticker_id=AA_BB",
		`{"buy":[{"trade_id":9,"price":10.00,"base_volume":1.0,"trade_timestamp":3000},{"trade_id":7,"price":9.00,`+
			`"base_volume":1.0,"trade_timestamp":1000}],
		"sell":[{"trade_id":8,"price":8.00,"base_volume":2.0,"trade_timestamp":2000}]}`, "")
	answer("/api/tickers", "currencyPairCode=AA_BB", `{"price":10.25}`, "")
	answer("/api/ohlc", "",
		`[{"date":"2026-01-01T00:00:00","open":1.00,"max":4.00,"min":0.50,"close":2.00,"volume":6.500,`+
			`"volumeBase":3.0}]`, "2026-01-01T00:01:00")
	s := httptest.NewServer(mux)
	defer s.Close()
	h := &HTTP{BaseURL: s.URL + "/", Pair: "AA_BB", DigitsPrice: 2, DigitsAmount: 1}
	bids, asks, err := h.Book(2, nil, nil)
	if err != nil || fmt.Sprint(bids, asks) != "[{950 10} {925 20}] [{1000 5}]" {
		t.Errorf("book %v %v %v", bids, asks, err)
	}
	trades, err := h.Trades(3)
	if err != nil || len(trades) != 3 || sides(trades) != "bsb" || trades[1].Price != 800 || trades[2].TimeNs != 3e9 {
		t.Errorf("trades %+v %v", trades, err)
	}
	if last, err := h.Last(); err != nil || last != 1025 {
		t.Errorf("last %d %v", last, err)
	}
	c, err := h.Candles(marketdata.Minute, 1767225600, 1767225660)
	if err != nil || len(c) != 2 || c[0].Start != 1767225600 || c[0].High != 400 || c[0].Volume.Lo != 30 ||
		c[0].QuoteVolume.Lo != 6500 {
		t.Errorf("candles %+v %v", c, err)
	}
	if _, _, err := (&HTTP{BaseURL: s.URL + "/none"}).Book(1, nil, nil); err == nil {
		t.Error("a 404 was taken for a book")
	}
}

// Each pass over bars is at the times of their candles, and a bar without a volume lasts as long as others.
func TestPassesOverBarsKeepTheirTimes(t *testing.T) {
	t.Parallel()
	hours := ""
	for i := range 6 {
		hours += fmt.Sprintf("%d,10,12,8,11,%d\n", 1_700_006_400+3600*i, 8+i)
	}
	for text, want := range map[string]time.Duration{
		hours:                                6 * time.Hour,
		hours + "1700028000,11,11,11,11,0\n": 7 * time.Hour,
		"1700000000.5,1,1,buy\n1700000009,1,1,buy\n": 10 * time.Second,
	} {
		o := Options{Format: "trades", Files: []string{file(t, "a.csv", text)}}
		r, err := New(o)
		if err != nil || time.Duration(r.passNs()) != want {
			t.Errorf("%s: a pass lasts %s, want %s, %v", text, time.Duration(r.passNs()), want, err)
		}
		_, _, m := fed(t, o)
		if now := m.Clock.NowNs(); now != r.survey.LastNs {
			t.Errorf("%s: the clock ends at %s, the recording at %s", text, format.NsText(now),
				format.NsText(r.survey.LastNs))
		}
	}
}
