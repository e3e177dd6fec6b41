package public

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/doc"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
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

// The parameters of the UDF routes.
var (
	// udfSymbol is a pair code, with or without the exchange's name in front.
	udfSymbol = edge.Declare(json.Field{Name: "symbol", Required: true}, func(raw []byte) ([]byte, string) {
		code := []byte(udfCode(string(raw)))
		if !engine.ValidPairCode(code) {
			return nil, "must be a pair code such as BTC_USDT."
		}
		return code, ""
	})
	udfQuery    = edge.Text("query")
	udfType     = edge.Text("type")
	udfExchange = edge.Text("exchange")
	udfLimit    = edge.Integer("limit", 1, udfMaxSearch).Default(30)

	// The charting library has several spellings for days, weeks and months.
	udfResolutionOf = edge.WordFor("resolution", udfNames(), func(text string) (r udfResolution, ok bool) {
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
				return r, true
			}
		}
		return r, false
	}).Need()
	udfTo        = edge.Declare(json.Field{Name: "to", Required: true}, parseSecond)
	udfFrom      = edge.Declare(json.Field{Name: "from"}, parseSecond)
	udfCountback = edge.Integer("countback", 0, udfMaxSecond)
	udfList      = edge.Text("symbols").Need()
)

// UDFRoutes returns the routes of /udf/*: the datafeed protocol of TradingView's charting library over the same
// views as the REST routes. Every refusal, also one of the listener, is the error object of
// docs/contract/errors.md#error-object with the members that edge.errorObject adds for charts.
func (m *Market) UDFRoutes(*edge.Server) []*edge.Route {
	route := func(name string, h func(*Market, *edge.Ctx) *refuse.Refusal, params ...edge.Declared) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodGet, Path: "/udf/" + name, Public: true, Auth: edge.AuthNever,
			Params: edge.Params(params...),
			Handle: func(c *edge.Ctx) *refuse.Refusal { return h(m, c) },
		}
	}
	ofPair := func(name string, h func(*Market, *edge.Ctx) *refuse.Refusal, params ...edge.Declared) *edge.Route {
		r := route(name, h, append(params, udfSymbol)...)
		r.Symbol, r.Code = "symbol", udfCode
		return r
	}
	return []*edge.Route{
		route("config", udfConfig),
		ofPair("symbols", udfSymbols),
		route("search", udfSearch, udfQuery, udfType, udfExchange, udfLimit),
		ofPair("history", udfHistory, udfResolutionOf, udfTo, udfCountback, udfFrom),
		route("quotes", udfQuotes, udfList),
		route("time", udfTime),
	}
}

func udfConfig(m *Market, c *edge.Ctx) *refuse.Refusal {
	var w json.Writer
	w.Object()
	w.Name("supported_resolutions").Words(udfNames()...)
	w.Name("supports_search").Bool(true)
	w.Name("supports_group_request").Bool(false)
	w.Name("supports_marks").Bool(false)
	w.Name("supports_timescale_marks").Bool(false)
	w.Name("supports_time").Bool(true)
	w.Name("exchanges").List()
	w.Object()
	w.Name("value").Word("TickHive")
	w.Name("name").Word("TickHive")
	w.Name("desc").Word("TickHive")
	w.EndObject()
	w.EndList()
	w.Name("symbols_types").List()
	w.Object()
	w.Name("name").Word("Spot")
	w.Name("value").Word("crypto")
	w.EndObject()
	w.EndList()
	w.EndObject()
	return c.SendBody(w.Bytes(), doc.NoSeq)
}

func udfTime(m *Market, c *edge.Ctx) *refuse.Refusal {
	c.Private(strconv.AppendInt(nil, fixed.FloorDiv(m.opt.Clock.NowNs(), 1_000_000_000), 10))
	c.Response.Header.SetContentType("text/plain; charset=utf-8")
	return nil
}

