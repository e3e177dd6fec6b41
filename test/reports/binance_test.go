package reports

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tickhive/tickhive/test/nets"
)

// limitOrder has the parameters of an order that rests.
const limitOrder = "side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=100"

// binance are reports of programs for Binance's spot interface.
var binance = []report{
	{
		says:    "an order without a client order id has one, the same wherever it is shown",
		sources: "nautechsystems/nautilus_trader#1365",
		try: func(m *market) {
			events := m.userData()
			o := m.bin(m.me, "POST order", limitOrder)
			id := o["clientOrderId"].(string)
			m.is("its length", len(id), 22)
			e := events.report("NEW")
			m.is("the report", words(e["c"], e["C"]), id+" ")
			m.is("by its id", m.bin(m.me, "GET order", "origClientOrderId="+id)["orderId"], o["orderId"])
			m.is("the repeat", m.refusal(m.ask(m.me, "POST order",
				limitOrder+"&newClientOrderId="+id)), "400 -2010")
		},
	},
	{
		says:    "a client order id comes back as it was sent",
		sources: "nautechsystems/nautilus_trader#3500",
		try: func(m *market) {
			events := m.userData()
			o := m.bin(m.me, "POST order", limitOrder+"&newClientOrderId=INIT-BTC-1")
			m.is("the answer", o["clientOrderId"], "INIT-BTC-1")
			m.is("the report", events.report("NEW")["c"], "INIT-BTC-1")
		},
	},
	{
		says:    "the largest price and amount of a pair's filters are those that it takes",
		sources: "nautechsystems/nautilus_trader#1020",
		try: func(m *market) {
			var info struct {
				Symbols []struct {
					Symbol  string
					Filters []map[string]any
				}
			}
			m.decode(m.Binanced(nil, http.MethodGet, "/api/v3/exchangeInfo").Body, &info)
			for _, s := range info.Symbols {
				for _, f := range s.Filters {
					for _, name := range []string{"maxPrice", "maxQty"} {
						if text, ok := f[name].(string); ok {
							largest, err := strconv.ParseFloat(text, 64)
							if m.must(err); largest > 9e9 {
								m.T.Errorf("%s: %s %s", s.Symbol, name, text)
							}
						}
					}
				}
			}
			m.is("symbols", len(info.Symbols) > 12, true)
			const order = "side=SELL&type=LIMIT&timeInForce=GTC&price=1&quantity="
			m.is("above", m.refusal(m.ask(m.me, "POST order/test", order+"9000000000.0001")), "400 -1013")
			m.is("the largest", m.ask(m.me, "POST order/test", order+"9000000000").Status, http.StatusOK)
		},
	},
	{
		says:    "the client order id of an open order is refused, that of an ended order makes a new one",
		sources: "nautechsystems/nautilus_trader#4215 JKorf/Binance.Net#935 shobhit727/trade#43",
		try: func(m *market) {
			const order = limitOrder + "&newClientOrderId=q1&newOrderRespType=RESULT"
			first := m.bin(m.me, "POST order", order)
			a := m.ask(m.me, "POST order", order)
			m.is("the repeat", words(m.refusal(a), strings.Contains(a.Body, "Duplicate order sent.")), "400 -2010 true")
			m.bin(m.me, "DELETE order", "origClientOrderId=q1")
			second := m.bin(m.me, "POST order", order)
			m.is("after the cancel", second["status"], "NEW")
			m.is("a new order", second["orderId"] != first["orderId"], true)
			m.other.place("sell 1 at 100")
			m.is("after the fill", m.bin(m.me, "POST order", order)["status"], "NEW")
			third := m.bin(m.me, "POST order/cancelReplace", order+
				"&cancelReplaceMode=STOP_ON_FAILURE&cancelOrigClientOrderId=q1")
			m.is("in place of itself", third["newOrderResult"], "SUCCESS")
			m.book("1@100 |")
			m.me.open(1)
		},
	},
	{
		says:    "a stop that the market has passed is refused and changes nothing",
		sources: "freqtrade/freqtrade#1557 freqtrade/freqtrade#2171 freqtrade/freqtrade#2206",
		try: func(m *market) {
			m.trade("1", "100")
			m.other.place("buy 5 at 99")
			for _, order := range []string{
				"side=SELL&type=STOP_LOSS&stopPrice=105", "side=SELL&type=STOP_LOSS&stopPrice=100",
				"side=BUY&type=STOP_LOSS_LIMIT&stopPrice=95&price=96&timeInForce=GTC",
				"side=SELL&type=TAKE_PROFIT&stopPrice=95",
			} {
				a := m.ask(m.me, "POST order", order+"&quantity=1")
				passed := strings.Contains(a.Body, "Order would trigger immediately.")
				m.is(order, words(m.refusal(a), passed), "400 -2010 true")
			}
			waits := m.ask(m.me, "POST order", "side=SELL&type=STOP_LOSS&stopPrice=95&quantity=1")
			m.is("one that waits", m.refusal(waits), "200")
			m.me.open(1)
			m.book("5@99 |")
		},
	},
	{
		says: "a buyer pays the fee out of what is bought, so less than that can be sold again",
		sources: "CyberPunkMetalHead/Binance-volatility-trading-bot#12 gobeli/pump-and-dump#28 " +
			"UPetit/python-binance-profit#20 ivopetiz/algotrading#22",
		try: func(m *market) {
			m.other.place("sell 20 at 100")
			m.other.place("buy 20 at 99")
			u := m.user("1", "1000")
			m.bin(u, "POST order", "side=SELL&type=MARKET&quantity=1")
			u.has(m.base, "0", "0")
			bought := m.bin(u, "POST order", "side=BUY&type=MARKET&quoteOrderQty=1000")
			fill := bought["fills"].([]any)[0].(map[string]any)
			m.is("the fee", words(fill["commission"], fill["commissionAsset"]), "0.01000000 "+m.base)
			u.has(m.base, "9.99", "0")
			all := m.ask(u, "POST order", "side=SELL&type=MARKET&quantity=10")
			m.is("all that was bought", m.refusal(all), "400 -2010")
			m.is("what there is", m.bin(u, "POST order", "side=SELL&type=MARKET&quantity=9.99")["status"], "FILLED")
		},
	},
	{
		says:    "what is left below a lot stays in the balance",
		sources: "askmike/gekko#2397",
		try: func(m *market) {
			m.other.place("sell 20 at 100")
			m.other.place("buy 20 at 99")
			u := m.user("1", "100")
			m.bin(u, "POST order", "side=SELL&type=MARKET&quantity=1")
			m.bin(u, "POST order", "side=BUY&type=MARKET&quantity=0.0123")
			u.has(m.base, "0.0122877", "0")
			part := m.ask(u, "POST order", "side=SELL&type=MARKET&quantity=0.0122877")
			m.is("a part of a lot", m.refusal(part), "400 -1013")
			m.bin(u, "POST order", "side=SELL&type=MARKET&quantity=0.0122")
			u.has(m.base, "0.0000877", "0")
		},
	},
	{
		says:    "no third currency pays a fee, and the exchange says so",
		sources: "freqtrade/freqtrade#1084",
		try: func(m *market) {
			var burn map[string]any
			m.decode(m.Binanced(&m.me.User, http.MethodGet, "/sapi/v1/bnbBurn").Body, &burn)
			m.is("spotBNBBurn", burn["spotBNBBurn"], false)
			discount := m.bin(m.me, "GET account/commission", "")["discount"].(map[string]any)
			m.is("the discount", words(discount["enabledForAccount"], discount["enabledForSymbol"]), "false false")
		},
	},
	{
		says:    "a time in force does not go with LIMIT_MAKER",
		sources: "sammchardy/python-binance#1171 jaggedsoft/node-binance-api#358",
		try: func(m *market) {
			const order = "side=BUY&type=LIMIT_MAKER&quantity=1&price=100"
			m.is("with", m.refusal(m.ask(m.me, "POST order", order+"&timeInForce=GTC")), "400 -1106")
			m.is("without", m.ask(m.me, "POST order", order).Status, http.StatusOK)
			m.book("1@100 |")
		},
	},
	{
		says:    "a cancel of an order that is not open is refused",
		sources: "hummingbot/hummingbot#6006",
		try: func(m *market) {
			o := m.bin(m.me, "POST order", limitOrder+"&newClientOrderId=x")
			m.bin(m.me, "DELETE order", "origClientOrderId=x")
			for _, id := range []string{"origClientOrderId=x", "orderId=" + text(o["orderId"]), "orderId=1"} {
				a := m.ask(m.me, "DELETE order", id)
				m.is(id, words(m.refusal(a), strings.Contains(a.Body, "Unknown order sent.")), "400 -2011 true")
			}
		},
	},
	{
		says:    "a timestamp ahead of the clock is refused with what is wrong, as is one behind the window",
		sources: "hummingbot/hummingbot#7098",
		try: func(m *market) {
			m.x.Advance(time.Minute) // before the start no timestamp is taken
			const ahead, behind = "400 -1021 Timestamp for this request was 1000ms ahead of the server's time.",
				"400 -1021 Timestamp for this request is outside of the recvWindow."
			for by, want := range map[time.Duration]string{
				5 * time.Second: ahead, time.Second: ahead, time.Second - time.Millisecond: "200 ",
				-5 * time.Second: "200 ", -5*time.Second - time.Millisecond: behind,
			} {
				at := m.x.Now().Add(by).UnixMilli()
				a := m.Binanced(&m.me.User, http.MethodGet, fmt.Sprint("/api/v3/account?timestamp=", at))
				var e struct{ Msg string }
				m.decode(a.Body, &e)
				m.is(by.String(), m.refusal(a)+" "+e.Msg, want)
			}
		},
	},
	{
		says:    "exchangeInfo has the limits of orders, and each answer to an order has the counts",
		sources: "hummingbot/hummingbot#5491",
		try: func(m *market) {
			var info struct {
				RateLimits []struct {
					RateLimitType, Interval string
					IntervalNum, Limit      int
				}
			}
			m.decode(m.Binanced(nil, http.MethodGet, "/api/v3/exchangeInfo").Body, &info)
			var got []string
			for _, l := range info.RateLimits {
				if l.RateLimitType == "ORDERS" {
					got = append(got, fmt.Sprint(l.Limit, " in ", l.IntervalNum, " ", l.Interval))
				}
			}
			slices.Sort(got)
			m.is("the limits", strings.Join(got, ", "), "100 in 10 SECOND, 200000 in 1 DAY")
			for n := 1; n < 3; n++ {
				a := m.ask(m.me, "POST order", limitOrder)
				m.is("the counts", words(a.Header.Get("X-Mbx-Order-Count-10s"), a.Header.Get("X-Mbx-Order-Count-1d")),
					words(n, n))
			}
		},
	},
	{
		says:    "a cancel has an id of its own, beside that of the order",
		sources: "crypto-chassis/ccapi#284",
		try: func(m *market) {
			events := m.userData()
			m.bin(m.me, "POST order", limitOrder+"&newClientOrderId=mine")
			a := m.bin(m.me, "DELETE order", "origClientOrderId=mine&newClientOrderId=cancel-me")
			m.is("the answer", words(a["clientOrderId"], a["origClientOrderId"]), "cancel-me mine")
			e := events.report("CANCELED")
			m.is("the report", words(e["c"], e["C"]), "cancel-me mine")
		},
	},
	{
		says:    "what programs ask of the wallet at their start is answered",
		sources: "ccxt/binance-trade-bot#362 ccxt/binance-trade-bot#468",
		try: func(m *market) {
			for _, target := range []string{
				"/sapi/v1/bnbBurn", "/sapi/v1/account/apiRestrictions", "/sapi/v1/account/status",
				"/sapi/v1/account/apiTradingStatus", "/sapi/v1/capital/deposit/hisrec", "/sapi/v1/asset/assetDividend",
				"/sapi/v1/capital/config/getall", "/sapi/v1/asset/tradeFee", "/sapi/v1/system/status", "/fapi/v1/time",
			} {
				m.is(target, m.Binanced(&m.me.User, http.MethodGet, target).Status, http.StatusOK)
			}
			assets := m.Binanced(&m.me.User, http.MethodPost, "/sapi/v3/asset/getUserAsset")
			m.is("getUserAsset", assets.Status, http.StatusOK)
			other := m.Binanced(&m.me.User, http.MethodGet, "/sapi/v1/nothing")
			m.is("what does not exist", m.refusal(other), "404 -1020")
		},
	},
	{
		says:    "a book is built of depth updates and one snapshot, without a gap",
		sources: "c9s/bbgo#1902 bitrich-info/xchange-stream#86 bmoscon/cryptofeed#604",
		try: func(m *market) {
			s := m.dial(m.x.BinanceStream + "/ws/" + strings.ToLower(m.symbol()) + "@depth@100ms")
			change := func(from, to int) {
				for i := from; i < to; i++ {
					m.x.Buy(m.pair, "1", fmt.Sprint(100+i%30))
					m.x.Sell(m.pair, "2", fmt.Sprint(101+i*7%30))
				}
			}
			read := func() (id int64, levels map[string]string) {
				m.T.Helper()
				var book struct {
					LastUpdateID int64 `json:"lastUpdateId"`
					Bids, Asks   [][2]string
				}
				m.decode(m.Binanced(nil, http.MethodGet, "/api/v3/depth?limit=5000&symbol="+m.symbol()).Body, &book)
				levels = map[string]string{}
				for side, rows := range map[string][][2]string{"b": book.Bids, "a": book.Asks} {
					for _, l := range rows {
						levels[side+l[0]] = l[1]
					}
				}
				return book.LastUpdateID, levels
			}
			change(0, 20)
			id, levels := read()
			change(20, 60)
			last, want := read()
			for id < last {
				e := s.event()
				if number(e["u"]) <= id {
					continue
				}
				if number(e["U"]) > id+1 {
					m.T.Fatalf("behind %d comes an update from %v on", id, e["U"])
				}
				for _, side := range []string{"b", "a"} {
					for _, l := range e[side].([]any) {
						row := l.([]any)
						levels[side+text(row[0])] = text(row[1])
						if row[1] == "0.0000" {
							delete(levels, side+text(row[0]))
						}
					}
				}
				id = number(e["u"])
			}
			m.is("the book", levels, want)
		},
	},
	{
		says: "each event of an order has a report, in order, and then come the balances",
		sources: "jaggedsoft/node-binance-api#213 jaggedsoft/node-binance-api#846 " +
			"binance-exchange/binance-java-api#406",
		try: func(m *market) {
			events := m.userData()
			m.bin(m.me, "POST order", "side=BUY&type=LIMIT&timeInForce=GTC&quantity=3&price=100")
			m.other.place("sell 1 at 100")
			m.other.place("sell 2 at 100")
			var got []string
			for len(got) < 6 {
				e := events.event()
				if e["e"] == "executionReport" {
					got = append(got, words(e["x"], e["X"], e["l"], e["z"]))
				} else {
					got = append(got, text(e["e"]))
				}
			}
			m.is("the events", strings.Join(got, ", "), "NEW NEW 0.0000 0.0000, outboundAccountPosition, "+
				"TRADE PARTIALLY_FILLED 1.0000 1.0000, outboundAccountPosition, "+
				"TRADE FILLED 2.0000 3.0000, outboundAccountPosition")
		},
	},
	{
		says:    "a trade of a stream has no order ids",
		sources: "Cinderella-Man/hands-on-elixir-and-otp-cryptocurrency-trading-bot#43",
		try: func(m *market) {
			s := m.dial(m.x.BinanceStream + "/ws/" + strings.ToLower(m.symbol()) + "@trade")
			m.trade("1", "100")
			e := s.event()
			m.is("the trade", words(e["e"], e["t"], e["p"], e["q"]), "trade 1 100.00 1.0000")
			m.is("order ids", words(e["a"], e["b"]), "none none")
		},
	},
	{
		says: "of two orders of which one cancels the other, the other ends when one is filled",
		sources: "ccxt/ccxt#5966 ccxt/ccxt#8089 ccxt/ccxt#8241 sammchardy/python-binance#1495 " +
			"jaggedsoft/node-binance-api#618 jaggedsoft/node-binance-api#962",
		try: func(m *market) {
			for _, c := range []struct{ route, prices, free string }{
				{
					"POST orderList/oco", "aboveType=LIMIT_MAKER&abovePrice=110&belowType=STOP_LOSS&belowStopPrice=90",
					"999998",
				},
				{"POST order/oco", "price=110&stopPrice=90&stopLimitPrice=89&stopLimitTimeInForce=GTC", "999997.5"},
			} {
				m.trade("1", "100")
				l := m.bin(m.me, c.route, "side=SELL&quantity=2&"+c.prices)
				m.is("the list", words(l["contingencyType"], l["listOrderStatus"]), "OCO EXECUTING")
				m.me.has(m.base, c.free, "2")
				m.me.open(2)
				m.other.place("buy 0.5 at 110")
				m.me.open(1)
				end := m.bin(m.me, "DELETE orderList", "orderListId="+text(l["orderListId"]))
				m.is("the end", end["listOrderStatus"], "ALL_DONE")
			}
			o := m.bin(m.me, "POST order", "side=SELL&type=TAKE_PROFIT&stopPrice=120&quantity=1")
			m.other.place("buy 5 at 119")
			m.trade("1", "120")
			m.is("the take profit", m.bin(m.me, "GET order", "orderId="+text(o["orderId"]))["status"], "FILLED")
		},
	},
}

