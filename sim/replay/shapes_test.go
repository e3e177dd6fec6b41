package replay

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/sim/replay/format"
)

// mark precedes the byte in a fixture that the refusal must name.
const mark = "§"

// marked writes the files of a fixture ("name\ntext" each) and returns their paths without
// the mark, and the "name:line:column" that the mark gives.
func marked(t testing.TB, fixtures []string) (paths []string, place string) {
	t.Helper()
	for _, f := range fixtures {
		name, text, _ := strings.Cut(f, "\n")
		if before, _, ok := strings.Cut(text, mark); ok {
			line := 1 + strings.Count(before, "\n")
			place = fmt.Sprintf("%s:%d:%d", name, line, len(before)-strings.LastIndex(before, "\n"))
		}
		paths = append(paths, file(t, name, strings.Replace(text, mark, "", 1)))
	}
	return paths, place
}

// refusal is a file that is shaped so that it would be read wrongly.
type refusal struct {
	name, format string
	files        []string // "name\ntext", with the mark where the refusal points
	found, todo  string   // parts of the message
}

// mustRefuse expects New to refuse with place, finding and remedy. New has no order entry:
// what it refuses cannot have started anything.
func mustRefuse(t *testing.T, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			paths, place := marked(t, c.files)
			_, err := New(Options{Format: c.format, Files: paths})
			var bad *format.LineError
			if !errors.As(err, &bad) {
				t.Fatalf("got %v, want a LineError at %s", err, place)
			}
			if got := err.Error(); !strings.HasPrefix(got, place+": ") {
				t.Errorf("%q does not begin with %s", got, place)
			}
			for _, part := range []string{c.found, c.todo} {
				if got := err.Error(); part == "" || !strings.Contains(got, part) {
					t.Errorf("%q does not say %q", got, part)
				}
			}
		})
	}
}

// acceptance is a legitimate file that looks like a refused one.
type acceptance struct {
	name, format string
	files        []string
	trades       string // what comes out: "seconds price amount side", one a line
}

// mustAccept feeds the files and compares the public trades.
func mustAccept(t *testing.T, cases []acceptance) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			paths, _ := marked(t, c.files)
			trades, _, m := fed(t, Options{Format: c.format, Files: paths})
			v := m.board.Board.Load().Lookup(m.board.Pair)
			var got []string
			for i := range trades {
				x := &trades[i]
				got = append(got, fmt.Sprintf("%s %s %s %s", format.NsText(x.TimeNs),
					amountText(x.Price, v.Instrument.DigitsPrice),
					amountText(x.Amount, v.Instrument.DigitsAmount), x.TakerSide))
			}
			if text := strings.Join(got, "\n"); text != strings.TrimSpace(c.trades) {
				t.Errorf("trades\n%s\nwant\n%s", text, c.trades)
			}
		})
	}
}

// amountText returns v x 10^-digits as text.
func amountText(v int64, digits int) string {
	s := fmt.Sprintf("%0*d", digits+1, v)
	if digits == 0 {
		return s
	}
	return s[:len(s)-digits] + "." + s[len(s)-digits:]
}

const oneBuy = "2023-11-14T22:13:20.000Z 100.5 0.25 buy"

