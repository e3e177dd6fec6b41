package binance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	gobinance "github.com/adshao/go-binance/v2"
	"github.com/adshao/go-binance/v2/common"

	"github.com/tickhive/tickhive/internal/exchange"
)

// The unmodified client reads every route, and its values are the native API's at the same seq.
func TestMarketDataAgreesWithTheNativeAPI(t *testing.T) {
	r, ctx := traded(t), t.Context()
	if err := r.client.NewPingService().Do(ctx); err != nil {
		t.Error(err)
	}
	var clock struct{ ServerTime int64 }
	r.native("/api/time", &clock)
	if ms, err := r.client.NewServerTimeService().Do(ctx); err != nil || ms != clock.ServerTime {
		t.Errorf("time %d, %v; want %d", ms, err, clock.ServerTime)
	}

	var rows []struct {
		IsBid         bool
		Price, Amount json.Number
	}
	seq := r.native("/api/orderbook?currencyPairCode=BTC_USDT", &rows).Get("X-Seq")
	book, err := r.client.NewDepthService().Symbol("BTCUSDT").Do(ctx)
	if err != nil || strconv.FormatInt(book.LastUpdateID, 10) != seq || len(book.Bids)+len(book.Asks) != len(rows) {
		t.Fatalf("%+v %v, want %d rows at %s", book, err, len(rows), seq)
	}
	bids, asks := book.Bids, book.Asks
	for _, row := range rows {
		side := &asks
		if row.IsBid {
			side = &bids
		}
		r.equal("price of the book", (*side)[0].Price, row.Price)
		r.equal("amount of the book", (*side)[0].Quantity, row.Amount)
		*side = (*side)[1:]
	}

	var deals []struct {
		Volume, Price json.Number
		IsBuy         bool
	}
	r.native("/api/deals?currencyPairCode=BTC_USDT", &deals)
	trades, err := r.client.NewRecentTradesService().Symbol("BTCUSDT").Do(ctx)
	if err != nil || len(trades) != len(deals) || len(trades) < 10 {
		t.Fatalf("%d trades, %v; want %d", len(trades), err, len(deals))
	}
	for i, trade := range trades {
		d := deals[len(deals)-1-i]
		r.equal("price of a trade", trade.Price, d.Price)
		r.equal("amount of a trade", trade.Quantity, d.Volume)
		if trade.IsBuyerMaker == d.IsBuy || trade.ID != int64(i+1) {
			t.Errorf("trade %+v, the native API has %+v", trade, d)
		}
	}

	var ticker struct {
		Price, Price24hAgo, PriceChangePercentage24h, Volume24h, BidPrice, AskPrice json.Number
	}
	r.native("/api/tickers?currencyPairCode=BTC_USDT", &ticker)
	day, err := r.client.NewListPriceChangeStatsService().Symbol("BTCUSDT").Do(ctx)
	if err != nil || len(day) != 1 {
		t.Fatalf("%v %v", day, err)
	}
	r.equal("last", day[0].LastPrice, ticker.Price)
	r.equal("open", day[0].OpenPrice, ticker.Price24hAgo)
	r.equal("change", day[0].PriceChangePercent, ticker.PriceChangePercentage24h)
	r.equal("volume", day[0].Volume, ticker.Volume24h)
	r.equal("bid", day[0].BidPrice, ticker.BidPrice)
	r.equal("ask", day[0].AskPrice, ticker.AskPrice)
	touch, err := r.client.NewListBookTickersService().Symbol("BTCUSDT").Do(ctx)
	if err != nil || touch[0].BidPrice != day[0].BidPrice || touch[0].AskQuantity != "7.00000" {
		t.Errorf("%v %v", touch, err)
	}
	prices, err := r.client.NewListPricesService().Do(ctx)
	if err != nil || len(prices) != 2 || prices[0].Symbol != "BTCUSDT" {
		t.Errorf("%v %v", prices, err)
	}
	r.equal("price", prices[0].Price, ticker.Price)
}

