package format

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// form is the form in which a vendor or a program writes tables: how it is known and what it leaves unsaid. The zero
// value of each condition is always true.
type form struct {
	name   string
	source string // its documentation
	tried  bool   // on a file of the vendor
	sample string // its first lines

	file   string // pattern that the path matches, with the name of the file in a zip behind it
	header string // names of columns or members, all of which the file has, in small letters
	exact  bool   // the file has no others
	cells  string // kinds of the cells of a row, for a file without a header: see kindsOfCells
	list   bool   // the file is a JSON array of arrays
	whole  bool   // no price has a decimal point
	fits   bool   // of forms with the same cells, it is the one under whose columns most of the first rows are bars

	Layout
	skip   int    // number of lines behind the header that are no rows
	asks   string // flags without which it cannot be read
	why    string // what the form does not say, or what it counts
	refuse string // it is no table of trades or bars: the remedy
}

// kindsOfCells maps the letters of form.cells to patterns.
var kindsOfCells = map[byte]*regexp.Regexp{
	'n': regexp.MustCompile(`^[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?$`),
	'i': regexp.MustCompile(`^[0-9]{4,12}$`),
	'm': regexp.MustCompile(`^1[0-9]{12}$`),
	'b': regexp.MustCompile(`^(?i:true|false)$`),
	's': regexp.MustCompile(`^(?i:buy|sell)$`),
	'2': regexp.MustCompile(`^[12]$`),
	'd': regexp.MustCompile(`^[0-9]{4}\.[0-9]{2}\.[0-9]{2}$`),
	'/': regexp.MustCompile(`^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}$`),
	'c': regexp.MustCompile(`^[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?$`),
	't': regexp.MustCompile(`^[0-9]{8} [0-9]{6}$`),
	'x': regexp.MustCompile(``),
}

const (
	remedyExport = "give what tickhive export writes as trades, fills or candles: this list is no market"

	whyLean = "Lean writes prices of shares x 10,000 and the time of the exchange's zone"
	whyTick = "the volume counts the changes of the price; the zone is the broker's"
)

