package binance

import (
	"cmp"
	stdjson "encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
)

// symbols translates between pairs and symbols. A symbol is the base and the quote currency without a separator.
// Of two pairs with the same symbol the older one has it; the younger one keeps its pair code. Immutable.
type symbols struct {
	version uint64
	pairs   int
	names   []string // by pair id
	ids     map[string]engine.PairID
}

// symbolsOf returns the symbols of root. It makes them again when a pair was added.
func (f *Facade) symbolsOf(root *marketdata.Root) *symbols {
	if s := f.symbols.Load(); s != nil && s.version == root.PairsVersion && s.pairs == root.Len() {
		return s
	}
	s := &symbols{
		version: root.PairsVersion, pairs: root.Len(), names: make([]string, root.Len()),
		ids: make(map[string]engine.PairID, root.Len()),
	}
	for id := range engine.PairID(root.Len()) {
		v := root.View(id)
		if v == nil {
			continue
		}
		name := v.Instrument.Base + v.Instrument.Quote
		if _, taken := s.ids[name]; taken {
			name = v.Instrument.Code
		}
		s.names[id], s.ids[name] = name, id
	}
	f.symbols.Store(s)
	return s
}

// view returns the view of a symbol, nil for an unknown one.
func (s *symbols) view(root *marketdata.Root, symbol string) *marketdata.View {
	id, ok := s.ids[symbol]
	if !ok {
		return nil
	}
	return root.View(id)
}

// of returns the symbol of a pair.
func (s *symbols) of(in *engine.Instrument) string { return s.names[in.ID] }

func ping(q *call) ([]byte, *failure) { return []byte("{}"), nil }

func serverTime(q *call) ([]byte, *failure) {
	w := q.writer()
	w.Object()
	w.Name("serverTime").Time(q.f.opt.Clock.NowNs() + q.skewNs)
	w.EndObject()
	return w.Bytes(), nil
}

func systemStatus(q *call) ([]byte, *failure) {
	var w json.Writer
	w.Object()
	w.Name("status").Int(0)
	w.Name("msg").Word("normal")
	w.EndObject()
	return w.Bytes(), nil
}

// noContracts answers for the exchanges of futures, which have no pairs here.
func noContracts(q *call) ([]byte, *failure) {
	w := q.writer()
	w.Object()
	w.Name("timezone").Word("UTC")
	w.Name("serverTime").Time(q.f.opt.Clock.NowNs())
	for _, empty := range []string{"rateLimits", "exchangeFilters", "assets", "symbols"} {
		w.Name(empty).Words()
	}
	w.EndObject()
	return w.Bytes(), nil
}

// maxInfoSymbols bounds the list symbols of exchangeInfo.
const maxInfoSymbols = 1000

func exchangeInfo(q *call) ([]byte, *failure) {
	views, root, given, err := q.views(maxInfoSymbols)
	if err != nil {
		return nil, err
	}
	status, err := q.statusOfAll(given)
	if err != nil {
		return nil, err
	}
	spot, err := q.wantsSpot(given)
	if err != nil {
		return nil, err
	}
	sets, err := q.word("showPermissionSets", "true", "false")
	if err != nil {
		return nil, err
	}
	w := q.writer()
	w.Object()
	w.Name("timezone").Word("UTC")
	w.Name("serverTime").Time(q.f.opt.Clock.NowNs())
	w.Name("rateLimits").List()
	weightLimit.write(&w, noCount)
	for i := range orderLimits {
		orderLimits[i].write(&w, noCount)
	}
	w.EndList()
	w.Name("exchangeFilters").Words()
	w.Name("symbols").List()
	names := q.f.symbolsOf(root)
	for _, v := range views {
		if state := statusOf(v.Instrument.State); spot && (status == "" || state == status) {
			q.f.writeSymbol(&w, v.Instrument, names.of(v.Instrument), sets == "true")
		}
	}
	w.EndList()
	w.EndObject()
	return w.Bytes(), nil
}

