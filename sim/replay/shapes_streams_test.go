package replay

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/sim/replay/format"
)

const (
	depthLine = `1723161254000000000 ` +
		`{"stream":"btcusdt@depth@100ms","data":{"s":"BTCUSDT","U":1,"u":2,"b":[["99","1"]],"a":[["101","1"]]}}` + "\n"
	tradeLine = `1723161254000000001 ` +
		`{"stream":"btcusdt@trade","data":{"s":"BTCUSDT","p":"100.5","q":"0.25","m":false}}` + "\n"
	snapshotLine = `1723161254000000002 {"lastUpdateId":2,"bids":[["99","1"]],"asks":[["101","1"]]}` + "\n"
	touchLine    = `1723161254000000003 ` +
		`{"stream":"btcusdt@bookTicker","data":{"s":"BTCUSDT","u":2,"b":"99","B":"1","a":"101","A":"1"}}` + "\n"
	otherLine = `1723161254000000004 {"stream":"btcusdt@kline_1m","data":{"s":"ETHUSDT"}}` + "\n"
	streamBuy = "2024-08-08T23:54:14.000Z 100.5 0.25 buy"
)

func TestStreamsWithoutABookAreRefused(t *testing.T) {
	t.Parallel()
	mustRefuse(t, []refusal{
		{
			"no snapshot", "binance",
			[]string{"a\n" + tradeLine + mark +
				strings.ReplaceAll(depthLine, "000000000 ", "000000001 ")},
			"no depth snapshot in the file",
			"GET /api/v3/depth?symbol=BTCUSDT&limit=5000",
		},
		{"an empty snapshot", "binance", []string{"a\n" + depthLine +
			`1723161254000000002 §{"lastUpdateId":2,"bids":[],"asks":[]}` + "\n"}, "without levels", "again"},
		{
			"the best levels alone", "binance",
			[]string{"a\n" + tradeLine + mark +
				`1723161254000000002 ` +
				`{"stream":"btcusdt@depth20@100ms","data":{"lastUpdateId":1,"bids":[["1","1"]],"asks":[]}}` + "\n"},
			"best levels alone", "btcusdt@depth@100ms",
		},
		{"a first line without a time", "binance", []string{"a\n" +
			`§{"lastUpdateId":2,"bids":[["1","1"]],"asks":[]}` + "\n"}, "the first line has no time", "want lines of"},
		{
			"an answer that is no message", "binance",
			[]string{"a\n" + `1723161254000000000 §{"code":-1121}` + "\n"},
			"neither a stream message", "want lines of",
		},
		{"best bid and ask alone", "binance", []string{"a\n" + mark + touchLine}, "nothing to replay", "@trade"},
		{"a price of zero", "binance", []string{"a\n" +
			`1723161254000000002 §{"lastUpdateId":2,"bids":[["0","1"]],"asks":[]}` + "\n"}, "above zero", "correct"},
		{
			"a trade of nothing", "binance",
			[]string{"a\n" +
				`1723161254000000002 {"stream":"x@trade","data":§{"s":"BTCUSDT","p":"1","q":"0","m":true}}` + "\n"},
			"above zero", "correct",
		},
		{
			"no order book", "bitstamp",
			[]string{"a\n§1430438400000 order_created {\"price\":\"1\",\"amount\":\"1\",\"id\":1,\"order_type\":0}\n"},
			"opening book is unknown", "order_book",
		},
		{
			"a level of price zero", "bitstamp",
			[]string{"a\n1430438400000 order_book §{\"bids\":[[\"0\",\"1\"]],\"asks\":[]}\n"},
			"above zero", "correct",
		},
	})
	mustAccept(t, []acceptance{
		{
			"single streams with a local time", "binance",
			[]string{"a\n" + strings.Replace(snapshotLine, "2 {", "0 {", 1) + `1723161254000000001 ` +
				`{"e":"trade","E":1700000000000,"s":"BTCUSDT","p":"100.5","q":"0.25","m":false,"M":true}` + "\n" +
				`1723161254000000002 {"u":2,"s":"BTCUSDT","b":"99","B":"1","a":"101","A":"1"}` + "\n"},
			streamBuy,
		},
		{
			"single streams without a local time", "binance",
			[]string{"a\n" + `{"e":"depthUpdate","E":1723161253000,"s":"BTCUSDT","U":1,"u":3,"b":[["98","1"]],"a":[]}` +
				"\n" + strings.Replace(snapshotLine, "1723161254000000002 ", "", 1) +
				`{"e":"kline","E":1723161253000,"s":"ETHUSDT","k":{}}` + "\n" +
				`{"e":"trade","E":1723161254000,"s":"BTCUSDT","p":"100.5","q":"0.25","m":false,"M":true}` + "\n"},
			streamBuy,
		},
		{
			"combined streams without a local time", "binance",
			[]string{"a\n" + `{"stream":"btcusdt@trade","data":{"E":1723161254000,"s":"BTCUSDT","p":"100.5",` +
				`"q":"0.25","m":false}}` + "\n" + strings.Replace(snapshotLine, "1723161254000000002 ", "", 1)},
			streamBuy,
		},
		{
			"snapshot before", "binance",
			[]string{"a\n" + strings.Replace(snapshotLine, "2 {", "0 {", 1) + tradeLine},
			streamBuy,
		},
		{
			"snapshot after the first updates", "binance",
			[]string{"a\n" + depthLine + tradeLine + snapshotLine + touchLine},
			streamBuy,
		},
		{"trades alone", "binance", []string{"a\n" + tradeLine + otherLine}, streamBuy},
	})
}