func TestExchangeInfoShowsTheRulesOfThePair(t *testing.T) {
	r := traded(t)
	info, err := r.client.NewExchangeInfoService().Do(t.Context())
	if err != nil || len(info.Symbols) != 2 {
		t.Fatalf("%+v %v", info, err)
	}
	s := info.Symbols[0]
	if s.Symbol != "BTCUSDT" || s.BaseAsset != "BTC" || s.QuoteAsset != "USDT" || s.Status != "TRADING" ||
		!s.IsSpotTradingAllowed || s.IsMarginTradingAllowed || !s.OcoAllowed || len(s.OrderTypes) != 7 {
		t.Errorf("%+v", s)
	}
	if s.BaseAssetPrecision != 8 || s.QuotePrecision != 8 || s.QuoteAssetPrecision != 8 ||
		s.BaseCommissionPrecision != 8 || s.QuoteCommissionPrecision != 8 {
		t.Errorf("%+v", s)
	}
	if f := s.PriceFilter(); f.TickSize != "0.01" || f.MinPrice != "0.01" || f.MaxPrice != "9000000000.00" {
		t.Errorf("%+v", f)
	}
	if f := s.LotSizeFilter(); f.StepSize != "0.00001" || f.MinQuantity != "0.00001" ||
		f.MaxQuantity != "9000000000.00000" || *s.MarketLotSizeFilter() != gobinance.MarketLotSizeFilter(*f) {
		t.Errorf("%+v, market orders %+v", f, s.MarketLotSizeFilter())
	}
	if f := s.NotionalFilter(); trim(f.MinNotional) != "5" || trim(f.MaxNotional) != "1000000" || f.ApplyMinToMarket {
		t.Errorf("%+v", f)
	}
	if f := s.PercentPriceBySideFilter(); f.BidMultiplierUp != "10.0" || trim(f.AskMultiplierDown) != "0.1" {
		t.Errorf("%+v", f)
	}
	if f := s.TrailingDeltaFilter(); f == nil || *f != (gobinance.TrailingDeltaFilter{
		MinTrailingAboveDelta: 10, MaxTrailingAboveDelta: 2000, MinTrailingBelowDelta: 10, MaxTrailingBelowDelta: 2000,
	}) {
		t.Errorf("%+v", f)
	}
	most := map[string]any{}
	for _, f := range s.Filters {
		for _, name := range []string{"maxNumAlgoOrders", "maxNumOrderLists", "maxNumOrderAmends", "limit"} {
			if v, has := f[name]; has {
				most[name] = v
			}
		}
	}
	if got := fmt.Sprint(most); got != "map[limit:10000 maxNumAlgoOrders:200 maxNumOrderAmends:10 "+
		"maxNumOrderLists:20]" {
		t.Error(got)
	}
	r.Call("POST", "/assets", `{"symbol":"TEN","digits":10}`)
	r.Call("POST", "/pairs",
		`{"code":"BTC_TEN","digitsPrice":1,"digitsAmount":3,"maxPrice":1000000,"maxAmount":9000.5}`)
	ten, err := r.client.NewExchangeInfoService().Symbol("BTCTEN").Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	limits := &ten.Symbols[0]
	if f := limits.PriceFilter(); f.MaxPrice != "1000000.0" || limits.LotSizeFilter().MaxQuantity != "9000.500" ||
		limits.BaseAssetPrecision != 8 || limits.QuoteAssetPrecision != 10 || limits.QuoteCommissionPrecision != 10 {
		t.Errorf("%+v", limits)
	}
	r.Call("PATCH", "/pairs/BTC_TEN", `{"state":"cancel_only"}`)
	if info.Symbols[1].PercentPriceBySideFilter() != nil {
		t.Error("a band where none is configured")
	}
	for _, c := range [][2]string{{"post_only", "TRADING"}, {"cancel_only", "BREAK"}, {"halted", "HALT"}} {
		state, want := c[0], c[1]
		r.Call("PATCH", "/pairs/ETH_BTC", `{"state":"`+state+`"}`)
		one, err := r.client.NewExchangeInfoService().Symbol("ETHBTC").Do(t.Context())
		if err != nil || one.Symbols[0].Status != want ||
			(len(one.Symbols[0].OrderTypes) == 1) != (state == "post_only") {
			t.Errorf("%s: %+v %v", state, one, err)
		}
	}
	for query, want := range map[string]int{
		"?permissions=SPOT": 3, "?permissions=MARGIN": 0, "?symbolStatus=HALT": 1, "?symbolStatus=TRADING": 1,
		`?symbols=["BTCUSDT","ETHBTC"]`: 2,
	} {
		if _, body, _ := r.get("/api/v3/exchangeInfo" + query); strings.Count(body, `{"symbol":`) != want {
			t.Errorf("%s: %s", query, body)
		}
	}
}