// symbolStatus reads the parameter of the same name, "" without one.
func (q *call) symbolStatus() (string, *failure) {
	status, given := q.text("symbolStatus")
	if given && status != "TRADING" && status != "HALT" && status != "BREAK" {
		return "", invalid("symbolStatus")
	}
	return status, nil
}

// statusOfAll reads symbolStatus of a request about all pairs: it does not go together with named symbols.
func (q *call) statusOfAll(named bool) (string, *failure) {
	status, err := q.symbolStatus()
	if err == nil && named && status != "" {
		err = badCombination()
	}
	return status, err
}

// pairInStatus returns the view of the required parameter symbol, whose status is the symbolStatus of the request.
func (q *call) pairInStatus() (*marketdata.View, *failure) {
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	status, err := q.symbolStatus()
	if err == nil && status != "" && statusOf(v.Instrument.State) != status {
		err = otherStatus()
	}
	return v, err
}

func otherStatus() *failure {
	return fail(codeOtherStatus, "The symbol's status does not match the requested symbolStatus.")
}

const permissionForm = "^(SPOT|MARGIN|LEVERAGED|TRD_GRP_[0-9]{3})$"

var permission = regexp.MustCompile(permissionForm)

// wantsSpot reports whether the parameter permissions, a word or a list of words, includes SPOT, the only permission
// that pairs have.
func (q *call) wantsSpot(named bool) (bool, *failure) {
	text, given := q.text("permissions")
	if !given {
		return true, nil
	}
	words := []string{text}
	switch {
	case named:
		return false, badCombination()
	case text[0] == '[' && stdjson.Unmarshal([]byte(text), &words) != nil:
		return false, illegal("permissions", "a word or a list of words")
	}
	for _, word := range words {
		if !permission.MatchString(word) {
			return false, invalid("permissions")
		}
	}
	return slices.Contains(words, "SPOT"), nil
}

func statusOf(s engine.PairState) string {
	switch s {
	case engine.Online, engine.PostOnlyState:
		return "TRADING"
	case engine.CancelOnly:
		return "BREAK"
	case engine.Halted, engine.Delisted:
	}
	return "HALT"
}

func (f *Facade) writeSymbol(w *json.Writer, in *engine.Instrument, name string, sets bool) {
	w.Object()
	w.Name("symbol").Word(name)
	w.Name("status").Word(statusOf(in.State))
	w.Name("baseAsset").Word(in.Base)
	w.Name("baseAssetPrecision").Int(int64(in.BaseDigits))
	w.Name("quoteAsset").Word(in.Quote)
	w.Name("quotePrecision").Int(int64(in.QuoteDigits))
	w.Name("quoteAssetPrecision").Int(int64(in.QuoteDigits))
	w.Name("baseCommissionPrecision").Int(int64(in.BaseDigits))
	w.Name("quoteCommissionPrecision").Int(int64(in.QuoteDigits))
	if in.State == engine.PostOnlyState {
		w.Name("orderTypes").Words("LIMIT_MAKER")
	} else {
		w.Name("orderTypes").Words("LIMIT", "LIMIT_MAKER", "MARKET", "STOP_LOSS", "STOP_LOSS_LIMIT",
			"TAKE_PROFIT", "TAKE_PROFIT_LIMIT")
	}
	w.Name("icebergAllowed").Bool(true)
	w.Name("ocoAllowed").Bool(true)
	w.Name("otoAllowed").Bool(true)
	w.Name("opoAllowed").Bool(true)
	w.Name("quoteOrderQtyMarketAllowed").Bool(true)
	w.Name("allowTrailingStop").Bool(true)
	w.Name("cancelReplaceAllowed").Bool(true)
	w.Name("amendAllowed").Bool(true)
	w.Name("pegInstructionsAllowed").Bool(false)
	w.Name("isSpotTradingAllowed").Bool(true)
	w.Name("isMarginTradingAllowed").Bool(false)
	w.Name("filters").List()
	f.writeFilters(w, in)
	w.EndList()
	w.Name("permissions").Words()
	w.Name("permissionSets").List()
	if sets {
		w.Words("SPOT")
	}
	w.EndList()
	w.Name("defaultSelfTradePreventionMode").Word(selfTrades[engine.CancelMaker])
	w.Name("allowedSelfTradePreventionModes").Words(append(selfTrades[:], transfer)...)
	w.EndObject()
}

