package main

// listing requests the exact forms of the listing sites. btc is the parameter that names BTC_USDT.
func (g *golden) listing(btc string) {
	for _, path := range []string{
		"coingecko/pairs", "coingecko/tickers", "coingecko/orderbook" + btc + "&depth=4",
		"coingecko/historical_trades" + btc + "&limit=2", "coingecko/orderbook?ticker_id=NO_PAIR",
		"coinmarketcap/summary", "coinmarketcap/assets", "coinmarketcap/ticker?decimals=string",
		"coinmarketcap/ticker", "coinmarketcap/orderbook/BTC_USDT", "coinmarketcap/orderbook/BTC_USDT?depth=4",
		"coinmarketcap/orderbook/BTC_USDT?depth=x", "coinmarketcap/orderbook/NO_PAIR", "coinmarketcap/orderbook/btc",
		"coinmarketcap/trades/BTC_USDT", "coinmarketcap/trades/BTC_USDT?type=sell&limit=1&decimals=string",
		"coinmarketcap/trades/BTC_USDT?start_time=1767225600000&end_time=1767225600000",
		"coinmarketcap/trades/BTC_USDT?start_time=2&end_time=1", "coinmarketcap/trades/NO_PAIR",
	} {
		g.get("/listing/" + path)
	}
}
