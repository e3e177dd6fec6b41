package replay

import (
	"strings"
	"testing"
)

const (
	bookLines = `1723161254000000000 {"lastUpdateId":5,"bids":[["99","1"]],"asks":[["101","1"]]}
1723161254200000000 {"stream":"btcusdt@depth","data":{"e":"depthUpdate","E":1723161255300,"s":"BTCUSDT","U":6,"u":6,` +
		`"b":[["98","7"]],"a":[]}}
`
	tradeLines = `1723161254100000000 {"stream":"btcusdt@trade","data":{"e":"trade","E":1723161255150,"s":"BTCUSDT",` +
		`"t":7,"p":"101","q":"2","T":1723161255148,"m":false}}
1723161254300000000 {"stream":"btcusdt@trade","data":{"e":"trade","E":1723161255400,"s":"BTCUSDT","t":8,` +
		`"p":"99","q":"1","T":1723161255399,"m":true}}
`
)

// Files of several streams are merged by time, in whatever order they are given.
func TestGoldenBinanceFiles(t *testing.T) {
	t.Parallel()
	const merged = `
23:54:14.000 maker buy 1 @ 99 gtc = #1
23:54:14.000 maker sell 1 @ 101 gtc = #2
23:54:14.100 cancel #2
23:54:14.100 maker sell 2 @ 101 gtc = #3
23:54:14.100 taker buy 2 @ 101 ioc = #4, trade 2 @ 101 with #3
23:54:14.100 maker sell 1 @ 101 gtc = #5
23:54:14.200 maker buy 7 @ 98 gtc = #6
23:54:14.300 cancel #1
23:54:14.300 maker buy 1 @ 99 gtc = #7
23:54:14.300 taker sell 1 @ 99 ioc = #8, trade 1 @ 99 with #7
23:54:14.300 maker buy 1 @ 99 gtc = #9
book 1 @ 99 7 @ 98 | 1 @ 101
check best bid and ask 0 of 0
check trades 2 of 2
`
	pair := "\n-- then --\npair BTC_USDT 0,0 from 2024-08-08T23:54:14.000Z"
	exchange := strings.NewReplacer(
		"14.000Z", "14.000Z", ":14.100", ":15.148", ":14.200", ":15.300", ":14.300", ":15.399",
	).Replace(pair + merged)
	checkGolden(t, []golden{
		{
			name: "trades first", format: "binance",
			text: "-- a --\n" + tradeLines + "\n-- b --\n" + bookLines + pair + merged,
		},
		{
			name: "books first", format: "binance",
			text: "-- a --\n" + bookLines + "\n-- b --\n" + tradeLines + pair + merged,
		},
		{
			name: "the exchange's times", format: "binance", exchange: true,
			text: "-- a --\n" + bookLines + "\n-- b --\n" + tradeLines + exchange,
		},
		{
			name: "one after the other", format: "binance",
			text: "-- a --\n" + strings.Split(bookLines, "\n")[0] + "\n\n-- b --\n" + tradeLines + "\n-- c --\n" +
				strings.Split(bookLines, "\n")[1] + "\n" + pair + merged,
		},
	})
}

// With the exchange's times a trade that arrives after a later update comes at its own time: in the minute before.
// Closed candles of the recording take the exchange's times, because their trades are those of the exchange's minutes.
func TestGoldenBinanceCandles(t *testing.T) {
	t.Parallel()
	const lines = `1723161540000000000 {"lastUpdateId":5,"bids":[["99","1"]],"asks":[["101","1"]]}
1723161600100000000 {"stream":"btcusdt@depth","data":{"e":"depthUpdate","E":1723161600050,"s":"BTCUSDT","U":6,"u":6,` +
		`"b":[["98","7"]],"a":[]}}
1723161600200000000 {"stream":"btcusdt@trade","data":{"e":"trade","E":1723161600010,"s":"BTCUSDT",` +
		`"t":7,"p":"101","q":"2","T":1723161599999,"m":false}}
1723161600300000000 {"stream":"btcusdt@trade","data":{"e":"trade","E":1723161600170,"s":"BTCUSDT",` +
		`"t":8,"p":"100","q":"3","T":1723161600160,"m":false}}
`
	const candle = `1723161660300000000 {"stream":"btcusdt@kline_1m","data":{"e":"kline",` +
		`"E":1723161660010,"s":"BTCUSDT","k":{"t":1723161600000,"T":1723161659999,"s":"BTCUSDT","i":"1m",` +
		`"f":8,"L":8,"o":"100","c":"100","h":"100","l":"100","v":"§","n":1,"x":true,"q":"300","V":"3","Q":"300"}}}
`
	open := strings.ReplaceAll(strings.ReplaceAll(candle, "true", "false"), "§", "2")
	const commands = `
-- then --
pair BTC_USDT 0,0 from 2024-08-08T23:59:00.000Z
23:59:00.000 maker buy 1 @ 99 gtc = #1
23:59:00.000 maker sell 1 @ 101 gtc = #2
23:59:59.999 cancel #2
23:59:59.999 maker sell 2 @ 101 gtc = #3
23:59:59.999 taker buy 2 @ 101 ioc = #4, trade 2 @ 101 with #3
23:59:59.999 maker sell 1 @ 101 gtc = #5
00:00:00.050 maker buy 7 @ 98 gtc = #6
00:00:00.160 maker sell 3 @ 100 gtc = #7
00:00:00.160 taker buy 3 @ 100 ioc = #8, trade 3 @ 100 with #7
book 1 @ 99 7 @ 98 | 1 @ 101
check best bid and ask 0 of 0
check trades 2 of 2
`
	const back = "1 lines whose time goes back by less than a second: sorted by time\n"
	const unused = "1 messages of streams that are not used\n"
	checkGolden(t, []golden{
		{name: "a line that goes back", format: "binance", exchange: true, text: "-- a --\n" + lines + commands + back},
		{
			name: "a candle", format: "binance",
			text: "-- a --\n" + lines + open + strings.ReplaceAll(candle, "§", "3") + commands +
				"check minute candles 1 of 1\n" + back + "2" + unused[1:],
		},
		{
			name: "a candle that differs", format: "binance",
			text: "-- a --\n" + lines + strings.ReplaceAll(candle, "§", "5") + commands +
				"check minute candles 0 of 1\nmiss minute candles a:5: ours 100.0 100.0 100.0 100.0 volume 3.0; " +
				"theirs 100.0 100.0 100.0 100.0 volume 5.0 at 2024-08-09T00:00:00.000Z\n" + back + unused,
		},
	})
}

// Tardis has the time of the exchange in a column of its own.
func TestGoldenTardisExchangeTime(t *testing.T) {
	t.Parallel()
	checkGolden(t, []golden{{name: "trades", format: "tardis", exchange: true, text: `
-- x --
` + tardisHead + `id,side,price,amount
binance,BTCUSDT,1577836800150000,1577836800250000,7,buy,101,5
-- then --
pair BTC_USDT 0,0 from 2020-01-01T00:00:00.000Z
00:00:00.150 maker sell 5 @ 101 gtc = #1
00:00:00.150 taker buy 5 @ 101 ioc = #2, trade 5 @ 101 with #1
book |
check best bid and ask 0 of 0
check trades 1 of 1
`}})
	_, err := New(Options{Format: "trades", Files: []string{file(t, "x", "1700000000,1,1\n")}, ExchangeTime: true})
	if err == nil || !strings.Contains(err.Error(), "option of binance and tardis") {
		t.Error(err)
	}
}
