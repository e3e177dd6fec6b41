package binance

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
	sockets "github.com/tickhive/tickhive/server/stream"
)

// streamKind is the kind of a stream.
type streamKind uint8

const (
	tradeStream streamKind = iota
	aggTradeStream
	klineStream
	tickerStream
	miniTickerStream
	bookTickerStream
	depthStream
	partialDepthStream
	allTickersStream
	allMiniTickersStream
	rollingStream
	allRollingStream
	averageStream
	silentStream // of facts that do not happen here: block trades and reference prices
	userDataStream
)

// stream is one stream of a socket. Owner: as its socket.
type stream struct {
	name     string
	kind     streamKind
	pair     engine.PairID
	interval *Interval
	window   rollingWindow
	levels   int   // partial depth
	everyMs  int64 // time between two messages at least

	user *userStream // user data stream; its name is the listen key, "" in the WebSocket API
	// Of a user data stream of the WebSocket API: its number, and whether it ends with the logout.
	id      int
	session bool

	held   sockets.Held // by fault rules
	sentMs int64        // renderer.nowMs at the last message, 0: none
	known
}

// paired reports whether the stream is of one pair.
func (s *stream) paired() bool {
	switch s.kind {
	case allTickersStream, allMiniTickersStream, allRollingStream, userDataStream:
		return false
	default:
		return true
	}
}

// known is what the client of a stream has received.
type known struct {
	view  *marketdata.View
	root  *marketdata.Root // tickers of all pairs
	trade engine.TradeID   // last trade sent
	start int64            // kline, rolling windows: second at which the open row or the window begins
	touch [4]int64         // bookTicker: best levels sent last
	sums  [2]fixed.U128    // avgPrice: amount and total of the average sent last
}

// rollingWindow is the window of a rolling ticker.
type rollingWindow struct {
	event string
	sec   int64
}

// rollingWindows are the windows by the names that streams give them.
var rollingWindows = map[string]rollingWindow{
	"1h": {"1hTicker", hourSec}, "4h": {"4hTicker", 4 * hourSec}, "1d": {"1dTicker", daySec},
}

// look is the market as a tick shows it to the streams.
type look struct {
	root    *marketdata.Root
	nowNs   int64 // time of the market
	eventNs int64 // time of the tick on the process clock
	unit    unit  // of the times in the messages
}

// tickMs is the time between two looks at the market. Streams that the other exchange sends in real time have it too.
const tickMs = 100

// parseStream returns the stream with this name, or false for an unknown one.
func (f *Facade) parseStream(name string) (*stream, bool) {
	s := &stream{name: name, everyMs: tickMs}
	if all, ok := strings.CutSuffix(name, "@arr"); ok {
		s.everyMs = 1000
		return s, s.parseAll(all)
	}
	symbol, kind, ok := strings.Cut(name, "@")
	root := f.opt.Board.Load()
	if !ok || symbol != strings.ToLower(symbol) {
		return nil, false
	}
	v, err := f.lookup(root, strings.ToUpper(symbol))
	if err != nil {
		return nil, false
	}
	s.pair, s.trade = v.Instrument.ID, v.Trades.Last()
	return s, s.parseKind(kind, v)
}

// parseAll reads the name of a stream of all pairs.
func (s *stream) parseAll(name string) (ok bool) {
	switch name {
	case "!ticker":
		s.kind, ok = allTickersStream, true
	case "!miniTicker":
		s.kind, ok = allMiniTickersStream, true
	default:
		size, _ := strings.CutPrefix(name, "!ticker_")
		s.kind = allRollingStream
		s.window, ok = rollingWindows[size]
	}
	return ok
}

