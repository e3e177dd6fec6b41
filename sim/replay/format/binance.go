package format

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"tickhive/engine"
	"tickhive/sim/replay/format/decimal"
	"tickhive/sim/replay/format/input"
	"tickhive/sim/replay/format/pairs"
)

// maxEarly bounds the level updates that are stored until the first book: 1 3/4 hours at one update every 100
// ms.
const maxEarly = 65_536

// binanceMessage is the kind of message in a line of the stream.
type binanceMessage uint8

const (
	binanceTrade binanceMessage = iota
	binanceDepth
	binanceTouch
	binanceSnapshot
	binancePartial   // only the best levels; not used
	binanceAggregate // the trades of one order as a sum; not used
	binanceOther     // neither book nor trades
	binanceMessages
)

// binanceStream returns the kind of message of a stream by the text after the symbol: depth@100ms.
func binanceStream(name string) binanceMessage {
	_, stream, _ := strings.Cut(name, "@")
	kind, _, _ := strings.Cut(stream, "@")
	switch kind {
	case "trade":
		return binanceTrade
	case "aggTrade":
		return binanceAggregate
	case "bookTicker":
		return binanceTouch
	case "depth":
		return binanceDepth
	case "depth5", "depth10", "depth20":
		return binancePartial
	}
	return binanceOther
}

// binanceEvent returns the kind of message of a single stream by its event type. Only the best prices have none.
func binanceEvent(name string) binanceMessage {
	switch name {
	case "trade":
		return binanceTrade
	case "aggTrade":
		return binanceAggregate
	case "depthUpdate":
		return binanceDepth
	case "":
		return binanceTouch
	}
	return binanceOther
}

// binance reads the messages of combined or single streams, one on each line, with a local time in front or with the
// exchange's.
type binance struct {
	stream
	exchange bool // the time is the exchange's also where a local one is in front of the line
	symbol   string
	first    binanceFirst // set during the survey
}

func newBinance(files []string) (Reader, error) {
	t, err := newStream("binance", files, maxStreams)
	return &binance{stream: t}, err
}

func (b *binance) Open(s *Survey) error {
	b.symbol, b.first = "", binanceFirst{}
	if s.learning() {
		s.Shape, s.Ignored = Levels, "%d messages of streams that are not used"
	}
	return b.open(s)
}

func (b *binance) Next(r *Record) error {
	err := b.next(r, b.parse)
	switch {
	case !b.s.learning():
		return err
	case errors.Is(err, io.EOF):
		return b.ended()
	case err != nil:
		return err
	}
	b.s.count(r.NS)
	return b.first.take(r.message, r.At)
}

// oneSymbol refuses a message of another symbol than the first message.
func (b *binance) oneSymbol(data []byte, symbol string) error {
	switch {
	case symbol == "" || symbol == b.symbol:
	case b.symbol == "":
		b.symbol = symbol
	default:
		return input.FlawAt(memberAt(data, symbol), remedySymbols, "symbol %q, the lines before are of %q", symbol,
			b.symbol)
	}
	return nil
}

// ended returns io.EOF, or at the end of a survey the error that the stream lacks messages.
func (b *binance) ended() error {
	if b.s.Records == 0 {
		return b.in.Fail(remedyRows, "no records")
	}
	b.s.Pair = pairs.Split(b.symbol)
	if err := b.first.check(b.symbol); err != nil {
		return err
	}
	return io.EOF
}

// binanceFirst holds, for each kind of message, the place of the first one and the number of them.
type binanceFirst struct {
	at    [binanceMessages]input.Position
	n     [binanceMessages]int
	start input.Position
	early int // depth updates before the first snapshot
}

func (f *binanceFirst) take(m binanceMessage, at input.Position) error {
	if f.start.Line == 0 {
		f.start = at
	}
	if f.n[m]++; f.n[m] == 1 {
		f.at[m] = at
	}
	if m != binanceDepth || f.n[binanceSnapshot] > 0 {
		return nil
	}
	if f.early++; f.early > maxEarly {
		return at.Refuse("take the depth snapshot when the recording begins, or cut what is before it",
			"more than %d depth updates before the depth snapshot", maxEarly)
	}
	return nil
}

