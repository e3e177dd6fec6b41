package reports

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/test/nets"
)

// books are reports of order books and tickers as documents.
var books = []report{
	{
		says:    "a document of a pair has this pair's book, whatever else is read on the connection",
		sources: "BTCMarkets/API#129",
		try: func(m *market) {
			pairs := []string{"BTC_USDT", "ETH_USDT", "SOL_USDT"}
			for i, pair := range pairs {
				m.x.Sell(pair, "1", fmt.Sprint(100+i))
			}
			for i := range 300 {
				n := i * 7 % 3
				for _, target := range []string{
					"/api/marketdata/getaggregator/orderbook?ticker_id=", "/listing/coingecko/orderbook?ticker_id=",
				} {
					var book struct {
						Pair string              `json:"ticker_id"`
						Asks [][2]client.Decimal `json:"asks"`
					}
					m.get(target+pairs[n], &book)
					if book.Pair != pairs[n] || len(book.Asks) != 1 || nets.Trim(book.Asks[0][0]) != fmt.Sprint(100+n) {
						m.T.Fatalf("%s has %+v", pairs[n], book)
					}
				}
			}
		},
	},
	{
		says:    "depth is the total over both sides, 0 or none the whole book, and anything else is refused",
		sources: "wavesplatform/matcher#469 n0mad01/node.bittrex.api#35",
		try: func(m *market) {
			for i := range 12 {
				m.other.place(fmt.Sprint("sell 1 at ", 200+i))
				m.other.place(fmt.Sprint("buy 1 at ", 100-i))
			}
			for depth, want := range map[string]int{
				"": 12, "0": 12, "00": 12, "1": 0, "2": 1, "3": 1, "10": 5, "23": 11, "24": 12, "1000000": 12,
				"9223372036854775808": 12, "99999999999999999999999": 12, "-1": -1, "1.5": -1, "ten": -1, "1e1": -1,
			} {
				const target = "/api/marketdata/getaggregator/orderbook?ticker_id="
				a := m.Send(nil, http.MethodGet, target+m.pair+"&depth="+depth, "")
				if want < 0 {
					m.is("depth "+depth, a.Status, http.StatusBadRequest)
					continue
				}
				var book struct{ Bids, Asks [][2]client.Decimal }
				m.decode(a.Body, &book)
				m.is("depth "+depth, words(a.Status, len(book.Bids), len(book.Asks)), words(200, want, want))
				if want > 0 {
					m.is("the best", nets.Trim(book.Bids[0][0])+" "+nets.Trim(book.Asks[0][0]), "100 200")
				}
			}
		},
	},
	{
		says:    "a figure that does not exist is 0 in the summary, left out in quotes, and 0 in a ticker",
		sources: "bisq-network/bisq#586",
		try: func(m *market) {
			m.other.place("buy 1 at 99")
			var rows []map[string]any
			m.get("/api/summary", &rows)
			for _, row := range rows {
				if row["trading_pairs"] == m.pair {
					got := words(row["last_price"], row["lowest_ask"], row["highest_bid"])
					m.is("the summary", got, "0.00 0.00 99.00")
				}
			}
			var quotes struct{ D []struct{ V map[string]any } }
			m.get("/udf/quotes?symbols="+m.pair, &quotes)
			v := quotes.D[0].V
			m.is("the quotes", words(v["lp"], v["ask"], v["bid"]), "none none 99.00")
			ticker, err := m.me.Ticker(m.T.Context(), m.pair)
			m.must(err)
			m.is("the ticker", words(ticker.Price, ticker.Ask, ticker.Bid), "0.00 0.00 99.00")
		},
	},
	{
		says:    "documents, tags and sequence numbers are the same after a crash and a restart, and ids go on",
		sources: "coinfloor/API#12 nautechsystems/nautilus_trader#3046 bnb-chain/node#128",
		try: func(m *market) {
			m.trade("1", "100")
			m.me.place("sell 3 at 101")
			last := m.other.place("buy 1 at 101")
			targets := []string{
				"/api/tickers?currencyPairCode=" + m.pair, "/api/orderbook?currencyPairCode=" + m.pair,
				"/api/deals?currencyPairCode=" + m.pair, "/api/marketdata/getaggregator/orderbook?ticker_id=" + m.pair,
				"/listing/coingecko/historical_trades?ticker_id=" + m.pair, "/api/summary", "/api/currencies",
				"/udf/symbols?symbol=" + m.pair,
				"/api/ohlc?interval=hour&start=2026-01-01&end=2026-12-31&currencyPairCode=" + m.pair,
			}
			read := func() (all []string) {
				for _, target := range targets {
					a := m.OK(nil, http.MethodGet, target, "")
					all = append(all, words(target, a.Header.Get("ETag"), a.Header.Get("X-Seq"), a.Body))
				}
				return all
			}
			before := read()
			for _, end := range []func(){m.x.Kill, m.x.Stop} {
				end()
				m.x.Restart()
				for i, after := range read() {
					m.is("after a restart", after, before[i])
				}
			}
			next := m.other.place("buy 1 at 101")
			m.is("the next order id is higher", len(next.ID) == len(last.ID) && next.ID > last.ID, true)
			var deals []client.Fill
			m.get("/api/deals?currencyPairCode="+m.pair, &deals)
			m.is("the newest trade", deals[0].TradeID, 3)
		},
	},
	{
		says:    "by cursor no row of a list is lost or repeated while rows arrive",
		sources: "hitbtc-com/hitbtc-api#130 ccxt/ccxt#5697",
		try: func(m *market) {
			for range 25 {
				m.trade("1", "100")
			}
			var got []string
			target := "/api/deals?pageSize=10&currencyPairCode=" + m.pair
			for next := target; next != ""; {
				var rows []client.Fill
				h := m.get(next, &rows)
				for _, row := range rows {
					got = append(got, fmt.Sprint(row.TradeID))
				}
				m.trade("1", "100")
				if next = h.Get("X-Next-Cursor"); next != "" {
					next = target + "&cursor=" + next
				}
			}
			var want []string
			for id := 25; id > 0; id-- {
				want = append(want, fmt.Sprint(id))
			}
			m.is("the rows", strings.Join(got, " "), strings.Join(want, " "))
		},
	},
	{
		says:    "lists are comma-separated values, too, with the digits and the rows of the other form",
		sources: "bisq-network/bisq#2106 hummingbot/hummingbot#1896",
		try: func(m *market) {
			m.me.place("sell 1 at 100")
			m.other.place("buy 0.5 at 100")
			for target, want := range map[string]string{
				"/api/deals?": ",0.5000,", "/api/user/deals?": ",100.00,", "/api/user/orders?": ",PartiallyCompleted,",
			} {
				target += "format=csv&currencyPairCode=" + m.pair
				a := m.OK(&m.me.User, http.MethodGet, target, "")
				lines := strings.Split(strings.TrimSuffix(a.Body, "\n"), "\n")
				if len(lines) != 2 || strings.Count(lines[0], ",") != strings.Count(lines[1], ",") ||
					!strings.Contains(lines[1], want) || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/csv") {
					m.T.Errorf("%s: %s\n%s", target, a.Header.Get("Content-Type"), a.Body)
				}
			}
		},
	},
}