// writeFilters writes the rules of the pair in the form of filters.
func (f *Facade) writeFilters(w *json.Writer, in *engine.Instrument) {
	writeRange(w, "PRICE_FILTER", "Price", in.LargestPrice(), in.DigitsPrice, "tickSize")
	writeRange(w, "LOT_SIZE", "Qty", in.LargestAmount(), in.DigitsAmount, "stepSize")
	writeRange(w, "MARKET_LOT_SIZE", "Qty", in.LargestAmount(), in.DigitsAmount, "stepSize")
	least, most := fixed.U128{}, in.MaxSettled()
	if in.HasMinQuote {
		least = in.MinQuote
	}
	if !in.MaxQuote.IsZero() {
		most = in.MaxQuote
	}
	w.Object()
	w.Name("filterType").Word("NOTIONAL")
	w.Name("minNotional").Sum(least, in.DigitsTotal())
	w.Name("applyMinToMarket").Bool(false)
	w.Name("maxNotional").Sum(most, in.DigitsTotal())
	w.Name("applyMaxToMarket").Bool(false)
	w.Name("avgPriceMins").Int(0)
	w.EndObject()
	if in.BandUp|in.BandDown != 0 {
		up, down := int64(cmp.Or(in.BandUp, math.MaxInt64)), int64(in.BandDown)
		w.Object()
		w.Name("filterType").Word("PERCENT_PRICE_BY_SIDE")
		w.Name("bidMultiplierUp").Rate(up, engine.RateScale)
		w.Name("bidMultiplierDown").Rate(down, engine.RateScale)
		w.Name("askMultiplierUp").Rate(up, engine.RateScale)
		w.Name("askMultiplierDown").Rate(down, engine.RateScale)
		w.Name("avgPriceMins").Int(0)
		w.EndObject()
	}
	o := &f.opt.Engine
	for _, filter := range [...]struct {
		kind, name string
		most       int
	}{
		{"ICEBERG_PARTS", "limit", int(cmp.Or(o.IcebergSlices, engine.DefaultIcebergSlices))},
		{"MAX_NUM_ORDERS", "maxNumOrders", cmp.Or(o.AccountOrders, engine.DefaultAccountOrders)},
		{"MAX_NUM_ALGO_ORDERS", "maxNumAlgoOrders", cmp.Or(o.AccountStops, engine.DefaultAccountStops)},
		{"MAX_NUM_ORDER_LISTS", "maxNumOrderLists", cmp.Or(o.AccountLists, engine.DefaultAccountLists)},
		{"MAX_NUM_ORDER_AMENDS", "maxNumOrderAmends", engine.MaxAmends},
	} {
		w.Object()
		w.Name("filterType").Word(filter.kind)
		w.Name(filter.name).Int(int64(filter.most))
		w.EndObject()
	}
	w.Object()
	w.Name("filterType").Word("TRAILING_DELTA")
	for _, place := range [...]string{"Above", "Below"} {
		w.Name("minTrailing" + place + "Delta").Int(engine.MinTrail)
		w.Name("maxTrailing" + place + "Delta").Int(engine.MaxTrail)
	}
	w.EndObject()
}

// writeRange writes a filter with the smallest value, which is a unit, the largest one and the unit.
func writeRange(w *json.Writer, filter, what string, most int64, digits int, step string) {
	w.Object()
	w.Name("filterType").Word(filter)
	w.Name("min"+what).Units(1, digits)
	w.Name("max"+what).Units(most, digits)
	w.Name(step).Units(1, digits)
	w.EndObject()
}

