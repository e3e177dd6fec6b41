package objects

import "github.com/tickhive/tickhive/server/json"

// The lists that a client can read as comma-separated values too, by ?format=csv, and that tickhive export writes.
var (
	Deals = json.Table{Columns: []string{
		"id", "dealDateUtc", "currencyPairCode", "volume", "price", "isBuy", "isUserBuyer",
	}}
	Candles = json.Table{Columns: []string{"date", "open", "max", "min", "close", "volume", "volumeBase"}}
	Orders  = json.Table{Columns: []string{
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
