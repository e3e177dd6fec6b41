package public

import (
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// Limits of the UDF routes.
const (
	udfMaxBars   = 5000 // most bars in an answer; the newest ones are kept
	udfMaxSearch = 100
	udfMaxText   = 64
	udfMaxSecond = 1 << 40 // Unix seconds; later than every candle
)

// udfResolution is a resolution of the charting library.
type udfResolution struct {
	name     string
	interval marketdata.Interval
	weekly   bool // folded from the candles of interval
}

var udfResolutions = []udfResolution{
	{"1", marketdata.Minute, false},
	{"3", marketdata.Minutes3, false},
	{"5", marketdata.Minutes5, false},
	{"15", marketdata.Minutes15, false},
	{"30", marketdata.Minutes30, false},
	{"60", marketdata.Hour, false},
	{"240", marketdata.Hour4, false},
	{"1D", marketdata.Day, false},
	{"1W", marketdata.Day, true},
	{"1M", marketdata.Month, false},
	{"12M", marketdata.Year, false},
}

// udfNames returns the names of all resolutions, shortest first.
func udfNames() (names []string) {
	for _, r := range udfResolutions {
		names = append(names, r.name)
	}
	return names
}

// UDFRoutes returns the routes of /udf/*: the datafeed protocol of TradingView's charting library over the same
// views as the REST routes. Every refusal, also one of the listener, is the error object of
// docs/contract/errors.md#error-object with the members of edge.appendUDFError.
func (m *Market) UDFRoutes(*edge.Server) []*edge.Route {
	route := func(name string, h func(*Market, *edge.Ctx) *refuse.Refusal) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodGet, Path: "/udf/" + name, Public: true, Auth: edge.AuthNever,
			Handle: func(c *edge.Ctx) *refuse.Refusal { return h(m, c) },
		}
	}
	ofPair := func(name string, h func(*Market, *edge.Ctx) *refuse.Refusal) *edge.Route {
		r := route(name, h)
		r.Symbol, r.Code = "symbol", udfCode
		return r
	}
	return []*edge.Route{
		route("config", udfConfig),
		ofPair("symbols", udfSymbols),
		route("search", udfSearch),
		ofPair("history", udfHistory),
		route("quotes", udfQuotes),
		route("time", udfTime),
	}
}

func udfConfig(m *Market, c *edge.Ctx) *refuse.Refusal {
	b := appendUDFResolutions([]byte(`{"supported_resolutions":`))
	b = append(b, `,"supports_search":true,"supports_group_request":false,"supports_marks":false,`+
		`"supports_timescale_marks":false,"supports_time":true,`+
		`"exchanges":[{"value":"TickHive","name":"TickHive","desc":"TickHive"}],`+
		`"symbols_types":[{"name":"Spot","value":"crypto"}]}`...)
	return c.SendBody(b, edge.NoSeq)
}

func appendUDFResolutions(b []byte) []byte {
	return append(append(append(b, `["`...), strings.Join(udfNames(), `","`)...), `"]`...)
}

func udfTime(m *Market, c *edge.Ctx) *refuse.Refusal {
	c.Private(strconv.AppendInt(nil, encode.FloorDiv(m.opt.Clock.NowNs(), 1_000_000_000), 10))
	c.Response.Header.SetContentType("text/plain; charset=utf-8")
	return nil
}

// udfView returns the view of the pair that the parameter symbol names, with or without the exchange's name in
// front.
func (m *Market) udfView(c *edge.Ctx) (*marketdata.View, *refuse.Refusal) {
	text, err := c.Required("symbol")
	if err != nil {
		return nil, err
	}
	code := []byte(udfCode(text))
	if !engine.ValidPairCode(code) {
		return nil, refuse.Param("symbol", "The parameter symbol must be a pair code such as BTC_USDT.")
	}
	return m.lookup("symbol", code)
}

func udfSymbols(m *Market, c *edge.Ctx) *refuse.Refusal {
	v, err := m.udfView(c)
	if err != nil {
		return err
	}
	in := v.Instrument
	name := in.Base + "/" + in.Quote
	b := append([]byte(`{"name":"`), in.Code...)
	b = append(append(b, `","ticker":"`...), in.Code...)
	b = append(append(b, `","description":"`...), name...)
	b = append(append(b, `","base_currency":"`...), in.Base...)
	b = append(append(b, `","currency_code":"`...), in.Quote...)
	b = append(b, `","type":"crypto","session":"24x7","timezone":"Etc/UTC","exchange":"TickHive",`+
		`"listed_exchange":"TickHive","exchange-traded":"TickHive","exchange-listed":"TickHive","format":"price",`+
		`"minmov":1,"minmov2":0,"minmovement":1,"minmovement2":0,"pointvalue":1,"pricescale":1`...)
	b = append(b, strings.Repeat("0", in.DigitsPrice)...)
	b = strconv.AppendInt(append(b, `,"volume_precision":`...), int64(in.DigitsAmount), 10)
	b = append(b, `,"has_intraday":true,"has_daily":true,"has_weekly_and_monthly":true,"has_empty_bars":false,`+
		`"has_no_volume":false,"intraday_multipliers":["1","3","5","15","30","60","240"],"daily_multipliers":["1"],`+
		`"weekly_multipliers":["1"],"monthly_multipliers":["1","12"],"data_status":"streaming",`+
		`"supported_resolutions":`...)
	return c.SendBody(append(appendUDFResolutions(b), '}'), edge.NoSeq)
}

