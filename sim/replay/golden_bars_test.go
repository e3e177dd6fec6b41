package replay

import "testing"

func TestGoldenBars(t *testing.T) {
	t.Parallel()
	checkGolden(t, []golden{
		{name: "a bar becomes its four prices, the nearer extreme first", format: "trades", text: `
-- x.csv --
1700000000,10,15,9,12,1
1700000060,12,13,8,9,1
1700000120,9,11,9,11,0.7
1700000180,11,11,11,11,0.5
1700000240,11,12,10,11,2
-- then --
pair BASE_QUOTE 0,1 from 2023-11-14T22:13:20.000Z
22:13:20.000 maker sell 0.4 @ 10 gtc = #1
22:13:20.000 taker buy 0.4 @ 10 ioc = #2, trade 0.4 @ 10 with #1
22:13:20.001 maker buy 0.2 @ 9 gtc = #3
22:13:20.001 taker sell 0.2 @ 9 ioc = #4, trade 0.2 @ 9 with #3
22:13:20.002 maker sell 0.2 @ 15 gtc = #5
22:13:20.002 taker buy 0.2 @ 15 ioc = #6, trade 0.2 @ 15 with #5
22:13:20.003 maker buy 0.2 @ 12 gtc = #7
22:13:20.003 taker sell 0.2 @ 12 ioc = #8, trade 0.2 @ 12 with #7
22:14:20.000 maker buy 0.4 @ 12 gtc = #9
22:14:20.000 taker sell 0.4 @ 12 ioc = #10, trade 0.4 @ 12 with #9
22:14:20.001 maker sell 0.2 @ 13 gtc = #11
22:14:20.001 taker buy 0.2 @ 13 ioc = #12, trade 0.2 @ 13 with #11
22:14:20.002 maker buy 0.2 @ 8 gtc = #13
22:14:20.002 taker sell 0.2 @ 8 ioc = #14, trade 0.2 @ 8 with #13
22:14:20.003 maker sell 0.2 @ 9 gtc = #15
22:14:20.003 taker buy 0.2 @ 9 ioc = #16, trade 0.2 @ 9 with #15
22:15:20.000 maker sell 0.4 @ 9 gtc = #17
22:15:20.000 taker buy 0.4 @ 9 ioc = #18, trade 0.4 @ 9 with #17
22:15:20.001 maker sell 0.3 @ 11 gtc = #19
22:15:20.001 taker buy 0.3 @ 11 ioc = #20, trade 0.3 @ 11 with #19
22:16:20.000 maker sell 0.5 @ 11 gtc = #21
22:16:20.000 taker buy 0.5 @ 11 ioc = #22, trade 0.5 @ 11 with #21
22:17:20.000 maker sell 0.5 @ 11 gtc = #23
22:17:20.000 taker buy 0.5 @ 11 ioc = #24, trade 0.5 @ 11 with #23
22:17:20.001 maker sell 0.5 @ 12 gtc = #25
22:17:20.001 taker buy 0.5 @ 12 ioc = #26, trade 0.5 @ 12 with #25
22:17:20.002 maker buy 0.5 @ 10 gtc = #27
22:17:20.002 taker sell 0.5 @ 10 ioc = #28, trade 0.5 @ 10 with #27
22:17:20.003 maker sell 0.5 @ 11 gtc = #29
22:17:20.003 taker buy 0.5 @ 11 ioc = #30, trade 0.5 @ 11 with #29
book |
check trades 15 of 15
`},
		{name: "bars without a trade", format: "trades", text: `
-- x.csv --
time,open,high,low,close,volume
2023-11-14 22:13,10,10,10,10,2
2023-11-14 22:14,10,10,10,10,0
2023-11-14 22:15,10,10,10,10,0.0
2023-11-14 22:16,10,11,10,11,2
-- then --
pair BASE_QUOTE 0,0 from 2023-11-14T22:13:00.000Z
22:13:00.000 maker sell 2 @ 10 gtc = #1
22:13:00.000 taker buy 2 @ 10 ioc = #2, trade 2 @ 10 with #1
22:16:00.000 maker sell 1 @ 10 gtc = #3
22:16:00.000 taker buy 1 @ 10 ioc = #4, trade 1 @ 10 with #3
22:16:00.001 maker sell 1 @ 11 gtc = #5
22:16:00.001 taker buy 1 @ 11 ioc = #6, trade 1 @ 11 with #5
book |
check trades 3 of 3
2 bars without a volume at an unchanged price: nothing was traded
`},
		{name: "bars of a JSON candle", format: "trades", text: `
-- x.jsonl --
{"t":1700000040000,"o":"10","h":"12","l":"10","c":"11","v":"3"}
{"t":1700000100000,"o":"11","h":"11","l":"11","c":"11","v":"1"}
-- then --
pair BASE_QUOTE 0,0 from 2023-11-14T22:14:00.000Z
22:14:00.000 maker sell 1 @ 10 gtc = #1
22:14:00.000 taker buy 1 @ 10 ioc = #2, trade 1 @ 10 with #1
22:14:00.001 maker sell 1 @ 12 gtc = #3
22:14:00.001 taker buy 1 @ 12 ioc = #4, trade 1 @ 12 with #3
22:14:00.002 maker buy 1 @ 11 gtc = #5
22:14:00.002 taker sell 1 @ 11 ioc = #6, trade 1 @ 11 with #5
22:15:00.000 maker buy 1 @ 11 gtc = #7
22:15:00.000 taker sell 1 @ 11 ioc = #8, trade 1 @ 11 with #7
book |
check trades 4 of 4
`},
		{name: "finer bars are fed and coarser ones compared", format: "trades", text: `
-- x_second.csv --
1700000040,10,11,10,11,2
1700000070,11,12,11,12,2
1700000100,12,12,9,9,2
-- x_minute.csv --
1700000040,10,12,10,12,4
1700000100,12,12,9,9,2
-- then --
pair BASE_QUOTE 0,0 from 2023-11-14T22:14:00.000Z
22:14:00.000 maker sell 1 @ 10 gtc = #1
22:14:00.000 taker buy 1 @ 10 ioc = #2, trade 1 @ 10 with #1
22:14:00.001 maker sell 1 @ 11 gtc = #3
22:14:00.001 taker buy 1 @ 11 ioc = #4, trade 1 @ 11 with #3
22:14:30.000 maker sell 1 @ 11 gtc = #5
22:14:30.000 taker buy 1 @ 11 ioc = #6, trade 1 @ 11 with #5
22:14:30.001 maker sell 1 @ 12 gtc = #7
22:14:30.001 taker buy 1 @ 12 ioc = #8, trade 1 @ 12 with #7
22:15:00.000 maker sell 1 @ 12 gtc = #9
22:15:00.000 taker buy 1 @ 12 ioc = #10, trade 1 @ 12 with #9
22:15:00.001 maker buy 1 @ 9 gtc = #11
22:15:00.001 taker sell 1 @ 9 ioc = #12, trade 1 @ 9 with #11
book |
check trades 6 of 6
check minute candles 2 of 2
`},
		{name: "coarser bars that tell of another market", format: "trades", text: `
-- x_second.csv --
1700000040,10,11,10,11,2
1700000100,12,12,9,9,2
1700000160,9,9,9,9,2
-- x_minute.csv --
1700000040,10,12,10,12,4
1700000100,12,12,9,9,2
1700000160,9,9,9,9,3
-- then --
pair BASE_QUOTE 0,0 from 2023-11-14T22:14:00.000Z
22:14:00.000 maker sell 1 @ 10 gtc = #1
22:14:00.000 taker buy 1 @ 10 ioc = #2, trade 1 @ 10 with #1
22:14:00.001 maker sell 1 @ 11 gtc = #3
22:14:00.001 taker buy 1 @ 11 ioc = #4, trade 1 @ 11 with #3
22:15:00.000 maker sell 1 @ 12 gtc = #5
22:15:00.000 taker buy 1 @ 12 ioc = #6, trade 1 @ 12 with #5
22:15:00.001 maker buy 1 @ 9 gtc = #7
22:15:00.001 taker sell 1 @ 9 ioc = #8, trade 1 @ 9 with #7
22:16:00.000 maker buy 2 @ 9 gtc = #9
22:16:00.000 taker sell 2 @ 9 ioc = #10, trade 2 @ 9 with #9
book |
check trades 5 of 5
check minute candles 1 of 3
miss minute candles x_minute.csv:1: ours 10.0 11.0 10.0 11.0 volume 2.0;` +
			" theirs 10.0 12.0 10.0 12.0 volume 4.0 at 2023-11-14T22:14:00.000Z" + `
miss minute candles x_minute.csv:3: ours 9.0 9.0 9.0 9.0 volume 2.0;` +
			" theirs 9.0 9.0 9.0 9.0 volume 3.0 at 2023-11-14T22:16:00.000Z" + `
`},
		{name: "trades are fed and bars compared", format: "trades", text: `
-- x.csv --
1700000040,10,1,buy
1700000100,11,1,buy
1700000130,12,1,sell
1700000170,10,4,sell
-- x_minute.csv --
time,open,high,low,close,volume
1700000040,10,10,10,10,1
1700000100,11,12,11,12,2
1700000160,10,10,10,10,4
-- then --
pair BASE_QUOTE 0,0 from 2023-11-14T22:14:00.000Z
22:14:00.000 maker sell 1 @ 10 gtc = #1
22:14:00.000 taker buy 1 @ 10 ioc = #2, trade 1 @ 10 with #1
22:15:00.000 maker sell 1 @ 11 gtc = #3
22:15:00.000 taker buy 1 @ 11 ioc = #4, trade 1 @ 11 with #3
22:15:30.000 maker buy 1 @ 12 gtc = #5
22:15:30.000 taker sell 1 @ 12 ioc = #6, trade 1 @ 12 with #5
22:16:10.000 maker buy 4 @ 10 gtc = #7
22:16:10.000 taker sell 4 @ 10 ioc = #8, trade 4 @ 10 with #7
book |
check trades 4 of 4
check minute candles 2 of 2
1 recorded candles may have trades outside the files: not compared
`},
		{name: "bars of a length that no candle has", format: "trades", text: `
-- x.csv --
1700000040,10,1,buy
1700000100,11,1,buy
-- bars.csv --
1700000040,10,10,10,10,1
1700000047,11,12,11,12,2
-- then --
pair BASE_QUOTE 0,0 from 2023-11-14T22:14:00.000Z
22:14:00.000 maker sell 1 @ 10 gtc = #1
22:14:00.000 taker buy 1 @ 10 ioc = #2, trade 1 @ 10 with #1
22:15:00.000 maker sell 1 @ 11 gtc = #3
22:15:00.000 taker buy 1 @ 11 ioc = #4, trade 1 @ 11 with #3
book |
check trades 2 of 2
1 files of bars whose length is no candle's: not compared
`},
	})
}
