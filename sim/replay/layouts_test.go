package replay

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
)

// The layouts follow the documentation of their sources, the rows are made up.
func TestLayoutsOfOtherSourcesAreReadAsTheyAre(t *testing.T) {
	t.Parallel()
	mustAccept(t, []acceptance{
		{
			"Coinbase full channel: the side is the maker's", "trades",
			[]string{"a.jsonl\n" + `{"type":"subscriptions","channels":[]}` + "\n" +
				`{"type":"open","side":"sell","product_id":"BTC-USD","time":"2023-11-14T22:13:19Z","price":"1",` +
				`"remaining_size":"1.00"}` + "\n" +
				`{"type":"match","trade_id":10,"sequence":50,"maker_order_id":"a","taker_order_id":"b",` +
				`"time":"2023-11-14T22:13:20Z","product_id":"BTC-USD","size":"0.25","price":"100.5","side":"sell"}` +
				"\n"},
			oneBuy,
		},
		{
			"trades of ccxt", "trades",
			[]string{"a.json\n[\n {\"id\":\"1\",\"timestamp\":1700000000000,\n" +
				`"datetime":"2023-11-14T22:13:20.000Z",` + "\n" +
				`"symbol":"BTC/USDT","type":null,"side":"buy","price":100.5,"amount":0.25,"cost":25.125,` +
				`"fee":{"cost":1},"info":{"p":"[,\"{"}}` + "\n]\n"},
			oneBuy,
		},
		{
			"trades of freqtrade", "trades",
			[]string{"a.json\n" + `[[1700000000000,"1",null,"buy",100.5,0.25,25.125]]`},
			oneBuy,
		},
	})
}