// forms lists the forms. The first one whose conditions hold is taken.
var forms = []form{
	{
		name: "Lean quotes", source: "https://github.com/QuantConnect/Lean/tree/master/Data", tried: true,
		file: `_quote\.(?:zip|csv)`, refuse: remedyQuotes, sample: "79200579.427,1300.151,1301.801\n",
	},
	{
		name: "FI-2010", file: `(?:Train|Test)_Dst_`, source: "https://etsin.fairdata.fi", refuse: "give the " +
			"original messages: FI-2010 holds normalized features", sample: "0.2615 0.2616 0.2619\n",
	},
	{
		name: "Lean shares, USA, ticks", source: "https://github.com/QuantConnect/Lean/tree/master/Data/equity",
		file: `(?i)equity[/_]usa[/_]tick[/_]`, cells: "nnnxxn", why: whyLean,
		Layout: Layout{
			Columns: "time=1,price=2,amount=3", TimeFormat: "day-ms", Timezone: "America/New_York", PriceScale: "10000",
		},
		sample: "34200000,1676500,200,P,00000001,0\n",
	},
	{
		name: "Lean shares, USA", source: "https://github.com/QuantConnect/Lean/tree/master/Data/equity", tried: true,
		file: `(?i)equity[/_]usa[/_]`, whole: true, why: whyLean,
		Layout: Layout{Timezone: "America/New_York", PriceScale: "10000"},
		sample: "14760000,1676500,1676500,1676500,1676500,20000\n",
	},
	{
		name: "Lean shares, India", source: "https://github.com/QuantConnect/Lean/tree/master/Data/equity", tried: true,
		file: `(?i)equity[/_]india[/_]`, whole: true, why: whyLean,
		Layout: Layout{Timezone: "Asia/Kolkata", PriceScale: "10000"},
		sample: "33300000,950000,950000,939000,948500,1730100\n",
	},
	{
		name: "Lean shares", source: "https://github.com/QuantConnect/Lean/tree/master/Data/equity", tried: true,
		file: `(?i)equity[/_]|(?:^|/)\d{8}_[a-z.]{1,5}_(?:minute|second|hour|daily)_trade\.csv$`, whole: true,
		asks: "price-scale timezone", why: whyLean, sample: "14760000,1676500,1676500,1676500,1676500,20000\n",
	},
	{
		name: "Databento, fixed-point CSV", source: "https://databento.com/docs/schemas-and-data-formats/trades",
		header: "ts_event,publisher_id,instrument_id", whole: true, tried: false,
		Layout: Layout{PriceScale: "1000000000"}, why: "prices count units of 10^-9",
		sample: "ts_event,rtype,publisher_id,instrument_id,action,side,depth,price,size,flags,ts_in_delta,sequence," +
			"symbol\n1609160400099150057,0,1,5482,T,A,0,3720250000000,5,129,19251,1170380,ESH1\n",
	},
	{
		name: "candles of this program", source: "docs/contract/market-data.md", tried: true, exact: true,
		header: "date,open,max,min,close,volume,volumebase", Layout: Layout{
			Columns: "time=date,open=open,high=max,low=min,close=close,amount=volumeBase,quote=volume", Amount: "base",
		},
		sample: "date,open,max,min,close,volume,volumeBase\n2026-01-05T10:00:00,10,12,9,11,15,1.5\n",
	},
	{
		name: "orders of this program", source: "docs/contract/market-data.md", tried: true, refuse: remedyExport,
		header: "clientorderid,currencypaircode,isbid,status,initialamount,filledamount,timeinforce",
		sample: "id,clientOrderId,currencyPairCode,date,isBid,type,status,price,initialAmount,amount,filledAmount," +
			"timeInForce\n1,,BTC_USDT,2026-01-05T10:00:00,true,limit,open,10,1,1,0,GTC\n",
	},
	{
		name: "tickers of this program", source: "docs/contract/market-data.md", tried: true, refuse: remedyExport,
		header: "trading_pairs,base_currency,quote_currency,last_price,lowest_ask,highest_bid",
		sample: "trading_pairs,base_currency,quote_currency,last_price,lowest_ask,highest_bid\n" +
			"BTC_USDT,BTC,USDT,10,11,9\n",
	},
	{
		name: "balances of this program", source: "docs/contract/market-data.md", tried: true, refuse: remedyExport,
		header: "currencycode,free,held,total", exact: true, sample: "currencyCode,free,held,total\nBTC,1,0,1\n",
	},
	{
		name: "CryptoDataDownload", source: "https://www.cryptodatadownload.com", tried: true,
		header: "unix,date,symbol,open,high,low,close",
		sample: "https://www.CryptoDataDownload.com\nunix,date,symbol,open,high,low,close,Volume BTC,Volume USDT," +
			"tradecount\n1623369600000,2021-06-11 00:00:00,BTC/USDT,36677.83,36759.99,36311.4,36680.03,772.654705," +
			"28219827.43832825,14665\n",
	},
	{
		name: "CryptoDataDownload, of 2019", source: "https://www.cryptodatadownload.com", tried: true,
		header: "date,symbol,open,high,low,close",
		sample: "Timestamps are UTC timezone,https://www.CryptoDataDownload.com\nDate,Symbol,Open,High,Low,Close," +
			"Volume BTC,Volume USD\n2019-06-04 01-AM,BTCUSD,7955.07,8025,7946.45,8003.08,780.41,6238605.1\n",
	},
	{
		name: "Yahoo, currencies", source: "https://finance.yahoo.com", tried: true,
		header: "date,open,high,low,close,adj close,volume", file: `(?:^|/)[A-Z0-9]{2,10}-(?:USD|EUR|GBP)[^/]*$`,
		asks: "amount", why: "Yahoo counts the volume of a currency in the quote currency; with quote it is divided " +
			"by the close",
		sample: "Date,Open,High,Low,Close,Adj Close,Volume\n" +
			"2019-02-09,3671.585938,3679.941406,3646.559326,3671.203613,3671.203613,6158833645\n",
	},
	{
		name: "Yahoo", source: "https://finance.yahoo.com", tried: true,
		header: "date,open,high,low,close,adj close,volume",
		sample: "Date,Open,High,Low,Close,Adj Close,Volume\n2020-01-02,296.24,300.6,295.19,300.35,298.83,33870100\n",
	},
	{
		name: "yfinance, three lines of header", source: "https://github.com/ranaroussi/yfinance",
		header: "price,close,high,low,open,volume", exact: true, skip: 2,
		Layout: Layout{Columns: "time=Price,open=Open,high=High,low=Low,close=Close,amount=Volume"},
		sample: "Price,Close,High,Low,Open,Volume\nTicker,AAPL,AAPL,AAPL,AAPL,AAPL\nDate,,,,,\n" +
			"2020-01-02,300.35,300.6,295.19,296.24,33870100\n",
	},
	{
		name:   "MetaTrader 5",
		source: "https://www.metatrader5.com/en/terminal/help/charts_advanced/charts_import_export",
		header: "date,time,open,high,low,close,tickvol,vol,spread", why: whyTick, asks: "timezone",
		sample: "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\n" +
			"2024.01.02\t00:00:00\t1.10432\t1.10500\t1.10300\t1.10450\t1234\t70\t5\n",
	},
	{
		name: "HistData, MetaTrader", source: "https://www.histdata.com/f-a-q/data-files-detailed-specification/",
		file: `DAT_MT_`, cells: "dcnnnnn", why: "New York without daylight saving; the volume is 0",
		Layout: Layout{
			Columns: "time=1,clock=2,open=3,high=4,low=5,close=6,amount=7", Timezone: "-05:00",
		},
		sample: "2012.02.01,00:00,1.306600,1.306600,1.306560,1.306560,0\n",
	},
	{
		name: "MetaTrader 4", source: "https://www.metatrader4.com/en/trading-platform/help/service/history_center",
		tried: false, cells: "dcnnnnn", why: whyTick, asks: "timezone",
		Layout: Layout{Columns: "time=1,clock=2,open=3,high=4,low=5,close=6,amount=7"},
		sample: "2011.12.08,18:49,77.708,77.710,77.702,77.702,30\n",
	},
	{
		name: "bars with date and time apart", source: "https://github.com/kernc/backtesting.py/issues/11",
		cells: "/cnnnnn", Layout: Layout{Columns: "time=1,clock=2,open=3,high=4,low=5,close=6,amount=7"},
		sample: "31/12/2016,08:00:00,1.05,1.06,1.04,1.055,4\n",
	},
	{
		name: "HistData", source: "https://www.histdata.com/f-a-q/data-files-detailed-specification/",
		file: `DAT_(?:ASCII|NT)_[^/]*_M1_`, cells: "tnnnnn", why: "New York without daylight saving; the volume is 0",
		Layout: Layout{Timezone: "-05:00"},
		sample: "20120201 000000;1.306600;1.306600;1.306560;1.306560;0\n",
	},
	{
		name: "NinjaTrader", source: "https://ninjatrader.com/support/helpguides/nt8/importing.htm",
		cells: "tnnnnn", asks: "timezone", why: "the zone is the one chosen at the export",
		sample: "20110301 090100;2503.25;2503.50;2502.75;2503.00;120\n",
	},
	{
		name: "Stooq", source: "https://stooq.com/db/h/",
		header: "ticker,per,date,time,open,high,low,close,vol,openint",
		Layout: Layout{
			Columns:    "time=DATE,clock=TIME,open=OPEN,high=HIGH,low=LOW,close=CLOSE,amount=VOL,symbol=TICKER",
			TimeFormat: "20060102 150405",
		},
		sample: "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\n" +
			"AAPL.US,D,20240102,000000,187.15,188.44,183.89,185.64,82488700,0\n",
	},
	{
		name: "Finam", source: "https://www.finam.ru/profile/moex-akcii/gazprom/export/",
		header: "ticker,per,date,time,open,high,low,close,vol", why: "the time of Moscow",
		Layout: Layout{
			Columns:    "time=DATE,clock=TIME,open=OPEN,high=HIGH,low=LOW,close=CLOSE,amount=VOL,symbol=TICKER",
			TimeFormat: "20060102 150405", Timezone: "Europe/Moscow",
		},
		sample: "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>\n" +
			"GAZP,1,20110111,103000,197.14,197.97,197.14,197.97,1550\n",
	},
	{
		name: "Finam, ticks", source: "https://www.finam.ru/profile/moex-akcii/gazprom/export/",
		header: "ticker,per,date,time,last,vol", why: "the time of Moscow",
		Layout: Layout{
			Columns:    "time=DATE,clock=TIME,price=LAST,amount=VOL,symbol=TICKER",
			TimeFormat: "20060102 150405", Timezone: "Europe/Moscow",
		},
		sample: "<TICKER>,<PER>,<DATE>,<TIME>,<LAST>,<VOL>\nGAZP,0,20110111,103000,197.14,15\n",
	},
	{
		name: "Forex Tester", source: "https://forextester.com/data/datasources",
		header: "ticker,dtyyyymmdd,time,open,high,low,close,vol", asks: "timezone", why: whyTick,
		Layout: Layout{
			Columns:    "time=DTYYYYMMDD,clock=TIME,open=OPEN,high=HIGH,low=LOW,close=CLOSE,amount=VOL,symbol=TICKER",
			TimeFormat: "20060102 150405",
		},
		sample: "<TICKER>,<DTYYYYMMDD>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>\n" +
			"AUDJPY,20010102,230100,64.30,64.30,64.30,64.30,4\n",
	},
	{
		name: "Sierra Chart", source: "https://www.sierrachart.com/index.php?page=doc/DataExport.php",
		header: "date,time,open,high,low,last,volume,numberoftrades", why: "the zone is that of the chart",
		asks: "timezone",
		sample: "Date, Time, Open, High, Low, Last, Volume, NumberOfTrades, BidVolume, AskVolume\n" +
			"2019/1/2, 00:00:00, 2503.25, 2503.50, 2502.75, 2503.00, 120, 40, 60, 60\n",
	},
	{
		name: "Nasdaq", source: "https://www.nasdaq.com/market-activity/stocks/aapl/historical",
		header: "date,close/last,volume,open,high,low", Layout: Layout{TimeFormat: "01/02/2006", Decimal: "point"},
		sample: "Date,Close/Last,Volume,Open,High,Low\n01/12/2024,$185.92,40477780,$186.06,$186.74,$185.19\n",
	},
	{
		name: "Investing.com", source: "https://www.investing.com/crypto/bitcoin/historical-data",
		header: "date,price,open,high,low,vol.,change %",
		Layout: Layout{
			Columns: "time=Date,close=Price,open=Open,high=High,low=Low,amount=Vol.", Decimal: "point",
		},
		sample: "\"Date\",\"Price\",\"Open\",\"High\",\"Low\",\"Vol.\",\"Change %\"\n" +
			"\"01/31/2024\",\"42,580.5\",\"42,946.2\",\"43,717.4\",\"42,298.4\",\"58.53K\",\"-0.85%\"\n",
	},
	{
		name: "Dukascopy", source: "https://www.dukascopy.com/swiss/english/marketwatch/historical/",
		header: "gmt time,open,high,low,close,volume", why: "the volume counts millions of units",
		sample: "Gmt time,Open,High,Low,Close,Volume\n01.01.2019 22:00:00.000,1.14598,1.14605,1.14514,1.14541,155.95\n",
	},
	{
		name: "Mt. Gox", source: "https://github.com/gbeced/pyalgotrade", tried: true, header: "id,price,amount,type",
		exact: true, Layout: Layout{Columns: "time=id,price=price,amount=amount,side=type", TimeFormat: "us"},
		asks: "side", why: "it does not say whose side bid and ask are: buy=bid,sell=ask if the taker's, " +
			"buy=ask,sell=bid if the maker's",
		sample: "id,price,amount,type\n1356998659486096,13.51001,36.87430786,ask\n",
	},
	{
		name: "Bitstamp transactions", source: "https://www.bitstamp.net/api/#tag/Transactions-public",
		header: "date,tid,price,type,amount", Layout: Layout{Side: "buy=0,sell=1"},
		sample: `[{"date":"1700000000","tid":"1","price":"100.5","type":"0","amount":"0.25"}]` + "\n",
	},
	{
		name: "BitMEX, Bybit", source: "https://public.bitmex.com, https://public.bybit.com/trading/",
		header: "timestamp,symbol,side,size,price,tickdirection,trdmatchid,grossvalue,homenotional,foreignnotional",
		sample: "timestamp,symbol,side,size,price,tickDirection,trdMatchID,grossValue,homeNotional,foreignNotional\n" +
			"2018-12-05D00:00:25.948313000,XBTUSD,Sell,166774,3954.5,MinusTick,498350a3,4217321,42.17321,166774\n",
	},
	{
		name: "OKX", source: "https://www.okx.com/data-download",
		header: "instrument_name,trade_id,side,price,size,created_time",
		sample: "instrument_name,trade_id,side,price,size,created_time\n" +
			"BTC-USDT,314161276,buy,43474.1,0.00373695,1646311839593\n",
	},
	{
		name: "KuCoin", source: "https://www.kucoin.com/data-download", header: "trade_id,trade_time,price,size,side",
		sample: "trade_id,trade_time,price,size,side\n1,1700000000000,100.5,0.25,buy\n",
	},
	{
		name: "HTX klines", source: "https://www.htx.com/en-us/opend/newApiPages/", exact: true,
		header: "id,open,close,low,high,amount,vol,count", Layout: Layout{Columns: "time=id,amount=amount,quote=vol," +
			"open=open,high=high,low=low,close=close"},
		sample: `[{"id":1700000040,"open":10,"close":11,"low":9,"high":12,"amount":1.5,"vol":15,"count":3}]` + "\n",
	},
	{
		name: "HTX", source: "https://www.htx.com/en-us/opend/newApiPages/", cells: "nmnns",
		Layout: Layout{Columns: "time=2,id=1,price=3,amount=4,side=5"},
		sample: "1,1570752011620,8000.1,0.5,sell\n",
	},
	{
		name: "Poloniex", source: "https://api-docs.poloniex.com/spot/api/public/market-data#trades",
		header: "price,quantity,amount,takerside,ts",
		Layout: Layout{Columns: "time=ts,price=price,amount=quantity,quote=amount,side=takerSide"},
		sample: `[{"id":"194","price":"1.9","quantity":"110","amount":"209.00","takerSide":"SELL",` +
			`"ts":1648690080545,"createTime":1648634905695}]` + "\n",
	},
	{
		name: "Poloniex, charts", source: "https://api-docs.poloniex.com/spot/api/public/market-data",
		header: "date,high,low,open,close,volume,quotevolume,weightedaverage",
		Layout: Layout{Columns: "time=date,open=open,high=high,low=low,close=close,amount=quoteVolume,quote=volume"},
		sample: `[{"date":1405699200,"high":0.0045388,"low":0.00403001,"open":0.00404545,"close":0.00427592,` +
			`"volume":44.34555992,"quoteVolume":10311.88079097,"weightedAverage":0.00430043}]` + "\n",
	},
	{
		name: "Bitfinex", source: "https://docs.bitfinex.com/reference/rest-public-trades",
		header: "id,time,amount,price", exact: true, Layout: Layout{Side: "sign"}, why: "a sold amount is below 0",
		sample: "ID,Time,Amount,Price\n148668312,2018-01-01T00:00:00.000000Z,0.01475502,13769\n",
	},
	{
		name: "Bitfinex answers", source: "https://docs.bitfinex.com/reference/rest-public-trades", cells: "nmnn",
		list: true, Layout: Layout{Columns: "time=2,id=1,amount=3,price=4", Side: "sign"},
		why:    "a sold amount is below 0",
		sample: "[[148668314,1514764801000,-0.1,13763],[148668312,1514764800000,0.01475502,13769]]\n",
	},
	{
		name: "Hyperliquid", source: "https://hyperliquid.gitbook.io/hyperliquid-docs", header: "coin,side,px,sz,time",
		sample: `{"coin":"BTC","side":"A","px":"105056.0","sz":"0.00219","time":1737918794828,"hash":"0x","tid":1}` +
			"\n",
	},
	{
		name: "Coinbase answers", exact: true, header: "time,trade_id,price,size,side",
		source: "https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/products/get-product-trades",
		Layout: Layout{Side: "maker"},
		sample: `[{"time":"2014-11-07T22:19:28.578544Z","trade_id":74,"price":"10.00000000","size":"0.01000000",` +
			`"side":"buy"}]` + "\n",
	},
	{
		name: "Coinbase Advanced answers", header: "trade_id,product_id,price,size,time,side",
		source: "https://docs.cdp.coinbase.com/coinbase-app/advanced-trade-apis/rest-api",
		Layout: Layout{Side: "maker"},
		sample: `{"trades":[{"trade_id":"1","product_id":"BTC-USD","price":"10","size":"0.01",` +
			`"time":"2014-11-07T22:19:28Z","side":"BUY","bid":"","ask":""}],"best_bid":"9","best_ask":"11"}` + "\n",
	},
	{
		name:   "Binance answers, aggTrades",
		source: "https://developers.binance.com/docs/binance-spot-api-docs/rest-api",
		header: "a,p,q,f,l,t,m", Layout: Layout{Columns: "time=T,id=a,price=p,amount=q,is_buyer_maker=m"},
		sample: `[{"a":26129,"p":"0.01633102","q":"4.70443515","f":27781,"l":27781,"T":1498793709153,"m":true,` +
			`"M":true}]` + "\n",
	},
	{
		name: "Alpaca trades", source: "https://docs.alpaca.markets/reference/stocktrades-1", header: "t,x,p,s,i,z",
		Layout: Layout{Columns: "time=t,price=p,amount=s"},
		sample: `{"t":"2021-02-06T13:04:56.334320128Z","x":"C","p":387.62,"s":100,"c":[" ","T"],"i":52983525029461,` +
			`"z":"B"}` + "\n",
	},
	{
		name: "Polygon", source: "https://polygon.io/flat-files",
		header: "ticker,volume,open,close,high,low,window_start,transactions",
		sample: "ticker,volume,open,close,high,low,window_start,transactions\n" +
			"AAPL,4930,187.15,187.2,187.3,187.1,1704186000000000000,129\n",
	},
	{
		name: "CoinAPI", source: "https://docs.coinapi.io/flat-files-api",
		header: "time_exchange,time_coinapi,guid,price,base_amount,taker_side",
		sample: "time_exchange;time_coinapi;guid;price;base_amount;taker_side\n" +
			"2019-10-11T00:00:11.6200000;2019-10-11T00:00:11.7200000;0c5a;8000.1;0.5;SELL\n",
	},
	{
		name: "CryptoCompare", source: "https://min-api.cryptocompare.com",
		header: "time,open,high,low,close,volumefrom,volumeto",
		sample: "time,open,high,low,close,volumefrom,volumeto\n1570752000,8000,8010,7990,8005,12.5,100000\n",
	},
	{
		name: "Binance trades", source: "https://github.com/binance/binance-public-data", cells: "nnnnnbb",
		Layout: Layout{Columns: "id=1,price=2,amount=3,quote=4,time=5,is_buyer_maker=6"},
		sample: "4359875,100.5,0.25,25.125,1700000000000000,False,True\n",
	},
	{
		name: "Binance trades of futures", source: "https://github.com/binance/binance-public-data", cells: "nnnnnb",
		Layout: Layout{Columns: "id=1,price=2,amount=3,quote=4,time=5,is_buyer_maker=6"},
		sample: "4359875,100.5,0.25,25.125,1700000000000,false\n",
	},
	{
		name: "Binance aggTrades", source: "https://github.com/binance/binance-public-data", cells: "nnnnnnbb",
		Layout: Layout{Columns: "id=1,price=2,amount=3,time=6,is_buyer_maker=7"},
		sample: "12,100.5,0.25,20,21,1700000000000,False,True\n",
	},
	{
		name: "Binance aggTrades of futures", source: "https://github.com/binance/binance-public-data",
		cells:  "nnnnnnb",
		Layout: Layout{Columns: "id=1,price=2,amount=3,time=6,is_buyer_maker=7"},
		sample: "12,100.5,0.25,20,21,1700000000000,false\n",
	},
	{
		name: "Binance klines", source: "https://github.com/binance/binance-public-data", cells: "nnnnnnnnnnnn",
		Layout: Layout{Columns: "time=1,open=2,high=3,low=4,close=5,amount=6,quote=8"},
		sample: "1700000040000,10,12,9,11,1.5,1700000099999,15,4,1,10,0\n",
	},
	{
		name: "freqtrade trades", source: "https://www.freqtrade.io/en/stable/data-download/", cells: "mxxsnnn",
		list: true, Layout: Layout{Columns: "time=1,id=2,side=4,price=5,amount=6,quote=7"},
		sample: `[[1700000000000,"1",null,"buy",100.5,0.25,25.125]]` + "\n",
	},
	{
		name: "Gate answers", source: "https://www.gate.io/docs/developers/apiv4/#retrieve-market-trades",
		header: "create_time_ms,currency_pair,side,amount,price",
		Layout: Layout{Columns: "time=create_time_ms,side=side,amount=amount,price=price,symbol=currency_pair"},
		sample: `[{"id":"1232893232","create_time":"1548000000","create_time_ms":"1548000000123.456",` +
			`"currency_pair":"ETH_BTC","side":"buy","role":"maker","amount":"0.15","price":"0.03"}]` + "\n",
	},
	{
		name: "Gate answers, candles", cells: "innnnnnb",
		source: "https://www.gate.io/docs/developers/apiv4/#market-k-line-chart",
		Layout: Layout{Columns: "time=1,quote=2,close=3,high=4,low=5,open=6,amount=7"},
		sample: `[["1700000040","15","11","12","9","10","1.5","true"]]` + "\n",
	},
	{
		name: "Gate answers, candles of futures", header: "t,v,c,h,l,o,sum",
		source: "https://www.gate.io/docs/developers/apiv4/#futures-market-k-line-chart",
		Layout: Layout{Columns: "time=t,open=o,high=h,low=l,close=c,amount=v,quote=sum"},
		sample: `[{"t":1700000040,"v":1.5,"c":"11","h":"12","l":"9","o":"10","sum":"15"}]` + "\n",
	},
	{
		name: "Bybit streams, trades", source: "https://bybit-exchange.github.io/docs/v5/websocket/public/trade",
		header: "t,s,v,p,l,i", Layout: Layout{Columns: "time=T,id=i,symbol=s,side=S,amount=v,price=p"},
		sample: `{"topic":"publicTrade.BTCUSDT","type":"snapshot","ts":1672304486868,"data":[{"T":1672304486865,` +
			`"s":"BTCUSDT","S":"Buy","v":"0.001","p":"16578.50","L":"PlusTick","i":"20f43950","BT":false}]}` + "\n",
	},
	{
		name: "Crypto.com, trades", source: "https://exchange-docs.crypto.com/exchange/v1/rest-ws/index.html",
		header: "s,p,q,t,d,i", Layout: Layout{Columns: "time=t,id=d,symbol=i,side=s,amount=q,price=p"},
		sample: `{"id":-1,"method":"public/get-trades","code":0,"result":{"data":[{"s":"sell","p":"26386.00",` +
			`"q":"0.00453","t":1686944282062,"d":"4611686018455979970","i":"BTC_USD"}]}}` + "\n",
	},
	{
		name: "Deribit, charts", source: "https://docs.deribit.com/#public-get_tradingview_chart_data",
		header: "ticks,open,high,low,close,volume,cost",
		Layout: Layout{Columns: "time=ticks,open=open,high=high,low=low,close=close,amount=volume,quote=cost"},
		sample: `{"jsonrpc":"2.0","result":{"volume":[1.5],"ticks":[1700000040000],"status":"ok","open":[10],` +
			`"low":[9],"high":[12],"cost":[15],"close":[11]}}` + "\n",
	},
	{
		name: "MEXC klines", source: "https://mexcdevelop.github.io/apidocs/spot_v3_en/#kline-candlestick-data",
		cells: "mnnnnnmn", list: true, fits: true,
		Layout: Layout{Columns: "time=1,open=2,high=3,low=4,close=5,amount=6,quote=8"},
		sample: `[[1700000040000,"10","12","9","11","1.5",1700000100000,"15"]]` + "\n",
	},
	{
		name: "Bitget candles", source: "https://www.bitget.com/api-doc/spot/market/Get-Candle-Data", cells: "mnnnnnnn",
		list: true, fits: true, Layout: Layout{Columns: "time=1,open=2,high=3,low=4,close=5,amount=6,quote=8"},
		sample: `{"code":"00000","msg":"success","data":[["1700000040000","10","12","9","11","1.5","15","15"]]}` + "\n",
	},
	{
		name: "Bybit answers, candles", source: "https://bybit-exchange.github.io/docs/v5/market/kline",
		cells: "mnnnnnn", list: true, fits: true,
		Layout: Layout{Columns: "time=1,open=2,high=3,low=4,close=5,amount=6,quote=7"},
		sample: `{"retCode":0,"retMsg":"OK","result":{"symbol":"BTCUSD","category":"inverse","list":[` +
			`["1700000040000","10","12","9","11","15","1.5"]]}}` + "\n",
	},
	{
		name: "OKX candles", source: "https://www.okx.com/docs-v5/en/#order-book-trading-market-data-get-candlesticks",
		cells: "mnnnnnnnn", fits: true, Layout: Layout{Columns: "time=1,open=2,high=3,low=4,close=5,amount=6,quote=8"},
		sample: `[["1700000040000","10","12","9","11","1.5","15","15","1"]]` + "\n",
	},
	{
		name: "Kraken OHLCVT", source: "https://support.kraken.com/hc/en-us/articles/360047124832",
		cells: "nnnnnnn", fits: true, Layout: Layout{Columns: "time=1,open=2,high=3,low=4,close=5,amount=6"},
		sample: "1700000040,10,12,9,11,1.5,4\n",
	},
	{
		name: "KuCoin klines", source: "https://www.kucoin.com/docs/rest/spot-trading/market-data/get-klines",
		cells: "nnnnnnn", fits: true, Layout: Layout{Columns: "time=1,open=2,close=3,high=4,low=5,amount=6,quote=7"},
		sample: `[["1700000040","10","11","12","9","1.5","15"]]` + "\n",
	},
	{
		name: "bars without a header", source: "docs/contract/recordings.md", cells: "nnnnnn", fits: true, tried: true,
		Layout: Layout{Columns: "time=1,open=2,high=3,low=4,close=5,amount=6"},
		sample: "1700000040,10,12,9,11,1.5\n",
	},
	{
		name: "Bitfinex candles", source: "https://docs.bitfinex.com/reference/rest-public-candles", cells: "nnnnnn",
		fits: true, Layout: Layout{Columns: "time=1,open=2,close=3,high=4,low=5,amount=6"},
		sample: "[[1700000040000,10,11,12,9,1.5]]\n",
	},
	{
		name: "Coinbase candles", cells: "nnnnnn", fits: true,
		source: "https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/products/get-product-candles",
		Layout: Layout{Columns: "time=1,low=2,high=3,open=4,close=5,amount=6"},
		sample: "[[1700000040,9,12,10,11,1.5]]\n",
	},
	{
		name: "Gate candles", source: "https://www.gate.io/en/article/21688", cells: "nnnnnn", fits: true,
		Layout: Layout{Columns: "time=1,amount=2,close=3,high=4,low=5,open=6"}, asks: "amount",
		why:    "Gate's page does not say what the volume counts",
		sample: "1672531200,1000.5,16500.1,16510,16490,16495\n",
	},
	{
		name: "Gate trades", source: "https://www.gate.io/en/article/21688", cells: "ninn2",
		Layout: Layout{Columns: "time=1,id=2,price=3,amount=4,side=5"}, asks: "side",
		why:    "Gate's page does not say whether 1 or 2 bought: buy=2,sell=1 or buy=1,sell=2",
		sample: "1672531200.123456,12345,16500.1,0.5,1\n",
	},
}