// check returns an error when the stream lacks the messages that make its book or its trades.
func (f *binanceFirst) check(symbol string) error {
	if symbol == "" {
		symbol = "SYMBOL"
	}
	stream := strings.ToLower(symbol)
	switch {
	case f.n[binanceDepth] > 0 && f.n[binanceSnapshot] == 0:
		return f.at[binanceDepth].Refuse("after this line add the answer of GET /api/v3/depth?symbol="+symbol+
			`&limit=5000 that was taken then, as a line: local time in ns, a blank, {"lastUpdateId":...}`,
			"depth updates and no depth snapshot in the file: the book would stay empty")
	case f.n[binancePartial] > 0 && f.n[binanceDepth] == 0:
		return f.at[binancePartial].Refuse("record "+stream+"@depth@100ms and a depth snapshot",
			"a stream of the best levels alone: the book would stay empty")
	case f.n[binanceAggregate] > 0 && f.n[binanceTrade] == 0:
		return f.at[binanceAggregate].Refuse("record "+stream+"@trade",
			"a stream of aggregate trades alone: there would be no trade")
	case f.n[binanceTrade]+f.n[binanceSnapshot] == 0:
		return f.start.Refuse("record "+stream+"@trade, "+stream+"@depth@100ms and a depth snapshot",
			"neither trades nor a depth snapshot: nothing to replay")
	}
	return nil
}

// binanceLine is a message of a combined or of a single stream, or a depth snapshot of REST.
type binanceLine struct {
	Event      string          `json:"e"`
	EventTime  json.RawMessage `json:"E"` // milliseconds or microseconds, a number
	TradeTime  json.RawMessage `json:"T"` // of a trade
	Ignore     json.RawMessage `json:"t"` // without it, t would be decoded into TradeTime
	Symbol     string          `json:"s"`
	Stream     string          `json:"stream"`
	Data       json.RawMessage `json:"data"`
	LastUpdate *uint64         `json:"lastUpdateId"`
	Bids       []level         `json:"bids"`
	Asks       []level         `json:"asks"`
}

// binanceData is the data of a message of the three streams that are used. A missing member is nil.
type binanceData struct {
	Symbol string          `json:"s"`
	First  *uint64         `json:"U"`
	Last   *uint64         `json:"u"`
	B      json.RawMessage `json:"b"` // depth: levels; touch: a price
	A      json.RawMessage `json:"a"`
	BidQty text            `json:"B"`
	AskQty text            `json:"A"`
	Price  text            `json:"p"`
	Qty    text            `json:"q"`
	Maker  *bool           `json:"m"`
	// encoding/json also matches names of another case. Without this member, M would be decoded into m.
	Ignore json.RawMessage `json:"M"`
}

// remedyBinance is the remedy for a line that does not belong to a recorded stream.
const remedyBinance = `want lines of: local time in ns, a blank, and {"stream":...,"data":...}, {"e":...} or a depth ` +
	`snapshot; without the time, messages that have E`

// parse reads a line `ns {json}` or `{json}`: a message of a stream, or a depth snapshot of the REST API.
func (b *binance) parse(line []byte, r *Record) (err error) {
	if bytes.HasPrefix(line, []byte{'{'}) {
		return b.parseDocument(line, r, 0)
	}
	ns, doc, ok := bytes.Cut(line, []byte{' '})
	if !ok {
		return input.FlawAt(0, remedyBinance, "a line without a blank")
	}
	local, err := input.ReadUnix(ns, input.TimeNs)
	if err != nil {
		return err
	}
	if r.NS = local; b.exchange {
		r.NS = 0
	}
	return input.Locate(len(line)-len(doc), b.parseDocument(doc, r, local))
}

func (b *binance) parseDocument(doc []byte, r *Record, local int64) error {
	var m binanceLine
	if err := json.Unmarshal(doc, &m); err != nil {
		return locateJSON(err, remedyBinance)
	}
	if r.NS == 0 {
		if err := b.exchangeTime(&m, r, local); err != nil {
			return err
		}
	}
	if m.LastUpdate != nil {
		r.message, r.Kind, r.Last = binanceSnapshot, Book, *m.LastUpdate
		if len(m.Bids)+len(m.Asks) == 0 {
			return input.FlawAt(0, "take the snapshot again", "a depth snapshot without levels")
		}
		return b.s.book(r, m.Bids, m.Asks)
	}
	if m.Data == nil && m.Event == "" && m.Symbol == "" {
		return input.FlawAt(0, remedyBinance, "neither a stream message nor a depth snapshot")
	}
	if m.Data == nil {
		return b.parseData(binanceEvent(m.Event), doc, r)
	}
	if err := b.parseData(binanceStream(m.Stream), m.Data, r); err != nil {
		return input.Locate(max(bytes.Index(doc, m.Data), 0), err)
	}
	return nil
}

