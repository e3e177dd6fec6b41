package nets_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/test/nets"
)

// order is the order of one list of an answer: the members by which its rows are sorted, - for descending, in the words
// of the contract. Elements that are no objects have the members 0, 1 and so on, or none.
type order struct {
	list  string // path of the route and place within the answer
	query string // of the target; empty: any
	by    string
	doc   string // file of docs/contract
	words string // which state the order; a change of them is a change of this table
}

const (
	byCode     = "Lists without a stated order are sorted by code, symbol or id in byte order"
	byReferral = "sorted by the id of the referral, then by currency; changes of the level come last"
	byAddress  = "all descending, ties by address ascending"
	byID       = "in the order of their ids"
	byTime     = "sorted by time descending, equal times by"
	binance    = "The forms are those of Binance's documentation."
	// own is for lists whose order is the client's or the program's own: they are not rows of the state.
	own = ""
)

var orders = []order{
	{
		"/api/affiliate/accrual-groups ", "", "date profitType currencyCode",
		"accounts.md", "one per UTC day, type and currency, ascending",
	},
	{"/api/affiliate/accruals .items", "", "-date", "accounts.md", "hasPreviousPage, hasNextPage}`, newest first"},
	{"/api/affiliate/accruals/breakdown .items", "", "fromUserId currencyCode", "accounts.md", byReferral},
	{"/api/affiliate/accruals/explain .reasons", "", "fromUserId currencyCode date", "accounts.md", byReferral},
	{"/api/affiliate/accruals/filters .currencies", "", "", "market-data.md", byCode},
	{"/api/affiliate/accruals/filters .profitTypes", "", own, "", ""},
	{"/api/affiliate/ambassadors/info .links", "", own, "", ""},
	{"/api/affiliate/inviters/search ", "", "nickname", "accounts.md", "sorted by nickname, at most 20"},
	{"/api/affiliate/total-accruals ", "", "fromUserId", "market-data.md", byCode},
	{"/api/affiliate/{id}/user-info .referralsLevelInfos", "", "level", "market-data.md", byCode},
	{"/api/agents/action-logs .items", "", "-entryId", "hive.md", "lists are newest first, default `pageSize` 50"},
	{"/api/agents/proposals .items", "", "-createdAt", "hive.md", "lists them newest first, default `pageSize` 20"},
	{"/api/agents/proposals/{proposalId} .comments", "", "-votedAt", "hive.md", "the newest 50"},
	{"/api/agents/workers .items", "", "agentNftId", "hive.md", "ascending by worker id, default `pageSize` 20"},
	{"/api/agents/workers/{tokenId} .config.signalSubscriptions", "", own, "", ""},
	{"/api/agents/workers/{tokenId} .recentActions", "", "-blockTimestamp", "hive.md", "are the newest 20 entries"},
	{
		"/api/launchpad/tokens/{id}/worker .recentActions", "", "-blockTimestamp",
		"launchpad.md", "its newest 20 actions",
	},
	{"/api/apikeys ", "", "publicKey", "accounts.md", "array of keys, sorted by public key"},
	{"/api/apikeys [].ipWhitelist", "", own, "", ""},
	{"/api/currencies ", "", "", "market-data.md", "`/api/currencies` and `/api/currencies/pairs` are sorted by code"},
	{
		"/api/currencies/pairs ", "", "code",
		"market-data.md", "`/api/currencies` and `/api/currencies/pairs` are sorted by",
	},
	{"/api/currencies/commissions ", "", "hashCode", "market-data.md", "`/api/currencies/commissions` is sorted by"},
	{
		"/api/currencies/user/commissions .commissions", "", "hashCode",
		"market-data.md", "the same records with the caller's",
	},
	{"/api/deals ", "", "-dealDateUtc", "market-data.md", "Rows are newest first; equal"},
	{"/api/launchpad/tokens/{id}/ohlc ", "", "date", "launchpad.md", "volume, volumeBase}]`, ascending"},
	{"/api/launchpad/tokens .items", "sort=volume", "-volume24h address", "launchpad.md", byAddress},
	{"/api/launchpad/tokens .items", "sort=tvl", "-tvl address", "launchpad.md", byAddress},
	{"/api/launchpad/tokens .items", "sort=holders", "-holders address", "launchpad.md", byAddress},
	{"/api/launchpad/tokens .items", "", "-spawnedAt address", "launchpad.md", "`sort` is `recent` (default)"},
	{"AGG/historical_trades .buy", "", "-trade_timestamp -trade_id", "listing.md", byTime},
	{"AGG/historical_trades .sell", "", "-trade_timestamp -trade_id", "listing.md", byTime},
	{"AGG/orderbook .bids", "", "-0", "api.md", "sorted by price descending (best bid first)"},
	{"AGG/orderbook .asks", "", "0", "api.md", "sorted by price ascending (best ask first)"},
	{"AGG/pairs .data.market_pairs", "", "market_pair", "market-data.md", byCode},
	{"AGG/pairs ", "", "ticker_id", "listing.md", "every configured pair, sorted by code"},
	{"AGG/tickers ", "", "ticker_id", "market-data.md", byCode},
	{
		"/listing/coinmarketcap/orderbook/{pair} .bids", "", "-0",
		"api.md", "sorted by price descending (best bid first)",
	},
	{"/listing/coinmarketcap/orderbook/{pair} .asks", "", "0", "api.md", "sorted by price ascending (best ask first)"},
	{"/listing/coinmarketcap/summary ", "", "trading_pairs", "market-data.md", byCode},
	{"/listing/coinmarketcap/trades/{pair} ", "", "-timestamp -trade_id", "listing.md", "`type`, newest first"},
	{"/api/summary ", "", "trading_pairs", "market-data.md", byCode},
	{"/api/ohlc ", "", "date", "market-data.md", "Rows are the candles with `start <= date <= end`, ascending"},
	{"/api/orderbook ", "", "-isBid book", "market-data.md", "lists bids best first, then asks best first"},
	{"/api/orders/{orderId}/deals .deals", "", "-tradeId", "trading.md", "newest 1,000 deals, newest first"},
	{"/api/status .pairs", "", "currencyPairCode", "market-data.md", byCode},
	{"/api/user/deals ", "", "-dealDateUtc", "trading.md", "[deals](#deals), newest first"},
	{"/api/user/orders ", "", "-date", "trading.md", "array of order views, newest first"},
	{"/api/user/lists ", "", "-date", "trading.md", "array of list views, newest first"},
	{"/api/user/lists [].orders", "", "id", "trading.md", byID},
	{"/api/orders/lists/{listId} .orders", "", "id", "trading.md", byID},
	{"/api/orders/lists/by-client-id/{currencyPairCode}/{clientOrderId} .orders", "", "id", "trading.md", byID},
	{"/internal/v1/orders/lists/{listId} .orders", "", "orderId", "trading.md", byID},
	{
		"/internal/v1/orders/lists/by-client-id/{currencyPairCode}/{clientOrderId} .orders", "", "orderId",
		"trading.md", byID,
	},
	{"/api/orders/{orderId}/amendments ", "", "seq date", "trading.md", "[amendments](#amendments), oldest first"},
	{
		"/internal/v1/orders/{id}/amendments ", "", "seq date",
		"trading.md", "[amendments](#amendments), oldest first",
	},
	{"/api/user/prevented-matches ", "", "id", "trading.md", "of the caller, by their numbers"},
	{"/api/users/avatars ", "", "id", "market-data.md", byCode},
	{"/api/wallets/balances .balances", "", "currencyCode", "trading.md", "sorted by code, zero rows left out"},
	{"/internal/v1/book/{pair} .bids", "", "-price", "internal.md", "in queue order"},
	{"/internal/v1/book/{pair} .asks", "", "price", "internal.md", "in queue order"},
	{"/internal/v1/book/{pair} .stops", "", "orderId", "internal.md", "in queue order"},
	{"/internal/v1/book/{pair} .bids[].orders", "", "orderId", "internal.md", "in queue order"},
	{"/internal/v1/orders/{id} .fills", "", "tradeId", "internal.md", "(oldest first, the newest 1,000)"},
	{"/internal/v1/pairs ", "", "code", "internal.md", "every pair, [delisted](#delisting) ones too, by code"},
	{"/internal/v1/sim .scenarios", "", own, "", ""},
	{"/internal/v1/state-hash .pairs", "", "currencyPairCode", "market-data.md", byCode},
	{"/internal/v1/totals ", "", "currencyCode", "market-data.md", byCode},
	{"/internal/v1/users ", "", "-dateCreated", "internal.md", "users, the newest first"},
	{"/internal/v1/users/{id}/apikeys ", "", "publicKey", "accounts.md", "array of keys, sorted by public key"},
	{"/internal/v1/users/{id}/apikeys [].ipWhitelist", "", own, "", ""},
	{"/internal/v1/users/{id} .balances", "", "currencyCode", "market-data.md", byCode},
	{"/api/v3/account .balances", "", "asset", "market-data.md", byCode},
	{"/api/v3/aggTrades ", "", "a", "binance.md", binance},
	{"/api/v3/allOrders ", "", "orderId", "binance.md", binance},
	{"/api/v3/openOrders ", "", "time", "binance.md", binance},
	{"/api/v3/openOrderList ", "", "transactionTime", "binance.md", binance},
	{"/api/v3/openOrderList [].orders", "", "orderId", "binance.md", binance},
	{"/api/v3/allOrderList ", "", "transactionTime", "binance.md", binance},
	{"/api/v3/allOrderList [].orders", "", "orderId", "binance.md", binance},
	{"/api/v3/orderList .orders", "", "orderId", "binance.md", binance},
	{"/api/v3/order/amendments ", "", "executionId", "binance.md", binance},
	{"/api/v3/myPreventedMatches ", "", "preventedMatchId", "binance.md", binance},
	{"/api/v3/myTrades ", "", "id", "binance.md", binance},
	{"/api/v3/trades ", "", "id", "binance.md", binance},
	{"/api/v3/historicalTrades ", "", "id", "binance.md", binance},
	{"/api/v3/klines ", "", "0", "binance.md", binance},
	{"/api/v3/depth .bids", "", "-0", "binance.md", binance},
	{"/api/v3/depth .asks", "", "0", "binance.md", binance},
	{"/api/v3/exchangeInfo .symbols", "", "symbol", "market-data.md", byCode},
	{"/api/v3/ticker/24hr ", "", "symbol", "market-data.md", byCode},
	{"/api/v3/ticker/price ", "", "symbol", "market-data.md", byCode},
	{"/api/v3/ticker/bookTicker ", "", "symbol", "market-data.md", byCode},
	{"/udf/history .t", "", "", "market-data.md", "Rows are the candles with `start <= date <= end`, ascending"},
	{"/udf/search ", "", "symbol", "market-data.md", byCode},
}

