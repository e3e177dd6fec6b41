package replay

import "testing"

const tardisHead = "exchange,symbol,timestamp,local_timestamp,"

// The commands, books, checks and notes of small files of Tardis: microseconds, one message in several rows.
func TestGoldenTardis(t *testing.T) {
	t.Parallel()
	checkGolden(t, []golden{
		{name: "levels, trades, quotes", format: "tardis", text: `
-- trades --
` + tardisHead + `id,side,price,amount
binance,BTCUSDT,1577836800150000,1577836800250000,7,buy,101,0.5
binance,BTCUSDT,1577836800150000,1577836800350000,8,unknown,99,0.2
-- levels --
` + tardisHead + `is_snapshot,side,price,amount
binance,BTCUSDT,1577836800000000,1577836800100000,true,bid,99,1
binance,BTCUSDT,1577836800000000,1577836800100000,true,bid,98,2
binance,BTCUSDT,1577836800000000,1577836800100001,true,ask,101,1.5
binance,BTCUSDT,1577836800100000,1577836800200000,false,ask,100,3
binance,BTCUSDT,1577836800100000,1577836800200000,false,bid,98,0
binance,BTCUSDT,1577836800200000,1577836800300000,false,bid,100,1
binance,BTCUSDT,1577836800200000,1577836800300000,false,ask,101,2
binance,BTCUSDT,1577836800300000,1577836800400000,true,bid,97,1
binance,BTCUSDT,1577836800300000,1577836800400000,true,ask,103,1
-- quotes --
` + tardisHead + `ask_amount,ask_price,bid_price,bid_amount
binance,BTCUSDT,1577836800000000,1577836800100000,1.5,101,99,1
binance,BTCUSDT,1577836800300000,1577836800400000,9,103,97,1
-- then --
pair BTC_USDT 0,1 from 2020-01-01T00:00:00.000Z
00:00:00.100 maker buy 2.0 @ 98 gtc = #1
00:00:00.100 maker buy 1.0 @ 99 gtc = #2
00:00:00.100 maker sell 1.5 @ 101 gtc = #3
00:00:00.200 cancel #1
00:00:00.200 maker sell 3.0 @ 100 gtc = #4
00:00:00.250 cancel #4
00:00:00.250 cancel #3
00:00:00.250 maker sell 0.5 @ 101 gtc = #5
00:00:00.250 taker buy 0.5 @ 101 ioc = #6, trade 0.5 @ 101 with #5
00:00:00.250 maker sell 3.0 @ 100 gtc = #7
00:00:00.250 maker sell 1.5 @ 101 gtc = #8
00:00:00.300 cancel #7
00:00:00.300 maker buy 1.0 @ 100 gtc = #9
00:00:00.300 replace #8 with 2.0
00:00:00.350 cancel #9
00:00:00.350 cancel #2
00:00:00.350 maker buy 0.2 @ 99 gtc = #10
00:00:00.350 taker sell 0.2 @ 99 ioc = #11, trade 0.2 @ 99 with #10
00:00:00.350 maker buy 1.0 @ 100 gtc = #12
00:00:00.350 maker buy 1.0 @ 99 gtc = #13
00:00:00.400 cancel #13
00:00:00.400 cancel #12
00:00:00.400 cancel #8
00:00:00.400 maker buy 1.0 @ 97 gtc = #14
00:00:00.400 maker sell 1.0 @ 103 gtc = #15
book 1.0 @ 97 | 1.0 @ 103
check best bid and ask 1 of 2
check trades 2 of 2
miss best bid and ask quotes:3: ours 1.0 at 97.0 | 1.0 at 103.0; theirs 1.0 at 97.0 | 9.0 at 103.0
1 levels that newer ones of the other side crossed: removed
`},
		{name: "snapshots", format: "tardis", text: `
-- x --
` + tardisHead + `asks[0].price,asks[0].amount,bids[0].price,bids[0].amount,asks[1].price,asks[1].amount,` +
			`bids[1].price,bids[1].amount
okex,BTC-USDT,1577836800000000,1577836800100000,101,1,99,1,102,2,98,2
okex,BTC-USDT,1577836800000000,1577836800200000,101,1,99,3,,,,
-- then --
pair BTC_USDT 0,0 from 2020-01-01T00:00:00.000Z
00:00:00.100 maker buy 2 @ 98 gtc = #1
00:00:00.100 maker buy 1 @ 99 gtc = #2
00:00:00.100 maker sell 1 @ 101 gtc = #3
00:00:00.100 maker sell 2 @ 102 gtc = #4
00:00:00.200 cancel #1
00:00:00.200 cancel #4
00:00:00.200 replace #2 with 3
book 3 @ 99 | 1 @ 101
check best bid and ask 0 of 0
check trades 0 of 0
`},
	})
}