func (s *stream) parseKind(kind string, v *marketdata.View) bool {
	kind, speed, hasSpeed := strings.Cut(kind, "@")
	if hasSpeed && strings.HasPrefix(kind, "kline_") {
		return speed == "+08:00" && s.parseWindow(kind, 8*hourSec)
	}
	if hasSpeed && (speed != "100ms" && speed != "1000ms" || !strings.HasPrefix(kind, "depth")) {
		return false
	}
	switch kind {
	case "trade":
		s.kind = tradeStream
	case "aggTrade":
		s.kind = aggTradeStream
	case "bookTicker":
		s.kind = bookTickerStream
	case "ticker":
		s.kind, s.everyMs = tickerStream, 1000
	case "miniTicker":
		s.kind, s.everyMs = miniTickerStream, 1000
	case "depth":
		s.kind, s.view = depthStream, v
	case "depth5", "depth10", "depth20":
		s.kind = partialDepthStream
		s.levels = map[string]int{"depth5": 5, "depth10": 10, "depth20": 20}[kind]
	case "avgPrice":
		s.kind, s.everyMs = averageStream, 1000
	case "blockTrade", "referencePrice":
		s.kind = silentStream
	default:
		return s.parseWindow(kind, 0)
	}
	if strings.HasPrefix(kind, "depth") && speed != "100ms" {
		s.everyMs = 1000
	}
	return true
}

// parseWindow reads the kinds that name a length of time. Candles are cut at an offset from UTC in seconds.
func (s *stream) parseWindow(kind string, zone int64) bool {
	if size, rolls := strings.CutPrefix(kind, "ticker_"); rolls {
		window, known := rollingWindows[size]
		s.kind, s.everyMs, s.window = rollingStream, 1000, window
		return known
	}
	name, isKline := strings.CutPrefix(kind, "kline_")
	if !isKline {
		return false
	}
	s.kind, s.everyMs = klineStream, 2000
	if name == "1s" {
		s.everyMs = 1000
	}
	interval, known := ParseInterval(name)
	if known {
		s.interval = interval.In(zone)
	}
	return known
}

// maxTradesAtOnce bounds the trades that one look sends, so that a reader that comes late takes several.
const maxTradesAtOnce = 1000

// messages sends what changed for the client of the stream since the last look. lost reports that changes of the
// book are no longer kept, so the client must begin again.
func (f *Facade) messages(s *stream, l *look, send func([]byte)) (lost bool) {
	v := l.root.View(s.pair)
	switch s.kind {
	case tradeStream, aggTradeStream:
		f.tradeMessages(s, v, l, send)
	case klineStream:
		f.klineMessages(s, v, l, send)
	case tickerStream, miniTickerStream:
		if s.view == nil || s.view.TickerVersion != v.TickerVersion {
			s.view = v
			w := l.unit.writer(nil)
			f.writeStat(&w, l, v, s.kind == tickerStream)
			send(w.Bytes())
		}
	case allTickersStream, allMiniTickersStream:
		f.statMessages(s, l, send)
	case bookTickerStream:
		bid, _ := v.Bids.Best()
		ask, _ := v.Asks.Best()
		if touch := [4]int64{bid.Price, bid.Amount, ask.Price, ask.Amount}; touch != s.touch {
			s.touch = touch
			send(f.touchMessage(l, v, bid, ask))
		}
	case partialDepthStream:
		if s.view == nil || s.view.BookSeq != v.BookSeq {
			s.view = v
			send(appendBook(v, s.levels))
		}
	case depthStream:
		return f.depthMessage(s, v, l, send)
	case rollingStream:
		f.rollingMessage(s, v, l, send)
	case allRollingStream:
		f.allRollingMessage(s, l, send)
	case averageStream:
		f.averageMessage(s, v, l, send)
	case silentStream, userDataStream:
	}
	return false
}

// writeHead writes the members that events begin with.
func (f *Facade) writeHead(w *json.Writer, event string, v *marketdata.View, l *look) {
	w.Name("e").Word(event)
	w.Name("E").Time(l.eventNs)
	w.Name("s").Word(f.symbolsOf(l.root).of(v.Instrument))
}