func udfSearch(m *Market, c *edge.Ctx) *refuse.Refusal {
	query, err := c.Str("query")
	if err != nil {
		return err
	}
	kind, err := c.Str("type")
	if err != nil {
		return err
	}
	exchange, err := c.Str("exchange")
	if err != nil {
		return err
	}
	limit, _, err := c.Int("limit", 30, 1, udfMaxSearch)
	if err != nil {
		return err
	}
	if len(query) > udfMaxText {
		return refuse.Param("query", "The parameter query must have at most %d characters.", udfMaxText)
	}
	b := []byte{'['}
	is := func(text, name string) bool { return text == "" || strings.EqualFold(text, name) }
	if is(kind, "crypto") && is(exchange, "TickHive") {
		b = m.appendUDFFound(b, strings.ToUpper(strings.ReplaceAll(query, "/", "_")), limit)
	}
	return c.SendBody(append(b, ']'), edge.NoSeq)
}

// appendUDFFound appends the pairs whose code contains query, compared with and without the underscore.
func (m *Market) appendUDFFound(b []byte, query string, limit int64) []byte {
	root := m.board.Load()
	for _, id := range root.Sorted() {
		in := root.View(id).Instrument
		if limit == 0 {
			break
		}
		if !strings.Contains(in.Code, query) && !strings.Contains(in.Base+in.Quote, query) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		limit--
		b = append(append(b, `{"symbol":"`...), in.Code...)
		b = append(append(b, `","full_name":"TickHive:`...), in.Code...)
		b = append(append(append(append(b, `","description":"`...), in.Base...), '/'), in.Quote...)
		b = append(append(b, `","exchange":"TickHive","ticker":"`...), in.Code...)
		b = append(b, `","type":"crypto"}`...)
	}
	return b
}

// udfInterval returns the resolution of the parameter; the library has several spellings for days, weeks and
// months.
func udfInterval(c *edge.Ctx) (r udfResolution, err *refuse.Refusal) {
	text, err := c.Required("resolution")
	if err != nil {
		return r, err
	}
	switch text {
	case "D", "1440":
		text = "1D"
	case "W", "7D":
		text = "1W"
	case "M":
		text = "1M"
	}
	for _, r := range udfResolutions {
		if r.name == text {
			return r, nil
		}
	}
	return r, refuse.Param("resolution", "The parameter resolution must be one of %s.",
		strings.Join(udfNames(), ", "))
}

// udfHistory answers the bars from `from` to `to`, which is not included, or the newest `countback` bars before `to`.
// The times of the bars strictly increase. Without bars it answers no_data, and nextTime with the time of the
// newest earlier bar if there is one.
func udfHistory(m *Market, c *edge.Ctx) *refuse.Refusal {
	resolution, err := udfInterval(c)
	if err != nil {
		return err
	}
	last, to, given, err := udfSecond(c, "to")
	if err == nil && !given {
		err = edge.MissingParam("to")
	}
	if err != nil {
		return err
	}
	back, counted, err := c.Int("countback", 0, 0, udfMaxSecond)
	if err != nil {
		return err
	}
	first, from, given, err := udfSecond(c, "from")
	switch {
	case err != nil:
		return err
	case !given && back == 0:
		return edge.MissingParam("from")
	case first > last:
		return refuse.Param("from", "The parameter from must not be after to.")
	}
	v, err := m.udfView(c)
	if err != nil {
		return err
	}
	kept := v.Candles(resolution.interval)
	candles := udfSeries(&kept)
	if resolution.weekly {
		candles = weeksOf(&kept)
	}
	end := candles.Search(to)
	begin := candles.Search(from)
	if counted && back > 0 {
		begin = max(end-int(min(back, udfMaxBars)), 0)
	}
	begin = max(begin, end-udfMaxBars)
	if begin >= end {
		b := []byte(`{"s":"no_data"`)
		if begin > 0 {
			b = strconv.AppendInt(append(b, `,"nextTime":`...), candles.At(begin-1).Start, 10)
		}
		return c.SendBody(append(b, '}'), uint64(v.TradesSeq))
	}
	return c.SendBody(appendUDFBars(nil, v, candles, begin, end), uint64(v.TradesSeq))
}

func appendUDFBars(b []byte, v *marketdata.View, candles udfSeries, begin, end int) []byte {
	in := v.Instrument
	price := func(b []byte, ticks int64) []byte { return fixed.AppendI64(b, ticks, in.DigitsPrice) }
	b = append(b, `{"s":"ok"`...)
	for _, column := range []struct {
		name string
		add  func(b []byte, k *marketdata.Candle) []byte
	}{
		{"t", func(b []byte, k *marketdata.Candle) []byte { return strconv.AppendInt(b, k.Start, 10) }},
		{"o", func(b []byte, k *marketdata.Candle) []byte { return price(b, k.Open) }},
		{"h", func(b []byte, k *marketdata.Candle) []byte { return price(b, k.High) }},
		{"l", func(b []byte, k *marketdata.Candle) []byte { return price(b, k.Low) }},
		{"c", func(b []byte, k *marketdata.Candle) []byte { return price(b, k.Close) }},
		{"v", func(b []byte, k *marketdata.Candle) []byte { return fixed.AppendU128(b, k.Volume, in.DigitsAmount) }},
	} {
		b = append(append(append(b, `,"`...), column.name...), `":[`...)
		for i := begin; i < end; i++ {
			if i > begin {
				b = append(b, ',')
			}
			k := candles.At(i)
			b = column.add(b, &k)
		}
		b = append(b, ']')
	}
	return append(b, '}')
}
