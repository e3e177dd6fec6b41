package binance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	gobinance "github.com/adshao/go-binance/v2"
)

// goCall is a call of go-binance with what must hold of its answer.
type goCall struct {
	name string
	do   func(ctx context.Context) error
}

// answers is a call whose answer has a property.
func answers[T any](name string, do func(context.Context, ...gobinance.RequestOption) (T, error),
	fits func(T) bool,
) goCall {
	return goCall{name, func(ctx context.Context) error {
		got, err := do(ctx)
		if err == nil && !fits(got) {
			err = fmt.Errorf("it answers %+v", got)
		}
		return err
	}}
}

func has[T any](n int) func([]T) bool { return func(list []T) bool { return len(list) == n } }

func anything[T any](T) bool { return true }

// Every call for Spot of go-binance, unmodified, works: market data, orders of each kind, lists, queries, streams.
func TestEveryCallOfGoBinance(t *testing.T) {
	r := traded(t)
	r.Limit("ETH_BTC", "sell", "0.05", "1")
	r.Limit("ETH_BTC", "buy", "0.05", "0.5")
	a := r.user("anna")
	var calls []goCall
	calls = append(calls, marketCalls(a)...)
	calls = append(calls, tradingCalls(a)...)
	for _, c := range calls {
		if err := c.do(t.Context()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	streams := r.streamCalls(t)
	if n := len(calls) + streams; n < 65 {
		t.Errorf("%d calls", n)
	}
}

func marketCalls(a *user) []goCall {
	const pair = "BTCUSDT"
	pairs := []string{pair, "ETHBTC"}
	return []goCall{
		{"Ping", func(ctx context.Context) error { return a.NewPingService().Do(ctx) }},
		answers("ServerTime", a.NewServerTimeService().Do, func(ms int64) bool { return ms > 0 }),
		answers("ExchangeInfo", a.NewExchangeInfoService().Symbols(pairs...).Do,
			func(i *gobinance.ExchangeInfo) bool { return len(i.Symbols) == 2 }),
		answers("Depth", a.NewDepthService().Symbol(pair).Limit(5).Do,
			func(d *gobinance.DepthResponse) bool { return len(d.Bids) == 2 && len(d.Asks) == 1 }),
		answers("AggTrades", a.NewAggTradesService().Symbol(pair).Limit(3).Do, has[*gobinance.AggTrade](3)),
		answers("RecentTrades", a.NewRecentTradesService().Symbol(pair).Limit(3).Do, has[*gobinance.Trade](3)),
		answers("HistoricalTrades", a.NewHistoricalTradesService().Symbol(pair).Limit(3).Do, has[*gobinance.Trade](3)),
		answers("Klines", a.NewKlinesService().Symbol(pair).Interval("1m").Limit(3).Do, has[*gobinance.Kline](3)),
		answers("UiKlines", a.NewUiKlinesService().Symbol(pair).Interval("1m").Limit(3).Do, has[*gobinance.UiKline](3)),
		answers("AveragePrice", a.NewAveragePriceService().Symbol(pair).Do, anything),
		answers("ListPriceChangeStats", a.NewListPriceChangeStatsService().Symbol(pair).Do,
			has[*gobinance.PriceChangeStats](1)),
		answers("ListPrices", a.NewListPricesService().Symbols(pairs).Do, has[*gobinance.SymbolPrice](2)),
		answers("TradingDayTicker", a.NewTradingDayTickerService().Symbols(pairs).Do,
			has[*gobinance.TradingDayTicker](2)),
		answers("ListBookTickers", a.NewListBookTickersService().Symbol(pair).Do, has[*gobinance.BookTicker](1)),
		answers("ListSymbolTicker", a.NewListSymbolTickerService().Symbols(pairs).WindowSize("1h").Do,
			has[*gobinance.SymbolTicker](2)),
	}
}

func tradingCalls(a *user) (calls []goCall) {
	const pair = "BTCUSDT"
	order := func(side gobinance.SideType, kind gobinance.OrderType) *gobinance.CreateOrderService {
		return a.NewCreateOrderService().Symbol(pair).Side(side).Type(kind).NewOrderRespType("RESULT")
	}
	is := func(status gobinance.OrderStatusType) func(*gobinance.CreateOrderResponse) bool {
		return func(o *gobinance.CreateOrderResponse) bool { return o.Status == status }
	}
	limit := func() *gobinance.CreateOrderService {
		return order("BUY", "LIMIT").TimeInForce("GTC").Quantity("1").Price("90")
	}
	calls = []goCall{
		{"CreateOrder test", func(ctx context.Context) error { return limit().Test(ctx) }},
		answers("LIMIT", limit().NewClientOrderID("one").Do, is("NEW")),
		answers("LIMIT_MAKER", order("BUY", "LIMIT_MAKER").Quantity("1").Price("90").Do, is("NEW")),
		answers("iceberg", limit().IcebergQuantity("0.5").Do, is("NEW")),
		answers("MARKET", order("BUY", "MARKET").Quantity("0.1").Do, is("FILLED")),
		answers("MARKET for a quote amount", order("BUY", "MARKET").QuoteOrderQty("20").Do, is("FILLED")),
		answers("MARKET sale for a quote amount", order("SELL", "MARKET").QuoteOrderQty("20").Do, is("FILLED")),
		answers("FOK", order("BUY", "LIMIT").TimeInForce("FOK").Quantity("1").Price("90").Do, is("EXPIRED")),
		answers("STOP_LOSS", order("SELL", "STOP_LOSS").Quantity("1").StopPrice("80").Do, is("NEW")),
		answers("STOP_LOSS_LIMIT", order("SELL", "STOP_LOSS_LIMIT").TimeInForce("GTC").Quantity("1").Price("79").
			StopPrice("80").Do, is("NEW")),
		answers("TAKE_PROFIT", order("SELL", "TAKE_PROFIT").Quantity("1").StopPrice("120").Do, is("NEW")),
		answers("TAKE_PROFIT_LIMIT", order("SELL", "TAKE_PROFIT_LIMIT").TimeInForce("GTC").Quantity("1").Price("120").
			StopPrice("120").Do, is("NEW")),
		answers("trailing", order("SELL", "STOP_LOSS").Quantity("1").TrailingDelta("100").Do, is("NEW")),
		answers("GetOrder", a.NewGetOrderService().Symbol(pair).OrigClientOrderID("one").Do,
			func(o *gobinance.Order) bool { return o.Status == "NEW" && o.ClientOrderID == "one" }),
		answers("ListOpenOrders", a.NewListOpenOrdersService().Symbol(pair).Do, has[*gobinance.Order](8)),
		answers("CancelReplaceOrder", a.NewCancelReplaceOrderService().Symbol(pair).Side("BUY").Type("LIMIT").
			TimeInForce("GTC").Quantity("1").Price("91").CancelReplaceMode("STOP_ON_FAILURE").
			CancelOrigClientOrderID("one").NewClientOrderID("two").Do, anything),
		answers("CancelOrder", a.NewCancelOrderService().Symbol(pair).OrigClientOrderID("two").Do,
			func(o *gobinance.CancelOrderResponse) bool { return o.Status == "CANCELED" }),
		answers("CreateOCO", a.NewCreateOCOService().Symbol(pair).Side("SELL").Quantity("1").Price("130").
			StopPrice("80").ListClientOrderID("list").Do,
			func(l *gobinance.CreateOCOResponse) bool { return len(l.Orders) == 2 }),
		answers("ListOpenOco", a.NewListOpenOcoService().Do, has[*gobinance.Oco](1)),
		answers("CancelOCO", a.NewCancelOCOService().Symbol(pair).ListClientOrderID("list").Do,
			func(l *gobinance.CancelOCOResponse) bool { return l.ListOrderStatus == "ALL_DONE" }),
		answers("CancelOpenOrders", a.NewCancelOpenOrdersService().Symbol(pair).Do,
			func(o *gobinance.CancelOpenOrdersResponse) bool { return len(o.Orders) == 7 }),
		answers("ListOrders", a.NewListOrdersService().Symbol(pair).Do, has[*gobinance.Order](15)),
		answers("ListTrades", a.NewListTradesService().Symbol(pair).Do, has[*gobinance.TradeV3](3)),
		answers("GetAccount", a.NewGetAccountService().Do,
			func(x *gobinance.Account) bool { return x.CanTrade && len(x.Balances) > 0 }),
		answers("GetCommissionRates", a.NewGetCommissionRatesService().Symbol(pair).Do, anything),
		answers("RateLimit", a.NewRateLimitService().Do, has[*gobinance.RateLimitFull](2)),
		answers("GetBNBBurn", a.NewGetBNBBurnService().Do, anything),
	}
	return append(calls, goCall{"TradeFee", func(ctx context.Context) error {
		_, err := a.NewTradeFeeService().Symbol(pair).Do(ctx)
		return err
	}}, goCall{"GetAllCoinsInfo", func(ctx context.Context) error {
		_, err := a.NewGetAllCoinsInfoService().Do(ctx)
		return err
	}}, goCall{"user stream", func(ctx context.Context) error {
		key, err := a.NewStartUserStreamService().Do(ctx)
		if err == nil {
			err = a.NewKeepaliveUserStreamService().ListenKey(key).Do(ctx)
		}
		if err == nil {
			err = a.NewCloseUserStreamService().ListenKey(key).Do(ctx)
		}
		return err
	}})
}

// streamCalls opens each stream of the client, and returns how many there are. Each must speak while the market moves.
func (r *rig) streamCalls(t *testing.T) int {
	ws := "ws" + strings.TrimPrefix(r.base, "http")
	gobinance.BaseWsMainURL, gobinance.BaseCombinedMainURL = ws+"/ws", ws+"/stream?streams="
	spoke := make(chan string, 10_000)
	names, stops := map[string]bool{}, []chan struct{}{}
	open := func(name string, begin func(heard func(), broken broken) (done, stop done, err error)) {
		t.Helper()
		_, stop, err := begin(func() { spoke <- name }, func(error) {})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		names[name], stops = true, append(stops, stop)
	}
	openDepths(open)
	openOthers(open)
	silent := len(names)
	r.Limit("BTC_USDT", "sell", "101.25", "0.1")
	r.Limit("BTC_USDT", "buy", "101.25", "0.1")
	r.advance("1s")
	for late := time.After(time.Minute); silent > 0; {
		select {
		case name := <-spoke:
			if names[name] {
				names[name] = false
				silent--
			}
		case <-late:
			t.Fatalf("these have not spoken: %v", names)
		}
	}
	for _, stop := range stops {
		close(stop)
	}
	return len(names)
}

type (
	done   = chan struct{}
	broken = gobinance.ErrHandler
	// opener opens a stream. begin takes what to call with each message.
	opener = func(name string, begin func(heard func(), broken broken) (done, stop done, err error))
)

const streamed = "BTCUSDT"

func openDepths(open opener) {
	const pair = streamed
	list := []string{pair}
	open("WsPartialDepth", func(h func(), b broken) (done, done, error) {
		return gobinance.WsPartialDepthServe(pair, "5", func(*gobinance.WsPartialDepthEvent) { h() }, b)
	})
	open("WsPartialDepth100Ms", func(h func(), b broken) (done, done, error) {
		return gobinance.WsPartialDepthServe100Ms(pair, "5", func(*gobinance.WsPartialDepthEvent) { h() }, b)
	})
	open("WsCombinedPartialDepth", func(h func(), b broken) (done, done, error) {
		return gobinance.WsCombinedPartialDepthServe(map[string]string{pair: "5"},
			func(*gobinance.WsPartialDepthEvent) { h() }, b)
	})
	for name, serve := range map[string]func(string, gobinance.WsDepthHandler, broken) (done, done, error){
		"WsDepth": gobinance.WsDepthServe, "WsDepth100Ms": gobinance.WsDepthServe100Ms,
	} {
		open(name, func(h func(), b broken) (done, done, error) {
			return serve(pair, func(*gobinance.WsDepthEvent) { h() }, b)
		})
	}
	for name, serve := range map[string]func([]string, gobinance.WsDepthHandler, broken) (done, done, error){
		"WsCombinedDepth": gobinance.WsCombinedDepthServe, "WsCombinedDepth100Ms": gobinance.WsCombinedDepthServe100Ms,
	} {
		open(name, func(h func(), b broken) (done, done, error) {
			return serve(list, func(*gobinance.WsDepthEvent) { h() }, b)
		})
	}
}

func openOthers(open opener) {
	const pair = streamed
	list := []string{pair}
	open("WsKline", func(h func(), b broken) (done, done, error) {
		return gobinance.WsKlineServe(pair, "1m", func(*gobinance.WsKlineEvent) { h() }, b)
	})
	open("WsCombinedKline", func(h func(), b broken) (done, done, error) {
		return gobinance.WsCombinedKlineServe(map[string]string{pair: "1m"}, func(*gobinance.WsKlineEvent) { h() }, b)
	})
	open("WsCombinedKlineMultiInterval", func(h func(), b broken) (done, done, error) {
		return gobinance.WsCombinedKlineServeMultiInterval(map[string][]string{pair: {"1m", "1h"}},
			func(*gobinance.WsKlineEvent) { h() }, b)
	})
	open("WsAggTrade", func(h func(), b broken) (done, done, error) {
		return gobinance.WsAggTradeServe(pair, func(*gobinance.WsAggTradeEvent) { h() }, b)
	})
	open("WsCombinedAggTrade", func(h func(), b broken) (done, done, error) {
		return gobinance.WsCombinedAggTradeServe(list, func(*gobinance.WsAggTradeEvent) { h() }, b)
	})
	open("WsTrade", func(h func(), b broken) (done, done, error) {
		return gobinance.WsTradeServe(pair, func(*gobinance.WsTradeEvent) { h() }, b)
	})
	open("WsCombinedTrade", func(h func(), b broken) (done, done, error) {
		return gobinance.WsCombinedTradeServe(list, func(*gobinance.WsCombinedTradeEvent) { h() }, b)
	})
	open("WsMarketStat", func(h func(), b broken) (done, done, error) {
		return gobinance.WsMarketStatServe(pair, func(*gobinance.WsMarketStatEvent) { h() }, b)
	})
	open("WsCombinedMarketStat", func(h func(), b broken) (done, done, error) {
		return gobinance.WsCombinedMarketStatServe(list, func(*gobinance.WsMarketStatEvent) { h() }, b)
	})
	open("WsAllMarketsStat", func(h func(), b broken) (done, done, error) {
		return gobinance.WsAllMarketsStatServe(func(gobinance.WsAllMarketsStatEvent) { h() }, b)
	})
	open("WsAllMiniMarketsStat", func(h func(), b broken) (done, done, error) {
		return gobinance.WsAllMiniMarketsStatServe(func(gobinance.WsAllMiniMarketsStatEvent) { h() }, b)
	})
	open("WsBookTicker", func(h func(), b broken) (done, done, error) {
		return gobinance.WsBookTickerServe(pair, func(*gobinance.WsBookTickerEvent) { h() }, b)
	})
	open("WsCombinedBookTicker", func(h func(), b broken) (done, done, error) {
		return gobinance.WsCombinedBookTickerServe(list, func(*gobinance.WsBookTickerEvent) { h() }, b)
	})
}
