package binance

import (
	"cmp"
	"math"
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/encode"
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
	return append(encode.AppendMs([]byte(`{"serverTime":`), q.f.opt.Clock.NowNs()+q.skewNs), '}'), nil
}

func systemStatus(q *call) ([]byte, *failure) { return []byte(`{"status":0,"msg":"normal"}`), nil }

// noContracts answers for the exchanges of futures, which have no pairs here.
func noContracts(q *call) ([]byte, *failure) {
	b := encode.AppendMs([]byte(`{"timezone":"UTC","serverTime":`), q.f.opt.Clock.NowNs())
	return append(b, `,"rateLimits":[],"exchangeFilters":[],"assets":[],"symbols":[]}`...), nil
}

// maxInfoSymbols bounds the list symbols of exchangeInfo.
const maxInfoSymbols = 1000

func exchangeInfo(q *call) ([]byte, *failure) {
	views, root, given, err := q.views(maxInfoSymbols)
	if err != nil {
		return nil, err
	}
	status, byStatus := q.text("symbolStatus")
	if byStatus && given {
		return nil, fail(codeOptionalParams, "Combination of optional parameters invalid.")
	}
	if byStatus && status != "TRADING" && status != "HALT" && status != "BREAK" {
		return nil, invalid("symbolStatus")
	}
	spot, err := q.wantsSpot()
	if err != nil {
		return nil, err
	}
	sets, err := q.word("showPermissionSets", "true", "false")
	if err != nil {
		return nil, err
	}
	b := encode.AppendMs([]byte(`{"timezone":"UTC","serverTime":`), q.f.opt.Clock.NowNs())
	b = append(b, `,"rateLimits":[{"rateLimitType":"REQUEST_WEIGHT","interval":"MINUTE","intervalNum":1,"limit":`...)
	b = strconv.AppendInt(b, WeightPerMinute, 10)
	b = append(b, `}],"exchangeFilters":[],"symbols":[`...)
	names := q.f.symbolsOf(root)
	for _, v := range views {
		if state := statusOf(v.Instrument.State); spot && (!byStatus || state == status) {
			b = append(q.f.appendSymbol(b, v.Instrument, names.of(v.Instrument), sets == "true"), ',')
		}
	}
	return append(trimComma(b), "]}"...), nil
}

// wantsSpot reports whether the parameter permissions includes SPOT, the only permission that pairs have.
func (q *call) wantsSpot() (bool, *failure) {
	text, given := q.text("permissions")
	switch {
	case !given, text == "SPOT", text == `["SPOT"]`:
		return true, nil
	case text == "MARGIN", text == "LEVERAGED", text == `["MARGIN","LEVERAGED"]`:
		return false, nil
	}
	return false, invalid("permissions")
}

// trimComma cuts the comma after the last row of a list.
func trimComma(b []byte) []byte {
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return b
}

func statusOf(s engine.PairState) string {
	switch s {
	case engine.Online, engine.PostOnlyState:
		return "TRADING"
	case engine.CancelOnly:
		return "BREAK"
	case engine.Halted:
	}
	return "HALT"
}

func (f *Facade) appendSymbol(b []byte, in *engine.Instrument, name string, sets bool) []byte {
	b = append(append(append(b, `{"symbol":"`...), name...), `","status":"`...)
	b = append(append(b, statusOf(in.State)...), `","baseAsset":"`...)
	b = append(append(b, in.Base...), `","baseAssetPrecision":`...)
	b = strconv.AppendInt(b, int64(in.BaseDigits), 10)
	b = append(append(append(b, `,"quoteAsset":"`...), in.Quote...), '"')
	for _, m := range []struct {
		name   string
		digits int
	}{
		{"quotePrecision", in.QuoteDigits},
		{"quoteAssetPrecision", in.QuoteDigits},
		{"baseCommissionPrecision", in.BaseDigits},
		{"quoteCommissionPrecision", in.QuoteDigits},
	} {
		b = strconv.AppendInt(append(append(append(b, `,"`...), m.name...), `":`...), int64(m.digits), 10)
	}
	if in.State == engine.PostOnlyState {
		b = append(b, `,"orderTypes":["LIMIT_MAKER"]`...)
	} else {
		b = append(b, `,"orderTypes":["LIMIT","LIMIT_MAKER","MARKET","STOP_LOSS","STOP_LOSS_LIMIT"]`...)
	}
	b = append(b, `,"icebergAllowed":true,"ocoAllowed":false,"otoAllowed":false,"opoAllowed":false,`+
		`"quoteOrderQtyMarketAllowed":true,"allowTrailingStop":false,"cancelReplaceAllowed":true,"amendAllowed":true,`+
		`"pegInstructionsAllowed":false,"isSpotTradingAllowed":true,"isMarginTradingAllowed":false,"filters":[`...)
	b = f.appendFilters(b, in)
	b = append(b, `],"permissions":[]`...)
	if sets {
		b = append(b, `,"permissionSets":[["SPOT"]]`...)
	}
	return append(b, `,"defaultSelfTradePreventionMode":"EXPIRE_TAKER","allowedSelfTradePreventionModes":`+
		`["NONE","EXPIRE_TAKER","EXPIRE_MAKER","EXPIRE_BOTH","DECREMENT"]}`...)
}