// noRows are the arrays that are no list: pairs of numbers, columns beside /udf/history .t, and constants.
var noRows = []string{
	".bids[]", ".asks[]", "/api/v3/klines []", "/udf/history .o", "/udf/history .h", "/udf/history .l",
	"/udf/history .c", "/udf/history .v", "/udf/quotes .d", "_multipliers", "supported_resolutions",
	"/api/v3/exchangeInfo .symbols[].", "/api/v3/exchangeInfo .rateLimits", "/api/v3/myFilters .",
	"/internal/v1/openapi.json",
}

// Every list of every answer has the order that the contract states. A list that the table does not name fails, and so
// does one of the table whose rows any other order would show as well.
func TestEveryListHasTheStatedOrder(t *testing.T) {
	t.Parallel()
	n := nodeOf(t, exchangetest.Start(t, options("")))
	w := nets.Build(n, stepOf(n))
	shown, problems := make([]bool, len(orders)), 0
	for name, r := range w.Reads(n) {
		if r.Status != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			continue
		}
		var v any
		d := json.NewDecoder(strings.NewReader(r.Body))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		path := strings.NewReplacer("/api/marketdata/getaggregator/", "AGG/", "/v1/spot/market/", "AGG/",
			"/listing/coingecko/", "AGG/").Replace(r.Route.Path)
		walk(v, path+" ", func(at string, rows []any) {
			i := slices.IndexFunc(orders, func(o order) bool {
				return o.list == at && strings.Contains(r.Target, o.query)
			})
			switch {
			case len(rows) < 2 || problems > 20:
			case i < 0 && slices.ContainsFunc(noRows, func(s string) bool { return strings.Contains(at, s) }):
			case i < 0:
				problems++
				t.Errorf("%s: the list %q has no order in the table", name, at)
			case orders[i].doc == own:
				shown[i] = true
			default:
				strict, wrong := sorted(rows, strings.Fields(orders[i].by))
				shown[i] = shown[i] || strict
				if wrong != "" {
					problems++
					t.Errorf("%s: %q is not sorted by %q: %s", name, at, orders[i].by, wrong)
				}
			}
		})
	}
	for i, o := range orders {
		if !shown[i] {
			t.Errorf("%q %s: no answer has rows that another order would show differently", o.list, o.query)
		}
		if o.doc == own {
			continue
		}
		text, err := nets.Document("docs/contract/" + o.doc)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(strings.Fields(text), " "), o.words) {
			t.Errorf("%q: docs/contract/%s does not say %q any more", o.list, o.doc, o.words)
		}
	}
}