// Each half is named by what goes wrong in the array.
func TestABrokenArrayIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[[1700000000000,"1",null,"buy",1,1,1]`:    "does not end",
		`[[1700000000000,"1",null,"buy",1,1,1]] x`: "something follows",
		`[]`: "no rows",
		`[[1700000001000,"1",null,"buy",1,1,1],[1700000002000,"2",null,"buy",1,1,1],` +
			`[1700000000000,"3",null,"buy",1,1,1]]`: "goes back",
	} {
		_, err := New(Options{Format: "trades", Files: []string{file(t, "a.json", text)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A file whose newest row is first gives the trades, the candles and the positions of the sorted file.
func TestAFileWithTheNewestRowFirstIsReadFromItsEnd(t *testing.T) {
	t.Parallel()
	const head = "https://www.CryptoDataDownload.com\nunix,date,symbol,open,high,low,close,Volume BTC,Volume USDT," +
		"tradecount\n"
	bars := head + "1700000100,2023-11-14 22:15:00,BTC/USDT,11,13,10,12,2,24,9\n" +
		"1700000040,2023-11-14 22:14:00,BTC/USDT,10,12,9,11,1.5,15,4\n"
	trades, report, m := fed(t, Options{Format: "trades", Files: []string{file(t, "Binance_BTCUSDT_minute.csv", bars)}})
	if trades[0].Price != 10 || trades[len(trades)-1].Price != 12 ||
		m.board.Pair != "BTC_USDT" {
		t.Errorf("trades %+v", trades)
	}
	if got := strings.Join(report.Left, "\n"); !strings.Contains(got, "1 files whose newest row is first") {
		t.Errorf("notes %s", got)
	}
	var plain strings.Builder
	plain.WriteString("time,price,amount,side\n")
	const rows = 9000 // more than one block
	for i := range rows {
		fmt.Fprintf(&plain, "%d,%d,1,buy\n", 1700000000+rows-i, 1+rows-i)
	}
	var packed bytes.Buffer
	g := gzip.NewWriter(&packed)
	if _, err := g.Write([]byte(plain.String())); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{plain.String(), strings.TrimSpace(plain.String()), packed.String()} {
		trades, _, _ := fed(t, Options{Format: "trades", Files: []string{file(t, "a.csv", text)}, Check: true})
		if len(trades) != rows {
			t.Fatalf("%d trades, want %d", len(trades), rows)
		}
		for i := range trades {
			if trades[i].Price != int64(i+2) {
				t.Fatalf("trade %d at %d", i, trades[i].Price)
			}
		}
	}
	bad := strings.Replace(plain.String(), "1700008990,8991,1,buy", "1700008990,8991,1,both", 1)
	_, err := New(Options{Format: "trades", Files: []string{file(t, "a.csv", bad)}})
	if err == nil || !strings.Contains(err.Error(), "a.csv:12:") {
		t.Errorf("%v, want line 12", err)
	}
}

// The pair selects its rows by their symbol. A pair that no symbol names is a name for the only symbol.
func TestThePairSelectsRowsByTheirSymbol(t *testing.T) {
	t.Parallel()
	const text = "symbol,time,price,amount,side\nETHUSDT,1700000005,7,1,sell\nBTC/USDT,1700000000,10,1,buy\n" +
		"ETHUSDT,1700000001,8,1,sell\nBTC/USDT,1700000002,11,1,buy\n"
	path := file(t, "a.csv", text)
	trades, report, _ := fed(t, Options{Format: "trades", Files: []string{path}, Pair: "BTC_USDT"})
	if len(trades) != 2 || trades[0].Price != 10 || trades[1].Price != 11 {
		t.Errorf("trades %+v", trades)
	}
	if got := strings.Join(report.Left, "\n"); got != "2 rows of other symbols: left out" {
		t.Errorf("notes %q", got)
	}
	if _, err := New(Options{Format: "trades", Files: []string{path}, Pair: "XX_USDT"}); err == nil ||
		!strings.Contains(err.Error(), "4 of other symbols; give one of its symbols as --pair") {
		t.Errorf("another pair: %v", err)
	}
	one := file(t, "a.csv", "symbol,time,price,amount,side\nBTC.X,1700000000,10,1,buy\n")
	if trades, _, _ := fed(t, Options{Format: "trades", Files: []string{one}, Pair: "BTC_USD"}); len(trades) != 1 {
		t.Errorf("a renamed symbol: %d trades", len(trades))
	}
}

// Exports of this exchange that are no market are refused by name.
func TestExportsThatAreNoMarketAreRefused(t *testing.T) {
	t.Parallel()
	const orders = "id,clientOrderId,currencyPairCode,date,isBid,type,status,price,initialAmount,amount," +
		"decrementedAmount,quoteAmount,filledAmount,filledQuoteAmount,averagePrice,fee,feeCurrencyCode,timeInForce\n" +
		"42,,BTC_USDT,2026-01-05T10:00:00.0000000Z,true,limit,open,10.5,1.0,1.0,0.0,,0.0,0.0,,0.0,BTC,GTC\n"
	for name, text := range map[string]string{
		"orders": orders,
		"tickers": "trading_pairs,base_currency,quote_currency,last_price,lowest_ask,highest_bid\n" +
			"BTC_USDT,BTC,USDT,1,2,1\n",
		"balances": "currencyCode,free,held,total\nBTC,1.0,0.0,1.0\n",
	} {
		_, err := New(Options{Format: "trades", Files: []string{file(t, "o1.csv", text)}})
		if err == nil || !strings.Contains(err.Error(), name+" of this program: no trades and no bars") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A trade that the exchange would refuse is found before the replay starts; a bar is as large as its trades.
func TestTradesBeyondTheLimitsOfThePairAreRefused(t *testing.T) {
	t.Parallel()
	const bars = "time,open,high,low,close,volume\n"
	for text, want := range map[string]string{
		"1700000000,10,9000000000,buy\n":             "",
		"1700000000,9000000000,0.5,buy\n":            "",
		bars + "1700000040,10,12,9,11,36000000000\n": "",
		"1700000000,10,1,buy\n1700000001,10,9000000001.5,buy\n": "a.csv:2:15: amount 9000000001.5 of one trade: an " +
			"order has at most 9000000000; give --amount quote",
		"1700000000,9000000001,1,buy\n1700000001,10,1,buy\n": "a.csv:1:12: price 9000000001 of one trade: an order " +
			"has at most 9000000000; divide the prices",
		bars + "1700000040,10,12,9,11,1\n1700000100,10,10,10,10,9e9\n":  "",
		bars + "1700000040,10,12,9,11,1\n1700000100,10,10,10,10,1e10\n": "a.csv:3:24: amount 10000000000 of one trade",
	} {
		report, err := Report{}, error(nil)
		path := file(t, "a.csv", text)
		if _, err = New(Options{Format: "trades", Files: []string{path}}); err == nil {
			report, _ = run(t, Options{Format: "trades", Files: []string{path}})
		}
		if want == "" && (err != nil || report.Refused > 0) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %d refused, want %q", text, err, report.Refused, want)
		}
	}
	// Bars to compare with are no trades.
	_, err := New(Options{Format: "trades", Files: []string{
		file(t, "t.csv", "1700000040,10,1,buy\n1700000090,11,1,buy\n"),
		file(t, "minute.csv", bars+"1700000040,10,12,9,11,99000000000\n"),
	}})
	if err != nil {
		t.Error(err)
	}
}