// secondOf returns the Unix second of the publication of root, by which its windows count.
func secondOf(root *marketdata.Root) int64 { return fixed.FloorDiv(root.NowNs, 1_000_000_000) }

// maxDepth is the largest number of levels of a side that depth shows.
const maxDepth = 5000

func depth(q *call) ([]byte, *failure) {
	levels, err := q.limit(100, maxDepth)
	if err != nil {
		return nil, err
	}
	weight := 250
	for _, step := range [...][2]int{{1000, 50}, {500, 25}, {100, 5}} {
		if levels <= step[0] {
			weight = step[1]
		}
	}
	if err := q.pay(weight); err != nil {
		return nil, err
	}
	v, err := q.pairInStatus()
	if err != nil {
		return nil, err
	}
	return appendBook(v, levels), nil
}

// appendBook returns the best levels of both sides.
func appendBook(v *marketdata.View, levels int) []byte {
	w := json.Quoted(nil)
	w.Object()
	w.Name("lastUpdateId").Uint(uint64(v.BookSeq))
	writeLevels(w.Name("bids"), v.Instrument, &v.Bids, levels)
	writeLevels(w.Name("asks"), v.Instrument, &v.Asks, levels)
	w.EndObject()
	return w.Bytes()
}

// writeLevels writes the best levels of a side.
func writeLevels(w *json.Writer, in *engine.Instrument, side *marketdata.Side, most int) {
	w.List()
	for l := range side.All {
		if most--; most < 0 {
			break
		}
		writeLevel(w, in, l)
	}
	w.EndList()
}

// writeLevel writes one level of a book; streams send it too.
func writeLevel(w *json.Writer, in *engine.Instrument, l marketdata.Level) {
	w.List()
	w.Units(l.Price, in.DigitsPrice)
	w.Units(l.Amount, in.DigitsAmount)
	w.EndList()
}

// The number of trades in an answer.
const (
	defaultTrades = 500
	maxTrades     = 1000
)

const (
	msNs  = 1_000_000
	secNs = 1_000_000_000
)

func trades(q *call) ([]byte, *failure) { return q.tradeList(false) }

func historicalTrades(q *call) ([]byte, *failure) { return q.tradeList(true) }

// tradeList answers with the newest trades, or with those from the parameter fromId on.
func (q *call) tradeList(history bool) ([]byte, *failure) {
	limit, err := q.limit(defaultTrades, maxTrades)
	if err != nil {
		return nil, err
	}
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	low, high := newest(&v.Trades, limit)
	if history && q.sent("fromId") {
		from, err := q.number("fromId", 0)
		if err != nil {
			return nil, err
		}
		low, high = fromID(&v.Trades, from, limit)
	}
	w := q.writer()
	w.List()
	for id := low; id <= high && id > 0; id++ {
		t := v.Trades.At(id)
		writeTrade(&w, v.Instrument, id, &t)
	}
	w.EndList()
	return w.Bytes(), nil
}

// newest returns the ids of the newest trades, at most limit.
func newest(t *marketdata.Trades, limit int) (low, high engine.TradeID) {
	high = t.Last()
	return t.First() + engine.TradeID(max(t.Len()-limit, 0)), high
}

// fromID returns the ids of at most limit trades from an id on.
func fromID(t *marketdata.Trades, from int64, limit int) (low, high engine.TradeID) {
	low = max(t.First(), engine.TradeID(from))
	if low > t.Last() {
		return 1, 0
	}
	return low, min(t.Last(), low+engine.TradeID(limit-1))
}

func writeTrade(w *json.Writer, in *engine.Instrument, id engine.TradeID, t *marketdata.Trade) {
	w.Object()
	w.Name("id").Uint(uint64(id))
	w.Name("price").Units(t.Price, in.DigitsPrice)
	w.Name("qty").Units(t.Amount, in.DigitsAmount)
	w.Name("quoteQty").Sum(fixed.Mul64(uint64(t.Price), uint64(t.Amount)), in.DigitsTotal())
	w.Name("time").Time(t.TimeNs)
	w.Name("isBuyerMaker").Bool(t.TakerSide == engine.Sell)
	w.Name("isBestMatch").Bool(true)
	w.EndObject()
}

