package replay

import "testing"

// The commands, books, checks and notes of small Binance streams: nanoseconds and JSON.
func TestGoldenBinance(t *testing.T) {
	t.Parallel()
	checkGolden(t, []golden{
		{name: "a snapshot and its updates", format: "binance", text: `
-- x --
1723161254000000000 {"lastUpdateId":5,"bids":[["99","1"],["98","2"]],"asks":[["101","1"],["102","2"]]}
1723161254100000000 {"stream":"btcusdt@depth@100ms","data":{"s":"BTCUSDT","U":6,"u":8,"b":[["99","0.5"],["98","0"],` +
			`["97","3"]],"a":[["100","1"]]}}
1723161254200000000 {"stream":"btcusdt@depth@100ms","data":{"s":"BTCUSDT","U":9,"u":9,"b":[["99","4"]],"a":[["101",` +
			`"0"],["100","0"]]}}
-- then --
pair BTC_USDT 0,1 from 2024-08-08T23:54:14.000Z
23:54:14.000 maker buy 2.0 @ 98 gtc = #1
23:54:14.000 maker buy 1.0 @ 99 gtc = #2
23:54:14.000 maker sell 1.0 @ 101 gtc = #3
23:54:14.000 maker sell 2.0 @ 102 gtc = #4
23:54:14.100 cancel #1
23:54:14.100 replace #2 with 0.5
23:54:14.100 maker buy 3.0 @ 97 gtc = #5
23:54:14.100 maker sell 1.0 @ 100 gtc = #6
23:54:14.200 cancel #6
23:54:14.200 cancel #3
23:54:14.200 replace #2 with 4.0
book 4.0 @ 99 3.0 @ 97 | 2.0 @ 102
check best bid and ask 0 of 0
check trades 0 of 0
`},
		{name: "updates before the snapshot", format: "binance", text: `
-- x --
1723161254000000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":1,"u":3,"b":[["99","7"]],"a":[]}}
1723161254100000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":4,"u":6,"b":[["98","7"]],"a":[]}}
1723161254200000000 {"lastUpdateId":5,"bids":[["99","1"]],"asks":[["101","1"]]}
1723161254300000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":7,"u":7,"b":[["97","1"]],"a":[]}}
-- then --
pair BTC_USDT 0,0 from 2024-08-08T23:54:14.000Z
23:54:14.200 maker buy 7 @ 98 gtc = #1
23:54:14.200 maker buy 1 @ 99 gtc = #2
23:54:14.200 maker sell 1 @ 101 gtc = #3
23:54:14.300 maker buy 1 @ 97 gtc = #4
book 1 @ 99 7 @ 98 1 @ 97 | 1 @ 101
check best bid and ask 0 of 0
check trades 0 of 0
`},
		{name: "updates older than the snapshot after it", format: "binance", text: `
-- x --
1723161254000000000 {"lastUpdateId":5,"bids":[["99","1"]],"asks":[["101","1"]]}
1723161254100000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":4,"u":5,"b":[["99","9"]],"a":[]}}
1723161254200000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":5,"u":6,"b":[["99","2"]],"a":[]}}
-- then --
pair BTC_USDT 0,0 from 2024-08-08T23:54:14.000Z
23:54:14.000 maker buy 1 @ 99 gtc = #1
23:54:14.000 maker sell 1 @ 101 gtc = #2
23:54:14.200 replace #1 with 2
book 2 @ 99 | 1 @ 101
check best bid and ask 0 of 0
check trades 0 of 0
`},
		{name: "a gap, and the snapshot that closes it", format: "binance", text: `
-- x --
1723161254000000000 {"lastUpdateId":5,"bids":[["99","1"]],"asks":[["101","1"]]}
1723161254100000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":8,"u":9,"b":[["98","2"]],"a":[]}}
1723161254200000000 {"lastUpdateId":20,"bids":[["97","1"]],"asks":[["103","1"]]}
1723161254300000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":21,"u":21,"b":[["96","2"]],"a":[]}}
-- then --
pair BTC_USDT 0,0 from 2024-08-08T23:54:14.000Z
23:54:14.000 maker buy 1 @ 99 gtc = #1
23:54:14.000 maker sell 1 @ 101 gtc = #2
23:54:14.100 maker buy 2 @ 98 gtc = #3
23:54:14.200 cancel #3
23:54:14.200 cancel #1
23:54:14.200 cancel #2
23:54:14.200 maker buy 1 @ 97 gtc = #4
23:54:14.200 maker sell 1 @ 103 gtc = #5
23:54:14.300 maker buy 2 @ 96 gtc = #6
book 1 @ 97 2 @ 96 | 1 @ 103
check best bid and ask 0 of 0
check trades 0 of 0
1 gaps in the update ids: the book is unsure from there to the next snapshot
`},
		{name: "a gap leaves levels behind that newer ones cross", format: "binance", text: `
-- x --
1723161254000000000 {"lastUpdateId":5,"bids":[["99","1"]],"asks":[["101","1"],["102","1"],["104","1"]]}
1723161254100000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":8,"u":9,"b":[["102","2"]],"a":[["103","1"]]}}
1723161254200000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":10,"u":10,"b":[],"a":[["98","1"]]}}
1723161254300000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":11,"u":11,"b":[["97","1"]],"a":[]}}
-- then --
pair BTC_USDT 0,0 from 2024-08-08T23:54:14.000Z
23:54:14.000 maker buy 1 @ 99 gtc = #1
23:54:14.000 maker sell 1 @ 101 gtc = #2
23:54:14.000 maker sell 1 @ 102 gtc = #3
23:54:14.000 maker sell 1 @ 104 gtc = #4
23:54:14.100 cancel #2
23:54:14.100 cancel #3
23:54:14.100 maker buy 2 @ 102 gtc = #5
23:54:14.100 maker sell 1 @ 103 gtc = #6
23:54:14.200 cancel #1
23:54:14.200 cancel #5
23:54:14.200 maker sell 1 @ 98 gtc = #7
23:54:14.300 maker buy 1 @ 97 gtc = #8
book 1 @ 97 | 1 @ 98 1 @ 103 1 @ 104
check best bid and ask 0 of 0
check trades 0 of 0
1 gaps in the update ids: the book is unsure from there to the next snapshot
4 levels that newer ones of the other side crossed: removed
`},
		{name: "a second snapshot of a whole stream tells nothing", format: "binance", text: `
-- x --
1723161254000000000 {"lastUpdateId":5,"bids":[["99","1"]],"asks":[["101","1"]]}
1723161254100000000 {"lastUpdateId":7,"bids":[["97","1"]],"asks":[["103","1"]]}
-- then --
pair BASE_QUOTE 0,0 from 2024-08-08T23:54:14.000Z
23:54:14.000 maker buy 1 @ 99 gtc = #1
23:54:14.000 maker sell 1 @ 101 gtc = #2
book 1 @ 99 | 1 @ 101
check best bid and ask 0 of 0
check trades 0 of 0
`},
		{name: "trades at, inside and beyond the touch", format: "binance", text: `
-- x --
1723161254000000000 {"lastUpdateId":5,"bids":[["99","1"],["98","2"]],"asks":[["101","1"],["102","2"]]}
1723161254100000000 {"stream":"btcusdt@trade","data":{"s":"BTCUSDT","t":1,"p":"101","q":"0.5","T":1,"m":false}}
1723161254200000000 {"stream":"btcusdt@trade","data":{"s":"BTCUSDT","t":2,"p":"100","q":"0.5","T":1,"m":true}}
1723161254300000000 {"stream":"btcusdt@trade","data":{"s":"BTCUSDT","t":3,"p":"102","q":"3","T":1,"m":false}}
1723161254400000000 {"stream":"btcusdt@trade","data":{"s":"BTCUSDT","t":4,"p":"98","q":"0.5","T":1,"m":true}}
-- then --
pair BTC_USDT 0,1 from 2024-08-08T23:54:14.000Z
23:54:14.000 maker buy 2.0 @ 98 gtc = #1
23:54:14.000 maker buy 1.0 @ 99 gtc = #2
23:54:14.000 maker sell 1.0 @ 101 gtc = #3
23:54:14.000 maker sell 2.0 @ 102 gtc = #4
23:54:14.100 cancel #3
23:54:14.100 maker sell 0.5 @ 101 gtc = #5
23:54:14.100 taker buy 0.5 @ 101 ioc = #6, trade 0.5 @ 101 with #5
23:54:14.100 maker sell 1.0 @ 101 gtc = #7
23:54:14.200 maker buy 0.5 @ 100 gtc = #8
23:54:14.200 taker sell 0.5 @ 100 ioc = #9, trade 0.5 @ 100 with #8
23:54:14.300 cancel #7
23:54:14.300 cancel #4
23:54:14.300 maker sell 3.0 @ 102 gtc = #10
23:54:14.300 taker buy 3.0 @ 102 ioc = #11, trade 3.0 @ 102 with #10
23:54:14.300 maker sell 1.0 @ 101 gtc = #12
23:54:14.300 maker sell 2.0 @ 102 gtc = #13
23:54:14.400 cancel #2
23:54:14.400 cancel #1
23:54:14.400 maker buy 0.5 @ 98 gtc = #14
23:54:14.400 taker sell 0.5 @ 98 ioc = #15, trade 0.5 @ 98 with #14
23:54:14.400 maker buy 1.0 @ 99 gtc = #16
23:54:14.400 maker buy 2.0 @ 98 gtc = #17
book 1.0 @ 99 2.0 @ 98 | 1.0 @ 101 2.0 @ 102
check best bid and ask 0 of 0
check trades 4 of 4
`},
		{name: "the best bid and ask before and after their update", format: "binance", text: `
-- x --
1723161254000000000 {"lastUpdateId":5,"bids":[["99","1"]],"asks":[["101","1"]]}
1723161254100000000 {"stream":"btcusdt@bookTicker","data":{"s":"BTCUSDT","u":6,"b":"100","B":"1","a":"101","A":"1"}}
1723161254200000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":6,"u":6,"b":[["100","1"]],"a":[]}}
1723161254300000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":7,"u":7,"b":[["100","2"]],"a":[]}}
1723161254400000000 {"stream":"btcusdt@bookTicker","data":{"s":"BTCUSDT","u":7,"b":"100","B":"3","a":"101","A":"1"}}
1723161254500000000 {"stream":"btcusdt@bookTicker","data":{"s":"BTCUSDT","u":99,"b":"100","B":"3","a":"101","A":"1"}}
-- then --
pair BTC_USDT 0,0 from 2024-08-08T23:54:14.000Z
23:54:14.000 maker buy 1 @ 99 gtc = #1
23:54:14.000 maker sell 1 @ 101 gtc = #2
23:54:14.200 maker buy 1 @ 100 gtc = #3
23:54:14.300 replace #3 with 2
book 2 @ 100 1 @ 99 | 1 @ 101
check best bid and ask 1 of 2
check trades 0 of 0
miss best bid and ask x:5: ours 2.0 at 100.0 | 1.0 at 101.0; theirs 3.0 at 100.0 | 1.0 at 101.0
`},
		{name: "a side that becomes empty", format: "binance", text: `
-- x --
1723161254000000000 {"lastUpdateId":5,"bids":[["99","1"]],"asks":[["101","1"]]}
1723161254100000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":6,"u":6,"b":[["99","0"]],"a":[]}}
1723161254200000000 {"stream":"btcusdt@bookTicker","data":{"s":"BTCUSDT","u":6,"b":"0.00","B":"0.00","a":"101","A":"1"}}
1723161254300000000 {"stream":"btcusdt@trade","data":{"s":"BTCUSDT","t":1,"p":"100","q":"0.5","T":1,"m":true}}
-- then --
pair BTC_USDT 0,1 from 2024-08-08T23:54:14.000Z
23:54:14.000 maker buy 1.0 @ 99 gtc = #1
23:54:14.000 maker sell 1.0 @ 101 gtc = #2
23:54:14.100 cancel #1
23:54:14.300 maker buy 0.5 @ 100 gtc = #3
23:54:14.300 taker sell 0.5 @ 100 ioc = #4, trade 0.5 @ 100 with #3
book | 1.0 @ 101
check best bid and ask 1 of 1
check trades 1 of 1
`},
		{name: "trades alone", format: "binance", text: `
-- x --
1723161254000000000 {"stream":"ethbtc@trade","data":{"s":"ETHBTC","t":1,"p":"0.051230","q":"0.50","T":1,"m":true}}
1723161254000000000 {"stream":"ethbtc@trade","data":{"s":"ETHBTC","t":2,"p":"0.05124","q":"2","T":1,"m":false}}
-- then --
pair ETH_BTC 5,1 from 2024-08-08T23:54:14.000Z
23:54:14.000 maker buy 0.5 @ 0.05123 gtc = #1
23:54:14.000 taker sell 0.5 @ 0.05123 ioc = #2, trade 0.5 @ 0.05123 with #1
23:54:14.000 maker sell 2.0 @ 0.05124 gtc = #3
23:54:14.000 taker buy 2.0 @ 0.05124 ioc = #4, trade 2.0 @ 0.05124 with #3
book |
check best bid and ask 0 of 0
check trades 2 of 2
`},
		{name: "single streams, with the times of the exchange", format: "binance", text: `
-- x --
{"e":"depthUpdate","E":1723161254000,"s":"BTCUSDT","U":4,"u":6,"b":[["99","2"]],"a":[]}
{"lastUpdateId":5,"bids":[["99","1"],["98","1"]],"asks":[["101","1"]]}
{"e":"trade","E":1723161254100123,"s":"BTCUSDT","t":1,"p":"101","q":"1","T":1723161254099000,"m":false}
{"e":"depthUpdate","E":1723161254101,"s":"BTCUSDT","U":7,"u":7,"b":[],"a":[["101","0"],["102","3"]]}
{"u":7,"s":"BTCUSDT","b":"99","B":"2","a":"102","A":"3"}
{"e":"kline","E":1723161254200,"s":"BTCUSDT"}
-- then --
pair BTC_USDT 0,0 from 2024-08-08T23:54:14.000Z
23:54:14.000 maker buy 1 @ 98 gtc = #1
23:54:14.000 maker buy 2 @ 99 gtc = #2
23:54:14.000 maker sell 1 @ 101 gtc = #3
23:54:14.100 cancel #3
23:54:14.100 maker sell 1 @ 101 gtc = #4
23:54:14.100 taker buy 1 @ 101 ioc = #5, trade 1 @ 101 with #4
23:54:14.100 maker sell 1 @ 101 gtc = #6
23:54:14.101 cancel #6
23:54:14.101 maker sell 3 @ 102 gtc = #7
book 2 @ 99 1 @ 98 | 3 @ 102
check best bid and ask 1 of 1
check trades 1 of 1
1 messages of streams that are not used
`},
		{name: "streams that are not used", format: "binance", text: `
-- x --
1723161254000000000 {"stream":"btcusdt@kline_1m","data":{"e":"kline"}}
1723161254000000001 {"stream":"btcusdt@trade","data":{"s":"BTCUSDT","t":1,"p":"1","q":"1","T":1,"m":true}}
1723161254000000002 {"stream":"btcusdt@aggTrade","data":{"s":"BTCUSDT"}}
1723161254000000003 {"stream":"!ticker@arr","data":[]}
-- then --
pair BTC_USDT 0,0 from 2024-08-08T23:54:14.000Z
23:54:14.000 maker buy 1 @ 1 gtc = #1
23:54:14.000 taker sell 1 @ 1 ioc = #2, trade 1 @ 1 with #1
book |
check best bid and ask 0 of 0
check trades 1 of 1
3 messages of streams that are not used
`},
		{
			name: "a start within the stream finds the book of its time", format: "binance",
			from: "2024-08-08T23:54:14.150Z", text: `
-- x --
1723161254000000000 {"lastUpdateId":5,"bids":[["99","1"]],"asks":[["101","1"]]}
1723161254050000000 {"stream":"btcusdt@trade","data":{"s":"BTCUSDT","t":1,"p":"101","q":"0.5","T":1,"m":false}}
1723161254100000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":6,"u":6,"b":[["99","2"],["98","1"]],"a":[]}}
1723161254200000000 {"stream":"btcusdt@trade","data":{"s":"BTCUSDT","t":2,"p":"101","q":"0.5","T":1,"m":false}}
1723161254300000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":7,"u":7,"b":[["98","0"]],"a":[]}}
-- then --
pair BTC_USDT 0,1 from 2024-08-08T23:54:14.000Z
23:54:14.200 maker sell 0.5 @ 101 gtc = #1
23:54:14.200 taker buy 0.5 @ 101 ioc = #2, trade 0.5 @ 101 with #1
23:54:14.300 maker buy 2.0 @ 99 gtc = #3
23:54:14.300 maker sell 1.0 @ 101 gtc = #4
book 2.0 @ 99 | 1.0 @ 101
check best bid and ask 0 of 0
check trades 1 of 1
`,
		},
		{name: "times of a stream that cross", format: "binance", text: `
-- x --
1723161254500000000 {"stream":"btcusdt@trade","data":{"s":"BTCUSDT","t":1,"p":"1","q":"1","T":1,"m":true}}
1723161254400000000 {"stream":"btcusdt@trade","data":{"s":"BTCUSDT","t":2,"p":"1","q":"2","T":1,"m":true}}
1723161254600000000 {"stream":"btcusdt@trade","data":{"s":"BTCUSDT","t":3,"p":"1","q":"3","T":1,"m":true}}
-- then --
pair BTC_USDT 0,0 from 2024-08-08T23:54:14.000Z
23:54:14.500 maker buy 1 @ 1 gtc = #1
23:54:14.500 taker sell 1 @ 1 ioc = #2, trade 1 @ 1 with #1
23:54:14.500 maker buy 2 @ 1 gtc = #3
23:54:14.500 taker sell 2 @ 1 ioc = #4, trade 2 @ 1 with #3
23:54:14.600 maker buy 3 @ 1 gtc = #5
23:54:14.600 taker sell 3 @ 1 ioc = #6, trade 3 @ 1 with #5
book |
check best bid and ask 0 of 0
check trades 3 of 3
1 lines whose time goes back by less than a second: taken at the time before
`},
		{name: "one price many times in one update", format: "binance", text: `
-- x --
1723161254000000000 {"lastUpdateId":5,"bids":[["99","1"]],"asks":[["101","1"]]}
1723161254100000000 {"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":6,"u":6,"b":[["99","2"],["99","3"],["98",` +
			`"1"],["98","0"]],"a":[]}}
-- then --
pair BTC_USDT 0,0 from 2024-08-08T23:54:14.000Z
23:54:14.000 maker buy 1 @ 99 gtc = #1
23:54:14.000 maker sell 1 @ 101 gtc = #2
23:54:14.100 replace #1 with 3
book 3 @ 99 | 1 @ 101
check best bid and ask 0 of 0
check trades 0 of 0
`},
	})
}
