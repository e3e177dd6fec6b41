package replay

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/sim/replay/format"
)

// shown writes records as text, one a line: times in Unix s, and numbers without trailing zeros.
func shown(records []format.Record, price, amount int) string {
	number := func(v int64, digits int) string { return fmt.Sprint(float64(v) / math.Pow10(digits)) }
	var b strings.Builder
	for i := range records {
		r := &records[i]
		fmt.Fprintf(&b, "%s ", strings.TrimSuffix(fmt.Sprintf("%.3f", float64(r.NS)/1e9), ".000"))
		if r.Kind == format.Bar {
			for _, v := range []int64{r.Bar.Open, r.Bar.High, r.Bar.Low, r.Bar.Close} {
				b.WriteString(number(v, price) + " ")
			}
			b.WriteString(number(r.Bar.Volume, amount) + "\n")
			continue
		}
		side := "-"
		if r.Sided {
			side = r.Side.String()
		}
		fmt.Fprintf(&b, "%s %s %s\n", number(r.Price, price), number(r.Amount, amount), side)
	}
	return strings.TrimSpace(b.String())
}

// readAs reads a table and returns its pair and its records as text, or the refusal.
func readAs(t *testing.T, name, text string, layout format.Layout) (pair, records string, err error) {
	t.Helper()
	o := Options{Format: "trades", Files: []string{file(t, name, text)}, Layout: layout}
	r, err := New(o)
	if err != nil {
		return "", "", err
	}
	rows, price, amount := readTable(t, o)
	return r.instrument.Code, shown(rows, price, amount), nil
}

const (
	twoBars   = "1700000040 10 12 9 11 1.5\n1700000100 11 13 10 12 2"
	twoTrades = "1700000000 100.5 0.25 buy\n1700000001.500 101 1 sell"
)