func TestRowsThatDoNotFitTheOthersAreRefused(t *testing.T) {
	t.Parallel()
	const row = "1700000000,100.5,0.25,buy\n"
	mustRefuse(t, []refusal{
		{
			"a decimal comma", "trades",
			[]string{"a.csv\ntime,price,amount\n1700000000,100,5,§1\n"},
			"4 columns",
			"point",
		},
		{"a cut row", "trades", []string{"a.csv\n" + row + "1700000001,100.5,0§.\n"}, "3 columns", "complete"},
		{
			"a row without its side", "trades",
			[]string{"a.csv\ntime,price,amount,side\n1700000000,100.5,0.2§5\n"},
			"3 columns", "complete",
		},
		{"a second header", "trades", []string{"a.csv\ntime,price,amount,side\n" + row + "§time,price,amount,side\n" +
			row}, "second header", "remove"},
		{
			"a second header in quotes", "trades",
			[]string{"a.csv\nprice,\"Time\",amount\n1,1700000000,1\nprice,§\"Time\",amount\n"},
			"second header",
			"remove",
		},
		{"a column twice", "trades", []string{"a.csv\ntime,price,amount,§Price\n1700000000,1,1,2\n"}, `"Price"`, "one"},
		{
			"CSV and JSON", "trades",
			[]string{"a\n" + row + `§{"time":1700000000,"price":1,"amount":1}` + "\n"},
			"CSV and JSON", "files",
		},
		{
			"JSON and CSV", "trades",
			[]string{"a\n" + `{"time":1700000000,"price":1,"amount":1}` + "\n" + mark + row},
			"CSV and JSON", "files",
		},
		{
			"nine columns without a header", "trades",
			[]string{"a.csv\n§1700000000,1,2,3,4,5,6,7,8\n"},
			"9 columns",
			"time,price,amount",
		},
		{
			"side and maker contradict", "trades",
			[]string{"a.csv\ntime,price,amount,side,is_buyer_maker\n1700000000,1,1,buy,§true\n"},
			"contradict",
			"taker",
		},
		{"a negative amount", "trades", []string{"a.csv\n1700000000,1,§-1,buy\n"}, "above zero", "correct"},
		{"a price of zero", "trades", []string{"a.csv\n1700000000,§0,1,buy\n"}, "above zero", "correct"},
		{"another side", "trades", []string{"a.csv\n1700000000,1,1,§both\n"}, `side "both"`, "buy or sell"},
		{
			"time goes back", "trades",
			[]string{"a.csv\n" + row + "1700000009,1,1,buy\n§1699999999,1,1,buy\n"},
			"goes back", "sort",
		},
		{
			"time goes back between files", "trades",
			[]string{"a.csv\n" + row, "b.csv\n§1699999999,1,1,buy\n"},
			"before the file given before", "order of time",
		},
		{
			"a log whose time goes back", "bitstamp",
			[]string{"a\n1430438402000 order_book {\"bids\":[],\"asks\":[]}\n§1430438400999 order_book " +
				"{\"bids\":[],\"asks\":[]}\n"},
			"goes back by 1001 ms", "sort",
		},
		{
			"a stream whose time goes back", "binance",
			[]string{"a\n1723161256000000000" + snapshotLine[19:] + mark + tradeLine},
			"goes back by", "sort",
		},
		{"an order added twice", "lobster", []string{
			"m\n34200.1,1,7,10,1000000,1\n§34200.2,1,7,10,1000000,1\n",
			"b\n1000100,5,1000000,10\n1000100,5,1000000,20\n",
		}, "order 7 is added a second time", "remove"},
		{"another pair's candles", "kraken", []string{
			"t\n" + `{"error":[],"result":{"XBTUSDT":[["1.0","1.0",1700000000.5,"b","l","",1]]}}`,
			"c\n§" + `{"error":[],"result":{"ETHUSDT":[[1700000040,"1","1","1","1","1","1",1]]}}`,
		}, "ETHUSDT", "one symbol at a time"},
		{"a second ticker", "kraken", []string{
			"t\n" +
				`{"error":[],"result":{"XBTUSDT":[["1.0","1.0",1700000000.5,"b","l","",1]]}}`, "x\n" + krakenTodayText,
			"y\n" + mark + krakenTodayText,
		}, "second ticker", "one Ticker"},
		{
			"Kraken's seconds in ms", "kraken",
			[]string{"t\n" + `{"error":[],"result":{"XBTUSDT":[§["1.0","1.0",1700000000500,"b","l","",1]]}}`},
			"out of range", "Unix s",
		},
	})
	mustAccept(t, []acceptance{
		{
			"empty cells beyond the header", "trades",
			[]string{"a.csv\ntime,price,amount,side\n1700000000,100.5,0.25,buy,,\n"},
			oneBuy,
		},
		{
			"quotes", "trades",
			[]string{"a.csv\n\"time\",\"price\",\"amount\",\"side\"\n\"1700000000\",\"100.5\",\"0.25\",\"buy\"\n"},
			oneBuy,
		},
		{"an empty side", "trades", []string{"a.csv\ntime,price,amount,side\n1700000000,100.5,0.25,\n"}, oneBuy},
		{
			"side and maker agree", "trades",
			[]string{"a.csv\ntime,price,amount,side,is_buyer_maker\n1700000000,100.5,0.25,buy,false\n"},
			oneBuy,
		},
		{
			"crossing times of a stream", "binance",
			[]string{"a\n1723161254900000000" + snapshotLine[19:] + tradeLine},
			"2024-08-08T23:54:14.900Z 100.5 0.25 buy",
		},
	})
}