func (f *Facade) tradeMessages(s *stream, v *marketdata.View, l *look, send func([]byte)) {
	t, in := &v.Trades, v.Instrument
	low := max(s.trade+1, t.First())
	for id := low; t.Len() > 0 && id <= t.Last() && id < low+maxTradesAtOnce; id++ {
		one := t.At(id)
		s.trade = id
		w := l.unit.writer(nil)
		w.Object()
		if s.kind == aggTradeStream {
			f.writeHead(&w, "aggTrade", v, l)
			writeAggregate(&w, in, id, &one)
		} else {
			f.writeHead(&w, "trade", v, l)
			w.Name("t").Uint(uint64(id))
			w.Name("p").Units(one.Price, in.DigitsPrice)
			w.Name("q").Units(one.Amount, in.DigitsAmount)
			w.Name("T").Time(one.TimeNs)
			w.Name("m").Bool(one.TakerSide == engine.Sell)
			w.Name("M").Bool(true)
		}
		w.EndObject()
		send(w.Bytes())
	}
}

// klineMessages sends the rows that have closed, and the open one if it has changed.
func (f *Facade) klineMessages(s *stream, v *marketdata.View, l *look, send func([]byte)) {
	open := s.interval.Floor(fixed.FloorDiv(f.opt.Board.SealedNs(), 1_000_000_000))
	if s.start == 0 {
		s.start = open
	}
	rows := NewKlines(v, s.interval)
	for n := 0; s.start < open && n < maxTradesAtOnce; n++ {
		if k, ok := rows.At(s.start); ok {
			send(f.klineMessage(s, v, &k, l, true))
		}
		s.start, s.view = s.interval.Next(s.start), nil
	}
	if s.start == open && (s.view == nil || s.view.TradesSeq != v.TradesSeq) {
		s.view = v
		if k, ok := rows.At(open); ok {
			send(f.klineMessage(s, v, &k, l, false))
		}
	}
}

func (f *Facade) klineMessage(s *stream, v *marketdata.View, k *Kline, l *look, closed bool) []byte {
	in := v.Instrument
	first, last := int64(k.FirstID), int64(k.LastID)
	if k.FirstID == 0 {
		first, last = -1, -1
	}
	w := l.unit.writer(nil)
	w.Object()
	f.writeHead(&w, "kline", v, l)
	w.Name("k").Object()
	w.Name("t").Time(k.Start * secNs)
	w.Name("T").Time(k.End*secNs - 1)
	w.Name("s").Word(f.symbolsOf(l.root).of(in))
	w.Name("i").Word(s.interval.Name)
	w.Name("f").Int(first)
	w.Name("L").Int(last)
	w.Name("o").Units(k.Open, in.DigitsPrice)
	w.Name("c").Units(k.Close, in.DigitsPrice)
	w.Name("h").Units(k.High, in.DigitsPrice)
	w.Name("l").Units(k.Low, in.DigitsPrice)
	w.Name("v").Sum(k.Volume, in.DigitsAmount)
	w.Name("n").Int(k.Trades)
	w.Name("x").Bool(closed)
	w.Name("q").Sum(k.QuoteVolume, in.DigitsTotal())
	w.Name("V").Sum(k.TakerVolume, in.DigitsAmount)
	w.Name("Q").Sum(k.TakerQuote, in.DigitsTotal())
	w.Name("B").Word("0")
	w.EndObject()
	w.EndObject()
	return w.Bytes()
}

// statMessages sends the tickers that have changed in one list.
func (f *Facade) statMessages(s *stream, l *look, send func([]byte)) {
	w, before, changed := l.unit.writer(nil), s.root, false
	s.root = l.root
	w.List()
	for _, id := range l.root.Sorted() {
		v := l.root.View(id)
		if before != nil && before.View(id) != nil && before.View(id).TickerVersion == v.TickerVersion {
			continue
		}
		changed = true
		f.writeStat(&w, l, v, s.kind == allTickersStream)
	}
	w.EndList()
	if changed {
		send(w.Bytes())
	}
}