// Candles of the native intervals equal the native ones; the others are their sums; empty intervals are flat.
func TestKlinesAgreeWithTheNativeCandles(t *testing.T) {
	r, ctx := traded(t), t.Context()
	for name, native := range map[string]string{
		"1m": "minute", "3m": "minutes3", "15m": "minutes15", "1h": "hour", "4h": "hour4", "1d": "day", "1M": "month",
	} {
		var want []struct {
			Date                                      string
			Open, Max, Min, Close, Volume, VolumeBase json.Number
		}
		r.native("/api/ohlc?currencyPairCode=BTC_USDT&fill=previous&start=2026-01-01&end=2026-01-01T12:00:00&interval="+
			native, &want)
		got, err := r.client.NewKlinesService().Symbol("BTCUSDT").Interval(name).StartTime(1767225600000).
			EndTime(1767225600000 + 12*3600_000).Limit(1000).Do(ctx)
		if err != nil || len(got) != len(want) || len(got) == 0 {
			t.Fatalf("%s: %d klines, %v; want %d", name, len(got), err, len(want))
		}
		for i, k := range got {
			r.equal(name+" open", k.Open, want[i].Open)
			r.equal(name+" high", k.High, want[i].Max)
			r.equal(name+" low", k.Low, want[i].Min)
			r.equal(name+" close", k.Close, want[i].Close)
			r.equal(name+" volume", k.Volume, want[i].VolumeBase)
			r.equal(name+" quote volume", k.QuoteAssetVolume, want[i].Volume)
		}
	}
	// Whatever the interval, the sums over all rows are equal.
	var volume, trades, bought string
	for _, name := range strings.Fields("1m 3m 5m 15m 30m 1h 2h 4h 6h 8h 12h 1d 3d 1w 1M") {
		v, b, n := int64(0), int64(0), int64(0)
		for from := int64(0); ; {
			s := r.client.NewKlinesService().Symbol("BTCUSDT").Interval(name).StartTime(from).Limit(1000)
			rows, err := s.Do(ctx)
			if err != nil {
				t.Fatal(name, err)
			}
			for _, k := range rows {
				v, b, n = v+units(t, k.Volume), b+units(t, k.TakerBuyBaseAssetVolume), n+k.TradeNum
				from = k.CloseTime + 1
			}
			if len(rows) < 1000 {
				break
			}
		}
		sums := [3]string{fmt.Sprint(v), fmt.Sprint(n), fmt.Sprint(b)}
		if volume == "" {
			volume, trades, bought = sums[0], sums[1], sums[2]
		}
		if sums != [3]string{volume, trades, bought} || n != 15 {
			t.Errorf("%s: volume, trades, bought %v, want %s %s %s", name, sums, volume, trades, bought)
		}
	}
	// Four trades of one second, each a second's kline.
	const second = `"100.50","100.50","99.50","99.50","0.60000",%d,` +
		`"60.2000000",3,"0.50000","50.2500000","0"]`
	r.is("/api/v3/klines?symbol=BTCUSDT&interval=1s&startTime=1767225600000&limit=2", 200, fmt.Sprintf(
		"[[1767225600000,"+second+",[1767225601000,"+second+"]", int64(1767225600999), int64(1767225601999)))
	r.is("/api/v3/klines?symbol=ETHBTC&interval=1d", 200, "[]")
	_, week, _ := r.get("/api/v3/uiKlines?symbol=BTCUSDT&interval=1w")
	if !strings.HasPrefix(week, "[[1766966400000,") {
		t.Errorf("a week does not begin on Monday, 2025-12-29: %s", week)
	}
}

