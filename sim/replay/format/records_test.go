package format

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/differ"
)

// writeFiles writes the files of a text in which "-- NAME --" begins each, and returns their
// paths and the text after "-- then --".
func writeFiles(t testing.TB, text string) (paths []string, then string) {
	t.Helper()
	dir := t.TempDir()
	for _, part := range strings.Split("\n"+strings.TrimLeft(text, "\n"), "\n-- ")[1:] {
		name, text, _ := strings.Cut(part, " --\n")
		if name == "then" {
			return paths, strings.TrimSpace(text)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths, ""
}

var kindNames = [...]string{
	"other", "place", "change", "reduce", "cancel", "execute", "trade", "report", "book", "update", "touch", "bar",
	"candle", "today",
}

// describe returns a record as one line: times of day, prices in ticks, amounts in lots.
func describe(r *Record) string {
	s := fmt.Sprintf("%s:%d %s %s", r.At.File, r.At.Line, NsText(r.NS)[11:23], kindNames[r.Kind])
	switch r.Kind {
	case Place, Change, Reduce, Cancel, Execute:
		s += fmt.Sprintf(" #%d %s %d @ %d", r.ID, r.Side, r.Amount, r.Price)
	case Trade, Report:
		if r.Sided {
			s += " " + r.Side.String()
		}
		s += fmt.Sprintf(" %d @ %d", r.Amount, r.Price)
	case Update, Touch:
		s += fmt.Sprintf(" %d to %d", r.First, r.Last)
	case Bar, Candle:
		s += fmt.Sprintf(" %+v", r.Bar)
	case Today:
		s += fmt.Sprintf(" %+v", r.Today)
	default:
	}
	if r.Depth > 0 || r.Kind == Book || r.Kind == Update || r.Kind == Touch {
		s += fmt.Sprint(" ", r.Levels, " of ", r.Depth)
	}
	return s
}

// readAll returns what the survey found and the records, or the error.
func readAll(t testing.TB, name string, paths []string) string {
	t.Helper()
	r, err := New(name, paths)
	if err != nil {
		return err.Error()
	}
	s, err := Learn(r)
	if err != nil {
		return err.Error()
	}
	price, amount, err := s.Choose(0, 0, false)
	if err != nil {
		return err.Error()
	}
	out := fmt.Sprintf("%s %d,%d: %d records, shape %d, depth %d, sets %v\n", s.Pair, price, amount, s.Records, s.Shape,
		s.Depth, s.Sets)
	if err := r.Open(s); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var rec Record
	for {
		switch err := r.Next(&rec); {
		case errors.Is(err, io.EOF):
			return out + strings.Join(r.Notes(), "\n")
		case err != nil:
			t.Fatal(err)
		}
		out += describe(&rec) + "\n"
	}
}

func TestRecordsOfEachFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, format, text string }{
		{"a LOBSTER message carries the book after it", "lobster", `
-- AMZN_2012-06-21_m.csv --
34200.1,1,11,10,1000000,1
34200.2,2,11,4,1000000,1
34200.3,4,11,5,1000000,1
34200.4,5,0,7,1000100,-1
34200.5,3,11,1,1000000,1
-- b.csv --
1000500,7,1000000,10,1000600,3,-9999999999,0
1000500,7,1000000,6,1000600,3,-9999999999,0
1000500,7,1000000,1,1000600,3,-9999999999,0
1000500,7,1000000,1,1000600,3,-9999999999,0
1000500,7,-9999999999,0,1000600,3,-9999999999,0
-- then --
AMZN_USD 4,0: 5 records, shape 2, depth 2, sets []
AMZN_2012-06-21_m.csv:1 09:30:00.100 place #11 buy 10 @ 1000000 [[{1000000 10}] [{1000500 7} {1000600 3}]] of 2
AMZN_2012-06-21_m.csv:2 09:30:00.200 reduce #11 buy 4 @ 1000000 [[{1000000 6}] [{1000500 7} {1000600 3}]] of 2
AMZN_2012-06-21_m.csv:3 09:30:00.300 execute #11 buy 5 @ 1000000 [[{1000000 1}] [{1000500 7} {1000600 3}]] of 2
AMZN_2012-06-21_m.csv:4 09:30:00.400 trade buy 7 @ 1000100 [[{1000000 1}] [{1000500 7} {1000600 3}]] of 2
AMZN_2012-06-21_m.csv:5 09:30:00.500 cancel #11 buy 1 @ 1000000 [[] [{1000500 7} {1000600 3}]] of 2
`},
		{"the float of a Bitstamp trade is rounded to the pair's digits", "bitstamp", `
-- x.log --
1430438400000 order_created {"price": "99.5", "amount": "2.25", "id": 11, "order_type": 0}
1430438400100 order_book {"bids": [["99.5", "2.25"]], "asks": [["101", "5"]]}
1430438400090 order_changed {"price": "99.5", "amount": "1", "id": 11, "order_type": 0}
1430438400200 trade {"price": 99.5, "amount": 1.2499999999999999, "id": 1}
1430438400300 order_deleted {"price": "99.5", "amount": "1.00", "id": 11, "order_type": 0}
-- then --
BTC_USD 1,2: 4 records, shape 3, depth 1, sets []
x.log:1 00:00:00.000 place #11 buy 225 @ 995
x.log:2 00:00:00.100 book [[{995 225}] [{1010 500}]] of 0
x.log:3 00:00:00.100 change #11 buy 100 @ 995
x.log:4 00:00:00.200 report 125 @ 995
x.log:5 00:00:00.300 cancel #11 buy 100 @ 995
1 lines whose time goes back by less than a second: taken at the time before
`},
		{"messages of a Binance stream", "binance", `
-- x --
1723161254000000000 {"lastUpdateId":5,"bids":[["99","1"]],"asks":[["101","1.5"]]}
1723161254100000000 {"stream":"btcusdt@depth@100ms","data":{"s":"BTCUSDT","U":6,"u":7,"b":[["99","0"]],"a":[]}}
1723161254200000000 {"stream":"btcusdt@trade","data":{"s":"BTCUSDT","t":1,"p":"101","q":"0.5","T":1,"m":true}}
1723161254300000000 {"stream":"btcusdt@bookTicker","data":{"u":7,"s":"BTCUSDT","b":"0","B":"0","a":"101","A":"1.5"}}
1723161254400000000 {"stream":"btcusdt@kline_1m","data":{"s":"BTCUSDT"}}
-- then --
BTC_USDT 0,1: 5 records, shape 4, depth 0, sets []
x:1 23:54:14.000 book [[{99 10}] [{101 15}]] of 0
x:2 23:54:14.100 update 6 to 7 [[{99 0}] []] of 0
x:3 23:54:14.200 trade sell 5 @ 101
x:4 23:54:14.300 touch 0 to 7 [[] [{101 15}]] of 0
x:5 23:54:14.400 other
`},
		{"answers of Kraken in any order", "kraken", `
-- ohlc --
{"error":[],"result":{"XXBTZUSD":[
[1700000040,"1.0","1.5","1.0","1.5","1.2","3",2],
[1700000100,"1.5","1.5","1.5","1.5","1.5","0",0],
[1700000160,"1.5","1.5","1.5","1.5","1.5","1",1]],"last":1}}
-- ticker --
{"error":[],"result":{"XXBTZUSD":{"c":["1.5"],"v":["4"],"p":["1.31250"],"t":[3],"l":["1"],"h":["1.5"],"o":"1.0"}}}
-- trades --
{"error":[],"result":{"XXBTZUSD":[
["1.0","1",1700000040.5,"b","l","",1],
["1.5","2",1700000050.25,"s","l","",2],
["1.5","1",1700000170,"b","l","",3]],"last":"1"}}
-- then --
XBT_USD 1,0: 3 records, shape 1, depth 0, sets [{60000000000 false}]
trades:2 22:14:00.500 trade buy 1 @ 10
trades:3 22:14:10.250 trade sell 2 @ 15
trades:4 22:16:10.000 trade buy 1 @ 15
ohlc:2 22:14:00.000 candle {Open:10 High:15 Low:10 Close:15 Volume:3 Trades:2 Set:0}
ohlc:3 22:15:00.000 candle {Open:15 High:15 Low:15 Close:15 Volume:0 Trades:0 Set:0}
ohlc:4 22:16:00.000 candle {Open:15 High:15 Low:15 Close:15 Volume:1 Trades:1 Set:0}
:0 00:00:00.000 today {High:15 Low:10 Open:10 Last:15 Volume:4 VWAP:131250 Trades:3}
`},
		{"trades of two files, and bars to compare with", "trades", `
-- btcusd_minute.csv --
time,open,high,low,close,volume
1700000040,1,1.5,1,1.5,3
-- btcusd_1.csv --
1700000040.5,1,1,buy
1700000050,1.5,2,
-- btcusd_2.jsonl --
{"time":1700000060000,"price":"1.25","size":0.5,"isBuyerMaker":true}
-- then --
BTC_USD 2,1: 3 records, shape 0, depth 0, sets [{60000000000 false}]
btcusd_1.csv:1 22:14:00.500 trade buy 10 @ 100
btcusd_1.csv:2 22:14:10.000 trade 20 @ 150
btcusd_2.jsonl:1 22:14:20.000 trade sell 5 @ 125
btcusd_minute.csv:2 22:14:00.000 candle {Open:100 High:150 Low:100 Close:150 Volume:30 Trades:-1 Set:0}
1 trades without a side: the tick rule decided
`},
		{"the finest bars are fed", "trades", `
-- a_hour.csv --
2024-01-02T10:00:00Z,1,3,1,2,12
-- b_minute.csv --
2024-01-02T10:00:00Z,1,3,1,2,10
2024-01-02T10:01:00Z,2,2,2,2,0
2024-01-02T10:02:00Z,2,2,2,2,2
-- then --
0,0: 3 records, shape 0, depth 0, sets [{3600000000000 false} {60000000000 true}]
b_minute.csv:1 10:00:00.000 bar {Open:1 High:3 Low:1 Close:2 Volume:10 Trades:-1 Set:1}
b_minute.csv:2 10:01:00.000 bar {Open:2 High:2 Low:2 Close:2 Volume:0 Trades:-1 Set:1}
b_minute.csv:3 10:02:00.000 bar {Open:2 High:2 Low:2 Close:2 Volume:2 Trades:-1 Set:1}
a_hour.csv:1 10:00:00.000 candle {Open:1 High:3 Low:1 Close:2 Volume:12 Trades:-1 Set:0}
1 bars without a volume at an unchanged price: nothing was traded
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			paths, want := writeFiles(t, c.text)
			if got := strings.TrimSpace(readAll(t, c.format, paths)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// A reader that is opened again starts over, and a record that is used again keeps nothing.
func TestAReaderStartsOver(t *testing.T) {
	t.Parallel()
	paths, _ := writeFiles(t, `
-- x --
1723161254000000000 {"lastUpdateId":5,"bids":[["99","1"]],"asks":[["101","1.5"]]}
1723161254200000000 {"stream":"btcusdt@trade","data":{"s":"BTCUSDT","t":1,"p":"101","q":"0.5","T":1,"m":true}}
1723161254300000000 {"stream":"btcusdt@kline_1m","data":{"s":"BTCUSDT"}}
`)
	r, err := New("binance", paths)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Learn(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Choose(0, 1, true); err != nil {
		t.Fatal(err)
	}
	var passes [2][]string
	var rec Record
	for i := range passes {
		if err := r.Open(s); err != nil {
			t.Fatal(err)
		}
		for r.Next(&rec) == nil {
			passes[i] = append(passes[i], describe(&rec))
			if rec.Kind == Other && (rec.Price != 0 || len(rec.Levels[0])+len(rec.Levels[1]) != 0 || rec.Sided) {
				t.Errorf("a record kept what was before: %+v", rec)
			}
		}
	}
	if len(passes[0]) != 3 || fmt.Sprint(passes[0]) != fmt.Sprint(passes[1]) {
		t.Errorf("%d records, the second pass: %s", len(passes[0]), differ.Diff(passes[0], passes[1]))
	}
	r.Close()
	r.Close() // a second time does nothing
}

func TestFilesThatAreMissingAreNamed(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	for _, name := range Names() {
		files := []string{none}
		if name == "lobster" {
			files = append(files, none)
		}
		if got := readAll(t, name, files); !strings.Contains(got, "none") {
			t.Errorf("%s: %q does not name the file", name, got)
		}
		if got := readAll(t, name, nil); !strings.HasPrefix(got, "replay: "+name+" takes ") {
			t.Errorf("%s without files: %q", name, got)
		}
	}
	if r, err := New("csv", []string{none}); r != nil || err != nil {
		t.Errorf("a format that is none: %v, %v", r, err)
	}
}