// writeStat writes the figures of 24 hours.
func (f *Facade) writeStat(w *json.Writer, l *look, v *marketdata.View, full bool) {
	figures, in := day(l.root, v), v.Instrument
	w.Object()
	if !full {
		f.writeHead(w, "24hrMiniTicker", v, l)
	} else {
		f.writeHead(w, "24hrTicker", v, l)
		w.Name("p").Signed(fixed.FromI64(figures.last).Sub(fixed.FromI64(figures.open)), in.DigitsPrice)
		w.Name("P").Signed(fixed.PercentChangeHalfEven(figures.last, figures.open), fixed.QuotientDigits)
		figures.writeAverage(w.Name("w"), in)
		w.Name("x").Units(figures.open, in.DigitsPrice)
	}
	w.Name("c").Units(figures.last, in.DigitsPrice)
	if full {
		w.Name("Q").Units(lastAmount(v), in.DigitsAmount)
		bid, _ := v.Bids.Best()
		ask, _ := v.Asks.Best()
		writeBest(w, in, bid, ask)
	}
	w.Name("o").Units(figures.open, in.DigitsPrice)
	w.Name("h").Units(figures.high, in.DigitsPrice)
	w.Name("l").Units(figures.low, in.DigitsPrice)
	w.Name("v").Sum(figures.volume, in.DigitsAmount)
	w.Name("q").Sum(figures.quote, in.DigitsTotal())
	if full {
		figures.writeSpan(w)
	}
	w.EndObject()
}

// rollingMessage sends the figures of a rolling window if they have changed.
func (f *Facade) rollingMessage(s *stream, v *marketdata.View, l *look, send func([]byte)) {
	from := windowStart(l.nowNs, s.window.sec)
	if s.view != nil && !rolled(s.view, v, s.start, from) {
		return
	}
	s.view, s.start = v, from
	w := l.unit.writer(nil)
	f.writeRolling(&w, l, v, s.window)
	send(w.Bytes())
}

// allRollingMessage sends the figures of the pairs whose window has changed in one list.
func (f *Facade) allRollingMessage(s *stream, l *look, send func([]byte)) {
	from := windowStart(l.nowNs, s.window.sec)
	w, before, start, changed := l.unit.writer(nil), s.root, s.start, false
	s.root, s.start = l.root, from
	w.List()
	for _, id := range l.root.Sorted() {
		v := l.root.View(id)
		if before != nil && before.View(id) != nil && !rolled(before.View(id), v, start, from) {
			continue
		}
		changed = true
		f.writeRolling(&w, l, v, s.window)
	}
	w.EndList()
	if changed {
		send(w.Bytes())
	}
}

// rolled reports whether the figures of a window have changed since an older view in which it began at start: a trade
// came in, or one left with the window's first minutes.
func rolled(before, v *marketdata.View, start, from int64) bool {
	if before.TradesSeq != v.TradesSeq {
		return true
	}
	return start != from && *since(v, start) != *since(v, from)
}

// writeRolling writes the figures of a rolling window.
func (f *Facade) writeRolling(w *json.Writer, l *look, v *marketdata.View, of rollingWindow) {
	figures, in := rollingFigures(v, l.nowNs, of.sec), v.Instrument
	w.Object()
	f.writeHead(w, of.event, v, l)
	w.Name("p").Signed(fixed.FromI64(figures.last).Sub(fixed.FromI64(figures.open)), in.DigitsPrice)
	w.Name("P").Signed(fixed.PercentChangeHalfEven(figures.last, figures.open), fixed.QuotientDigits)
	w.Name("o").Units(figures.open, in.DigitsPrice)
	w.Name("h").Units(figures.high, in.DigitsPrice)
	w.Name("l").Units(figures.low, in.DigitsPrice)
	w.Name("c").Units(figures.last, in.DigitsPrice)
	figures.writeAverage(w.Name("w"), in)
	w.Name("v").Sum(figures.volume, in.DigitsAmount)
	w.Name("q").Sum(figures.quote, in.DigitsTotal())
	figures.writeSpan(w)
	w.EndObject()
}

