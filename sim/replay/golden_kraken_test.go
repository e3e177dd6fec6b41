package replay

import "testing"

// The commands, books, checks and notes of small Kraken answers: trades are [price, volume, time, side], candles
// [time, open, high, low, close, vwap, volume, count].
func TestGoldenKraken(t *testing.T) {
	t.Parallel()
	checkGolden(t, []golden{
		{name: "trades of both sides", format: "kraken", text: `
-- trades.json --
{"error":[],"result":{"XBTUSDT":[
["100.5","0.25",1700000000.5,"b","l","",1],
["100.4","0.5",1700000001.25,"s","m","",2]],
"last":"1"}}
-- then --
pair XBT_USDT 1,2 from 2023-11-14T22:13:20.000Z
22:13:20.500 maker sell 0.25 @ 100.5 gtc = #1
22:13:20.500 taker buy 0.25 @ 100.5 ioc = #2, trade 0.25 @ 100.5 with #1
22:13:21.250 maker buy 0.50 @ 100.4 gtc = #3
22:13:21.250 taker sell 0.50 @ 100.4 ioc = #4, trade 0.50 @ 100.4 with #3
book |
check minute candles 0 of 0
check empty minutes 0 of 0
`},
		{name: "candles and empty minutes", format: "kraken", text: `
-- trades.json --
{"error":[],"result":{"XBTUSDT":[
["100","1",1700000030,"b"],
["101","1",1700000040,"b"],
["99","2",1700000099,"s"],
["103","1",1700000220,"b"],
["104","1",1700000290,"b"]]}}
-- ohlc.json --
{"error":[],"result":{"XBTUSDT":[
[1699999980,"100","100","100","100","100","1",1],
[1700000040,"101","101","99","99","99.6","3",2],
[1700000100,"99","99","99","99","0","0",0],
[1700000160,"99","99","99","99","0","0",0],
[1700000220,"103","103","103","103","103","1",1],
[1700000280,"104","104","104","104","104","1",1]],"last":1}}
-- then --
pair XBT_USDT 0,0 from 2023-11-14T22:13:50.000Z
22:13:50.000 maker sell 1 @ 100 gtc = #1
22:13:50.000 taker buy 1 @ 100 ioc = #2, trade 1 @ 100 with #1
22:14:00.000 maker sell 1 @ 101 gtc = #3
22:14:00.000 taker buy 1 @ 101 ioc = #4, trade 1 @ 101 with #3
22:14:59.000 maker buy 2 @ 99 gtc = #5
22:14:59.000 taker sell 2 @ 99 ioc = #6, trade 2 @ 99 with #5
22:17:00.000 maker sell 1 @ 103 gtc = #7
22:17:00.000 taker buy 1 @ 103 ioc = #8, trade 1 @ 103 with #7
22:18:10.000 maker sell 1 @ 104 gtc = #9
22:18:10.000 taker buy 1 @ 104 ioc = #10, trade 1 @ 104 with #9
book |
check minute candles 3 of 3
check empty minutes 2 of 2
1 recorded candles may have trades outside the files: not compared
`},
		{name: "candles of another market", format: "kraken", text: `
-- trades.json --
{"error":[],"result":{"XBTUSDT":[["100","1",1700000030,"b"],["101","1",1700000040,"b"],["103","1",1700000220,"b"],` +
			`["103","1",1700000280,"b"]]}}
-- ohlc.json --
{"error":[],"result":{"XBTUSDT":[
[1700000040,"101","102","101","101","101","1",1],
[1700000100,"102","102","102","102","0","0",0],
[1700000220,"103","103","103","103","103","1",1],
[1700000280,"103","103","103","103","103","1",1]]}}
-- then --
pair XBT_USDT 0,0 from 2023-11-14T22:13:50.000Z
22:13:50.000 maker sell 1 @ 100 gtc = #1
22:13:50.000 taker buy 1 @ 100 ioc = #2, trade 1 @ 100 with #1
22:14:00.000 maker sell 1 @ 101 gtc = #3
22:14:00.000 taker buy 1 @ 101 ioc = #4, trade 1 @ 101 with #3
22:17:00.000 maker sell 1 @ 103 gtc = #5
22:17:00.000 taker buy 1 @ 103 ioc = #6, trade 1 @ 103 with #5
22:18:00.000 maker sell 1 @ 103 gtc = #7
22:18:00.000 taker buy 1 @ 103 ioc = #8, trade 1 @ 103 with #7
book |
check minute candles 2 of 3
check empty minutes 0 of 1
miss minute candles ohlc.json:2: ours 101.0 101.0 101.0 101.0 volume 1.0;` +
			" theirs 101.0 102.0 101.0 101.0 volume 1.0 at 2023-11-14T22:14:00.000Z" + `
miss empty minutes ohlc.json:3: ours no candle after a close of 101.0;` +
			" theirs 102.0 102.0 102.0 102.0 volume 0.0 at 2023-11-14T22:15:00.000Z" + `
`},
		{name: "the newest candle was not over when it was recorded", format: "kraken", text: `
-- trades.json --
{"error":[],"result":{"XBTUSDT":[["100","1",1700000030,"b"],["101","1",1700000040,"b"],["103","1",1700000110,"b"]]}}
-- ohlc.json --
{"error":[],"result":{"XBTUSDT":[
[1700000040,"101","101","101","101","101","1",1],
[1700000100,"103","104","103","104","103.5","2",2]]}}
-- then --
pair XBT_USDT 0,0 from 2023-11-14T22:13:50.000Z
22:13:50.000 maker sell 1 @ 100 gtc = #1
22:13:50.000 taker buy 1 @ 100 ioc = #2, trade 1 @ 100 with #1
22:14:00.000 maker sell 1 @ 101 gtc = #3
22:14:00.000 taker buy 1 @ 101 ioc = #4, trade 1 @ 101 with #3
22:15:10.000 maker sell 1 @ 103 gtc = #5
22:15:10.000 taker buy 1 @ 103 ioc = #6, trade 1 @ 103 with #5
book |
check minute candles 1 of 1
check empty minutes 0 of 0
`},
		{name: "the values of today", format: "kraken", text: `
-- trades.json --
{"error":[],"result":{"XBTUSDT":[
["90","1",1700006390,"s"],
["100","1",1700006400,"b"],
["101","2",1700006500,"b"],
["99","1",1700006600,"s"]]}}
-- ticker.json --
{"error":[],"result":{"XBTUSDT":{"a":["1"],"b":["1"],"c":["99","1"],"v":["4","9"],"p":["100.25000","95"],"t":[3,9],` +
			`"l":["99","90"],"h":["101","101"],"o":"100"}}}
-- then --
pair XBT_USDT 0,0 from 2023-11-14T23:59:50.000Z
23:59:50.000 maker buy 1 @ 90 gtc = #1
23:59:50.000 taker sell 1 @ 90 ioc = #2, trade 1 @ 90 with #1
00:00:00.000 maker sell 1 @ 100 gtc = #3
00:00:00.000 taker buy 1 @ 100 ioc = #4, trade 1 @ 100 with #3
00:01:40.000 maker sell 2 @ 101 gtc = #5
00:01:40.000 taker buy 2 @ 101 ioc = #6, trade 2 @ 101 with #5
00:03:20.000 maker buy 1 @ 99 gtc = #7
00:03:20.000 taker sell 1 @ 99 ioc = #8, trade 1 @ 99 with #7
book |
check minute candles 0 of 0
check empty minutes 0 of 0
check ticker values 7 of 7
`},
		{name: "values of another day", format: "kraken", text: `
-- trades.json --
{"error":[],"result":{"XBTUSDT":[["90","1",1700006390,"s"],["100","1",1700006400,"b"],["101","2",1700006500,"b"]]}}
-- ticker.json --
{"error":[],"result":{"XBTUSDT":{"a":["1"],"b":["1"],"c":["99","1"],"v":["4","9"],"p":["100.25000","95"],"t":[3,9],` +
			`"l":["99","90"],"h":["101","101"],"o":"100"}}}
-- then --
pair XBT_USDT 0,0 from 2023-11-14T23:59:50.000Z
23:59:50.000 maker buy 1 @ 90 gtc = #1
23:59:50.000 taker sell 1 @ 90 ioc = #2, trade 1 @ 90 with #1
00:00:00.000 maker sell 1 @ 100 gtc = #3
00:00:00.000 taker buy 1 @ 100 ioc = #4, trade 1 @ 100 with #3
00:01:40.000 maker sell 2 @ 101 gtc = #5
00:01:40.000 taker buy 2 @ 101 ioc = #6, trade 2 @ 101 with #5
book |
check minute candles 0 of 0
check empty minutes 0 of 0
check ticker values 2 of 7
`},
		{name: "trades that do not reach back to the day's start", format: "kraken", text: `
-- trades.json --
{"error":[],"result":{"XBTUSDT":[["100","1",1700006401,"b"],["101","2",1700006500,"b"]]}}
-- ticker.json --
{"error":[],"result":{"XBTUSDT":{"a":["1"],"b":["1"],"c":["101","1"],"v":["3","9"],"p":["100.66666","95"],"t":[2,` +
			`9],"l":["100","90"],"h":["101","101"],"o":"100"}}}
-- then --
pair XBT_USDT 0,0 from 2023-11-15T00:00:01.000Z
00:00:01.000 maker sell 1 @ 100 gtc = #1
00:00:01.000 taker buy 1 @ 100 ioc = #2, trade 1 @ 100 with #1
00:01:40.000 maker sell 2 @ 101 gtc = #3
00:01:40.000 taker buy 2 @ 101 ioc = #4, trade 2 @ 101 with #3
book |
check minute candles 0 of 0
check empty minutes 0 of 0
check ticker values 0 of 0
`},
		{name: "the rules of pairs, and a book", format: "kraken", text: `
-- pairs.json --
{"error":[],"result":{"ETHUSDT":{"wsname":"ETH/USDT","pair_decimals":2,"lot_decimals":7},` +
			`"XBTUSDT":{"wsname":"XBT/USDT","pair_decimals":1,"lot_decimals":8}}}
-- book.json --
{"error":[],"result":{"XBTUSDT":{"asks":[["101","1",1]],"bids":[["99","1",1]]}}}
-- trades.json --
{"error":[],"result":{"XBTUSDT":[["100","1",1700006401,"b"]]}}
-- then --
pair XBT_USDT 1,8 from 2023-11-15T00:00:01.000Z
00:00:01.000 maker sell 1.00000000 @ 100.0 gtc = #1
00:00:01.000 taker buy 1.00000000 @ 100.0 ioc = #2, trade 1.00000000 @ 100.0 with #1
book |
check minute candles 0 of 0
check empty minutes 0 of 0
1 answers about other pairs: left out
1 answers with an order book, or with nothing: left out
`},
		{name: "two answers of trades", format: "kraken", text: `
-- a.json --
{"error":[],"result":{"XXBTZUSD":[["100","1",1700006401,"b"]],"last":"9"}}
-- b.json --
{"error":[],"result":{"XXBTZUSD":[["101","1",1700006401,"s"],["102","1",1700006402,"b"]],"last":"9"}}
-- then --
pair XBT_USD 0,0 from 2023-11-15T00:00:01.000Z
00:00:01.000 maker sell 1 @ 100 gtc = #1
00:00:01.000 taker buy 1 @ 100 ioc = #2, trade 1 @ 100 with #1
00:00:01.000 maker buy 1 @ 101 gtc = #3
00:00:01.000 taker sell 1 @ 101 ioc = #4, trade 1 @ 101 with #3
00:00:02.000 maker sell 1 @ 102 gtc = #5
00:00:02.000 taker buy 1 @ 102 ioc = #6, trade 1 @ 102 with #5
book |
check minute candles 0 of 0
check empty minutes 0 of 0
`},
		{name: "a start within the trades", format: "kraken", from: "2023-11-15T00:01:40Z", text: `
-- trades.json --
{"error":[],"result":{"ADAEUR":[["0.351","10",1700006400,"b"],["0.352","20.5",1700006500,"b"],["0.35","1",` +
			`1700006600,"s"]]}}
-- then --
pair ADA_EUR 3,1 from 2023-11-15T00:01:40.000Z
00:01:40.000 maker sell 20.5 @ 0.352 gtc = #1
00:01:40.000 taker buy 20.5 @ 0.352 ioc = #2, trade 20.5 @ 0.352 with #1
00:03:20.000 maker buy 1.0 @ 0.350 gtc = #3
00:03:20.000 taker sell 1.0 @ 0.350 ioc = #4, trade 1.0 @ 0.350 with #3
book |
check minute candles 0 of 0
check empty minutes 0 of 0
`},
	})
}