// appendFilters appends the rules of the pair in the form of filters.
func (f *Facade) appendFilters(b []byte, in *engine.Instrument) []byte {
	b = appendRange(append(b, `{"filterType":"PRICE_FILTER"`...), "Price", in.LargestPrice(), in.DigitsPrice,
		"tickSize")
	for _, name := range []string{"LOT_SIZE", "MARKET_LOT_SIZE"} {
		b = append(append(append(b, `,{"filterType":"`...), name...), '"')
		b = appendRange(b, "Qty", in.LargestAmount(), in.DigitsAmount, "stepSize")
	}
	least, most := fixed.U128{}, in.MaxSettled()
	if in.HasMinQuote {
		least = in.MinQuote
	}
	if !in.MaxQuote.IsZero() {
		most = in.MaxQuote
	}
	b = fixed.AppendU128(append(b, `,{"filterType":"NOTIONAL","minNotional":"`...), least, in.DigitsTotal())
	b = append(b, `","applyMinToMarket":false,"maxNotional":"`...)
	b = fixed.AppendU128(b, most, in.DigitsTotal())
	b = append(b, `","applyMaxToMarket":false,"avgPriceMins":0}`...)
	if in.BandUp|in.BandDown != 0 {
		up := fixed.FromI64(int64(cmp.Or(in.BandUp, math.MaxInt64)))
		down := fixed.FromI64(int64(in.BandDown))
		b = append(b, `,{"filterType":"PERCENT_PRICE_BY_SIDE"`...)
		for _, side := range []string{"bid", "ask"} {
			b = append(append(append(b, `,"`...), side...), `MultiplierUp":"`...)
			b = fixed.AppendShortest(b, up, engine.RateScale)
			b = append(append(append(b, `","`...), side...), `MultiplierDown":"`...)
			b = append(fixed.AppendShortest(b, down, engine.RateScale), '"')
		}
		b = append(b, `,"avgPriceMins":0}`...)
	}
	b = append(b, `,{"filterType":"MAX_NUM_ORDERS","maxNumOrders":`...)
	b = strconv.AppendInt(b, int64(cmp.Or(f.opt.Engine.AccountOrders, engine.DefaultAccountOrders)), 10)
	b = append(b, `},{"filterType":"MAX_NUM_ALGO_ORDERS","maxNumAlgoOrders":`...)
	b = strconv.AppendInt(b, int64(cmp.Or(f.opt.Engine.AccountStops, engine.DefaultAccountStops)), 10)
	return append(b, '}')
}

// appendRange appends the smallest value, which is a unit, the largest one and the unit.
func appendRange(b []byte, what string, most int64, digits int, step string) []byte {
	b = fixed.AppendI64(append(append(append(b, `,"min`...), what...), `":"`...), 1, digits)
	b = fixed.AppendI64(append(append(append(b, `","max`...), what...), `":"`...), most, digits)
	b = fixed.AppendI64(append(append(append(b, `","`...), step...), `":"`...), 1, digits)
	return append(b, `"}`...)
}

// appendQuoted appends a member whose value is a number in quotes.
func appendQuoted(b []byte, name string, v int64, digits int) []byte {
	b = append(append(append(b, '"'), name...), `":"`...)
	return append(fixed.AppendI64(b, v, digits), '"')
}

// appendQuoted128 is appendQuoted of a sum.
func appendQuoted128(b []byte, name string, v fixed.U128, digits int) []byte {
	b = append(append(append(b, '"'), name...), `":"`...)
	return append(fixed.AppendU128(b, v, digits), '"')
}

// secondOf returns the Unix second of the publication of root, by which its windows count.
func secondOf(root *marketdata.Root) int64 { return encode.FloorDiv(root.NowNs, 1_000_000_000) }

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
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	return appendBook(v, levels), nil
}