// aggTrades answers with one aggregate a trade, because each fill is reported on its own here.
func aggTrades(q *call) ([]byte, *failure) {
	limit, err := q.limit(defaultTrades, maxTrades)
	if err != nil {
		return nil, err
	}
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	t := &v.Trades
	low, high := newest(t, limit)
	timed := q.sent("startTime") || q.sent("endTime")
	if q.sent("fromId") {
		if timed {
			return nil, badCombination()
		}
		from, err := q.number("fromId", 0)
		if err != nil {
			return nil, err
		}
		low, high = fromID(t, from, limit)
	} else if timed {
		startNs, endNs, err := q.span()
		if err != nil {
			return nil, err
		}
		low, high = max(t.Search(startNs), t.First()), t.Search(endNs+1)-1
		if q.sent("startTime") {
			high = min(high, low+engine.TradeID(limit-1))
		} else if high >= low && int(high-low) >= limit {
			low = high - engine.TradeID(limit-1)
		}
	}
	w := q.writer()
	w.List()
	for id := low; id <= high && id > 0; id++ {
		trade := t.At(id)
		w.Object()
		writeAggregate(&w, v.Instrument, id, &trade)
		w.EndObject()
	}
	w.EndList()
	return w.Bytes(), nil
}

// writeAggregate writes the members of an aggregate of one trade; streams send them too.
func writeAggregate(w *json.Writer, in *engine.Instrument, id engine.TradeID, t *marketdata.Trade) {
	w.Name("a").Uint(uint64(id))
	w.Name("p").Units(t.Price, in.DigitsPrice)
	w.Name("q").Units(t.Amount, in.DigitsAmount)
	w.Name("f").Uint(uint64(id))
	w.Name("l").Uint(uint64(id))
	w.Name("T").Time(t.TimeNs)
	w.Name("m").Bool(t.TakerSide == engine.Sell)
	w.Name("M").Bool(true)
}

const (
	defaultKlines = 500
	maxKlines     = 1000

	minuteSec, hourSec, daySec = 60, 3600, 86_400
)

// Interval is an interval of klines. Its rows are sums of the candles of base, or of trades.
type Interval struct {
	Name   string
	sec    int64 // length; 0: a calendar month
	offset int64 // Unix second of a boundary; of months, minus the offset of their calendar from UTC
	base   marketdata.Interval
}

// intervals lists all of them, in UTC. Weeks begin on Mondays, intervals of three days at multiples of three days
// since 1970-01-01.
var intervals = func() (list []*Interval) {
	for _, i := range []Interval{
		{Name: "1s", sec: 1},
		{Name: "1m", sec: minuteSec},
		{Name: "3m", sec: 3 * minuteSec},
		{Name: "5m", sec: 5 * minuteSec},
		{Name: "15m", sec: 15 * minuteSec},
		{Name: "30m", sec: 30 * minuteSec},
		{Name: "1h", sec: hourSec},
		{Name: "2h", sec: 2 * hourSec},
		{Name: "4h", sec: 4 * hourSec},
		{Name: "6h", sec: 6 * hourSec},
		{Name: "8h", sec: 8 * hourSec},
		{Name: "12h", sec: 12 * hourSec},
		{Name: "1d", sec: daySec},
		{Name: "3d", sec: 3 * daySec},
		{Name: "1w", sec: 7 * daySec, offset: 4 * daySec},
		{Name: "1M"},
	} {
		list = append(list, i.In(0))
	}
	return list
}()

// ParseInterval returns the interval with this name, in UTC.
func ParseInterval(name string) (*Interval, bool) {
	for _, i := range intervals {
		if i.Name == name {
			return i, true
		}
	}
	return nil, false
}

