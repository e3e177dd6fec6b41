package format

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/sim/replay/format/dbn/dbntest"
)

// detected returns what Detect says of a file, one fact a line.
func detected(t *testing.T, name, content, pair string) (*Detection, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	d := Detect(file, pair, Layout{})
	out := ""
	for _, f := range d.Facts {
		out += f.Name + " " + f.Value + "\n"
	}
	if d.Problem != nil {
		out += "problem " + d.Problem.Error() + "\n"
	}
	return d, out
}

func gzipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

func TestDetectSaysWhatItSeesAndWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ title, name, content, pair, format, want string }{
		{
			"a header", "a.csv.gz", gzipped("symbol;timestamp;side;price;amount\nXBTUSD;1700000000000000;buy;1.5;2\n"),
			"", "trades", `compression gzip: the first bytes are 1f 8b
encoding UTF-8: no byte order mark
separator ';'; the first line names 5 columns
time = column "timestamp", price = column "price", amount = column "amount", side = column "side"
symbol = column "symbol"
time Unix us: "1700000000000000"
pair XBT_USD: the symbol "XBTUSD"
order oldest first
rows 1 trades sampled, 2023-11-14T22:13:20.000Z
line 2 XBTUSD;1700000000000000;buy;1.5;2
`,
		},
		{
			"a book of Tardis", "a.csv", tardisHead + "is_snapshot,side,price,amount\n" +
				"deribit,BTC-PERPETUAL,1577836800000000,1577836800100000,true,bid,99,1\n", "", "tardis",
			`compression none
format tardis: the header is that of Tardis' incremental_book_L2
pair BTC_PERPETUAL
rows 1 sampled
`,
		},
		{
			"order messages of Databento", "a.dbn", string(dbntest.File(3, dbntest.MBO, map[uint32]string{7: "AAPL"},
				(&dbntest.Event{NS: 17e17, Instrument: 7, Action: 'A', Side: 'B', Price: 1e9, Size: 1}).Order())), "",
			"databento", `compression DBN version 3, dataset XNAS.ITCH, schema mbo, 1 symbols: the first bytes are 44
format databento: the header has the columns of Databento's order messages
pair AAPL_USD: the symbol "AAPL"
rows 1 sampled
`,
		},
		{
			"no header", "BTCUSDT-trades.csv", "7,1.5,2,3,1700000000000,False,True\n", "", "trades",
			`compression none
time = column 5, price = column 2, amount = column 3, is_buyer_maker = column 6
time Unix ms: "1700000000000"
pair BTC_USDT: the file's name
`,
		},
		{
			"the newest row first", "a.csv", "time,price,amount\n1700000002,1,1\n1700000001,1,1\n1700000000,1,1\n", "",
			"trades", "pair unknown\norder newest first\n" +
				"rows 3 trades sampled, 2023-11-14T22:13:20.000Z to 2023-11-14T22:13:22.000Z\n",
		},
		{
			"UTF-16", "a.csv", "\xff\xfe" + strings.ReplaceAll("1 7 0 0 0 0 0 0 0 0 , 1 , 2 \n ", " ", "\x00"), "",
			"trades", "encoding UTF-16: the byte order mark ff fe\nrows 1 trades sampled\n",
		},
		{
			"bars", "a.ndjson", `{"t":1700000000,"o":1,"h":2,"l":1,"c":2,"v":3}`, "", "trades",
			"layout one JSON object a line\nopen = column \"o\"\nrows 1 bars sampled\n",
		},
		{
			"an array", "a.json", `[[1700000000000,"1",null,"buy",1.5,2,3]]`, "", "trades",
			"layout a JSON array of arrays: 7 values each\nprice = column 5\n",
		},
		{
			"a Bitstamp log", "a.log", `1700000000000 order_book {"bids":[["1","2"]],"asks":[["3","4"]]}` + "\n", "",
			"bitstamp", "a time, a blank and the kind \"order_book\"\nrows 1 sampled\n",
		},
		{
			"a Binance stream", "a.txt", `1700000000000000000 {"stream":"btcusdt@trade",` +
				`"data":{"s":"BTCUSDT","p":"1.5","q":"2","m":true}}` + "\n", "",
			"binance", "pair BTC_USDT: the symbol \"BTCUSDT\"\nrows 1 sampled\n",
		},
		{
			"a single stream of Binance", "a.txt", `{"e":"trade","E":1700000000000,"s":"BTCUSDT","p":"1.5","q":"2",` +
				`"m":true}` + "\n", "", "binance", "pair BTC_USDT: the symbol \"BTCUSDT\"\nrows 1 sampled\n",
		},
		{
			"a Kraken answer over several lines", "a.json",
			"{\n  \"error\": [],\n  \"result\": {\n    \"XXBTZUSD\": [\n      [\"1.5\", \"2\", 1700000000.5, \"b\", " +
				"\"l\", \"\", 1]\n    ],\n    \"last\": \"1\"\n  }\n}\n",
			"", "kraken", "begins with \"error\"\npair XBT_USD\nthe whole document: 1 trades, 0 candles\n",
		},
		{
			"LOBSTER messages", "AAPL_2012-06-21_message.csv", "34200.1,1,16113575,18,5853300,1\n", "", "lobster",
			"a message file\nmidnight UTC of 2012-06-21\npair AAPL_USD: the file's name\nrows 1 sampled\n",
		},
		{
			"LOBSTER books", "AAPL_2012-06-21_orderbook.csv", "5859400,200,5853300,18\n", "", "lobster",
			"an orderbook file\n",
		},
	} {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel()
			d, out := detected(t, c.name, c.content, c.pair)
			if d.Format != c.format || d.Problem != nil {
				t.Errorf("format %q, problem %v\n%s", d.Format, d.Problem, out)
			}
			for _, want := range strings.Split(strings.TrimSpace(c.want), "\n") {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}

func TestDetectNamesWhatKeepsAFileFromBeingReplayed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ title, content, format, want string }{
		{"a cut Parquet file", "PAR1\x15\x04", "", "a:1:1: parquet: the file is too short; unpack the file"},
		{"feather", "ARROW1\x00\x00", "", "a:1:1: the first bytes are those of Arrow (feather)"},
		{"empty", "", "", "a:1:1: the file is empty"},
		{
			"DBN of another schema", string(dbntest.File(2, dbntest.Definition, nil)), "",
			"a:1:1: DBN: the schema is definition, want mbo, mbp-1, mbp-10, tbbo, trades or ohlcv; fetch the data " +
				"in one of these",
		},
		{"a stream without times", `{"stream":"btcusdt@trade","data":{}}`, "binance", "the first line has no time"},
		{"a stream with a wrong time", `{"e":"trade","E":-5}`, "binance", "the time E: "},
		{"another answer over several lines", "{\n  \"ok\": true\n}\n", "", "a:1:2: JSON"},
		{"an empty Kraken answer", "{\n  \"error\": [],\n  \"result\": {}\n}\n", "kraken", "result holds no pair"},
		{"prose", "Dear reader,\nno market is here.\n", "", "a:1:1: no price"},
		{"an order book", "timestamp,is_snapshot,side,price,amount\n1,true,bid,1,1\n", "trades", `a:1:11: "is_sn`},
		{"two symbols", "symbol,time,price,amount\nA,1700000000,1,1\nB,1700000000,1,1\n", "trades", "a:3:1: symbol"},
		{"cut off", gzipped(strings.Repeat("1700000000,1,2\n", 9))[:30], "trades", "unexpected EOF"},
	} {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel()
			d, out := detected(t, "a", c.content, "")
			if d.Format != c.format || d.Problem == nil || !strings.Contains(d.Problem.Error(), c.want) {
				t.Errorf("format %q, problem %v, want %q\n%s", d.Format, d.Problem, c.want, out)
			}
		})
	}
	d := Detect(filepath.Join(t.TempDir(), "none"), "", Layout{})
	if d.Format != "" || d.Problem == nil {
		t.Errorf("a missing file: %q, %v", d.Format, d.Problem)
	}
}