// Answers of exchanges, whose rows stand in an object, oldest or newest first, and tables that pandas writes as JSON
// are read at the first try. The shapes follow the documentation of their sources.
func TestAnswersAreReadAtTheFirstTry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, pair, want string }{
		"OKX candles": {
			`{"code":"0","msg":"","data":[["1700000100000","11","13","10","12","2","23","23","1"],` +
				`["1700000040000","10","12","9","11","1.5","16","16","1"]]}`, "BASE_QUOTE", twoBars,
		},
		"OKX trades": {
			`{"code":"0","msg":"","data":[{"instId":"BTC-USDT","side":"sell","sz":"1","px":"101","tradeId":"2",` +
				`"ts":"1700000001500"},{"instId":"BTC-USDT","side":"buy","sz":"0.25","px":"100.5","tradeId":"1",` +
				`"ts":"1700000000000"}]}`, "BTC_USDT", twoTrades,
		},
		"Bybit candles": {
			`{"retCode":0,"retMsg":"OK","result":{"category":"spot","symbol":"BTCUSDT","list":[` +
				`["1700000100000","11","13","10","12","2","23"],["1700000040000","10","12","9","11","1.5","16"]]},` +
				`"retExtInfo":{},"time":1700000200000}`, "BTC_USDT", twoBars,
		},
		"Bybit candles of an inverse contract: the volume is in dollars": {
			`{"retCode":0,"result":{"symbol":"BTCUSD","category":"inverse","list":[` +
				`["1700000100000","11","13","10","12","23","2"],["1700000040000","10","12","9","11","16","1.5"]]}}`,
			"BTC_USD", twoBars,
		},
		"Bybit trades": {
			`{"retCode":0,"result":{"category":"spot","list":[{"execId":"2","symbol":"BTCUSDT","price":"101",` +
				`"size":"1","side":"Sell","time":"1700000001500",` +
				`"isBlockTrade":false},{"execId":"1","symbol":"BTCUSDT",` +
				`"price":"100.5","size":"0.25","side":"Buy","time":"1700000000000","isBlockTrade":false}]}}`,
			"BTC_USDT", twoTrades,
		},
		"Bybit's stream, a message a line": {
			`{"success":true,"op":"subscribe","data":[{"T":1700000000000,"s":"BTCUSDT","S":"Buy","v":"0.25",` +
				`"p":"100.5","L":"PlusTick","i":"1"}]}` + "\n" + `{"op":"pong"}` + "\n" +
				`{"topic":"publicTrade.BTCUSDT","data":[` +
				`{"T":1700000001500,"s":"BTCUSDT","S":"Sell","v":"1","p":"101","L":"PlusTick","i":"2"}]}`,
			"BTC_USDT", twoTrades,
		},
		"KuCoin candles": {
			`{"code":"200000","data":[["1700000100","11","12","13","10","2","23"],` +
				`["1700000040","10","11","12","9","1.5","16"]]}`, "BASE_QUOTE", twoBars,
		},
		"KuCoin trades": {
			`{"code":"200000","data":[{"sequence":"1","price":"100.5","size":"0.25","side":"buy",` +
				`"time":1700000000000000000},{"sequence":"2","price":"101","size":"1","side":"sell",` +
				`"time":1700000001500000000}]}`, "BASE_QUOTE", twoTrades,
		},
		"Gate candles": {
			`[["1700000040","16","11","12","9","10","1.5","true"],["1700000100","23","12","13","10","11","2","true"]]`,
			"BASE_QUOTE", twoBars,
		},
		"Gate trades": {
			`[{"id":"2","create_time":"1700000001","create_time_ms":"1700000001500.0","currency_pair":"ETH_BTC",` +
				`"side":"sell","role":"taker","amount":"1","price":"101"},{"id":"1","create_time":"1700000000",` +
				`"create_time_ms":"1700000000000.0","currency_pair":"ETH_BTC","side":"buy","amount":"0.25",` +
				`"price":"100.5"}]`, "ETH_BTC", twoTrades,
		},
		"HTX trades, in groups": {
			`{"ch":"market.btcusdt.trade.detail","status":"ok","ts":1700000002000,"data":[{"id":2,"ts":1700000001500,` +
				`"data":[{"id":2,"ts":1700000001500,"trade-id":2,"amount":1,"price":101,"direction":"sell"}]},` +
				`{"id":1,"ts":1700000000000,"data":[{"id":1,"ts":1700000000000,"trade-id":1,"amount":0.25,` +
				`"price":100.5,"direction":"buy"}]}]}`, "BASE_QUOTE", twoTrades,
		},
		"Coinbase Advanced trades: the side is the maker's": {
			`{"trades":[{"trade_id":"2","product_id":"BTC-USD","price":"101","size":"1",` +
				`"time":"2023-11-14T22:13:21.5Z","side":"BUY","bid":"","ask":""},{"trade_id":"1",` +
				`"product_id":"BTC-USD","price":"100.5","size":"0.25","time":"2023-11-14T22:13:20Z","side":"SELL",` +
				`"bid":"","ask":""}],"best_bid":"100","best_ask":"101"}`, "BTC_USD", twoTrades,
		},
		"Coinbase Advanced candles": {
			`{"candles":[{"start":"1700000100","low":"10","high":"13","open":"11","close":"12","volume":"2"},` +
				`{"start":"1700000040","low":"9","high":"12","open":"10","close":"11","volume":"1.5"}]}`,
			"BASE_QUOTE", twoBars,
		},
		"Polygon bars": {
			`{"ticker":"AAPL","queryCount":2,"adjusted":true,"results":[{"v":1.5e+00,"vw":10.5,"o":10,"c":11,"h":12,` +
				`"l":9,"t":1700000040000,"n":3},{"v":2,"o":11,"c":12,"h":13,"l":10,"t":1700000100000}],"status":"OK"}`,
			"BASE_QUOTE", twoBars,
		},
		"CryptoCompare": {
			`{"Response":"Success","RateLimit":{},"Data":{"Aggregated":false,"TimeTo":1700000100,"Data":[` +
				`{"time":1700000040,"open":10,"high":12,"low":9,"close":11,"volumefrom":1.5,"volumeto":16},` +
				`{"time":1700000100,"open":11,"high":13,"low":10,"close":12,"volumefrom":2,"volumeto":23}]}}`,
			"BASE_QUOTE", twoBars,
		},
		"a chart of TradingView's data feeds": {
			`{"s":"ok","t":[1700000040,1700000100],"o":[10,11],"h":[12,13],"l":[9,10],"c":[11,12],"v":[1.5,2]}`,
			"BASE_QUOTE", twoBars,
		},
		"pandas, columns": {
			`{"Open":{"1700000040000":10,"1700000100000":11},"High":{"1700000040000":12,"1700000100000":13},` +
				`"Low":{"1700000040000":9,"1700000100000":10},"Close":{"1700000040000":11,"1700000100000":12},` +
				`"Volume":{"1700000040000":1.5,"1700000100000":2}}`, "BASE_QUOTE", twoBars,
		},
		"pandas, columns with a numbered index": {
			`{"time":{"0":1700000000,"1":1700000001.5},"price":{"0":100.5,"1":101},"amount":{"0":0.25,"1":1},` +
				`"side":{"0":"buy","1":"sell"}}`, "BASE_QUOTE", twoTrades,
		},
		"pandas, index": {
			`{"2023-11-14T22:14:00.000Z":{"open":10,"high":12,"low":9,"close":11,"volume":1.5},` +
				`"2023-11-14T22:15:00.000Z":{"open":11,"high":13,"low":10,"close":12,"volume":2}}`,
			"BASE_QUOTE", twoBars,
		},
		"pandas, split": {
			`{"columns":["open","high","low","close","volume"],"index":[1700000040000,1700000100000],` +
				`"data":[[10,12,9,11,1.5],[11,13,10,12,2]]}`, "BASE_QUOTE", twoBars,
		},
		"pandas, table": {
			`{"schema":{"fields":[{"name":"time","type":"datetime"},{"name":"price","type":"number"}],` +
				`"primaryKey":["time"]},"data":[{"time":"2023-11-14T22:13:20.000Z","price":100.5,"amount":0.25,` +
				`"side":"buy"},{"time":"2023-11-14T22:13:21.500Z","price":101,"amount":1,"side":"sell"}]}`,
			"BASE_QUOTE", twoTrades,
		},
		"pandas, records": {
			`[{"time":1700000000,"price":100.5,"amount":0.25,"side":"buy"},` +
				`{"time":1700000001.5,"price":101,"amount":1,"side":"sell"}]`, "BASE_QUOTE", twoTrades,
		},
		"written over several lines": {
			"{\n  \"data\": [\n    {\"time\": 1700000000, \"price\": 100.5,\n \"amount\": 0.25, \"side\": \"buy\"},\n" +
				`    {"time": 1700000001.5, "price": 101, "amount": 1, "side": "sell"}` + "\n  ]\n}\n",
			"BASE_QUOTE", twoTrades,
		},
	} {
		pair, got, err := readAs(t, "a.json", c.text, format.Layout{})
		if err != nil || got != c.want || pair != c.pair {
			t.Errorf("%s: %s\n%s\nwant %s\n%s\n%v", name, pair, got, c.pair, c.want, err)
		}
	}
}