const krakenTodayText = `{"error":[],"result":{"XBTUSDT":{"c":["1","1"],"v":["1","1"],"p":["1","1"],"t":[1,1],` +
	`"l":["1","1"],"h":["1","1"],"o":"1"}}}`

// Whether values fit the pair's digits is known when all are read, and before anything
// starts.
func TestDigitsThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	const lobsterText, bookText = "34200.1,1,7,10,1000000,1\n", "1000100,5,1000000,10\n"
	for _, c := range []struct {
		name, format, digits, text, second string
		found, todo                        string
	}{
		{
			"an amount that rounds to 0", "trades", "2,0", "1700000000,1.25,§0.25\n", "",
			"amount that rounded to 0 digits is 0", "--digits",
		},
		{
			"too many in all", "trades", "", "1700000000,§0.0000000001,0.0000000001\n", "", "together at most 18",
			"round",
		},
		{
			"more than 19 digits", "trades", "", "1700000000,§1.00000000000000000000001,1\n", "", "together at most 18",
			"round",
		},
		{
			"too large", "trades", "", "1700000000,1,§9223372036855\n1700000001,1,0.000001\n", "",
			"too large for 6 fractional digits", "correct",
		},
		{
			"too large a price", "trades", "9,0", "1700000000,§9223372037,1\n", "", "too large for 9 fractional digits",
			"correct",
		},
		{
			"a candle's volume", "kraken", "1,0", `{"error":[],"result":{"XBTUSDT":[["1.0","1.0",1700000000.5,"b"]]}}`,
			`{"error":[],"result":{"XBTUSDT":[§[1700000040,"1","1","1","1","1","1.5",1]]}}`, "where the pair has 0",
			"--digits",
		},
		{
			"a level", "binance", "0,1", snapshotLine + "§" + strings.Replace(tradeLine, "0001 {", "0002 {", 1), "",
			"where the pair has 0", "--digits",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := []string{"first\n" + c.text}
			if c.second != "" {
				files = append(files, "second\n"+c.second)
			}
			paths, place := marked(t, files)
			_, err := New(Options{Format: c.format, Files: paths, Digits: c.digits})
			var bad *format.LineError
			if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), place+": ") ||
				!strings.Contains(err.Error(), c.found) || !strings.Contains(bad.Remedy, c.todo) {
				t.Errorf("got %v, want %s, %q and %q", err, place, c.found, c.todo)
			}
		})
	}
	files := []string{file(t, "m", lobsterText), file(t, "b", bookText)}
	if _, err := New(Options{Format: "lobster", Files: files, Digits: "2,0"}); err == nil ||
		!strings.Contains(err.Error(), "4,0") {
		t.Errorf("lobster's prices in hundredths: %v", err)
	}
	for _, digits := range []string{"", "4,0"} {
		if _, err := New(Options{Format: "lobster", Files: files, Digits: digits}); err != nil {
			t.Errorf("lobster with digits %q: %v", digits, err)
		}
	}
	for digits, want := range map[string]string{"": "2,1", "4,3": "4,3"} {
		r, err := New(Options{Format: "trades", Files: []string{file(t, "a", "1700000000,1.25,1.5\n")}, Digits: digits})
		if err != nil {
			t.Fatal(err)
		}
		spec := r.PairSpec()
		if got := fmt.Sprintf("%d,%d", spec.DigitsPrice, spec.DigitsAmount); got != want {
			t.Errorf("digits %q: %s, want %s", digits, got, want)
		}
	}
}