// Klines know what takers have bought and the number of trades, whatever trades are kept, before and after a restart.
func TestKlinesOfTradesThatAreGoneKnowTheirTakers(t *testing.T) {
	dir := t.TempDir()
	few := func(o *exchange.Options) { o.Dir, o.Market.TradesMin, o.Market.TradesMax = dir, 1, 2 }
	r := traded(t, few)
	for range 2 {
		for hours, name := range map[int64]string{2: "2h", 4: "4h", 6: "6h", 8: "8h", 12: "12h", 24: "1d"} {
			r.is("/api/v3/klines?symbol=BTCUSDT&startTime=1767225600000&limit=1&interval="+name, 200, fmt.Sprintf(
				`[[1767225600000,"100.50","100.50","99.50","99.50","2.40000",%d,`+
					`"240.8000000",12,"2.00000","201.0000000","0"]]`,
				1767225599999+hours*3_600_000))
		}
		dir = r.Kill()
		r = newRig(t, few)
	}
}

func units(t *testing.T, text string) int64 {
	t.Helper()
	v, err := strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTickersOfWindows(t *testing.T) {
	r, ctx := traded(t), t.Context()
	average, err := r.client.NewAveragePriceService().Symbol("BTCUSDT").Do(ctx)
	if err != nil || average.Price != "100.33333333" { // 50.25 + 9.95 over 0.6
		t.Errorf("%+v %v", average, err)
	}
	s, err := r.client.NewListSymbolTickerService().Symbol("BTCUSDT").WindowSize("1h").Do(ctx)
	if err != nil || s[0].Count != 3 || s[0].FirstId != 13 || s[0].LastId != 15 || s[0].Volume != "0.60000" {
		t.Errorf("%+v %v", s, err)
	}
	week, err := r.client.NewListSymbolTickerService().Symbol("BTCUSDT").WindowSize("7d").Do(ctx)
	if err != nil || week[0].Count != 15 || week[0].FirstId != 1 ||
		week[0].HighPrice != "100.50" || week[0].LowPrice != "99.50" {
		t.Errorf("%+v %v", week, err)
	}
	today, err := r.client.NewTradingDayTickerService().Symbol("BTCUSDT").Do(ctx)
	if err != nil || len(today) != 1 || today[0].Count != 3 {
		t.Errorf("%+v %v", today, err)
	}
	if _, body, _ := r.get("/api/v3/ticker/24hr?symbol=ETHBTC"); !strings.Contains(body,
		`"firstId":-1,"lastId":-1,"count":0}`) {
		t.Error(body)
	}
	if _, body, _ := r.get("/api/v3/ticker/24hr?type=MINI&symbol=BTCUSDT"); strings.Contains(body, "bidPrice") {
		t.Error(body)
	}
}

func TestAggregatesAndHistory(t *testing.T) {
	r, ctx := traded(t), t.Context()
	all, err := r.client.NewAggTradesService().Symbol("BTCUSDT").Do(ctx)
	if err != nil || len(all) != 15 || all[0].AggTradeID != 1 || all[0].LastTradeID != 1 ||
		all[2].IsBuyerMaker != true {
		t.Fatalf("%d %v", len(all), err)
	}
	from, err := r.client.NewAggTradesService().Symbol("BTCUSDT").FromID(14).Do(ctx)
	if err != nil || len(from) != 2 || from[0].AggTradeID != 14 {
		t.Errorf("%+v %v", from, err)
	}
	at := all[3].Timestamp
	timed, err := r.client.NewAggTradesService().Symbol("BTCUSDT").StartTime(at).EndTime(at).Do(ctx)
	if err != nil || len(timed) != 3 || timed[0].AggTradeID != 4 {
		t.Errorf("%+v %v", timed, err)
	}
	old, err := r.client.NewHistoricalTradesService().Symbol("BTCUSDT").FromID(3).Limit(2).Do(ctx)
	if err != nil || len(old) != 2 || old[0].ID != 3 || old[1].ID != 4 {
		t.Errorf("%+v %v", old, err)
	}
	newest, err := r.client.NewRecentTradesService().Symbol("BTCUSDT").Limit(1).Do(ctx)
	if err != nil || len(newest) != 1 || newest[0].ID != 15 {
		t.Errorf("%+v %v", newest, err)
	}
}

// What is wrong gets the other exchange's code, and the client recognizes it.
func TestErrorsHaveTheOtherExchangesForm(t *testing.T) {
	r := traded(t)
	_, err := r.client.NewDepthService().Symbol("NOPE").Do(t.Context())
	var e *common.APIError
	if !errors.As(err, &e) || e.Code != -1121 || e.Message != "Invalid symbol." {
		t.Errorf("%v", err)
	}
	for target, want := range map[string]string{
		"/api/v3/depth":                                         "400 -1102",
		"/api/v3/depth?symbol=":                                 "400 -1102",
		"/api/v3/depth?symbol=btcusdt":                          "400 -1100",
		"/api/v3/depth?symbol=BTC_USDT":                         "400 -1121",
		"/api/v3/depth?symbol=BTCUSDT&limit=x":                  "400 -1100",
		"/api/v3/depth?symbol=BTCUSDT&limit=0":                  "400 -1130",
		"/api/v3/depth?symbol=BTCUSDT&symbol=BTCUSDT":           "400 -1101",
		"/api/v3/depth?symbol=BTCUSDT&x=1":                      "400 -1104",
		"/api/v3/depth?symbol=BTCUSDT&limit=9999":               "200 0",
		"/api/v3/ping?x=%zz":                                    "400 -1100",
		"/api/v3/klines?symbol=BTCUSDT":                         "400 -1102",
		"/api/v3/klines?symbol=BTCUSDT&interval=2m":             "400 -1120",
		"/api/v3/klines?symbol=BTCUSDT&interval=1m&timeZone=15": "400 -1130",
		"/api/v3/aggTrades?symbol=BTCUSDT&fromId=1&startTime=1": "400 -1128",
		"/api/v3/ticker?windowSize=1d":                          "400 -1102",
		"/api/v3/ticker?symbol=BTCUSDT&windowSize=60m":          "400 -1130",
		"/api/v3/ticker?symbol=BTCUSDT&windowSize=d":            "400 -1130",
		`/api/v3/ticker/24hr?symbols=["BTCUSDT","BTCUSDT"]`:     "400 -1101",
		`/api/v3/ticker/24hr?symbols=[]`:                        "400 -1100",
		`/api/v3/ticker/24hr?symbol=BTCUSDT&symbols=["X"]`:      "400 -1128",
		"/api/v3/ticker/price?symbol=BTCUSDT&type=FULL":         "400 -1104",
		"/api/v3/exchangeInfo?permissions=GRID":                 "400 -1130",
		"/api/v3/nothing":                                       "404 -1020",
		"/sapi/v1/margin/order":                                 "404 -1020",
		"/api/status":                                           "404 -1020",
	} {
		status, body, header := r.get(strings.NewReplacer(`"`, "%22", "[", "%5B", "]", "%5D").Replace(target))
		var e struct {
			Code int
			Msg  string
		}
		if status != 200 {
			if err := json.Unmarshal([]byte(body), &e); err != nil || e.Msg == "" ||
				header.Get("Content-Type") != "application/json; charset=utf-8" {
				t.Errorf("%s: %v %s", target, err, body)
			}
		}
		if got := fmt.Sprintf("%d %d", status, e.Code); got != want {
			t.Errorf("%s: %s %s, want %s", target, got, body, want)
		}
	}
}

// An address has a weight of 6,000 in a minute; rate.allow lifts the limit.
func TestWeights(t *testing.T) {
	r := traded(t)
	r.get("/api/v3/ping")
	_, _, header := r.get("/api/v3/depth?symbol=BTCUSDT&limit=5000")
	before, err := strconv.Atoi(header.Get("X-MBX-USED-WEIGHT-1M"))
	if err != nil || before != 251 && before != 250 { // 250 if a new minute has begun
		t.Fatalf("%v %v", before, err)
	}
	refused := 0
	for i := 0; i < 60 && refused == 0; i++ {
		status, body, header := r.get("/api/v3/depth?symbol=BTCUSDT&limit=5000")
		if status == 429 {
			refused++
			if !strings.HasPrefix(body, `{"code":-1003,`) || header.Get("Retry-After") == "" {
				t.Errorf("%s %v", body, header)
			}
		}
	}
	if refused != 1 {
		t.Error("60 requests of 250 were all answered")
	}
	free := newRig(t, func(o *exchange.Options) { o.Rate.Allow = []string{"127.0.0.1"} })
	free.Pair("BTC_USDT")
	for range 30 {
		if status, body, _ := free.get("/api/v3/depth?symbol=BTCUSDT&limit=5000"); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
	}
}