// udfView returns the view of the pair that the parameter symbol names.
func (m *Market) udfView(c *edge.Ctx) (*marketdata.View, *refuse.Refusal) {
	code, err := udfSymbol.Of(c)
	if err != nil {
		return nil, err
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
	scale := append([]byte{'1'}, strings.Repeat("0", in.DigitsPrice)...)
	var w json.Writer
	w.Object()
	w.Name("name").Word(in.Code)
	w.Name("ticker").Word(in.Code)
	w.Name("description").Word(name)
	w.Name("base_currency").Word(in.Base)
	w.Name("currency_code").Word(in.Quote)
	w.Name("type").Word("crypto")
	w.Name("session").Word("24x7")
	w.Name("timezone").Word("Etc/UTC")
	for _, exchange := range []string{"exchange", "listed_exchange", "exchange-traded", "exchange-listed"} {
		w.Name(exchange).Word("TickHive")
	}
	w.Name("format").Word("price")
	w.Name("minmov").Int(1)
	w.Name("minmov2").Int(0)
	w.Name("minmovement").Int(1)
	w.Name("minmovement2").Int(0)
	w.Name("pointvalue").Int(1)
	w.Name("pricescale").Raw(scale)
	w.Name("volume_precision").Int(int64(in.DigitsAmount))
	w.Name("has_intraday").Bool(true)
	w.Name("has_daily").Bool(true)
	w.Name("has_weekly_and_monthly").Bool(true)
	w.Name("has_empty_bars").Bool(false)
	w.Name("has_no_volume").Bool(false)
	w.Name("intraday_multipliers").Words("1", "3", "5", "15", "30", "60", "240")
	w.Name("daily_multipliers").Words("1")
	w.Name("weekly_multipliers").Words("1")
	w.Name("monthly_multipliers").Words("1", "12")
	w.Name("data_status").Word("streaming")
	w.Name("supported_resolutions").Words(udfNames()...)
	w.EndObject()
	return c.SendBody(w.Bytes(), doc.NoSeq)
}

func udfSearch(m *Market, c *edge.Ctx) *refuse.Refusal {
	query, err := udfQuery.Of(c)
	if err != nil {
		return err
	}
	kind, err := udfType.Of(c)
	if err != nil {
		return err
	}
	exchange, err := udfExchange.Of(c)
	if err != nil {
		return err
	}
	limit, err := udfLimit.Of(c)
	if err != nil {
		return err
	}
	if len(query) > udfMaxText {
		return refuse.Param("query", "The parameter query must have at most %d characters.", udfMaxText)
	}
	var w json.Writer
	w.List()
	is := func(text, name string) bool { return text == "" || strings.EqualFold(text, name) }
	if is(kind, "crypto") && is(exchange, "TickHive") {
		m.writeUDFFound(&w, strings.ToUpper(strings.ReplaceAll(query, "/", "_")), limit)
	}
	w.EndList()
	return c.SendBody(w.Bytes(), doc.NoSeq)
}

// writeUDFFound writes the pairs whose code contains query, compared with and without the underscore.
func (m *Market) writeUDFFound(w *json.Writer, query string, limit int64) {
	root := m.board.Load()
	for _, id := range root.Sorted() {
		in := root.View(id).Instrument
		if limit == 0 {
			break
		}
		if !strings.Contains(in.Code, query) && !strings.Contains(in.Base+in.Quote, query) {
			continue
		}
		limit--
		w.Object()
		w.Name("symbol").Word(in.Code)
		w.Name("full_name").Word("TickHive:" + in.Code)
		w.Name("description").Word(in.Base + "/" + in.Quote)
		w.Name("exchange").Word("TickHive")
		w.Name("ticker").Word(in.Code)
		w.Name("type").Word("crypto")
		w.EndObject()
	}
}

// udfHistory answers the bars from `from` to `to`, which is not included, or the newest `countback` bars before `to`.
// The times of the bars strictly increase. Without bars it answers no_data, and nextTime with the time of the
// newest earlier bar if there is one.
func udfHistory(m *Market, c *edge.Ctx) *refuse.Refusal {
	resolution, err := udfResolutionOf.Of(c)
	if err != nil {
		return err
	}
	to, err := udfTo.Of(c)
	if err != nil {
		return err
	}
	back, counted, err := udfCountback.Find(c)
	if err != nil {
		return err
	}
	from, given, err := udfFrom.Find(c)
	switch {
	case err != nil:
		return err
	case !given && back == 0:
		return refuse.Param("from", "The parameter from is required.")
	case from.below > to.below:
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
	end := candles.Search(to.above)
	begin := candles.Search(from.above)
	if counted && back > 0 {
		begin = max(end-int(min(back, udfMaxBars)), 0)
	}
	begin = max(begin, end-udfMaxBars)
	if begin >= end {
		var w json.Writer
		w.Object()
		w.Name("s").Word("no_data")
		if begin > 0 {
			w.Name("nextTime").Int(candles.At(begin - 1).Start)
		}
		w.EndObject()
		return c.SendBody(w.Bytes(), uint64(v.TradesSeq))
	}
	return c.SendBody(udfBars(v.Instrument, candles, begin, end), uint64(v.TradesSeq))
}

// udfBars returns the bars from begin to end, which is not included, as a column for each figure.
func udfBars(in *engine.Instrument, candles udfSeries, begin, end int) []byte {
	var w json.Writer
	w.Object()
	w.Name("s").Word("ok")
	for _, column := range []struct {
		name string
		add  func(k *marketdata.Candle)
	}{
		{"t", func(k *marketdata.Candle) { w.Int(k.Start) }},
		{"o", func(k *marketdata.Candle) { w.Units(k.Open, in.DigitsPrice) }},
		{"h", func(k *marketdata.Candle) { w.Units(k.High, in.DigitsPrice) }},
		{"l", func(k *marketdata.Candle) { w.Units(k.Low, in.DigitsPrice) }},
		{"c", func(k *marketdata.Candle) { w.Units(k.Close, in.DigitsPrice) }},
		{"v", func(k *marketdata.Candle) { w.Sum(k.Volume, in.DigitsAmount) }},
	} {
		w.Name(column.name).List()
		for i := begin; i < end; i++ {
			k := candles.At(i)
			column.add(&k)
		}
		w.EndList()
	}
	w.EndObject()
	return w.Bytes()
}

// udfMaxQuotes is the number of symbols of a request of quotes.
const udfMaxQuotes = 100

// udfQuotes answers the quotes of the watch list: one row a symbol in the order of the request. An unknown symbol is a
// row with an error, so that the rows of the others arrive.
func udfQuotes(m *Market, c *edge.Ctx) *refuse.Refusal {
	text, err := udfList.Of(c)
	if err != nil {
		return err
	}
	symbols := strings.Split(text, ",")
	if len(symbols) > udfMaxQuotes {
		return refuse.Param("symbols", "The parameter symbols must name at most %d symbols.", udfMaxQuotes)
	}
	root := m.board.Load()
	var w json.Writer
	w.Object()
	w.Name("s").Word("ok")
	w.Name("d").List()
	for _, symbol := range symbols {
		v, state := root.Lookup(udfCode(symbol)), "ok"
		if v == nil {
			state = "error"
		}
		w.Object()
		w.Name("s").Word(state)
		w.Name("n").Text(symbol)
		w.Name("v").Object()
		if v != nil {
			writeQuote(&w, v)
		}
		w.EndObject()
		if v == nil {
			w.Name("errmsg").Word("unknown_symbol")
		}
		w.EndObject()
	}
	w.EndList()
	w.EndObject()
	return c.SendBody(w.Bytes(), root.SeqSum)
}

// writeQuote writes the members of a quote. Figures that do not exist are left out: a pair that has never traded has
// no price, one without a trade in 24 h no highest price, and an empty side no best price.
func writeQuote(w *json.Writer, v *marketdata.View) {
	t, in := &v.Ticker, v.Instrument
	price := func(exists bool, name string, ticks int64) {
		if exists {
			w.Name(name).Units(ticks, in.DigitsPrice)
		}
	}
	w.Name("short_name").Word(in.Code)
	w.Name("description").Word(in.Base + "/" + in.Quote)
	w.Name("exchange").Word("TickHive")
	traded := t.LastTrade != 0
	price(traded, "lp", t.Last)
	price(traded, "ch", t.Last-t.Ago24h)
	if traded {
		w.Name("chp").Signed(fixed.PercentChangeHalfEven(t.Last, t.Ago24h), fixed.QuotientDigits)
	}
	price(t.Ask != 0, "ask", t.Ask)
	price(t.Bid != 0, "bid", t.Bid)
	price(t.Ask != 0 && t.Bid != 0, "spread", t.Ask-t.Bid)
	price(traded, "open_price", t.Ago24h)
	price(t.High != 0, "high_price", t.High)
	price(t.Low != 0, "low_price", t.Low)
	price(traded, "prev_close_price", t.Ago24h)
	w.Name("volume").Sum(t.Volume, in.DigitsAmount)
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

// second is a moment in Unix seconds between two whole ones, or both of them.
type second struct{ below, above int64 }

// parseSecond reads Unix seconds, which may have a fraction: JavaScript code divides milliseconds. Bars start at whole
// seconds, so those from the moment on, and those before it, are bounded by the next whole second, above.
func parseSecond(raw []byte) (at second, rule string) {
	whole, fraction, pointed := bytes.Cut(raw, []byte("."))
	digits := bytes.TrimPrefix(whole, []byte("-"))
	if len(digits) == 0 || !isDigits(digits) || !isDigits(fraction) || pointed != (len(fraction) > 0) ||
		len(fraction) > maxFraction {
		return at, "must be Unix seconds, with a fraction or without."
	}
	sec, bad := strconv.ParseInt(string(whole), 10, 64)
	if bad != nil || sec < -udfMaxSecond || sec > udfMaxSecond {
		return at, fmt.Sprintf("must be from %d to %d.", -udfMaxSecond, udfMaxSecond)
	}
	at = second{sec, sec}
	if len(bytes.Trim(fraction, "0")) > 0 {
		if raw[0] == '-' {
			at.below--
		} else {
			at.above++
		}
	}
	return at, ""
}

func isDigits(text []byte) bool {
	for _, b := range text {
		if b-'0' > 9 {
			return false
		}
	}
	return true
}