// exchangeTime takes the time of a line from its message: the trade's (with exchange), or the event's. A message
// without one, the answer of REST or best prices, has the time of the line before; local is the time of the first line.
func (b *binance) exchangeTime(m *binanceLine, r *Record, local int64) error {
	var data struct {
		EventTime json.RawMessage `json:"E"`
		Event     json.RawMessage `json:"e"` // without it, e would be decoded into EventTime
		TradeTime json.RawMessage `json:"T"`
		Trade     json.RawMessage `json:"t"`
	}
	if m.Data != nil {
		if err := json.Unmarshal(m.Data, &data); err != nil {
			return locateJSON(err, remedyBinance)
		}
	}
	name, text := "E", cmp.Or(string(m.EventTime), string(data.EventTime))
	if at := cmp.Or(string(m.TradeTime), string(data.TradeTime)); b.exchange && at != "" {
		name, text = "T", at
	}
	if text == "" {
		if r.NS = cmp.Or(b.order.last, local); r.NS == 0 {
			return input.FlawAt(0, remedyBinance, "the first line has no time: neither a local one nor E")
		}
		return nil
	}
	at, err := decimal.Parse([]byte(text))
	if err == nil {
		r.NS, _, err = input.UnixNs(at)
	}
	if err != nil {
		return input.FlawAt(0, remedyBinance, "the time %s: %v", name, err)
	}
	return nil
}

func (b *binance) parseData(kind binanceMessage, data []byte, r *Record) error {
	r.message = kind
	if kind > binanceTouch {
		return nil
	}
	var m binanceData
	if err := json.Unmarshal(data, &m); err != nil {
		return locateJSON(err, remedyBinance)
	}
	read := b.readTouch
	switch kind {
	case binanceDepth:
		read = b.readDepth
	case binanceTrade:
		read = b.readTrade
	default:
	}
	if err := read(&m, r); err != nil {
		return err
	}
	return b.oneSymbol(data, m.Symbol)
}

func (b *binance) readTrade(m *binanceData, r *Record) error {
	r.Kind, r.Sided = Trade, true
	price, err := input.Positive("price", m.Price)
	if err != nil {
		return err
	}
	amount, err := input.Positive("quantity", m.Qty)
	if err != nil {
		return err
	}
	if m.Maker == nil {
		return errors.New("m (buyer is the maker) is missing")
	}
	if *m.Maker {
		r.Side = engine.Sell
	}
	return b.s.trade(r, price, amount)
}

func (b *binance) readDepth(m *binanceData, r *Record) error {
	if r.Kind = Update; m.First == nil || m.Last == nil || *m.Last < *m.First {
		return errors.New("update ids U and u are missing or turned round")
	}
	r.First, r.Last = *m.First, *m.Last
	var bids, asks []level
	if err := json.Unmarshal(m.B, &bids); err != nil {
		return fmt.Errorf("bids: %w", err)
	}
	if err := json.Unmarshal(m.A, &asks); err != nil {
		return fmt.Errorf("asks: %w", err)
	}
	return b.s.book(r, bids, asks)
}

func (b *binance) readTouch(m *binanceData, r *Record) error {
	if r.Kind = Touch; m.Last == nil {
		return errors.New("update id u is missing")
	}
	r.Last = *m.Last
	bids, err := touchOf(m.B, m.BidQty, "bid")
	if err != nil {
		return err
	}
	asks, err := touchOf(m.A, m.AskQty, "ask")
	if err != nil {
		return err
	}
	return b.s.book(r, bids, asks)
}

// touchOf returns the best level of a side, or no level when the price is 0 (an empty side).
func touchOf(price json.RawMessage, qty text, what string) ([]level, error) {
	var p text
	if err := json.Unmarshal(price, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	var l level
	var err error
	if l.price, err = input.NotNegative(what, p); err != nil {
		return nil, err
	}
	if l.amount, err = input.NotNegative(what+" quantity", qty); err != nil {
		return nil, err
	}
	if l.price.V.Sign() == 0 {
		return nil, nil
	}
	return []level{l}, nil
}