// writeSpan writes the members of a ticker that say what it covers.
func (f *window) writeSpan(w *json.Writer) {
	first, last := f.ids()
	w.Name("O").Time(f.openNs)
	w.Name("C").Time(f.closeNs)
	w.Name("F").Int(first)
	w.Name("L").Int(last)
	w.Name("n").Int(f.count)
}

// averageMessage sends the average price of the last minutes if it has changed.
func (f *Facade) averageMessage(s *stream, v *marketdata.View, l *look, send func([]byte)) {
	figures, atNs := lastAverage(v, l.nowNs)
	sums := [2]fixed.U128{figures.volume, figures.quote}
	if sums == s.sums {
		return
	}
	s.sums = sums
	w := l.unit.writer(nil)
	w.Object()
	f.writeHead(&w, "avgPrice", v, l)
	w.Name("i").Word(strconv.Itoa(averageMinutes) + "m")
	figures.writeAverage(w.Name("w"), v.Instrument)
	w.Name("T").Time(atNs)
	w.EndObject()
	send(w.Bytes())
}

func writeBest(w *json.Writer, in *engine.Instrument, bid, ask marketdata.Level) {
	w.Name("b").Units(bid.Price, in.DigitsPrice)
	w.Name("B").Units(bid.Amount, in.DigitsAmount)
	w.Name("a").Units(ask.Price, in.DigitsPrice)
	w.Name("A").Units(ask.Amount, in.DigitsAmount)
}

func (f *Facade) touchMessage(l *look, v *marketdata.View, bid, ask marketdata.Level) []byte {
	w := l.unit.writer(nil)
	w.Object()
	w.Name("u").Uint(uint64(v.BookSeq))
	w.Name("s").Word(f.symbolsOf(l.root).of(v.Instrument))
	writeBest(&w, v.Instrument, bid, ask)
	w.EndObject()
	return w.Bytes()
}

// depthMessage sends every level that was touched since the last message, with its present amount: a client that
// began with a snapshot from within the span needs also those that have the old amount again.
func (f *Facade) depthMessage(s *stream, v *marketdata.View, l *look, send func([]byte)) (lost bool) {
	before := s.view
	if before.BookSeq == v.BookSeq {
		return false
	}
	if before.BookSeq < v.Changes.Base() {
		return true
	}
	touched := [2]map[int64]bool{{}, {}}
	v.Changes.Undo(before.BookSeq, func(side engine.Side, price, _ int64) { touched[side][price] = true })
	w := l.unit.writer(nil)
	w.Object()
	f.writeHead(&w, "depthUpdate", v, l)
	w.Name("U").Uint(uint64(before.BookSeq) + 1)
	w.Name("u").Uint(uint64(v.BookSeq))
	writeTouched(w.Name("b"), v.Instrument, &v.Bids, touched[engine.Buy], -1)
	writeTouched(w.Name("a"), v.Instrument, &v.Asks, touched[engine.Sell], 1)
	w.EndObject()
	s.view = v
	send(w.Bytes())
	return false
}

// writeTouched writes the levels at the touched prices, best first; those without orders have the amount 0.
func writeTouched(w *json.Writer, in *engine.Instrument, side *marketdata.Side, touched map[int64]bool, sign int) {
	var levels []marketdata.Level
	for l := range side.All {
		if len(touched) == 0 {
			break
		}
		if touched[l.Price] {
			delete(touched, l.Price)
			levels = append(levels, l)
		}
	}
	for price := range touched {
		levels = append(levels, marketdata.Level{Price: price})
	}
	slices.SortFunc(levels, func(x, y marketdata.Level) int { return sign * cmp.Compare(x.Price, y.Price) })
	w.List()
	for _, l := range levels {
		writeLevel(w, in, l)
	}
	w.EndList()
}
