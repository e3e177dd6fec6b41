package public

import (
	"bytes"
	"sort"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/doc"
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
	return c.SendBody(b, doc.NoSeq)
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
	return c.SendBody(append(appendUDFResolutions(b), '}'), doc.NoSeq)
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
	return c.SendBody(append(b, ']'), doc.NoSeq)
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

// udfMaxQuotes is the number of symbols of a request of quotes.
const udfMaxQuotes = 100

// udfQuotes answers the quotes of the watch list: one row a symbol in the order of the request. An unknown symbol is a
// row with an error, so that the rows of the others arrive.
func udfQuotes(m *Market, c *edge.Ctx) *refuse.Refusal {
	text, err := c.Required("symbols")
	if err != nil {
		return err
	}
	symbols := strings.Split(text, ",")
	if len(symbols) > udfMaxQuotes {
		return refuse.Param("symbols", "The parameter symbols must name at most %d symbols.", udfMaxQuotes)
	}
	root := m.board.Load()
	b := []byte(`{"s":"ok","d":[`)
	for i, symbol := range symbols {
		if i > 0 {
			b = append(b, ',')
		}
		v := root.Lookup(udfCode(symbol))
		if v == nil {
			b = encode.AppendString(append(b, `{"s":"error","n":`...), symbol)
			b = append(b, `,"v":{},"errmsg":"unknown_symbol"}`...)
			continue
		}
		b = encode.AppendString(append(b, `{"s":"ok","n":`...), symbol)
		b = append(appendQuote(append(b, `,"v":{`...), v), `}}`...)
	}
	return c.SendBody(append(b, `]}`...), root.SeqSum)
}

// appendQuote appends the members of a quote. Figures that do not exist are left out: a pair that has never traded has
// no price, one without a trade in 24 h no highest price, and an empty side no best price.
func appendQuote(b []byte, v *marketdata.View) []byte {
	t, in := &v.Ticker, v.Instrument
	price := func(exists bool, name string, ticks int64) {
		if exists {
			b = append(append(append(b, `,"`...), name...), `":`...)
			b = fixed.AppendI64(b, ticks, in.DigitsPrice)
		}
	}
	b = append(append(b, `"short_name":"`...), in.Code...)
	b = append(append(append(append(b, `","description":"`...), in.Base...), '/'), in.Quote...)
	b = append(b, `","exchange":"TickHive"`...)
	traded := t.LastTrade != 0
	price(traded, "lp", t.Last)
	price(traded, "ch", t.Last-t.Ago24h)
	if traded {
		b = append(b, `,"chp":`...)
		b = fixed.AppendI128(b, fixed.PercentChangeHalfEven(t.Last, t.Ago24h), fixed.QuotientDigits)
	}
	price(t.Ask != 0, "ask", t.Ask)
	price(t.Bid != 0, "bid", t.Bid)
	price(t.Ask != 0 && t.Bid != 0, "spread", t.Ask-t.Bid)
	price(traded, "open_price", t.Ago24h)
	price(t.High != 0, "high_price", t.High)
	price(t.Low != 0, "low_price", t.Low)
	price(traded, "prev_close_price", t.Ago24h)
	return fixed.AppendU128(append(b, `,"volume":`...), t.Volume, in.DigitsAmount)
}

// udfCode returns the pair code that a symbol of the charting library names.
func udfCode(symbol string) string {
	if at := strings.LastIndexByte(symbol, ':'); at >= 0 {
		symbol = symbol[at+1:]
	}
	return strings.ReplaceAll(symbol, "/", "_")
}

// udfSeries is a series of candles, oldest first.
type udfSeries interface {
	Len() int
	At(i int) marketdata.Candle
	// Search returns the index of the first candle that starts at sec or later.
	Search(sec int64) int
}

// weeks are candles of weeks, which begin on Monday in UTC.
type weeks []marketdata.Candle

const (
	weekSec = 7 * 24 * 3600
	// mondaySec is the start of the first week: 1970 began on a Thursday.
	mondaySec = -3 * 24 * 3600
)

// weeksOf folds the candles of days, at most 7,301.
func weeksOf(days *marketdata.Candles) weeks {
	var all weeks
	for i := range days.Len() {
		day := days.At(i)
		start := day.Start - (day.Start-mondaySec)%weekSec
		if n := len(all); n > 0 && all[n-1].Start == start {
			all[n-1].Merge(&day)
			continue
		}
		day.Start = start
		all = append(all, day)
	}
	return all
}

// Len implements udfSeries.
func (w weeks) Len() int { return len(w) }

// At implements udfSeries.
func (w weeks) At(i int) marketdata.Candle { return w[i] }

// Search implements udfSeries.
func (w weeks) Search(sec int64) int {
	return sort.Search(len(w), func(i int) bool { return w[i].Start >= sec })
}

// maxFraction is the number of fractional digits of a Unix second that are read.
const maxFraction = 18

// udfSecond returns a parameter in Unix seconds, which may have a fraction: JavaScript code divides milliseconds. Bars
// start at whole seconds, so those from it on, and those before it, are bounded by the next whole second, above.
func udfSecond(c *edge.Ctx, name string) (below, above int64, given bool, err *refuse.Refusal) {
	raw, err := c.Raw(name)
	if err != nil || len(raw) == 0 {
		return 0, 0, false, err
	}
	whole, fraction, pointed := bytes.Cut(raw, []byte("."))
	digits := bytes.TrimPrefix(whole, []byte("-"))
	if len(digits) == 0 || !isDigits(digits) || !isDigits(fraction) || pointed != (len(fraction) > 0) ||
		len(fraction) > maxFraction {
		return 0, 0, false, refuse.Param(name, "The parameter %s must be Unix seconds, with a fraction or without.",
			name)
	}
	sec, bad := strconv.ParseInt(string(whole), 10, 64)
	if bad != nil || sec < -udfMaxSecond || sec > udfMaxSecond {
		return 0, 0, false, refuse.Param(name, "The parameter %s must be from %d to %d.", name, -udfMaxSecond,
			udfMaxSecond)
	}
	below, above = sec, sec
	if len(bytes.Trim(fraction, "0")) > 0 {
		if raw[0] == '-' {
			below--
		} else {
			above++
		}
	}
	return below, above, true, nil
}

func isDigits(text []byte) bool {
	for _, b := range text {
		if b-'0' > 9 {
			return false
		}
	}
	return true
}
