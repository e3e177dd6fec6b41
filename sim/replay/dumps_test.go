package replay

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"

	"github.com/tickhive/tickhive/marketdata"
)

// The files that exchanges and vendors offer for download are read as they are: layouts after their documentation, rows
// made up.
func TestDownloadsAreReadAsTheyAre(t *testing.T) {
	t.Parallel()
	mustAccept(t, []acceptance{
		{
			"Binance trades of spot, microseconds", "trades",
			[]string{"BTCUSDT-trades-2025-01-01.csv\n4359875,100.5,0.25,25.125,1700000000000000,False,True\n"},
			oneBuy,
		},
		{
			"Binance trades of futures", "trades",
			[]string{"BTCUSDT-trades-2023-11-14.csv\nid,price,qty,quote_qty,time,is_buyer_maker\n" +
				"4359875,100.5,0.25,25.125,1700000000000,false\n"},
			oneBuy,
		},
		{
			"Binance trades of futures without a header", "trades",
			[]string{"BTCUSDT-trades-2023-11-14.csv\n4359875,100.5,0.25,25.125,1700000000000,false\n"},
			oneBuy,
		},
		{
			"Binance aggregated trades of spot", "trades",
			[]string{"BTCUSDT-aggTrades-2023-11-14.csv\n12,100.5,0.25,20,21,1700000000000,False,True\n"},
			oneBuy,
		},
		{
			"Binance aggregated trades of futures", "trades",
			[]string{"a.csv\nagg_trade_id,price,quantity,first_trade_id,last_trade_id,transact_time,is_buyer_maker\n" +
				"12,100.5,0.25,20,21,1700000000000,false\n"},
			oneBuy,
		},
		{
			"Tardis trades", "trades",
			[]string{"a.csv\nexchange,symbol,timestamp,local_timestamp,id,side,price,amount\n" +
				"binance-futures,BTCUSDT,1700000000000000,1700000000012345,1,buy,100.5,0.25\n"},
			oneBuy,
		},
		{
			"Tardis trades without sides", "trades",
			[]string{"a.csv\nexchange,symbol,timestamp,local_timestamp,id,side,price,amount\n" +
				"x,Y,1700000000000000,1700000000012345,1,unknown,100.5,0.25\n"},
			oneBuy, // by the tick rule
		},
		{
			"Databento trades", "trades",
			[]string{"a.csv\nts_recv,ts_event,rtype,publisher_id,instrument_id,action,side,depth,price,size,flags," +
				"ts_in_delta,sequence,symbol\n1700000000000012345,1700000000000000000,0,1,42,T,B,0,100.5,0.25,0,1,7," +
				"ES\n"},
			oneBuy,
		},
		{
			"Kaiko trades", "trades",
			[]string{"a.csv\nid,exchange,symbol,date,price,amount,sell\n1,cb,btcusd,1700000000000,100.5,0.25,false\n"},
			oneBuy,
		},
		{
			"tabs and an empty last cell", "trades",
			[]string{"a.tsv\ntime\tprice\tamount\tside\tnote\n1700000000\t100.5\t0.25\tbuy\t\n"},
			oneBuy,
		},
	})
}

// Downloads of candles make those candles.
func TestDownloadsOfBarsMakeTheirCandles(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"Binance klines": "1700000040000,10,12,9,11,1.5,1700000099999,15,4,1,10,0\n",
		"Kraken OHLCVT":  "1700000040,10,12,9,11,1.5,4\n",
	} {
		_, _, m := fed(t, Options{Format: "trades", Files: []string{file(t, "a.csv", text)}})
		c, err := m.board.Candles(marketdata.Minute, 1700000040, 1700000040)
		if err != nil || len(c) != 1 || c[0].Open != 10 || c[0].High != 12 || c[0].Low != 9 || c[0].Close != 11 ||
			c[0].Volume.Lo != 15 {
			t.Errorf("%s: candle %+v, %v", name, c, err)
		}
	}
}

// Packed files and texts in UTF-16 give the trades of the plain file.
func TestPackedFilesGiveThePlainOnes(t *testing.T) {
	t.Parallel()
	const plain = "time,price,amount,side\n1700000000,100.5,0.25,buy\n1700000001,101,1,sell\n"
	var gz, zs, zipped bytes.Buffer
	pack := func(write func(string) error, end func() error) {
		t.Helper()
		if err := write(plain); err != nil {
			t.Fatal(err)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	g := gzip.NewWriter(&gz)
	pack(func(s string) error { _, err := g.Write([]byte(s)); return err }, g.Close)
	s, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	pack(func(text string) error { _, err := s.Write([]byte(text)); return err }, s.Close)
	z := zip.NewWriter(&zipped)
	pack(func(text string) error {
		w, err := z.Create("inner.csv")
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		return err
	}, z.Close)
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(plain)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain": plain, "gzip": gz.String(), "zstd": zs.String(), "zip": zipped.String(), "UTF-16": wide,
		"UTF-8 with a mark": "\ufeff" + plain, "no line at the end": strings.TrimSpace(plain),
	} {
		trades, _, _ := fed(t, Options{Format: "trades", Files: []string{file(t, "a", text)}})
		if got := fmt.Sprint(len(trades), sides(trades), trades[0].Price, trades[1].Amount); got != "2bs1005 100" {
			t.Errorf("%s: %s", name, got)
		}
	}
	// A damaged one is refused.
	for name, text := range map[string]string{
		"gzip": gz.String()[:gz.Len()-9], "zstd": zs.String()[:zs.Len()-9], "zip": zipped.String()[:zipped.Len()-9],
	} {
		path := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := New(Options{Format: "trades", Files: []string{path}}); err == nil {
			t.Errorf("a cut %s is read", name)
		}
	}
}
