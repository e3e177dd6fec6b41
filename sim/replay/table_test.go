package replay

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

var table = flag.Bool("table", false, "print the table of formats of docs/contract/recordings.md")

// TestTableOfFormats replays every recorded file and a generated one of the formats that have none, and prints what
// agrees:
//
//	go test ./sim/replay -run TestTableOfFormats -v -table
//
// The rate covers reading, feed and comparisons, in memory. Every comparison of a generated file must agree.
func TestTableOfFormats(t *testing.T) {
	if !*table {
		t.Skip("runs with -table")
	}
	fmt.Println("| File | Format | Rows | Rows a second | Agreement |\n|---|---|---|---|---|")
	for _, c := range tableRows(t) {
		start := time.Now()
		r, _ := run(t, Options{
			Format: c.format, Files: c.files, Check: true, Passive: c.passive, ExchangeTime: c.exchange,
		})
		rate := float64(r.Records) / time.Since(start).Seconds()
		var agree []string
		for _, k := range r.Checks {
			if !k.Given && k.All > 0 {
				agree = append(agree, fmt.Sprintf("%s %d of %d", k.Kind, k.Good, k.All))
			}
			if c.generated && !k.Given && k.Good != k.All {
				t.Errorf("%s: %s %d of %d", c.name, k.Kind, k.Good, k.All)
			}
		}
		fmt.Printf("| %s | `%s` | %d | %.0f | %s |\n", c.name, c.format, r.Records, rate, strings.Join(agree, "; "))
	}
}

// tableRow is a recording of the table.
type tableRow struct {
	name, format                 string
	passive, exchange, generated bool
	files                        []string
}

func tableRows(t *testing.T) []tableRow {
	lobster := func(name string) []string {
		return []string{
			harness.Recorded(t, "lobster/"+fmt.Sprintf(name, "message")+".csv.gz"),
			harness.Recorded(t, "lobster/"+fmt.Sprintf(name, "orderbook")+".csv.gz"),
		}
	}
	all := func(dir string, names ...string) (files []string) {
		for _, n := range names {
			files = append(files, harness.Recorded(t, dir+"/"+n))
		}
		return files
	}
	day := lobster("AMZN_2012-06-21_34200000_57600000_%s_1")
	deep, ten := lobster("AAPL_2012-06-21_first672_%s_50"), lobster("AAPL_2012-06-21_first999_%s_10")
	binance := all("binance", "btcusdt_spot_stream_20240808.gz")
	made := func(format, name string, texts ...string) tableRow {
		row := tableRow{name: name + ", generated", format: format, generated: true}
		for i, text := range texts {
			row.files = append(row.files, file(t, fmt.Sprintf("btcusdt_%d", i), text))
		}
		return row
	}
	g := newGenerated(20_000)
	return []tableRow{
		{name: "NASDAQ AMZN, day, 1 level", format: "lobster", files: day},
		{name: "the same, `--passive`", format: "lobster", files: day, passive: true},
		{name: "NASDAQ AAPL, 10 s, 50 levels", format: "lobster", files: deep},
		{name: "the same, `--passive`", format: "lobster", files: deep, passive: true},
		{name: "NASDAQ AAPL, 49 s, 10 levels", format: "lobster", files: ten},
		{name: "the same, `--passive`", format: "lobster", files: ten, passive: true},
		{name: "Kraken XBT/USDT", format: "kraken", files: all("kraken", "http_trades.json.gz", "http_ohlc.json.gz",
			"http_ticker.json.gz", "http_asset_pairs.json.gz", "http_order_book.json.gz")},
		{name: "Coinbase BTC/USD, seconds, minutes, day", format: "trades", files: all("coinbase",
			"btcusd_20161007_second_trade.csv.gz", "btcusd_20161007_minute_trade.csv.gz",
			"btcusd_daily_trade_20161007.csv.gz")},
		{
			name: "Bitstamp BTC/USD, order log", format: "bitstamp",
			files: all("bitstamp", "btcusd_2015-05-01_0000-0219_l3.log.gz"),
		},
		{name: "Binance BTC/USDT, 6 minutes", format: "binance", files: binance},
		{name: "the same, `--exchange-time`", format: "binance", files: binance, exchange: true},
		made("trades", "CSV", g.csv.String()),
		made("trades", "NDJSON", g.ndjson.String()),
		made("trades", "JSON array of ccxt", g.ccxt.String()),
		made("trades", "CSV beside its minutes", g.csv.String(), g.minutes.String()),
		made("tardis", "incremental_book_L2, quotes, trades", g.l2.String(), g.quotes.String(),
			g.tardisTrades.String()),
		made("databento", "mbo", g.mbo.String()),
		made("databento", "mbp-1", g.mbp1.String()),
		made("databento", "mbp-10", g.mbp10.String()),
		{
			name: "Parquet, generated", format: "trades", generated: true,
			files: []string{parquetFile(t, "x.parquet", g.rows)},
		},
	}
}
