package binance

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/encode"
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
	userDataStream
)

// stream is one stream of a socket. Owner: as its socket.
type stream struct {
	name     string
	kind     streamKind
	pair     engine.PairID
	interval *Interval
	levels   int   // partial depth
	everyMs  int64 // time between two messages at least

	user *subscription // user data stream; its name is the listen key, "" in the WebSocket API
	// Of a user data stream of the WebSocket API: its number, and whether it ends with the logout.
	id      int
	session bool

	sentMs int64 // renderer.nowMs at the last message, 0: none
	known
}

// known is what the client of a stream has received.
type known struct {
	view  *marketdata.View
	root  *marketdata.Root // tickers of all pairs
	trade engine.TradeID   // last trade sent
	start int64            // kline: second at which the open row begins
	touch [4]int64         // bookTicker: best levels sent last
}

// tickMs is the time between two looks at the market. Streams that the other exchange sends in real time have it too.
const tickMs = 100

// parseStream returns the stream with this name, or false for an unknown one.
func (f *Facade) parseStream(name string) (*stream, bool) {
	s := &stream{name: name, everyMs: tickMs}
	switch name {
	case "!ticker@arr":
		s.kind, s.everyMs = allTickersStream, 1000
		return s, true
	case "!miniTicker@arr":
		s.kind, s.everyMs = allMiniTickersStream, 1000
		return s, true
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

func (s *stream) parseKind(kind string, v *marketdata.View) bool {
	kind, speed, hasSpeed := strings.Cut(kind, "@")
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
	default:
		name, isKline := strings.CutPrefix(kind, "kline_")
		s.kind, s.everyMs = klineStream, 1000
		s.interval, isKline = parseIf(name, isKline)
		return isKline
	}
	if strings.HasPrefix(kind, "depth") && speed != "100ms" {
		s.everyMs = 1000
	}
	return true
}

func parseIf(name string, ok bool) (*Interval, bool) {
	if !ok {
		return nil, false
	}
	return ParseInterval(name)
}

// maxTradesAtOnce bounds the trades that one look sends, so that a reader that comes late takes several.
const maxTradesAtOnce = 1000

// messages sends what changed for the client of the stream since the last look. lost reports that changes of the
// book are no longer kept, so the client must begin again.
func (f *Facade) messages(s *stream, root *marketdata.Root, eventMs int64, send func([]byte)) (lost bool) {
	v := root.View(s.pair)
	switch s.kind {
	case tradeStream, aggTradeStream:
		f.tradeMessages(s, v, eventMs, send)
	case klineStream:
		f.klineMessages(s, v, eventMs, send)
	case tickerStream, miniTickerStream:
		if s.view == nil || s.view.TickerVersion != v.TickerVersion {
			s.view = v
			send(f.appendStat(nil, root, v, eventMs, s.kind == tickerStream))
		}
	case allTickersStream, allMiniTickersStream:
		f.statMessages(s, root, eventMs, send)
	case bookTickerStream:
		bid, _ := v.Bids.Best()
		ask, _ := v.Asks.Best()
		if touch := [4]int64{bid.Price, bid.Amount, ask.Price, ask.Amount}; touch != s.touch {
			s.touch = touch
			send(f.appendTouchMessage(root, v, bid, ask))
		}
	case partialDepthStream:
		if s.view == nil || s.view.BookSeq != v.BookSeq {
			s.view = v
			send(appendBook(v, s.levels))
		}
	case depthStream:
		return f.depthMessage(s, v, eventMs, send)
	case userDataStream:
	}
	return false
}

// appendHead appends the members that events begin with.
func (f *Facade) appendHead(b []byte, event string, v *marketdata.View, eventMs int64) []byte {
	b = append(append(append(b, `{"e":"`...), event...), `","E":`...)
	b = append(strconv.AppendInt(b, eventMs, 10), `,"s":"`...)
	return append(append(b, f.symbolsOf(f.opt.Board.Load()).of(v.Instrument)...), '"')
}

func (f *Facade) tradeMessages(s *stream, v *marketdata.View, eventMs int64, send func([]byte)) {
	t := &v.Trades
	low := max(s.trade+1, t.First())
	for id := low; t.Len() > 0 && id <= t.Last() && id < low+maxTradesAtOnce; id++ {
		one := t.At(id)
		s.trade = id
		if s.kind == aggTradeStream {
			b := append(f.appendHead(nil, "aggTrade", v, eventMs), ',')
			send(append(AppendAggregate(b, v.Instrument, id, &one), '}'))
			continue
		}
		b := f.appendHead(nil, "trade", v, eventMs)
		b = strconv.AppendUint(append(b, `,"t":`...), uint64(id), 10)
		b = appendQuoted(append(b, ','), "p", one.Price, v.Instrument.DigitsPrice)
		b = appendQuoted(append(b, ','), "q", one.Amount, v.Instrument.DigitsAmount)
		b = encode.AppendMs(append(b, `,"T":`...), one.TimeNs)
		b = strconv.AppendBool(append(b, `,"m":`...), one.TakerSide == engine.Sell)
		send(append(b, `,"M":true}`...))
	}
}

// klineMessages sends the rows that have closed, and the open one if it has changed.
func (f *Facade) klineMessages(s *stream, v *marketdata.View, eventMs int64, send func([]byte)) {
	open := s.interval.Floor(encode.FloorDiv(f.opt.Board.SealedNs(), 1_000_000_000))
	if s.start == 0 {
		s.start = open
	}
	rows := NewKlines(v, s.interval)
	for n := 0; s.start < open && n < maxTradesAtOnce; n++ {
		if k, ok := rows.At(s.start); ok {
			send(f.appendKlineMessage(s, v, &k, eventMs, true))
		}
		s.start, s.view = s.interval.Next(s.start), nil
	}
	if s.start == open && (s.view == nil || s.view.TradesSeq != v.TradesSeq) {
		s.view = v
		if k, ok := rows.At(open); ok {
			send(f.appendKlineMessage(s, v, &k, eventMs, false))
		}
	}
}

func (f *Facade) appendKlineMessage(s *stream, v *marketdata.View, k *Kline, eventMs int64, closed bool) []byte {
	in := v.Instrument
	b := f.appendHead(nil, "kline", v, eventMs)
	b = strconv.AppendInt(append(b, `,"k":{"t":`...), k.Start*1000, 10)
	b = strconv.AppendInt(append(b, `,"T":`...), k.End*1000-1, 10)
	b = append(append(b, `,"s":"`...), f.symbolsOf(f.opt.Board.Load()).of(in)...)
	b = append(append(append(b, `","i":"`...), s.interval.Name...), '"')
	first, last := int64(k.FirstID), int64(k.LastID)
	if k.FirstID == 0 {
		first, last = -1, -1
	}
	b = strconv.AppendInt(append(b, `,"f":`...), first, 10)
	b = append(strconv.AppendInt(append(b, `,"L":`...), last, 10), ',')
	for _, p := range []struct {
		name  string
		price int64
	}{{"o", k.Open}, {"c", k.Close}, {"h", k.High}, {"l", k.Low}} {
		b = append(appendQuoted(b, p.name, p.price, in.DigitsPrice), ',')
	}
	b = appendQuoted128(b, "v", k.Volume, in.DigitsAmount)
	b = strconv.AppendInt(append(b, `,"n":`...), k.Trades, 10)
	b = strconv.AppendBool(append(b, `,"x":`...), closed)
	b = appendQuoted128(append(b, ','), "q", k.QuoteVolume, in.DigitsTotal())
	b = appendQuoted128(append(b, ','), "V", k.TakerVolume, in.DigitsAmount)
	b = appendQuoted128(append(b, ','), "Q", k.TakerQuote, in.DigitsTotal())
	return append(b, `,"B":"0"}}`...)
}

// statMessages sends the tickers that have changed in one list.
func (f *Facade) statMessages(s *stream, root *marketdata.Root, eventMs int64, send func([]byte)) {
	b, before := []byte{'['}, s.root
	s.root = root
	for _, id := range root.Sorted() {
		v := root.View(id)
		if before != nil && before.View(id) != nil && before.View(id).TickerVersion == v.TickerVersion {
			continue
		}
		b = append(f.appendStat(b, root, v, eventMs, s.kind == allTickersStream), ',')
	}
	if len(b) > 1 {
		send(append(trimComma(b), ']'))
	}
}

// appendStat appends the figures of 24 hours.
func (f *Facade) appendStat(b []byte, root *marketdata.Root, v *marketdata.View, eventMs int64, full bool) []byte {
	w, in := day(root, v), v.Instrument
	if !full {
		b = append(f.appendHead(b, "24hrMiniTicker", v, eventMs), ',')
	} else {
		b = append(f.appendHead(b, "24hrTicker", v, eventMs), `,"p":"`...)
		b = fixed.AppendI128(b, fixed.FromI64(w.last).Sub(fixed.FromI64(w.open)), in.DigitsPrice)
		b = fixed.AppendI128(append(b, `","P":"`...), fixed.PercentChangeHalfEven(w.last, w.open), fixed.QuotientDigits)
		b = w.appendAverage(append(b, `",`...), "w", in)
		b = appendQuoted(append(b, ','), "x", w.open, in.DigitsPrice)
		b = appendQuoted(append(b, ','), "Q", lastAmount(v), in.DigitsAmount)
		bid, _ := v.Bids.Best()
		ask, _ := v.Asks.Best()
		b = append(appendBest(append(b, ','), in, bid, ask), ',')
	}
	b = appendQuoted(b, "c", w.last, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "o", w.open, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "h", w.high, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "l", w.low, in.DigitsPrice)
	b = appendQuoted128(append(b, ','), "v", w.volume, in.DigitsAmount)
	b = appendQuoted128(append(b, ','), "q", w.quote, in.DigitsTotal())
	if !full {
		return append(b, '}')
	}
	first, last := int64(w.firstID), int64(w.lastID)
	if w.count == 0 {
		first, last = -1, -1
	}
	for _, m := range []struct {
		name string
		v    int64
	}{{"O", w.openMs}, {"C", w.closeMs}, {"F", first}, {"L", last}, {"n", w.count}} {
		b = strconv.AppendInt(append(append(append(b, `,"`...), m.name...), `":`...), m.v, 10)
	}
	return append(b, '}')
}

func appendBest(b []byte, in *engine.Instrument, bid, ask marketdata.Level) []byte {
	b = appendQuoted(b, "b", bid.Price, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "B", bid.Amount, in.DigitsAmount)
	b = appendQuoted(append(b, ','), "a", ask.Price, in.DigitsPrice)
	return appendQuoted(append(b, ','), "A", ask.Amount, in.DigitsAmount)
}

func (f *Facade) appendTouchMessage(root *marketdata.Root, v *marketdata.View, bid, ask marketdata.Level) []byte {
	b := strconv.AppendUint([]byte(`{"u":`), uint64(v.BookSeq), 10)
	b = append(append(append(b, `,"s":"`...), f.symbolsOf(root).of(v.Instrument)...), `",`...)
	return append(appendBest(b, v.Instrument, bid, ask), '}')
}

// depthMessage sends every level that was touched since the last message, with its present amount: a client that
// began with a snapshot from within the span needs also those that have the old amount again.
func (f *Facade) depthMessage(s *stream, v *marketdata.View, eventMs int64,
	send func([]byte),
) (lost bool) {
	before := s.view
	if before.BookSeq == v.BookSeq {
		return false
	}
	if before.BookSeq < v.Changes.Base() {
		return true
	}
	touched := [2]map[int64]bool{{}, {}}
	v.Changes.Undo(before.BookSeq, func(side engine.Side, price, _ int64) { touched[side][price] = true })
	b := f.appendHead(nil, "depthUpdate", v, eventMs)
	b = strconv.AppendUint(append(b, `,"U":`...), uint64(before.BookSeq)+1, 10)
	b = strconv.AppendUint(append(b, `,"u":`...), uint64(v.BookSeq), 10)
	b = appendTouched(append(b, `,"b":[`...), v.Instrument, &v.Bids, touched[engine.Buy], -1)
	b = appendTouched(append(b, `],"a":[`...), v.Instrument, &v.Asks, touched[engine.Sell], 1)
	s.view = v
	send(append(b, "]}"...))
	return false
}

// appendTouched appends the levels at the touched prices, best first; those without orders have the amount 0.
func appendTouched(b []byte, in *engine.Instrument, side *marketdata.Side, touched map[int64]bool, sign int) []byte {
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
	for _, l := range levels {
		b = append(AppendLevel(b, in, l), ',')
	}
	return trimComma(b)
}
