// Package pairs finds the pair code in the names that exchanges and files use.
//
//	pairs.Split("BTCUSDT") // BTC_USDT
//	pairs.Kraken("XXBTZUSD") // XBT_USD
//	pairs.InName("btcusd_20161007.csv") // BTC_USD
//
// Each function returns "" when it finds none. Owner: none. Retains: nothing.
//
// It does not know which pairs an exchange trades.
package pairs