// symbol returns the symbol of the pair at Binance's interface.
func (m *market) symbol() string { return m.base + m.quote }

// ask sends a signed request for the pair: the method and the route below /api/v3/, and the parameters.
func (m *market) ask(u *trader, route, parameters string) nets.Answer {
	m.T.Helper()
	method, path, _ := strings.Cut(route, " ")
	return m.Binanced(&u.User, method, strings.TrimSuffix("/api/v3/"+path+"?symbol="+m.symbol()+"&"+parameters, "&"))
}

// bin is ask of a request that succeeds with an object.
func (m *market) bin(u *trader, route, parameters string) (o map[string]any) {
	m.T.Helper()
	a := m.ask(u, route, parameters)
	if a.Status != http.StatusOK {
		m.T.Fatalf("%s %s: %d %s", route, parameters, a.Status, a.Body)
	}
	m.decode(a.Body, &o)
	return o
}

// refusal returns the status of an answer and the code of Binance's interface, if it has one.
func (m *market) refusal(a nets.Answer) string {
	m.T.Helper()
	var e struct{ Code int }
	m.decode(a.Body, &e)
	if e.Code == 0 {
		return fmt.Sprint(a.Status)
	}
	return fmt.Sprint(a.Status, " ", e.Code)
}

// number returns a whole number of an answer.
func number(v any) int64 {
	n, _ := v.(json.Number).Int64()
	return n
}

// userData opens the user data stream of m.me.
func (m *market) userData() stream {
	m.T.Helper()
	var key struct{ ListenKey string }
	m.decode(m.Binanced(&m.me.User, http.MethodPost, "/api/v3/userDataStream").Body, &key)
	return m.dial(m.x.BinanceStream + "/ws/" + key.ListenKey)
}

// event waits for the next message of a socket of Binance's interface.
func (s stream) event() (e map[string]any) {
	s.m.T.Helper()
	message, err := s.NextContext(s.m.T.Context())
	s.m.must(err)
	s.m.decode(string(message.Raw), &e)
	return e
}

// report waits for a report of an order.
func (s stream) report(kind string) map[string]any {
	s.m.T.Helper()
	for {
		if e := s.event(); e["e"] == "executionReport" && e["x"] == kind {
			return e
		}
	}
}