// appendBook appends the best levels of both sides.
func appendBook(v *marketdata.View, levels int) []byte {
	b := strconv.AppendUint([]byte(`{"lastUpdateId":`), uint64(v.BookSeq), 10)
	b = appendLevels(append(b, `,"bids":[`...), v.Instrument, &v.Bids, levels)
	b = appendLevels(append(b, `],"asks":[`...), v.Instrument, &v.Asks, levels)
	return append(b, "]}"...)
}

// appendLevels appends the best levels of a side.
func appendLevels(b []byte, in *engine.Instrument, side *marketdata.Side, most int) []byte {
	for l := range side.All {
		if most--; most < 0 {
			break
		}
		b = append(AppendLevel(b, in, l), ',')
	}
	return trimComma(b)
}

// AppendLevel appends one level of a book; streams send it too.
func AppendLevel(b []byte, in *engine.Instrument, l marketdata.Level) []byte {
	b = fixed.AppendI64(append(b, `["`...), l.Price, in.DigitsPrice)
	b = fixed.AppendI64(append(b, `","`...), l.Amount, in.DigitsAmount)
	return append(b, `"]`...)
}

// The number of trades in an answer.
const (
	defaultTrades = 500
	maxTrades     = 1000
)

const msNs = 1_000_000

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
	b := []byte{'['}
	for id := low; id <= high && id > 0; id++ {
		t := v.Trades.At(id)
		b = append(appendTrade(b, v.Instrument, id, &t), ',')
	}
	return append(trimComma(b), ']'), nil
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

func appendTrade(b []byte, in *engine.Instrument, id engine.TradeID, t *marketdata.Trade) []byte {
	b = strconv.AppendUint(append(b, `{"id":`...), uint64(id), 10)
	b = appendQuoted(append(b, ','), "price", t.Price, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "qty", t.Amount, in.DigitsAmount)
	b = appendQuoted128(append(b, ','), "quoteQty", fixed.Mul64(uint64(t.Price), uint64(t.Amount)), in.DigitsTotal())
	b = encode.AppendMs(append(b, `,"time":`...), t.TimeNs)
	b = strconv.AppendBool(append(b, `,"isBuyerMaker":`...), t.TakerSide == engine.Sell)
	return append(b, `,"isBestMatch":true}`...)
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
			return nil, fail(codeOptionalParams, "Combination of optional parameters invalid.")
		}
		from, err := q.number("fromId", 0)
		if err != nil {
			return nil, err
		}
		low, high = fromID(t, from, limit)
	} else if timed {
		startMs, endMs, err := q.span()
		if err != nil {
			return nil, err
		}
		low, high = max(t.Search(startMs*msNs), t.First()), t.Search((endMs+1)*msNs)-1
		if q.sent("startTime") {
			high = min(high, low+engine.TradeID(limit-1))
		} else if high >= low && int(high-low) >= limit {
			low = high - engine.TradeID(limit-1)
		}
	}
	b := []byte{'['}
	for id := low; id <= high && id > 0; id++ {
		trade := t.At(id)
		b = append(AppendAggregate(append(b, '{'), v.Instrument, id, &trade), "},"...)
	}
	return append(trimComma(b), ']'), nil
}

// maxMs bounds times in requests, so that nanoseconds fit into int64.
const maxMs = 9_000_000_000_000

// span reads startTime and endTime, inclusive and in ms.
func (q *call) span() (startMs, endMs int64, err *failure) {
	if startMs, err = q.number("startTime", 0); err != nil {
		return 0, 0, err
	}
	endMs, err = q.number("endTime", maxMs)
	return min(startMs, maxMs), min(endMs, maxMs), err
}

// AppendAggregate appends the members of an aggregate of one trade; streams send them too.
func AppendAggregate(b []byte, in *engine.Instrument, id engine.TradeID, t *marketdata.Trade) []byte {
	for _, name := range []string{`"a":`, `,"f":`, `,"l":`} {
		b = strconv.AppendUint(append(b, name...), uint64(id), 10)
	}
	b = appendQuoted(append(b, ','), "p", t.Price, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "q", t.Amount, in.DigitsAmount)
	b = encode.AppendMs(append(b, `,"T":`...), t.TimeNs)
	b = strconv.AppendBool(append(b, `,"m":`...), t.TakerSide == engine.Sell)
	return append(b, `,"M":true`...)
}

const (
	defaultKlines = 500
	maxKlines     = 1000

	minuteSec, hourSec, daySec = 60, 3600, 86_400
)

// Interval is an interval of klines. Its rows are sums of the candles of base, or of trades.
type Interval struct {
	Name       string
	base       marketdata.Interval
	fromTrades bool
	sec        int64 // length; 0: a calendar month
	offset     int64 // Unix second of a boundary
}