func TestSplitTimesAreRefused(t *testing.T) {
	t.Parallel()
	mustRefuse(t, []refusal{
		{
			"date and seconds of the day", "trades",
			[]string{"a.csv\ndate,time,price,amount\n2024-01-02,§37800,100.5,1\n"},
			`columns "date" and "time"`,
			"join",
		},
		{
			"a day in the file's name does not help", "trades",
			[]string{"a_2024-01-02.csv\ndate,time,price,amount\n2024-01-02,§37800000,100.5,1\n"},
			`columns "date" and "time"`, "join",
		},
		{"without a header", "trades", []string{"a.csv\n2024-01-02,§10:30:00,100.5,1\n"}, "columns 1 and 2", "join"},
		{"with a side", "trades", []string{"a.csv\n2024-01-02,§10:30:00,100.5,1,buy\n"}, "columns 1 and 2", "join"},
		{"a bar without a volume", "trades", []string{"a.csv\n2024-01-02,§10:30,1,2,1,2\n"}, "columns 1 and 2", "join"},
		{"a bar", "trades", []string{"a.csv\n2024-01-02,§10:30,1,2,1,2,5\n"}, "columns 1 and 2", "join"},
		{
			"a time of day first", "trades",
			[]string{"a.csv\n§10:30:00,1,2,1,2\n"},
			"without its date",
			"2026-01-01T10:30:00",
		},
		{
			"a time of day alone", "trades",
			[]string{"a.csv\ntime,price,amount\n§10:30:00,100.5,1\n"},
			"without its date",
			"2026-01-01T10:30:00",
		},
	})
	mustAccept(t, []acceptance{
		{
			"date and time", "trades",
			[]string{"a.csv\ndate,time,price,amount,side\n2023-11-14,22:13:20,100.5,0.25,buy\n"},
			oneBuy,
		},
		{
			"time and date", "trades",
			[]string{"a.csv\ntime,price,amount,date,side\n22:13:20.000,100.5,0.25,20231114,buy\n"},
			oneBuy,
		},
		{
			"date and a time column of another name", "trades",
			[]string{"a.csv\ndate;trade_time;price;amount;side\n2023-11-14;22:13:20;100.5;0.25;buy\n"},
			oneBuy,
		},
		{
			"members", "trades",
			[]string{"a.jsonl\n" +
				`{"date":"2023-11-14","time":"22:13:20","price":100.5,"amount":0.25,"side":"buy"}` + "\n"},
			oneBuy,
		},
		{
			"timestamp beside its date", "trades",
			[]string{"a.csv\ntimestamp,date,price,amount,side\n1700000000,2023-11-14,100.5,0.25,buy\n"},
			oneBuy,
		},
		{
			"date before its timestamp", "trades",
			[]string{"a.csv\ndate,timestamp,price,amount,side\n2023-11-14,1700000000000,100.5,0.25,buy\n"},
			oneBuy,
		},
		{
			"timestamp beside datetime", "trades",
			[]string{"a.jsonl\n" +
				`{"timestamp":1700000000000,"datetime":"2023-11-14T22:13:20.000Z","price":100.5,"amount":0.25,` +
				`"side":"buy"}` + "\n"},
			oneBuy,
		},
		{
			"a whole date and time beside its time of day", "trades",
			[]string{"a.csv\ntime,clock,price,amount,side\n2023-11-14 22:13:20,22:13:20,100.5,0.25,buy\n"},
			oneBuy,
		},
		{
			"dates alone", "trades",
			[]string{"a.csv\ndate,price,amount,side\n2023-11-14,100.5,0.25,buy\n2023-11-15,100.4,0.25,sell\n"},
			"2023-11-14T00:00:00.000Z 100.5 0.25 buy\n2023-11-15T00:00:00.000Z 100.4 0.25 sell",
		},
	})
}