// In returns the interval as a calendar cuts it whose offset from UTC is zone seconds, whole minutes. i is in UTC. The
// rows are sums of the longest candles whose boundaries fit.
func (i *Interval) In(zone int64) *Interval {
	out := *i
	out.offset -= zone
	switch {
	case i.sec == 0 && zone == 0:
		out.base = marketdata.Month
	case i.sec == 0:
		out.base = marketdata.Fitting(daySec, out.offset)
	case !i.fromTrades():
		out.base = marketdata.Fitting(i.sec, out.offset)
	}
	return &out
}

// fromTrades reports whether the rows are sums of trades: no kept candle is as short.
func (i *Interval) fromTrades() bool { return i.sec == 1 }

// Floor returns the second at which the interval containing sec begins.
func (i *Interval) Floor(sec int64) int64 {
	if i.sec == 0 {
		return marketdata.Month.Floor(sec-i.offset) + i.offset
	}
	return i.offset + fixed.FloorDiv(sec-i.offset, i.sec)*i.sec
}

// Next returns the end of the interval that contains sec.
func (i *Interval) Next(sec int64) int64 {
	if i.sec == 0 {
		return marketdata.Month.Next(sec-i.offset) + i.offset
	}
	return i.Floor(sec) + i.sec
}

// Kline is one row. FirstID is 0 when no trade of it is kept.
type Kline struct {
	marketdata.Candle
	End             int64 // Unix second at which the next row begins
	FirstID, LastID engine.TradeID
}

func klines(q *call) ([]byte, *failure) {
	limit, err := q.limit(defaultKlines, maxKlines)
	if err != nil {
		return nil, err
	}
	name, err := q.required("interval")
	if err != nil {
		return nil, err
	}
	i, ok := ParseInterval(name)
	if !ok {
		return nil, fail(codeBadInterval, "Invalid interval.")
	}
	zone, err := q.timeZone()
	if err != nil {
		return nil, err
	}
	i = i.In(zone)
	from := q.sent("startTime")
	startNs, endNs, err := q.span()
	if err != nil {
		return nil, err
	}
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	low := -fixed.FloorDiv(-startNs, secNs)
	high := min(endNs, q.f.opt.Clock.NowNs()) / secNs
	rows := NewKlines(v, i)
	w := q.writer()
	w.List()
	for at := rows.start(low, high, limit, from); at <= high && limit > 0; at = i.Next(at) {
		k, ok := rows.At(at)
		if !ok {
			continue
		}
		writeKline(&w, v.Instrument, &k)
		limit--
	}
	w.EndList()
	return w.Bytes(), nil
}

const (
	zoneForm           = "^[+-]?[0-9]{1,2}(:[0-5][0-9])?$"
	zoneWest, zoneEast = -12 * hourSec, 14 * hourSec
)

var zoneText = regexp.MustCompile(zoneForm)

// ParseZone returns the offset from UTC in seconds that a text such as 8, +08:00, -1:00 or 05:45 names.
func ParseZone(text string) (sec int64, ok bool) {
	if !zoneText.MatchString(text) {
		return 0, false
	}
	digits := strings.TrimLeft(text, "+-")
	hours, minutes, _ := strings.Cut(digits, ":")
	h, _ := strconv.ParseInt(hours, 10, 64)
	m, _ := strconv.ParseInt(cmp.Or(minutes, "0"), 10, 64)
	if sec = h*hourSec + m*minuteSec; text[0] == '-' {
		sec = -sec
	}
	return sec, zoneWest <= sec && sec <= zoneEast
}

// timeZone reads the offset from UTC at which the request cuts days and candles, 0 without one.
func (q *call) timeZone() (sec int64, err *failure) {
	text, given := q.text("timeZone")
	if !given {
		return 0, nil
	}
	sec, ok := ParseZone(text)
	if !ok {
		return 0, invalid("timeZone")
	}
	return sec, nil
}

