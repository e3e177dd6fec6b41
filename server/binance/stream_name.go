package binance

import (
	"strings"

	"tickhive/engine"
	"tickhive/marketdata"
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

// stream is one stream of a socket and the state that the client has received. The socket's lock guards it.
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

	sentMs  int64 // machine time of the last message, 0: none
	view    *marketdata.View
	trade   engine.TradeID    // last trade sent
	start   int64             // kline: second at which the open row begins
	touch   [4]int64          // bookTicker: best levels sent last
	version map[string]uint64 // tickers of all pairs: version sent last, by symbol
}

// tickMs is the time between two looks at the market. Streams that the other exchange sends in real time have it too.
const tickMs = 100

// parseStream returns the stream with this name, or false for an unknown one.
func (f *Facade) parseStream(name string) (*stream, bool) {
	s := &stream{name: name, everyMs: tickMs}
	switch name {
	case "!ticker@arr":
		s.kind, s.everyMs, s.version = allTickersStream, 1000, map[string]uint64{}
		return s, true
	case "!miniTicker@arr":
		s.kind, s.everyMs, s.version = allMiniTickersStream, 1000, map[string]uint64{}
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
