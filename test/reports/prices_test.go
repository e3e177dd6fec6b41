package reports

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/tickhive/tickhive/client"
)

// exponent is a number as no answer has it.
var exponent = regexp.MustCompile(`[:\[,"]-?[0-9.]+[eE][-+]?[0-9]+[,"\]}]|Infinity|NaN|-0\.0*[,"\]}]`)

// prices are reports of decimals, digits and codes of currencies.
var prices = []report{
	{
		says:    "an order's average price keeps the digits of its pair, and that of a filled order is never 0",
		sources: "okcoin-okex/API-docs-OKEx.com#51 ccxt/ccxt#6093",
		digits:  [2]int{10, 0},
		try: func(m *market) {
			m.other.place("sell 500000 at 0.0000000001")
			m.other.place("sell 500000 at 0.0000000002")
			o := m.me.place("buy 750000 at 0.0000000002")
			m.is("the average", o.AveragePrice, "0.0000000001333333")
			var day struct{ WeightedAvgPrice string }
			m.decode(m.Binanced(nil, http.MethodGet, "/api/v3/ticker/24hr?symbol="+m.symbol()).Body, &day)
			m.is("the average of the day", day.WeightedAvgPrice, "0.0000000001333333")
		},
	},
	{
		says:    "price x amount is exact down to the smallest product",
		sources: "bitshares/bitshares-core#132 bitshares/bitshares-core#342 bitshares/bitshares-core#505",
		digits:  [2]int{10, 8},
		try: func(m *market) {
			m.other.place("sell 0.00000003 at 0.0000000001")
			o := m.me.place("buy 0.00000003 at 0.0000000007")
			m.is("the total", o.FilledQuoteAmount, "0.000000000000000003")
			m.me.has(m.quote, "999999.999999999999999997", "0")
			m.trade("9", "900000000")
			ticker, err := m.me.Ticker(m.T.Context(), m.pair)
			m.must(err)
			m.is("the price", ticker.Price, "900000000.0000000000")
			m.plain("/api/summary", "/api/tickers?currencyPairCode="+m.pair, "/udf/quotes?symbols="+m.pair)
		},
	},
	{
		says: "a percentage has a finite value, also without a price of 24 hours ago",
		sources: "ZigZagExchange/backend#55 bancorprotocol/webapp#612 " +
			"alor-broker/Astras-Trading-UI#903",
		try: func(m *market) {
			change := func(want string) {
				m.T.Helper()
				var ticker struct{ PriceChangePercentage24h client.Decimal }
				m.get("/api/tickers?currencyPairCode="+m.pair, &ticker)
				m.is("the change", ticker.PriceChangePercentage24h, want)
				m.plain("/api/summary", "/udf/quotes?symbols="+m.pair)
			}
			change("0.00000000")
			m.trade("1", "100")
			change("0.00000000")
			m.x.Advance(25 * time.Hour)
			change("0.00000000")
			m.trade("1", "50")
			change("-50.00000000")
			m.x.Advance(25 * time.Hour)
			change("0.00000000")
		},
	},
	{
		says:    "a decimal of a request is plain text, without an exponent, a sign or a comma",
		sources: "ccxt/ccxt#122 binance/binance-connector-js#136 3s3s/opentrade#141",
		try: func(m *market) {
			for _, price := range []string{
				`1e2`, `"1e2"`, `"1E+2"`, `"1,5"`, `"+1"`, `" 1"`, `"1."`, `".5"`, `"0x1"`, `"1_0"`, `"Infinity"`,
				`"NaN"`, `""`, `"١"`, `true`, `[1]`,
			} {
				body := `{"side":"buy","currencyPairCode":"` + m.pair + `","amount":1,"price":` + price + `}`
				a := m.Send(&m.me.User, http.MethodPost, "/api/orders", body)
				if a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `"INVALID_PARAM"`) {
					m.T.Errorf("price %s: %d %s", price, a.Status, a.Body)
				}
			}
			m.me.refused("buy 1 at -1", client.CodePriceNotPositive)
			m.book("|")
		},
	},
	{
		says:    "a decimal of an answer is plain text, however small or large it is",
		sources: "forkdelta/backend-replacement#35 bitfinexcom/bitfinex-api-node#328",
		digits:  [2]int{10, 8},
		try: func(m *market) {
			m.me.place("buy 0.00000001 at 0.0000000001")
			m.other.place("sell 0.00000002 at 0.0000000003")
			m.me.place("buy 0.00000001 at 0.0000000003")
			m.trade("9", "900000000")
			m.plain("/api/tickers?currencyPairCode="+m.pair, "/api/summary", "/api/orderbook?currencyPairCode="+m.pair,
				"/api/deals?currencyPairCode="+m.pair, "/udf/quotes?symbols="+m.pair,
				"/api/ohlc?interval=minute&start=2026-01-01&end=2026-12-31&currencyPairCode="+m.pair,
				"/udf/history?resolution=1&countback=10&to=1800000000&symbol="+m.pair,
				"/listing/coingecko/historical_trades?ticker_id="+m.pair,
				"/listing/coingecko/orderbook?ticker_id="+m.pair)
			for _, target := range []string{"/api/user/orders", "/api/user/deals", "/api/wallets/balances"} {
				m.is(target, exponent.FindString(m.OK(&m.me.User, http.MethodGet, target, "").Body), "")
			}
			for _, of := range []string{
				"depth?", "trades?", "klines?interval=1m&", "ticker/24hr?", "ticker/bookTicker?",
			} {
				target := "/api/v3/" + of + "symbol=" + m.symbol()
				m.is(target, exponent.FindString(m.Binanced(nil, http.MethodGet, target).Body), "")
			}
		},
	},
	{
		says:    "zeros beyond the digits of a pair are accepted, other digits are off tick or off lot",
		sources: "JKorf/Binance.Net#140",
		try: func(m *market) {
			m.is("the price", m.me.place("buy 1.000000 at 61.12000").Price, "61.12")
			m.me.refused("buy 1 at 61.12001", client.CodePriceOffTick)
			m.me.refused("buy 1.00001 at 61.12", client.CodeAmountOffLot)
			const order = "side=BUY&type=LIMIT&timeInForce=GTC&quantity=1.000000&price="
			for price, want := range map[string]string{"61.12000": "200", "61.12001": "400 -1013"} {
				m.is(price, m.refusal(m.ask(m.me, "POST order", order+price)), want)
			}
			m.book("2@61.12 |")
		},
	},
	{
		says: "a currency code has 1 to 20 of A-Z and 0-9, also one letter, and digits first",
		sources: "Tucsky/aggr#428 Open-Trader/opentrader#3 JKorf/Binance.Net#268 " +
			"whittlem/pycryptobot#240",
		try: func(m *market) {
			for _, pair := range []string{
				"W_USDT", "A_B", "1INCH_USDT", "1000SATS_USDT", "AB_CD", "1_2", "ABCDEFGHIJ0123456789_USDT",
			} {
				m.Call(http.MethodPost, "/pairs", `{"code":"`+pair+`","digitsPrice":4,"digitsAmount":2}`)
				m.x.Sell(pair, "1", "2")
				m.OK(nil, http.MethodGet, "/api/tickers?currencyPairCode="+pair, "")
				symbol := strings.ReplaceAll(pair, "_", "")
				m.is(symbol, m.refusal(m.Binanced(nil, http.MethodGet, "/api/v3/depth?symbol="+symbol)), "200")
			}
			for _, pair := range []string{
				"_USDT", "USDC.E_USDT", "ABCDEFGHIJ01234567890_USDT", "BTC_USDT_PERP", "b_USDT",
			} {
				body := `{"code":"` + pair + `","digitsPrice":4,"digitsAmount":2}`
				m.is(pair, m.Inside(http.MethodPost, "/internal/v1/pairs", body).Status, http.StatusBadRequest)
			}
		},
	},
}

// plain checks that documents have no number that is not written out.
func (m *market) plain(targets ...string) {
	m.T.Helper()
	for _, target := range targets {
		m.is(target, exponent.FindString(m.OK(nil, http.MethodGet, target, "").Body), "")
	}
}