func TestAStartWithoutABookIsRefused(t *testing.T) {
	t.Parallel()
	path := file(t, "a",
		"1430438400000 order_book {\"bids\":[[\"1\",\"1\"]],\"asks\":[]}\n1430438401000 order_created "+
			"{\"price\":\"1\",\"amount\":\"1\",\"id\":1,\"order_type\":0}\n")
	if _, err := New(Options{
		Format: "bitstamp", Files: []string{path},
		From: "2015-05-01T00:00:00.500Z",
	}); err == nil || !strings.Contains(err.Error(), "2015-05-01T00:00:00.000Z") {
		t.Errorf("a start after the last book: %v", err)
	}
	if _, err := New(Options{Format: "bitstamp", Files: []string{path}, From: "2015-05-01T00:00:00Z"}); err != nil {
		t.Error(err)
	}
}

func TestFilesOfTardisAreRefused(t *testing.T) {
	t.Parallel()
	const (
		levels = "a\n" + tardisHead + "is_snapshot,side,price,amount\n"
		quotes = "q\n" + tardisHead + "ask_amount,ask_price,bid_price,bid_amount\n"
		row    = "e,BTCUSDT,1577836800000000,1577836800100000,"
	)
	mustRefuse(t, []refusal{
		{"another header", "tardis", []string{"a\n§exchange,symbol,price\n"}, "the header is", "incremental_book_L2"},
		{"an empty file", "tardis", []string{"a\n§"}, "empty", "want a file"},
		{"no snapshot", "tardis", []string{levels + "§" + row + "false,bid,1,1\n"}, "complete book", "whole day"},
		{"another side", "tardis", []string{levels + row + "true,§buy,1,1\n"}, "neither bid nor ask", "correct"},
		{"no price", "tardis", []string{levels + row + "true,bid,§,1\n"}, "no price", "correct"},
		{
			"a flag", "tardis",
			[]string{levels + row + "true,bid,1,1\n" + row + "§1,bid,1,1\n"},
			"is_snapshot",
			"correct",
		},
		{"a short row", "tardis", []string{levels + "§" + row + "true,bid,1\n"}, "7 columns", "correct"},
		{"seconds", "tardis", []string{levels + "e,BTCUSDT,1,§1577836800,true,bid,1,1\n"}, "before 1980", "us"},
		{"two symbols", "tardis", []string{
			levels + row + "true,bid,1,1\ne,§ETHUSDT,1,1577836800100000,true,bid,1,1\n",
		}, "symbol", "one symbol"},
		{
			"two books", "tardis",
			[]string{quotes + row + "1,2,1,1\n", "b\n§" + quotes[2:] + row + "1,2,1,1\n"},
			"two files give the book", "leave one",
		},
		{"no rows", "tardis", []string{"a\n§" + tardisHead + "id,side,price,amount\n"}, "no records", "rows"},
	})
}