// walk calls list for each array of v.
func walk(v any, at string, list func(at string, rows []any)) {
	switch v := v.(type) {
	case map[string]any:
		for name, m := range v {
			walk(m, at+"."+name, list)
		}
	case []any:
		list(at, v)
		for _, m := range v {
			walk(m, at+"[]", list)
		}
	}
}

// sorted compares each row with the next. strict reports that two rows differ in the first member, so that the opposite
// order would be another one.
func sorted(rows []any, by []string) (strict bool, wrong string) {
	if len(by) == 0 {
		by = []string{"."}
	}
	for i := 1; i < len(rows); i++ {
		for j, name := range by {
			a, b := member(rows[i-1], name), member(rows[i], name)
			c := compare(a, b)
			if name == "book" && member(rows[i], "isBid") == true || name[0] == '-' {
				c = -c
			}
			if c > 0 {
				return strict, fmt.Sprintf("row %d has %v, row %d has %v", i-1, a, i, b)
			}
			strict = strict || c < 0 && j == 0
			if c < 0 {
				break
			}
		}
	}
	return strict, ""
}

func member(row any, name string) any {
	name = strings.TrimPrefix(name, "-")
	if name == "book" {
		name = "price"
	}
	switch row := row.(type) {
	case map[string]any:
		return row[name]
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i < len(row) {
			return row[i]
		}
	}
	return row
}

// compare compares numbers by their value, also those in text, and texts by their bytes.
func compare(a, b any) int {
	if a == nil || b == nil { // null is last
		return map[bool]int{true: 1}[a == nil] - map[bool]int{true: 1}[b == nil]
	}
	x, noX := strconv.ParseFloat(fmt.Sprint(a), 64)
	y, noY := strconv.ParseFloat(fmt.Sprint(b), 64)
	if noX == nil && noY == nil {
		return cmp.Compare(x, y)
	}
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}
