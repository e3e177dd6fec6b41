package replay

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// atLeast fails unless the check of that kind has at least good of exactly all.
func atLeast(t *testing.T, r Report, kind string, good, all int) {
	t.Helper()
	for _, c := range r.Checks {
		if c.Kind == kind {
			if c.Good < good || c.All != all {
				t.Errorf("check %s: %d of %d, want at least %d of %d", kind, c.Good, c.All, good, all)
			}
			return
		}
	}
	t.Errorf("check %s is missing", kind)
}

// atMost fails when more than most changes were given by the file.
func atMost(t *testing.T, r Report, kind string, most int) {
	t.Helper()
	for _, c := range r.Checks {
		if c.Kind == kind && c.Good <= most {
			return
		}
	}
	t.Errorf("check %s: more than %d, or missing", kind, most)
}

func TestNasdaqDayLevel1MakesItsOwnBook(t *testing.T) {
	t.Parallel()
	r, _ := run(t, Options{Format: "lobster", Check: true, Files: []string{
		harness.Recorded(t, "lobster/AMZN_2012-06-21_34200000_57600000_message_1.csv.gz"),
		harness.Recorded(t, "lobster/AMZN_2012-06-21_34200000_57600000_orderbook_1.csv.gz"),
	}})
	atLeast(t, r, "book rows", 57_510, 57_514)
	atLeast(t, r, "named orders", 8_963, 8_974)
	atLeast(t, r, "executions", 8_970, 8_974)
	atLeast(t, r, "trades", 11_415, 11_419)
	atMost(t, r, "sides given by the file", 13_953)
}

func TestNasdaq50LevelsNeedNothingFromTheFile(t *testing.T) {
	t.Parallel()
	r, _ := run(t, Options{Format: "lobster", Check: true, Files: []string{
		harness.Recorded(t, "lobster/AAPL_2012-06-21_first672_message_50.csv.gz"),
		harness.Recorded(t, "lobster/AAPL_2012-06-21_first672_orderbook_50.csv.gz"),
	}})
	atLeast(t, r, "book rows", 671, 671)
	atLeast(t, r, "named orders", 56, 56)
	atMost(t, r, "sides given by the file", 0)
}

func TestNasdaq10LevelsWithTheWindowRule(t *testing.T) {
	t.Parallel()
	r, _ := run(t, Options{Format: "lobster", Check: true, Files: []string{
		harness.Recorded(t, "lobster/AAPL_2012-06-21_first999_message_10.csv.gz"),
		harness.Recorded(t, "lobster/AAPL_2012-06-21_first999_orderbook_10.csv.gz"),
	}})
	atLeast(t, r, "book rows", 998, 998)
	atLeast(t, r, "named orders", 98, 98)
}

// In the passive mode every row agrees, also where the file executes orders in another order than their queue's, and
// every execution, displayed or hidden, is in the published trades.
func TestPassiveNasdaqDaysAgreeInEveryRow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                    string
		rows, trades, displayed int
	}{
		{"AMZN_2012-06-21_34200000_57600000_%s_1", 57_514, 11_419, 8_974},
		{"AAPL_2012-06-21_first672_%s_50", 671, 78, 56},
		{"AAPL_2012-06-21_first999_%s_10", 998, 159, 98},
	} {
		name := "lobster/" + c.name + ".csv.gz"
		r, _ := run(t, Options{Format: "lobster", Check: true, Passive: true, Files: []string{
			harness.Recorded(t, fmt.Sprintf(name, "message")), harness.Recorded(t, fmt.Sprintf(name, "orderbook")),
		}})
		atLeast(t, r, "book rows", c.rows, c.rows)
		atLeast(t, r, "trades", c.trades, c.trades)
		atLeast(t, r, "executions", c.displayed, c.displayed)
		atLeast(t, r, "named orders", c.displayed, c.displayed)
	}
}

func TestBitstampBooksAndTrades(t *testing.T) {
	t.Parallel()
	r, _ := run(t, Options{Format: "bitstamp", Check: true, Files: []string{
		harness.Recorded(t, "bitstamp/btcusd_2015-05-01_0000-0219_l3.log.gz"),
	}})
	atLeast(t, r, "book rows", 2_489, 2_490)
	atLeast(t, r, "trades", 262, 305)
}

func TestBinanceBestBidAndAsk(t *testing.T) {
	t.Parallel()
	r, _ := run(t, Options{Format: "binance", Check: true, Files: []string{
		harness.Recorded(t, "binance/btcusdt_spot_stream_20240808.gz"),
	}})
	atLeast(t, r, "best bid and ask", 564, 564)
}

// With the exchange's times each minute has the trades whose T is in it, also where lines of several receivers cross.
func TestBinanceMinutesOfTheExchange(t *testing.T) {
	t.Parallel()
	path := harness.Recorded(t, "binance/btcusdt_spot_stream_20240808.gz")
	_, m := run(t, Options{Format: "binance", ExchangeTime: true, Files: []string{path}})
	counts := map[int64]int{}
	all, err := m.board.Trades(20_000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		counts[all[i].TimeNs/60e9]++
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`"e":"trade".*"T":(\d+)`).FindAllSubmatch(text, -1) {
		ms, err := strconv.ParseInt(string(found[1]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		counts[ms/60_000]--
	}
	if len(all) != 9_757 || len(counts) < 5 {
		t.Errorf("%d trades in %d minutes", len(all), len(counts))
	}
	for minute, n := range counts {
		if n != 0 {
			t.Errorf("minute %d: %+d trades", minute, n)
		}
	}
}

func TestKrakenCandlesAndToday(t *testing.T) {
	t.Parallel()
	r, _ := run(t, Options{Format: "kraken", Check: true, Files: []string{
		harness.Recorded(t, "kraken/http_trades.json.gz"), harness.Recorded(t, "kraken/http_ohlc.json.gz"),
		harness.Recorded(t, "kraken/http_ticker.json.gz"), harness.Recorded(t, "kraken/http_asset_pairs.json.gz"),
		harness.Recorded(t, "kraken/http_order_book.json.gz"),
	}})
	atLeast(t, r, "minute candles", 273, 273)
	atLeast(t, r, "empty minutes", 141, 141)
	atLeast(t, r, "ticker values", 7, 7)
}

func TestCoinbaseBarsMerge(t *testing.T) {
	t.Parallel()
	r, _ := run(t, Options{Format: "trades", Check: true, Files: []string{
		harness.Recorded(t, "coinbase/btcusd_20161007_second_trade.csv.gz"),
		harness.Recorded(t, "coinbase/btcusd_20161007_minute_trade.csv.gz"),
		harness.Recorded(t, "coinbase/btcusd_daily_trade_20161007.csv.gz"),
	}})
	atLeast(t, r, "minute candles", 1_419, 1_419)
	atLeast(t, r, "day candles", 1, 1)
}