// Klines makes the rows of one interval from one view. The times of its rows must ascend.
type Klines struct {
	view    *marketdata.View
	candles marketdata.Candles // the rows are their sums, unless i.fromTrades()
	i       *Interval
	close   int64
	primed  bool
}

// NewKlines returns the rows of a pair.
func NewKlines(v *marketdata.View, i *Interval) *Klines {
	return &Klines{view: v, candles: v.Candles(i.base), i: i}
}

// start returns where the first row begins: the first boundary at or after low, or the beginning of the last limit
// rows up to high. No row is before the first candle.
func (w *Klines) start(low, high int64, limit int, fromLow bool) int64 {
	first, ok := w.first()
	if !ok {
		return high + 1
	}
	if at := w.i.Floor(low); fromLow {
		if at < low {
			at = w.i.Next(low)
		}
		return max(at, first)
	}
	at := w.i.Floor(high)
	for ; limit > 1 && at > first; limit-- {
		at = w.i.Floor(at - 1)
	}
	return max(at, first)
}

// first returns the beginning of the oldest row.
func (w *Klines) first() (int64, bool) {
	if w.i.fromTrades() {
		if w.view.Trades.Len() == 0 {
			return 0, false
		}
		t := &w.view.Trades
		first := fixed.FloorDiv(t.At(t.First()).TimeNs, 1_000_000_000)
		if fixed.FloorDiv(t.DroppedNs(), 1_000_000_000) == first {
			first++ // a trade of this second is no longer kept
		}
		return first, true
	}
	if w.candles.Len() == 0 {
		return 0, false
	}
	k := w.candles.At(0)
	return w.i.Floor(k.Start), true
}

// At returns the row that begins at a boundary. A row without trades is flat at the close before it; before the
// first trade there is none. Calls go forward in time.
func (w *Klines) At(start int64) (k Kline, ok bool) {
	k.Start, k.End = start, w.i.Next(start)
	t := &w.view.Trades
	low, high := t.Search(k.Start*1_000_000_000), t.Search(k.End*1_000_000_000)-1
	if t.Len() > 0 && low <= high {
		k.FirstID, k.LastID = low, high
	}
	if !w.i.fromTrades() {
		k.Candle = w.candles.Fold(k.Start, k.End)
	} else if k.FirstID != 0 {
		for id := low; id <= high; id++ {
			trade := t.At(id)
			one := trade.Candle()
			k.Merge(&one)
		}
	}
	if k.Trades > 0 {
		w.close, w.primed = k.Close, true
		return k, true
	}
	if !w.primed {
		w.close, w.primed = w.before(start)
	}
	p := w.close
	k.Open, k.High, k.Low, k.Close = p, p, p, p
	return k, w.primed
}

// before returns the close of the last row before start.
func (w *Klines) before(start int64) (price int64, ok bool) {
	if w.i.fromTrades() {
		t := &w.view.Trades
		if id := t.Search(start * 1_000_000_000); t.Len() > 0 && id > t.First() {
			return t.At(id - 1).Price, true
		}
		return 0, false
	}
	if n := w.candles.Search(start); n > 0 {
		return w.candles.At(n - 1).Close, true
	}
	return 0, false
}

func writeKline(w *json.Writer, in *engine.Instrument, k *Kline) {
	w.List()
	w.Time(k.Start * secNs)
	w.Units(k.Open, in.DigitsPrice)
	w.Units(k.High, in.DigitsPrice)
	w.Units(k.Low, in.DigitsPrice)
	w.Units(k.Close, in.DigitsPrice)
	w.Sum(k.Volume, in.DigitsAmount)
	w.Time(k.End*secNs - 1)
	w.Sum(k.QuoteVolume, in.DigitsTotal())
	w.Int(k.Trades)
	w.Sum(k.TakerVolume, in.DigitsAmount)
	w.Sum(k.TakerQuote, in.DigitsTotal())
	w.Word("0")
	w.EndList()
}