func TestSeveralSymbolsAreRefused(t *testing.T) {
	t.Parallel()
	const row = `{"time":1700000000,"symbol":"BTCUSDT","price":1,"amount":1}`
	mustRefuse(t, []refusal{
		{
			"a column", "trades",
			[]string{"a.csv\nsymbol,time,price,amount\nBTCUSDT,1700000000,1,1\nBTCUSDT,1700000001,1,1\n" +
				"§ETHUSDT,1700000001,2,1\n"},
			`"ETHUSDT", the rows before are of "BTCUSDT"`, "one symbol at a time",
		},
		{
			"a column of pairs", "trades",
			[]string{"a.csv\ntime,price,amount,pair\n1700000000,1,1,BTC/USD\n1700000001,1,1,§ETH/USD\n"},
			`"ETH/USD"`,
			"one symbol at a time",
		},
		{
			"members", "trades",
			[]string{"a.jsonl\n" + row + "\n" + strings.Replace(row, `"BTC`, mark+`"ETH`, 1) + "\n"},
			`"ETHUSDT"`, "one symbol at a time",
		},
		{"short members", "trades", []string{"a.jsonl\n" + `{"t":1700000000,"s":"BTCUSDT","p":1,"q":1}` + "\n" +
			`{"t":1700000000,"s":§"ETHUSDT","p":1,"q":1}` + "\n"}, `"ETHUSDT"`, "one symbol at a time"},
		{"two files", "trades", []string{
			"a.csv\nsymbol,time,price,amount\nBTCUSDT,1700000000,1,1\n",
			"b.csv\nsymbol,time,price,amount\n§ETHUSDT,1700000001,2,1\n",
		}, `"ETHUSDT"`, "one symbol at a time"},
		{
			"two names of files", "trades",
			[]string{"btcusd_1.csv\n1700000000,1,1\n", "ethusd_2.csv\n§1700000001,1,1\n"},
			"ETH_USD", "one symbol at a time",
		},
		{"a stream of two", "binance", []string{
			"a\n" + `1700000000000000000 {"stream":"btcusdt@trade","data":{"s":"BTCUSDT","p":"1","q":"1","m":true}}` +
				"\n" +
				`1700000000000000001 {"stream":"ethusdt@trade","data":{"s":§"ETHUSDT","p":"1","q":"1","m":true}}` +
				"\n",
		}, `"ETHUSDT"`, "one symbol at a time"},
	})
	mustAccept(t, []acceptance{
		{
			"one symbol in every row", "trades",
			[]string{"a.csv\nexchange,symbol,timestamp,local_timestamp,id,side,price,amount\n" +
				"binance,BTCUSDT,1700000000000000,1700000000000100,1,buy,100.5,0.25\n" +
				"binance,BTCUSDT,1700000001000000,1700000001000100,2,sell,100.5,0.25\n"},
			oneBuy +
				"\n2023-11-14T22:13:21.000Z 100.5 0.25 sell",
		},
		{
			"one symbol in every object", "trades",
			[]string{"a.jsonl\n" + `{"t":1700000000,"s":"X","S":"Buy","p":100.5,"q":0.25,"side":"buy"}` + "\n"},
			oneBuy,
		},
		{
			"the case of a symbol", "trades",
			[]string{"a.csv\nsymbol,time,price,amount,side\nbtcusdt,1700000000,100.5,0.25,buy\n" +
				"BTCUSDT,1700000000,100.5,0.25,buy\n"},
			oneBuy + "\n" + oneBuy,
		},
	})
}

func TestBookUpdatesGivenAsTradesAreRefused(t *testing.T) {
	t.Parallel()
	mustRefuse(t, []refusal{
		{
			"is_snapshot", "trades",
			[]string{"a.csv\nexchange,symbol,timestamp,local_timestamp,§is_snapshot,side,price,amount\n" +
				"x,BTCUSDT,1700000000000000,1700000000000000,true,buy,1,1\n"},
			`"is_snapshot"`, "file of trades",
		},
		{
			"bid", "trades",
			[]string{"a.csv\ntimestamp,side,price,amount\n1700000000,§bid,1,1\n"},
			`side "bid"`,
			"file of trades",
		},
		{
			"ask", "trades",
			[]string{"a.csv\ntimestamp,side,price,amount\n1700000000,buy,1,1\n1700000000,§ASK,1,1\n"},
			`side "ASK"`, "file of trades",
		},
		{
			"update type", "trades",
			[]string{"a.csv\nsymbol,timestamp,first_update_id,last_update_id,side,§update_type,price,qty\n" +
				"X,1700000000,1,2,b,snap,1,1\n"},
			"order book", "file of trades",
		},
		{
			"action", "trades",
			[]string{"a.csv\ntimestamp,symbol,action,side,price,size\n1700000000,X,§insert,Buy,1,1\n"},
			`action "insert"`, "file of trades",
		},
		{
			"a member", "trades",
			[]string{"a.jsonl\n" +
				`{"timestamp":1700000000,§"isSnapshot":false,"side":"buy","price":1,"amount":1}` + "\n"},
			`"isSnapshot"`,
			"file of trades",
		},
		{"levels", "trades", []string{"a.jsonl\n" +
			`{"timestamp":1700000000,§"bids":[],"asks":[],"price":1,"amount":1}` + "\n"}, `"bids"`, "file of trades"},
	})
	mustAccept(t, []acceptance{
		{
			"action of trades", "trades",
			[]string{"a.csv\ntimestamp,action,side,price,size\n1700000000,T,Buy,100.5,0.25\n"},
			oneBuy,
		},
		{
			"a quote beside the trade", "trades",
			[]string{"a.csv\ntimestamp,price,size,bid,ask,side\n1700000000,100.5,0.25,100,101,buy\n"},
			oneBuy,
		},
		{"b and s", "trades", []string{"a.csv\ntimestamp,price,size,side\n1700000000,100.5,0.25,B\n"}, oneBuy},
	})
}

