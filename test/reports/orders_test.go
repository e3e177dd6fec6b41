package reports

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/test/nets"
)

// orders are reports of matching, of orders that wait and of changes of orders.
var orders = []report{
	{
		says:    "a market buy ends when its money affords less than a lot, before it meets an order of its own",
		sources: "joaquinbejar/OrderBook-rs#222",
		digits:  [2]int{2, 5},
		try: func(m *market) {
			for price := range 5 {
				m.me.place(fmt.Sprint("sell 1 at ", 70000+price))
			}
			for _, mode := range []string{"cancel_maker", "cancel_both", "cancel_taker", "decrement"} {
				m.other.place("sell 0.00100 at 65000.50")
				o := m.me.place("buy quoteAmount=65.10 selfTradePrevention=" + mode)
				m.is(mode, o.Status+" "+nets.Trim(o.FilledAmount), "Completed 0.001")
				m.me.open(5)
			}
		},
	},
	{
		says:    "what self-trade prevention leaves of the taker never rests",
		sources: "joaquinbejar/OrderBook-rs#97 joaquinbejar/OrderBook-rs#138",
		try: func(m *market) {
			m.other.place("sell 1 at 100")
			m.me.place("sell 1 at 101")
			o := m.me.place("buy 3 at 102 selfTradePrevention=cancel_taker")
			m.is("the taker", o.Status+" "+nets.Trim(o.FilledAmount), "PartiallyExecutedAndCanceled 1")
			m.book("| 1@101")
			o = m.me.place("buy 3 at 102 selfTradePrevention=cancel_both")
			m.is("the taker", o.Status+" "+nets.Trim(o.FilledAmount), "Canceled 0")
			m.book("|")
		},
	},
	{
		says:    "a partly filled order keeps its place",
		sources: "joaquinbejar/OrderBook-rs#88",
		try: func(m *market) {
			first, second := m.other.place("sell 5 at 100"), m.other.place("sell 5 at 100")
			m.me.place("buy 2 at 100")
			m.me.place("buy 4 at 100")
			m.is("the first", nets.Trim(m.other.order(first.ID).FilledAmount), 5)
			m.is("the second", nets.Trim(m.other.order(second.ID).FilledAmount), 1)
		},
	},
	{
		says:    "a limit order trades up to its limit, and the rest is the new touch",
		sources: "geseq/orderbook#25",
		try: func(m *market) {
			for price := 100; price < 103; price++ {
				m.other.place(fmt.Sprint("sell 1 at ", price))
			}
			o := m.me.place("buy 3 at 101")
			m.is("the taker", o.Status+" "+nets.Trim(o.FilledAmount), "PartiallyCompleted 2")
			m.book("1@101 | 1@102")
			m.deals("1@100 1@101")
		},
	},
	{
		says:    "the best price trades first, and then the oldest order",
		sources: "luo4neck/MatchingEngine#3",
		try: func(m *market) {
			m.other.place("sell 1 at 102")
			first := m.other.place("sell 1 at 100")
			m.other.place("sell 1 at 100")
			m.me.place("buy 1 at 102")
			m.deals("1@100")
			m.is("the oldest", m.other.order(first.ID).Status, "Completed")
		},
	},
	{
		says:    "a trade has the price of the resting order, the older one at the older price",
		sources: "Kodoh/Orderbook#17",
		try: func(m *market) {
			m.other.place("buy 1 at 102")
			m.other.place("buy 1 at 101")
			o := m.me.place("sell 2 at 98")
			m.is("the average", o.AveragePrice, "101.50000000")
			m.deals("1@102 1@101")
		},
	},
	{
		says:    "a trade is not at the middle of two limits, and an order at the price zero is refused",
		sources: "fmstephe/matching_engine#11",
		try: func(m *market) {
			m.me.refused("buy 1 at 0", client.CodePriceNotPositive)
			m.other.place("sell 1 at 98")
			m.me.refused("buy 1 at 0", client.CodePriceNotPositive)
			m.me.place("buy 1 at 102")
			m.deals("1@98")
		},
	},
	{
		says:    "orders whose prices do not cross do not trade, and a side may be empty",
		sources: "Laffini/Java-Matching-Engine-Core#27",
		try: func(m *market) {
			m.me.refused("buy 1", client.CodeNoLiquidity)
			for _, price := range []string{"98", "99", "97"} {
				m.other.place("buy 1 at " + price)
			}
			m.me.place("sell 2 at 99")
			m.book("1@98 1@97 | 1@99")
			m.me.place("sell 2 at 97")
			m.book("| 1@99")
			m.other.place("buy 1 at 99")
			m.book("|")
		},
	},
	{
		says:    "a replace gives a new total, which counts what is filled",
		sources: "opexdev/core#688",
		try: func(m *market) {
			id := m.me.place("sell 10 at 100").ID
			m.other.place("buy 4 at 100")
			for _, c := range []struct {
				change client.Change
				book   string
			}{
				{client.Change{Price: "101"}, "| 6@101"},
				{client.Change{Amount: "12"}, "| 8@101"},
				{client.Change{Amount: "5", Price: "102"}, "| 1@102"},
				{client.Change{Amount: "4"}, "|"},
			} {
				_, err := m.me.ChangeOrder(m.T.Context(), id, c.change)
				m.must(err)
				m.book(c.book)
			}
			o := m.me.order(id)
			m.is("the order", o.Status+" "+nets.Trim(o.FilledAmount)+" "+text(o.EndReason),
				"PartiallyExecutedAndCanceled 4 replace")
		},
	},
	{
		says:    "a taker makes a trade with each order that it fills, and none with the others",
		sources: "fran0x/matchina#3",
		try: func(m *market) {
			for range 3 {
				m.other.place("sell 3 at 100")
			}
			m.me.place("buy 3 at 100")
			m.deals("3@100")
			m.me.place("buy 4 at 100")
			m.deals("3@100 3@100 1@100")
		},
	},
	{
		says:    "a filled order is neither canceled nor changed, and others stay",
		sources: "gavincyi/LightMatchingEngine#18",
		try: func(m *market) {
			filled := m.me.place("sell 1 at 100")
			m.me.place("sell 1 at 100")
			m.other.place("buy 1 at 100")
			_, err := m.me.CancelOrder(m.T.Context(), filled.ID)
			_, changed := m.me.ChangeOrder(m.T.Context(), filled.ID, client.Change{Amount: "2"})
			for _, err := range []error{err, changed} {
				m.is("the refusal", client.IsCode(err, client.CodeOrderClosed), true)
			}
			m.book("| 1@100")
		},
	},
	{
		says:    "a queue has any number of orders, and a changed order that crosses trades before it rests",
		sources: "dgtony/orderbook-rs#9",
		try: func(m *market) {
			for range 11 {
				var b client.Batch
				for range 100 {
					b.Place(client.OrderRequest{
						Pair: m.pair, Side: "sell", Type: "limit", Price: "100", Amount: "0.001",
					})
				}
				_, err := m.other.SendBatch(m.T.Context(), &b)
				m.must(err)
			}
			m.book("| 1.1@100")
			id := m.me.place("buy 2 at 99").ID
			_, err := m.me.ChangeOrder(m.T.Context(), id, client.Change{Price: "101"})
			m.must(err)
			m.book("0.9@101 |")
		},
	},
	{
		says:    "a stop that was triggered is gone, and does not trigger again",
		sources: "nautechsystems/nautilus_trader#3740 nautechsystems/nautilus_trader#3741",
		try: func(m *market) {
			m.trade("1", "100")
			stop := m.me.place("sell 1 type=stop_market stopPrice=95")
			m.other.place("buy 2 at 94")
			m.trade("1", "95")
			m.book("1@94 |")
			o := m.me.order(stop.ID)
			m.is("the stop", o.Status+" "+nets.Trim(o.FilledAmount), "Completed 1")
			m.trade("0.5", "95")
			m.book("1@94 |")
			m.deals("1@100 1@95 1@94 0.5@95")
		},
	},
	{
		says:    "a stop waits until the last trade reaches its price, also before the first trade",
		sources: "vegaprotocol/vega#8701 geseq/orderbook#18",
		try: func(m *market) {
			m.other.place("buy 5 at 94")
			stop := m.me.place("sell 1 type=stop_market stopPrice=95")
			rise := m.me.place("buy 1 type=stop_limit stopPrice=105 at 106")
			for _, price := range []string{"100", "95.01", "104.99"} {
				m.trade("1", price)
				m.is("after "+price, m.me.order(stop.ID).Status+" "+m.me.order(rise.ID).Status, "Created Created")
			}
			m.trade("1", "95")
			m.is("at its price", m.me.order(stop.ID).Status, "Completed")
			m.is("the other", m.me.order(rise.ID).Status, "Created")
		},
	},
	{
		says:    "an order that is through when it is accepted triggers at once, or is refused if it is strict",
		sources: "ccxt/ccxt#19000 chronoxor/CppTrader#8",
		try: func(m *market) {
			m.trade("1", "100")
			m.other.place("buy 5 at 99")
			m.me.refused("sell 1 type=stop_market stopPrice=101 strictTrigger=true", client.CodeWouldTrigger)
			o := m.me.place("sell 1 type=stop_market stopPrice=101")
			m.is("the stop", o.Status+" "+nets.Trim(o.FilledAmount), "Completed 1")
			m.is("a buy", m.me.place("buy 1 type=stop_limit stopPrice=98 at 98").Status, "Created")
			m.book("4@99 1@98 |")
		},
	},
	{
		says:    "a fill or kill that the balance does not cover is refused whole",
		sources: "bitfinexcom/bitfinex-api-node#290",
		try: func(m *market) {
			m.other.place("sell 5 at 100")
			poor := m.user("1", "100")
			poor.refused("buy 1.1 at 100 timeInForce=fok", client.CodeInsufficientFunds)
			poor.has(m.quote, "100", "0")
			m.is("the covered one", poor.place("buy 0.83 at 100 timeInForce=fok").Status, "Completed")
			poor.refused("buy 0.5 at 100 timeInForce=fok", client.CodeInsufficientFunds)
			poor.has(m.quote, "17", "0")
			m.book("| 4.17@100")
		},
	},
	{
		says:    "a client order id with the same content answers the first order, with another it is refused",
		sources: "e-money/em-ledger#129",
		try: func(m *market) {
			const order = "buy 1 at 100 clientOrderId=one"
			first, again := m.me.place(order), m.me.place(order)
			m.is("the repeat", again.ID, first.ID)
			m.me.refused("buy 2 at 100 clientOrderId=one", client.CodeDuplicateClientOrderID)
			_, err := m.me.CancelOrder(m.T.Context(), first.ID)
			m.must(err)
			m.is("after the cancel", m.me.place(order).ID, first.ID)
			m.book("|")
		},
	},
	{
		// The rules are those of core/integration/features/orders/batch-orders.feature of vegaprotocol/vega. A batch is
		// carried out in order, each command on what the one before has left. The second report is of a batch with
		// stops alone, which was refused as empty. There a batch has its cancels first; here they come in their turn.
		says:    "a batch of stops, lists and cancels is carried out in order, and a refusal ends its command alone",
		sources: "vegaprotocol/vega#8472 vegaprotocol/vega#9442",
		try: func(m *market) {
			poor := m.user("10", "1")
			m.trade("1", "50")
			old := poor.place("sell 4 type=stop_market stopPrice=45")
			stop := client.OrderRequest{Pair: m.pair, Side: "sell", Type: "stop_market", Amount: "6", StopPrice: "25"}
			more, goal := stop, stop
			more.Amount = "0.0001"
			goal.Type, goal.Amount, goal.StopPrice = "take_profit_market", "4", "75"
			leg := stop
			leg.Amount = "4"
			var b client.Batch
			b.Place(stop) // holds what is free
			b.Place(more) // refused: nothing is free
			b.Cancel(old.ID)
			b.Cancel(old.ID) // refused: it has ended
			b.PlaceList(client.ListRequest{Kind: "oco", Pair: m.pair, Orders: []client.OrderRequest{goal, leg}})
			b.Place(more) // refused: the list holds what the cancel has freed
			results, err := poor.SendBatch(m.T.Context(), &b)
			m.must(err)
			var got []string
			for _, r := range results {
				got = append(got, r.Status+" "+text(r.RejectReason))
			}
			m.is("the results", strings.Join(got, ", "), "Created none, Rejected insufficient_funds, "+
				"Canceled none, Rejected order_closed, executing none, Rejected insufficient_funds")
			poor.has(m.base, "0", "10")
			poor.open(3)
			m.other.place("buy 8 at 20")
			m.trade("1", "25")
			m.deals("1@50 1@25 6@20 2@20")
			poor.has(m.base, "2", "0")
			poor.open(0)
			list, err := poor.List(m.T.Context(), results[4].ID)
			m.must(err)
			m.is("the list", words(list.Status, list.Orders[0].Status, list.Orders[0].EndReason, list.Orders[1].Status,
				list.Orders[1].EndReason), "done Canceled list PartiallyExecutedAndCanceled remainder")
		},
	},
	{
		// The rule is of core/integration/features/orders/stoporders_spot.feature (0014-ORDT-155 and -156) of
		// vegaprotocol/vega; the reports are of the cancel of its stops. There stops have a cancel of their own; here a
		// mass cancel covers what waits and what is in the book.
		says:    "a mass cancel ends what waits and each order of a list, of one pair or all, and frees what they hold",
		sources: "vegaprotocol/vega#8577 vegaprotocol/vega#8704",
		try: func(m *market) {
			second := *m
			second.pair = m.base + "_" + m.quote + "X"
			m.Call(http.MethodPost, "/pairs", fmt.Sprintf(`{"code":%q,"digitsPrice":2,"digitsAmount":4}`, second.pair))
			one := m.user("10", "1")
			two := &trader{one.Client, one.User, &second}
			fill := func() {
				m.trade("1", "50")
				one.place("sell 1 at 60")
				one.place("sell 1 type=stop_market stopPrice=47")
				one.place("sell 1 type=stop_market trailingDelta=500")
				_, err := one.PlaceList(m.T.Context(), client.ListRequest{
					Kind: "oco", Pair: m.pair, Orders: []client.OrderRequest{
						{Side: "sell", Type: "take_profit_market", Amount: "2", StopPrice: "75"},
						{Side: "sell", Type: "stop_market", Amount: "2", StopPrice: "48"},
					},
				})
				m.must(err)
			}
			cancel := func(pair string, want int) {
				n, err := one.CancelAll(m.T.Context(), pair)
				m.must(err)
				m.is("canceled of "+pair, n, want)
			}
			two.place("sell 3 type=stop_market stopPrice=49")
			two.place("sell 1 type=take_profit_market stopPrice=80")
			fill()
			one.has(m.base, "1", "9")
			cancel(m.pair, 5)
			one.has(m.base, "6", "4")
			one.open(0)
			two.open(2)
			fill()
			cancel("", 7)
			one.has(m.base, "10", "0")
			two.open(0)
			m.book("|")
			m.other.place("buy 9 at 30")
			m.trade("1", "45")
			m.deals("1@50 1@50 1@45")
		},
	},
}