// intervals lists all of them. Weeks begin on Mondays, intervals of three days at multiples of three days since
// 1970-01-01.
var intervals = []Interval{
	{"1s", 0, true, 1, 0},
	{"1m", marketdata.Minute, false, minuteSec, 0},
	{"3m", marketdata.Minutes3, false, 3 * minuteSec, 0},
	{"5m", marketdata.Minutes5, false, 5 * minuteSec, 0},
	{"15m", marketdata.Minutes15, false, 15 * minuteSec, 0},
	{"30m", marketdata.Minutes30, false, 30 * minuteSec, 0},
	{"1h", marketdata.Hour, false, hourSec, 0},
	{"2h", marketdata.Hour, false, 2 * hourSec, 0},
	{"4h", marketdata.Hour4, false, 4 * hourSec, 0},
	{"6h", marketdata.Hour, false, 6 * hourSec, 0},
	{"8h", marketdata.Hour, false, 8 * hourSec, 0},
	{"12h", marketdata.Hour, false, 12 * hourSec, 0},
	{"1d", marketdata.Day, false, daySec, 0},
	{"3d", marketdata.Day, false, 3 * daySec, 0},
	{"1w", marketdata.Day, false, 7 * daySec, 4 * daySec},
	{"1M", marketdata.Month, false, 0, 0},
}

// ParseInterval returns the interval with this name.
func ParseInterval(name string) (*Interval, bool) {
	for i := range intervals {
		if intervals[i].Name == name {
			return &intervals[i], true
		}
	}
	return nil, false
}

// Floor returns the second at which the interval containing sec begins.
func (i *Interval) Floor(sec int64) int64 {
	if i.sec == 0 {
		return i.base.Floor(sec)
	}
	rest := (sec - i.offset) % i.sec
	if rest < 0 {
		rest += i.sec
	}
	return sec - rest
}

// Next returns the end of the interval that contains sec.
func (i *Interval) Next(sec int64) int64 {
	if i.sec == 0 {
		return i.base.Next(sec)
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
	if zone, given := q.text("timeZone"); given && zone != "0" && zone != "0:00" && zone != "00:00" {
		return nil, invalid("timeZone") // candles follow UTC
	}
	from := q.sent("startTime")
	startMs, endMs, err := q.span()
	if err != nil {
		return nil, err
	}
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	low := encode.FloorDiv(startMs+999, 1000)
	high := min(endMs/1000, encode.FloorDiv(q.f.opt.Clock.NowNs(), 1_000_000_000))
	w := NewKlines(v, i)
	b := []byte{'['}
	for at := w.start(low, high, limit, from); at <= high && limit > 0; at = i.Next(at) {
		k, ok := w.At(at)
		if !ok {
			continue
		}
		b = append(appendKline(b, v.Instrument, &k), ',')
		limit--
	}
	return append(trimComma(b), ']'), nil
}

// Klines makes the rows of one interval from one view. The times of its rows must ascend.
type Klines struct {
	view    *marketdata.View
	candles marketdata.Candles // the rows are their sums, unless i.fromTrades
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
	if w.i.fromTrades {
		if w.view.Trades.Len() == 0 {
			return 0, false
		}
		t := &w.view.Trades
		first := encode.FloorDiv(t.At(t.First()).TimeNs, 1_000_000_000)
		if encode.FloorDiv(t.DroppedNs(), 1_000_000_000) == first {
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
	if !w.i.fromTrades {
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
	if w.i.fromTrades {
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

func appendKline(b []byte, in *engine.Instrument, k *Kline) []byte {
	b = strconv.AppendInt(append(b, '['), k.Start*1000, 10)
	for _, p := range [...]int64{k.Open, k.High, k.Low, k.Close} {
		b = fixed.AppendI64(append(b, `,"`...), p, in.DigitsPrice)
		b = append(b, '"')
	}
	b = fixed.AppendU128(append(b, `,"`...), k.Volume, in.DigitsAmount)
	b = strconv.AppendInt(append(b, `",`...), k.End*1000-1, 10)
	b = fixed.AppendU128(append(b, `,"`...), k.QuoteVolume, in.DigitsTotal())
	b = strconv.AppendInt(append(b, `",`...), k.Trades, 10)
	b = fixed.AppendU128(append(b, `,"`...), k.TakerVolume, in.DigitsAmount)
	b = fixed.AppendU128(append(b, `","`...), k.TakerQuote, in.DigitsTotal())
	return append(b, `","0"]`...)
}