func TestDetectShowsNoControlCharacters(t *testing.T) {
	t.Parallel()
	_, out := detected(t, "a", "time,price,amount,note\n1700000000,1,2,\x1b[2Jx\n", "")
	if strings.Contains(out, "\x1b") || !strings.Contains(out, "line 2 1700000000,1,2,\uFFFD[2Jx\n") {
		t.Errorf("%q", out)
	}
}

// Rows behind the sample are not read: a huge file takes no longer than a small one.
func TestDetectReadsASample(t *testing.T) {
	t.Parallel()
	row := "1700000000,1,2\n"
	d, out := detected(t, "a", strings.Repeat(row, detectRows)+"behind it\n", "")
	if d.Problem != nil || !strings.Contains(out, "1000 trades sampled") {
		t.Errorf("%s", out)
	}
	if d, out = detected(t, "a", strings.Repeat(row, detectRows-1)+"in it\n", ""); d.Problem == nil {
		t.Errorf("a bad row of the sample: %s", out)
	}
}

// Tardis' trades are a recording of their own, and belong to a file of the order book beside it.
func TestFilesOfOneFormatGoTogether(t *testing.T) {
	t.Parallel()
	row := "\ne,BTCUSDT,1577836800000000,1577836800100000,"
	trades, _ := detected(t, "t.csv", tardisHead+"id,side,price,amount"+row+"1,buy,1,1\n", "")
	book, _ := detected(t, "b.csv", tardisHead+"is_snapshot,side,price,amount"+row+"true,bid,1,1\n", "")
	bars, _ := detected(t, "c.csv", "time,open,high,low,close,volume\n1577836800,1,1,1,1,1\n", "")
	unknown, _ := detected(t, "d.csv", "PAR1", "")
	for _, c := range []struct {
		files []*Detection
		want  bool
	}{
		{[]*Detection{trades, book}, true},
		{[]*Detection{trades, bars}, true},
		{[]*Detection{book, bars}, false},
		{[]*Detection{trades, book, bars}, false},
		{[]*Detection{book, unknown}, false},
		{[]*Detection{unknown, unknown}, true}, // each has a problem of its own
	} {
		if got := Together(c.files); got != c.want {
			t.Errorf("%s, %s: %t", c.files[0].Format, c.files[1].Format, got)
		}
	}
}