func TestTwoAmountsAreRefused(t *testing.T) {
	t.Parallel()
	mustRefuse(t, []refusal{
		{
			"volume and amount", "trades",
			[]string{"a.csv\ntime,price,volume,§amount,side\n1700000000,100.5,0.25,25.125,buy\n"},
			`"volume" and "amount"`, "base",
		},
		{
			"amount and volume", "trades",
			[]string{"a.csv\ntime,price,amount,§volume,side\n1700000000,100.5,0.25,25.125,buy\n"},
			`"amount" and "volume"`, "base",
		},
		{
			"bars", "trades",
			[]string{"a.csv\ntime,open,high,low,close,Volume,§Amount\n1700000000,1,2,1,2,5,7\n"},
			`"Volume" and "Amount"`, "base",
		},
		{
			"members", "trades",
			[]string{"a.jsonl\n" + `{"time":1700000000,"price":1,"volume":1,§"amount":2}` + "\n"},
			`"volume" and "amount"`, "base",
		},
		{"a candle's v and q", "trades", []string{"a.jsonl\n" +
			`{"t":1700000000,"o":1,"h":1,"l":1,"c":1,"v":1,§"q":2}` + "\n"}, `"v" and "q"`, "base"},
		{
			"our own candles under another name of the time", "trades",
			[]string{"a.jsonl\n" +
				`{"time":"2023-11-14T22:13:00","open":1,"max":1,"min":1,"close":1,"volume":2,§"volumeBase":1}` + "\n"},
			`"volume" and "volumeBase"`, "base",
		},
		{
			"price and bar", "trades",
			[]string{"a.csv\ntime,open,high,low,close,volume,§price\n1700000000,1,2,1,2,5,1\n"},
			`"price"`, "trades or bars",
		},
	})
	mustAccept(t, []acceptance{
		{"volume alone", "trades", []string{"a.csv\ntime,price,volume,side\n1700000000,100.5,0.25,buy\n"}, oneBuy},
		{"amount alone", "trades", []string{"a.csv\ntime,price,amount,side\n1700000000,100.5,0.25,buy\n"}, oneBuy},
		{
			"volume beside a quote volume", "trades",
			[]string{"a.csv\ntime,price,volume,quote_volume,side\n1700000000,100.5,0.25,25.125,buy\n"},
			oneBuy,
		},
		{
			"qty beside quoteQty", "trades",
			[]string{"a.csv\nid,price,qty,quoteQty,time,isBuyerMaker,isBestMatch\n" +
				"9,100.5,0.25,25.125,1700000000000,False,True\n"},
			oneBuy,
		},
		{"a member that is null", "trades", []string{"a.jsonl\n" +
			`{"time":1700000000,"price":100.5,"volume":null,"amount":0.25,"side":"buy"}` + "\n"}, oneBuy},
	})
}
