package replay

import "testing"

// The commands, books, checks and notes that small files of trades and bars give: a redesign of
// the readers must keep them.
func TestGoldenTrades(t *testing.T) {
	t.Parallel()
	checkGolden(t, []golden{
		{name: "rows without a header", format: "trades", text: `
-- btcusd_x.csv --
1700000000.5,10.25,0.125,sell
1700000001,10.5,3,buy
1700000001,10.5,1,b
1700000001,10.25,1,S
-- then --
pair BTC_USD 2,3 from 2023-11-14T22:13:20.000Z
22:13:20.500 maker buy 0.125 @ 10.25 gtc = #1
22:13:20.500 taker sell 0.125 @ 10.25 ioc = #2, trade 0.125 @ 10.25 with #1
22:13:21.000 maker sell 3.000 @ 10.50 gtc = #3
22:13:21.000 taker buy 3.000 @ 10.50 ioc = #4, trade 3.000 @ 10.50 with #3
22:13:21.000 maker sell 1.000 @ 10.50 gtc = #5
22:13:21.000 taker buy 1.000 @ 10.50 ioc = #6, trade 1.000 @ 10.50 with #5
22:13:21.000 maker buy 1.000 @ 10.25 gtc = #7
22:13:21.000 taker sell 1.000 @ 10.25 ioc = #8, trade 1.000 @ 10.25 with #7
book |
check trades 4 of 4
`},
		{name: "a header in another order, with quotes and blanks", format: "trades", text: `
-- x.csv --
"Qty" , "Side","Price", id ,"Timestamp"
"1","BUY","10","7","2023-11-14T22:13:20.123Z"
2, Sell ,10.5,8, 2023-11-14T22:13:21Z

3,buy,11,9,2023-11-14T23:13:22+01:00
-- then --
pair BASE_QUOTE 1,0 from 2023-11-14T22:13:20.000Z
22:13:20.123 maker sell 1 @ 10.0 gtc = #1
22:13:20.123 taker buy 1 @ 10.0 ioc = #2, trade 1 @ 10.0 with #1
22:13:21.000 maker buy 2 @ 10.5 gtc = #3
22:13:21.000 taker sell 2 @ 10.5 ioc = #4, trade 2 @ 10.5 with #3
22:13:22.000 maker sell 3 @ 11.0 gtc = #5
22:13:22.000 taker buy 3 @ 11.0 ioc = #6, trade 3 @ 11.0 with #5
book |
check trades 3 of 3
`},
		{name: "the tick rule", format: "trades", text: `
-- x.csv --
time,price,amount
1700000000,10,1
1700000001,10,1
1700000002,9,1
1700000003,9,1
1700000004,11,1
1700000005,11,1
-- then --
pair BASE_QUOTE 0,0 from 2023-11-14T22:13:20.000Z
22:13:20.000 maker sell 1 @ 10 gtc = #1
22:13:20.000 taker buy 1 @ 10 ioc = #2, trade 1 @ 10 with #1
22:13:21.000 maker sell 1 @ 10 gtc = #3
22:13:21.000 taker buy 1 @ 10 ioc = #4, trade 1 @ 10 with #3
22:13:22.000 maker buy 1 @ 9 gtc = #5
22:13:22.000 taker sell 1 @ 9 ioc = #6, trade 1 @ 9 with #5
22:13:23.000 maker buy 1 @ 9 gtc = #7
22:13:23.000 taker sell 1 @ 9 ioc = #8, trade 1 @ 9 with #7
22:13:24.000 maker sell 1 @ 11 gtc = #9
22:13:24.000 taker buy 1 @ 11 ioc = #10, trade 1 @ 11 with #9
22:13:25.000 maker sell 1 @ 11 gtc = #11
22:13:25.000 taker buy 1 @ 11 ioc = #12, trade 1 @ 11 with #11
book |
check trades 6 of 6
6 trades without a side: the tick rule decided
`},
		{name: "a side here and there", format: "trades", text: `
-- x.csv --
time,price,amount,side
1700000000,10,1,sell
1700000001,9,1,
1700000002,9,1,buy
1700000003,9,1,
1700000004,10,1,
-- then --
pair BASE_QUOTE 0,0 from 2023-11-14T22:13:20.000Z
22:13:20.000 maker buy 1 @ 10 gtc = #1
22:13:20.000 taker sell 1 @ 10 ioc = #2, trade 1 @ 10 with #1
22:13:21.000 maker buy 1 @ 9 gtc = #3
22:13:21.000 taker sell 1 @ 9 ioc = #4, trade 1 @ 9 with #3
22:13:22.000 maker sell 1 @ 9 gtc = #5
22:13:22.000 taker buy 1 @ 9 ioc = #6, trade 1 @ 9 with #5
22:13:23.000 maker buy 1 @ 9 gtc = #7
22:13:23.000 taker sell 1 @ 9 ioc = #8, trade 1 @ 9 with #7
22:13:24.000 maker sell 1 @ 10 gtc = #9
22:13:24.000 taker buy 1 @ 10 ioc = #10, trade 1 @ 10 with #9
book |
check trades 5 of 5
3 trades without a side: the tick rule decided
`},
		{name: "members by several names", format: "trades", text: `
-- x.jsonl --
{"time":1700000000000,"price":"10.50","amount":"1","side":"buy","fee":{"cost":1},"tags":["a"]}
{"t":1700000000,"p":10.5,"q":2,"m":true,"s":"X"}
{"ts":1700000001000000,"price":11,"size":0.5,"taker_side":"sell"}
{"dealDateUtc":"2023-11-14T22:13:22.0000000Z","price":12,"volume":1,"isBuy":true}
{"trade_timestamp":1700000003000,"price":12,"base_volume":1,"quote_volume":12,"type":"sell"}
{"time":1700000004000,"timestamp":1,"price":12,"p":99,"amount":1,"side":"buy","type":"limit"}
-- then --
pair BASE_QUOTE 1,1 from 2023-11-14T22:13:20.000Z
22:13:20.000 maker sell 1.0 @ 10.5 gtc = #1
22:13:20.000 taker buy 1.0 @ 10.5 ioc = #2, trade 1.0 @ 10.5 with #1
22:13:20.000 maker buy 2.0 @ 10.5 gtc = #3
22:13:20.000 taker sell 2.0 @ 10.5 ioc = #4, trade 2.0 @ 10.5 with #3
22:13:21.000 maker buy 0.5 @ 11.0 gtc = #5
22:13:21.000 taker sell 0.5 @ 11.0 ioc = #6, trade 0.5 @ 11.0 with #5
22:13:22.000 maker sell 1.0 @ 12.0 gtc = #7
22:13:22.000 taker buy 1.0 @ 12.0 ioc = #8, trade 1.0 @ 12.0 with #7
22:13:23.000 maker buy 1.0 @ 12.0 gtc = #9
22:13:23.000 taker sell 1.0 @ 12.0 ioc = #10, trade 1.0 @ 12.0 with #9
22:13:24.000 maker sell 1.0 @ 12.0 gtc = #11
22:13:24.000 taker buy 1.0 @ 12.0 ioc = #12, trade 1.0 @ 12.0 with #11
book |
check trades 6 of 6
`},
		{name: "whether the buyer is the maker", format: "trades", text: `
-- x.csv --
id,price,qty,quoteQty,time,isBuyerMaker,isBestMatch
1,10,1,10,1700000000000,True,True
2,10,2,20,1700000000001,False,True
3,10,3,30,1700000000002,1,True
4,10,4,40,1700000000003,0,True
-- then --
pair BASE_QUOTE 0,0 from 2023-11-14T22:13:20.000Z
22:13:20.000 maker buy 1 @ 10 gtc = #1
22:13:20.000 taker sell 1 @ 10 ioc = #2, trade 1 @ 10 with #1
22:13:20.001 maker sell 2 @ 10 gtc = #3
22:13:20.001 taker buy 2 @ 10 ioc = #4, trade 2 @ 10 with #3
22:13:20.002 maker buy 3 @ 10 gtc = #5
22:13:20.002 taker sell 3 @ 10 ioc = #6, trade 3 @ 10 with #5
22:13:20.003 maker sell 4 @ 10 gtc = #7
22:13:20.003 taker buy 4 @ 10 ioc = #8, trade 4 @ 10 with #7
book |
check trades 4 of 4
`},
		{name: "files follow one another", format: "trades", text: `
-- a.csv --
1700000000,10,1,buy
1700000001,11,1,buy
-- b.csv --
time,amount,price,side
1700000001,1,11,sell
1700000002,1,10,sell
-- c.jsonl --
{"time":1700000003,"price":9,"amount":1}
-- then --
pair BASE_QUOTE 0,0 from 2023-11-14T22:13:20.000Z
22:13:20.000 maker sell 1 @ 10 gtc = #1
22:13:20.000 taker buy 1 @ 10 ioc = #2, trade 1 @ 10 with #1
22:13:21.000 maker sell 1 @ 11 gtc = #3
22:13:21.000 taker buy 1 @ 11 ioc = #4, trade 1 @ 11 with #3
22:13:21.000 maker buy 1 @ 11 gtc = #5
22:13:21.000 taker sell 1 @ 11 ioc = #6, trade 1 @ 11 with #5
22:13:22.000 maker buy 1 @ 10 gtc = #7
22:13:22.000 taker sell 1 @ 10 ioc = #8, trade 1 @ 10 with #7
22:13:23.000 maker buy 1 @ 9 gtc = #9
22:13:23.000 taker sell 1 @ 9 ioc = #10, trade 1 @ 9 with #9
book |
check trades 5 of 5
1 trades without a side: the tick rule decided
`},
		{name: "a start within the file", format: "trades", from: "2023-11-14T22:13:21Z", text: `
-- a.csv --
1700000000,10,1,buy
1700000001,11,1,buy
1700000002,12,1,buy
-- then --
pair BASE_QUOTE 0,0 from 2023-11-14T22:13:21.000Z
22:13:21.000 maker sell 1 @ 11 gtc = #1
22:13:21.000 taker buy 1 @ 11 ioc = #2, trade 1 @ 11 with #1
22:13:22.000 maker sell 1 @ 12 gtc = #3
22:13:22.000 taker buy 1 @ 12 ioc = #4, trade 1 @ 12 with #3
book |
check trades 2 of 2
`},
		{name: "a start at a time of day", format: "trades", from: "22:13:22", text: `
-- a.csv --
1700000000,10,1,buy
1700000002,12,1,buy
-- then --
pair BASE_QUOTE 0,0 from 2023-11-14T22:13:22.000Z
22:13:22.000 maker sell 1 @ 12 gtc = #1
22:13:22.000 taker buy 1 @ 12 ioc = #2, trade 1 @ 12 with #1
book |
check trades 1 of 1
`},
		{name: "a start before the file", format: "trades", from: "2001-01-01", text: `
-- a.csv --
1700000000,10,1,buy
-- then --
pair BASE_QUOTE 0,0 from 2023-11-14T22:13:20.000Z
22:13:20.000 maker sell 1 @ 10 gtc = #1
22:13:20.000 taker buy 1 @ 10 ioc = #2, trade 1 @ 10 with #1
book |
check trades 1 of 1
`},
		{name: "more digits than the file has", format: "trades", digits: "4,3", text: `
-- a.csv --
1700000000,10.5,1,buy
-- then --
pair BASE_QUOTE 4,3 from 2023-11-14T22:13:20.000Z
22:13:20.000 maker sell 1.000 @ 10.5000 gtc = #1
22:13:20.000 taker buy 1.000 @ 10.5000 ioc = #2, trade 1.000 @ 10.5000 with #1
book |
check trades 1 of 1
`},
		{name: "zeros at the end are no digits", format: "trades", text: `
-- a.csv --
1700000000,10.500,1.00,buy
1700000000,1e1,2.5E-1,buy
-- then --
pair BASE_QUOTE 1,2 from 2023-11-14T22:13:20.000Z
22:13:20.000 maker sell 1.00 @ 10.5 gtc = #1
22:13:20.000 taker buy 1.00 @ 10.5 ioc = #2, trade 1.00 @ 10.5 with #1
22:13:20.000 maker sell 0.25 @ 10.0 gtc = #3
22:13:20.000 taker buy 0.25 @ 10.0 ioc = #4, trade 0.25 @ 10.0 with #3
book |
check trades 2 of 2
`},
		{name: "milliseconds of the day in the name", format: "trades", text: `
-- ethusdt_20161007_trade.csv --
0,10,1,buy
34200123,10,1,sell
86399999,11,1,buy
-- then --
pair ETH_USDT 0,0 from 2016-10-07T00:00:00.000Z
00:00:00.000 maker sell 1 @ 10 gtc = #1
00:00:00.000 taker buy 1 @ 10 ioc = #2, trade 1 @ 10 with #1
09:30:00.123 maker buy 1 @ 10 gtc = #3
09:30:00.123 taker sell 1 @ 10 ioc = #4, trade 1 @ 10 with #3
23:59:59.999 maker sell 1 @ 11 gtc = #5
23:59:59.999 taker buy 1 @ 11 ioc = #6, trade 1 @ 11 with #5
book |
check trades 3 of 3
`},
		{name: "the pair and the day of a name", format: "trades", text: `
-- ETH-EUR-2024-01-02.csv --
2024-01-02T00:00:00.5,10,1,buy
-- then --
pair ETH_EUR 0,0 from 2024-01-02T00:00:00.000Z
00:00:00.500 maker sell 1 @ 10 gtc = #1
00:00:00.500 taker buy 1 @ 10 ioc = #2, trade 1 @ 10 with #1
book |
check trades 1 of 1
`},
		{name: "one moment has many trades", format: "trades", text: `
-- a.csv --
1700000000.123456789,10,1,buy
1700000000.123456789,11,1,sell
1700000000.123456789,10,1,buy
-- then --
pair BASE_QUOTE 0,0 from 2023-11-14T22:13:20.000Z
22:13:20.123 maker sell 1 @ 10 gtc = #1
22:13:20.123 taker buy 1 @ 10 ioc = #2, trade 1 @ 10 with #1
22:13:20.123 maker buy 1 @ 11 gtc = #3
22:13:20.123 taker sell 1 @ 11 ioc = #4, trade 1 @ 11 with #3
22:13:20.123 maker sell 1 @ 10 gtc = #5
22:13:20.123 taker buy 1 @ 10 ioc = #6, trade 1 @ 10 with #5
book |
check trades 3 of 3
`},
		{name: "dates of several forms", format: "trades", text: `
-- a.csv --
2023-11-14,10,1,buy
2023-11-14T00:00:01,10,1,buy
2023-11-14 00:00:02.5,10,1,buy
20231114 00:01,10,1,buy
2023-11-14T01:00:00+00:30,10,1,buy
-- then --
pair BASE_QUOTE 0,0 from 2023-11-14T00:00:00.000Z
00:00:00.000 maker sell 1 @ 10 gtc = #1
00:00:00.000 taker buy 1 @ 10 ioc = #2, trade 1 @ 10 with #1
00:00:01.000 maker sell 1 @ 10 gtc = #3
00:00:01.000 taker buy 1 @ 10 ioc = #4, trade 1 @ 10 with #3
00:00:02.500 maker sell 1 @ 10 gtc = #5
00:00:02.500 taker buy 1 @ 10 ioc = #6, trade 1 @ 10 with #5
00:01:00.000 maker sell 1 @ 10 gtc = #7
00:01:00.000 taker buy 1 @ 10 ioc = #8, trade 1 @ 10 with #7
00:30:00.000 maker sell 1 @ 10 gtc = #9
00:30:00.000 taker buy 1 @ 10 ioc = #10, trade 1 @ 10 with #9
book |
check trades 5 of 5
`},
	})
}