// An answer that holds no rows, several lists or contracts says so, and what is no answer is read as before.
func TestAnswersThatCannotBeReadSayWhy(t *testing.T) {
	t.Parallel()
	row := `{"time":1700000000,"price":1,"amount":1}`
	long := strings.Repeat(" ", 70_000)
	broken, later := `{"data":[`+row+`]}`+"\n"+`{"data":[{"time":`, row+"\n"+`{"time":17`
	for text, want := range map[string]string{
		broken: "fetch the answer again", later: "one whole JSON object a line",
		`{"bars":{"AAPL":[` + row + `],"MSFT":[` + row + `]}}`: "several lists of rows: bars.AAPL, bars.MSFT; " +
			"write one of them as a file: jq '.bars.AAPL' FILE > b.json",
		`{"code":"51001","msg":"Instrument ID does not exist","data":[]}`:                        "no price",
		`{"data":{"bids":[["1","1"]],"asks":[["2","1"]]}}`:                                       "no price",
		`{"bids":[["1","1"]],"asks":[["2","1"]]}`:                                                "order book",
		`{"retCode":0,"result":{"category":"inverse","list":[` + row + `]}}`:                     "may count contracts",
		`{"data":[{"instId":"BTC-USDT-SWAP","side":"buy","sz":"3","px":"1","ts":"1700000000"}]}`: "may count contracts",
		`{"code":0,` + long + `"msg":"x"}`:                                                       "no rows",
	} {
		_, _, err := readAs(t, "a.json", text, format.Layout{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200s: got %v, want %q", text, err, want)
		}
	}
}
