package objects

import "github.com/tickhive/tickhive/server/json"

// The lists that tickhive export writes. All but the summary can be read as comma-separated values, by ?format=csv.
var (
	Deals = json.Table{Columns: []string{
		"id", "dealDateUtc", "currencyPairCode", "volume", "price", "isBuy", "isUserBuyer", "tradeId",
	}}
	Candles = json.Table{Columns: []string{"date", "open", "max", "min", "close", "volume", "volumeBase"}}
	Summary = json.Table{Columns: []string{
		"trading_pairs", "base_currency", "quote_currency", "last_price", "lowest_ask", "highest_bid", "base_volume",
		"quote_volume", "price_change_percent_24h", "highest_price_24h", "lowest_price_24h",
	}}
	Orders = json.Table{Columns: []string{
		"id", "clientOrderId", "currencyPairCode", "date", "isBid", "type", "status", "price", "initialAmount",
		"amount", "decrementedAmount", "quoteAmount", "filledAmount", "filledQuoteAmount", "averagePrice", "fee",
		"feeCurrencyCode", "timeInForce", "postOnly", "selfTradePrevention", "isMarket", "isCanceled", "endReason",
		"dateChanged", "stopPrice", "isTriggered", "displayAmount", "initialQuoteAmount", "trailingDelta",
		"trailingTime", "strictTrigger", "expireUnfilled", "preventedMatchId", "strategyId", "strategyType", "listId",
		"userId",
	}}
	Fills = json.Table{Columns: []string{
		"id", "dealDateUtc", "currencyPairCode", "volume", "price", "isBuy", "isUserBuyer", "orderId", "tradeId",
		"fee", "feeCurrencyCode", "isMaker",
	}}
	Balances = json.Table{In: "balances", Columns: []string{"currencyCode", "free", "held", "total"}}
)
