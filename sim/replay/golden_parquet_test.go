package replay

import (
	"bytes"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"
)

// parquetFile writes rows to a Parquet file.
func parquetFile[T any](t *testing.T, name string, rows []T) string {
	t.Helper()
	var b bytes.Buffer
	if err := pq.Write(&b, rows, pq.Compression(&pq.Zstd)); err != nil {
		t.Fatal(err)
	}
	return file(t, name, b.String())
}

// Files of Parquet are read by the names of their columns, as CSV is: those of ccxt, Binance, Tardis and freqtrade.
func TestGoldenParquet(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 8, 8, 9, 30, 0, 0, time.UTC)
	const want = `pair BTC_USDT 1,2 from 2024-08-08T09:30:00.000Z
09:30:00.000 maker sell 0.25 @ 100.5 gtc = #1
09:30:00.000 taker buy 0.25 @ 100.5 ioc = #2, trade 0.25 @ 100.5 with #1
book |
check trades 1 of 1`
	type ccxt struct {
		ID        string    `parquet:"id"`
		Timestamp int64     `parquet:"timestamp"`
		Datetime  time.Time `parquet:"datetime,timestamp"`
		Symbol    string    `parquet:"symbol,dict"`
		Side      *string   `parquet:"side,optional"`
		Price     float64   `parquet:"price"`
		Amount    float64   `parquet:"amount"`
		Fees      []float64 `parquet:"fees,list"`
	}
	type binance struct {
		ID    int64   `parquet:"id,delta"`
		Price float64 `parquet:"price"`
		Qty   float64 `parquet:"qty"`
		Quote float64 `parquet:"quote_qty"`
		Time  int64   `parquet:"time,delta"`
		Maker bool    `parquet:"is_buyer_maker"`
	}
	type tardis struct {
		Exchange string `parquet:"exchange"`
		Symbol   string `parquet:"symbol"`
		At       int64  `parquet:"timestamp"`
		Local    int64  `parquet:"local_timestamp"`
		ID       string `parquet:"id"`
		Side     string `parquet:"side"`
		Price    int64  `parquet:"price,decimal(2:18)"`
		Amount   int64  `parquet:"amount,decimal(8:18)"`
	}
	type bar struct {
		Date   time.Time `parquet:"date,timestamp(nanosecond)"`
		Open   float64   `parquet:"open"`
		High   float64   `parquet:"high"`
		Low    float64   `parquet:"low"`
		Close  float64   `parquet:"close"`
		Volume float64   `parquet:"volume"`
	}
	buy, ms := "buy", at.UnixMilli()
	for name, f := range map[string]string{
		"ccxt": parquetFile(t, "x.parquet", []ccxt{
			{"7", ms, at, "BTC/USDT", &buy, 100.5, 0.25, []float64{1, 2}},
		}),
		"Binance": parquetFile(t, "BTCUSDT-trades.parquet", []binance{{7, 100.5, 0.25, 25.125, ms, false}}),
		"Tardis": parquetFile(t, "x", []tardis{
			{"b", "BTCUSDT", ms * 1000, ms * 1000, "7", "buy", 10050, 25_000_000},
		}),
		"freqtrade": parquetFile(t, "BTC_USDT-1m.parquet", []bar{{at, 100.5, 100.5, 100.5, 100.5, 0.25}}),
	} {
		want := want
		if name == "freqtrade" {
			want = strings.Replace(want, "check trades", "check minutes30 candles", 1)
		}
		if got := squeeze(play(t, Options{Format: "trades", Files: []string{f}})); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// Errors in a row name its line, as of CSV; so do those of a page.
func TestParquetRefusals(t *testing.T) {
	t.Parallel()
	type trade struct {
		Time  int64   `parquet:"time"`
		Price float64 `parquet:"price"`
		Qty   float64 `parquet:"qty"`
	}
	good := trade{1_700_000_000, 1, 1}
	_, err := New(Options{Format: "trades", Files: []string{
		parquetFile(t, "x", []trade{good, {1_700_000_001, -1, 1}}),
	}})
	if err == nil || !strings.HasPrefix(err.Error(), `x:3:12: price "-1": must be above zero`) {
		t.Error(err)
	}
	var b bytes.Buffer
	if err := pq.Write(&b, []trade{good}, pq.Compression(&pq.Lz4Raw)); err != nil {
		t.Fatal(err)
	}
	_, err = New(Options{Format: "trades", Files: []string{file(t, "x", b.String())}})
	const want = "x:1:1: parquet: row group 1: column time: the compression is LZ4"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	b.Reset()
	if err := pq.Write(&b, []trade{good}); err != nil {
		t.Fatal(err)
	}
	b.Bytes()[4] = 0xff
	_, err = New(Options{Format: "trades", Files: []string{file(t, "x", b.String())}})
	const page = "x:2:1: row group 1: parquet column time, byte 4: the header of a page: damaged metadata"
	if err == nil || !strings.HasPrefix(err.Error(), page) {
		t.Error(err)
	}
}