// patterns holds the compiled file patterns of forms.
var patterns = func() (out []*regexp.Regexp) {
	for i := range forms {
		out = append(out, regexp.MustCompile(forms[i].file))
	}
	return out
}()

// formOf returns the first form whose conditions hold, nil for an unknown one. Of forms that differ in the order of
// their columns alone it returns the one under which the most of the first rows are bars, the first one of equals: a
// row that is wrong does not hide the form of the others.
func formOf(s *sample) (best *form) {
	most := -1
	for i := range forms {
		f := &forms[i]
		if !patterns[i].MatchString(s.path) || !f.named(s) || !f.shaped(s) || f.whole && !s.whole(f) {
			continue
		}
		if !f.fits {
			return cmp.Or(best, f)
		}
		if n := s.bars(f); n > most {
			best, most = f, n
		}
	}
	return best
}

// nearest says which form has the most names in common with the file, at least half of its own, and which ones the file
// lacks; "" without one.
func (s *sample) nearest() string {
	best, lacks := (*form)(nil), []string(nil)
	for i := range forms {
		if f := &forms[i]; f.header != "" && f.refuse == "" {
			names := strings.Split(f.header, ",")
			missing := slices.DeleteFunc(slices.Clone(names),
				func(n string) bool { return slices.Contains(s.names, n) })
			if 2*len(missing) <= len(names) && (best == nil || len(missing) < len(lacks)) {
				best, lacks = f, missing
			}
		}
	}
	if best == nil || len(lacks) == 0 {
		return ""
	}
	return best.name + ", without the columns " + strings.Join(lacks, ", ")
}

// named reports whether the file has the names of the form.
func (f *form) named(s *sample) bool {
	if f.header == "" {
		return true
	}
	names := strings.Split(f.header, ",")
	for _, n := range names {
		if !slices.Contains(s.names, n) {
			return false
		}
	}
	return !f.exact || len(names) == len(s.names)
}

// shaped reports whether most of the first rows have the cells of the form.
func (f *form) shaped(s *sample) bool {
	if f.cells == "" || f.list && !s.list {
		return f.cells == ""
	}
	rows := s.weighed()
	return len(s.names) == 0 && 2*countRows(rows, f.has) > len(rows)
}

// has reports whether a row has the cells of the form.
func (f *form) has(row []string) bool {
	if len(row) != len(f.cells) {
		return false
	}
	for i, text := range row {
		if !kindsOfCells[f.cells[i]].MatchString(text) {
			return false
		}
	}
	return true
}
