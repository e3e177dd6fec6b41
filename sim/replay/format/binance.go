package format

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/engine"
)

// binanceMessage is the kind of message in a line of the stream.
type binanceMessage uint8

const (
	binanceTrade binanceMessage = iota
	binanceDepth
	binanceTouch
	binanceSnapshot
	binancePartial   // only the best levels; not used
	binanceAggregate // the trades of one order at one price as a sum; used where the recording has no trades
	binanceCandle    // only compared, when it is closed
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
	if strings.HasPrefix(kind, "kline_") {
		return binanceCandle
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
	case "kline":
		return binanceCandle
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
	sums     bool // the recording has no trades but sums of them
	symbol   string
	first    binanceFirst // set during the survey
	klines   binanceKlines
}

func newBinance(files []string) (Reader, error) {
	t, err := newStream("binance", files, maxStreams)
	return &binance{stream: t}, err
}

func (b *binance) Open(s *Survey) error {
	b.symbol, b.first, b.sorted, b.klines.next = "", binanceFirst{}, b.exchange, 0
	if s.learning() {
		b.klines.all = b.klines.all[:0]
		s.Shape, s.Ignored = Levels, "%d messages of streams that are not used"
	}
	return b.open(s)
}

func (b *binance) Next(r *Record) error {
	err := b.next(r, b.parse)
	switch {
	case errors.Is(err, io.EOF) && b.s.learning() && b.klines.next == 0:
		if err := b.ended(); err != nil {
			return err
		}
		sums := b.first.n[binanceAggregate] > 0 && b.first.n[binanceTrade] == 0 && !b.sums
		if len(b.klines.all) > 0 && !b.exchange || sums { // candles have the trades of the exchange's times
			b.exchange, b.sums, *b.s = b.exchange || len(b.klines.all) > 0, b.sums || sums, *NewSurvey()
			if err := b.Open(b.s); err != nil {
				return err
			}
			return b.Next(r)
		}
		b.klines.sets(b.s)
		fallthrough
	case errors.Is(err, io.EOF):
		return b.klines.record(b.s, r)
	case err != nil || !b.s.learning():
		return err
	}
	b.s.count(r.NS)
	return b.first.take(r.message, r.At)
}

// oneSymbol refuses a message of another symbol than the first message.
func (b *binance) oneSymbol(data []byte, symbol string) error {
	switch {
	case symbol == "" || symbol == b.symbol:
	case b.symbol == "" && strings.Contains(symbol, "_"):
		return flawAt(memberAt(data, "s"), remedyContracts,
			"%s is a COIN-M future: its amounts count contracts, not %s", symbol, strings.SplitN(symbol, "USD", 2)[0])
	case b.symbol == "":
		b.symbol = symbol
	default:
		return flawAt(memberAt(data, symbol), remedySymbols, "symbol %q, the lines before are of %q", symbol,
			b.symbol)
	}
	return nil
}

// remedyContracts is the remedy for a stream whose amounts are no base amounts.
const remedyContracts = "record the USDT future or the spot pair; or write the trades as rows of " +
	"time,price,amount,side and replay these with --format trades --amount contracts --contract-value 100, the " +
	"dollars of one contract"

// Notes implements Reader.Notes.
func (b *binance) Notes() []string {
	notes := b.stream.Notes()
	if b.sums {
		notes = append(notes, "the trades are those of aggTrade: each is the sum of an order's trades at one price")
	}
	return notes
}

// ended ends a survey. It returns an error when the stream lacks messages.
func (b *binance) ended() error {
	if b.s.Records == 0 {
		return b.in.Fail(remedyRows, "no records")
	}
	b.s.Pair = splitPair(b.symbol)
	return b.first.check(b.symbol)
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
	Before *uint64         `json:"pu"` // futures: the last id of the message before
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
		return flawAt(0, remedyBinance, "a line without a blank")
	}
	local, err := readUnix(ns, timeNs)
	if err != nil {
		return err
	}
	if r.NS = local; b.exchange {
		r.NS = 0
	}
	return locate(len(line)-len(doc), b.parseDocument(doc, r, local))
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
			return flawAt(0, "take the snapshot again", "a depth snapshot without levels")
		}
		return b.s.book(r, m.Bids, m.Asks)
	}
	if m.Data == nil && m.Event == "" && m.Symbol == "" {
		return flawAt(0, remedyBinance, "neither a stream message nor a depth snapshot")
	}
	if m.Data == nil {
		return b.parseData(binanceEvent(m.Event), doc, r)
	}
	if err := b.parseData(binanceStream(m.Stream), m.Data, r); err != nil {
		return locate(max(bytes.Index(doc, m.Data), 0), err)
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
			return flawAt(0, remedyBinance, "the first line has no time: neither a local one nor E")
		}
		return nil
	}
	at, err := ParseDecimal([]byte(text))
	if err == nil {
		r.NS, _, err = unixNs(at)
	}
	if err != nil {
		return flawAt(0, remedyBinance, "the time %s: %v", name, err)
	}
	return nil
}

func (b *binance) parseData(kind binanceMessage, data []byte, r *Record) error {
	r.message = kind
	if kind == binanceAggregate && b.sums {
		kind = binanceTrade
	}
	if kind == binanceCandle && b.s.learning() {
		return b.klines.take(data, r.At)
	} else if kind > binanceTouch {
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
	price, err := positive("price", m.Price)
	if err != nil {
		return err
	}
	amount, err := positive("quantity", m.Qty)
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
	if m.Before != nil { // ids of other symbols are between those of a futures symbol
		r.First = min(r.First, *m.Before+1)
	}
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
	if l.price, err = notNegative(what, p); err != nil {
		return nil, err
	}
	if l.amount, err = notNegative(what+" quantity", qty); err != nil {
		return nil, err
	}
	if l.price.V.Sign() == 0 {
		return nil, nil
	}
	return []level{l}, nil
}

// maxEarly bounds the level updates that are stored until the first book: 1 3/4 hours at one update every 100
// ms.
const maxEarly = 65_536

// binanceFirst holds, for each kind of message, the place of the first one and the number of them.
type binanceFirst struct {
	at    [binanceMessages]Position
	n     [binanceMessages]int
	start Position
	early int // depth updates before the first snapshot
}

func (f *binanceFirst) take(m binanceMessage, at Position) error {
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
	case f.n[binanceTrade]+f.n[binanceAggregate]+f.n[binanceSnapshot] == 0:
		return f.start.Refuse("record "+stream+"@trade, "+stream+"@depth@100ms and a depth snapshot",
			"neither trades nor a depth snapshot: nothing to replay")
	}
	return nil
}

// maxKlines bounds the candles of a recording: two years of minutes.
const maxKlines = 1 << 20

// binanceKlines holds the closed candles of a recording, which are compared at its end.
type binanceKlines struct {
	all  []binanceKline
	next int // index of the candle that record returns next
}

// binanceKline is a closed candle.
type binanceKline struct {
	startNs, lengthNs int64
	prices            [4]Decimal // open, high, low, close
	volume            Decimal
	at                Position
}

// klineSeconds maps the names of intervals to their lengths. Candles of other intervals are left out.
var klineSeconds = map[string]int64{
	"1m": 60, "3m": 180, "5m": 300, "15m": 900, "30m": 1800, "1h": 3600, "4h": 14_400, "1d": 86_400,
}

// take adds the candle of a message when it is closed.
func (k *binanceKlines) take(data []byte, at Position) error {
	var m struct {
		Candle struct {
			Start    text   `json:"t"`
			End      text   `json:"T"` // without it, T would be decoded into Start
			Interval string `json:"i"`
			Open     text   `json:"o"`
			High     text   `json:"h"`
			Low      text   `json:"l"`
			LastID   text   `json:"L"`
			Close    text   `json:"c"`
			Volume   text   `json:"v"`
			BuyBase  text   `json:"V"`
			Closed   bool   `json:"x"`
		} `json:"k"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return locateJSON(err, remedyBinance)
	}
	c, out := &m.Candle, binanceKline{at: at}
	if out.lengthNs = klineSeconds[c.Interval] * secondNs; out.lengthNs == 0 || !c.Closed {
		return nil
	}
	if len(k.all) == maxKlines {
		return flawAt(0, "cut the recording", "more than %d candles", maxKlines)
	}
	start, err := ParseDecimal(c.Start)
	if err == nil {
		out.startNs, _, err = unixNs(start)
	}
	if err != nil {
		return locateMember(data, "t", err)
	}
	for i, price := range [4]text{c.Open, c.High, c.Low, c.Close} {
		if out.prices[i], err = positive("price", price); err != nil {
			return locateMember(data, "k", err)
		}
	}
	if out.volume, err = notNegative("volume", c.Volume); err != nil {
		return locateMember(data, "v", err)
	}
	k.all = append(k.all, out)
	return nil
}

// sets describes the candles in the survey, and puts them in order of interval and time.
func (k *binanceKlines) sets(s *Survey) {
	slices.SortStableFunc(k.all, func(a, b binanceKline) int {
		if a.lengthNs != b.lengthNs {
			return int((a.lengthNs - b.lengthNs) / secondNs)
		}
		return int((a.startNs - b.startNs) / secondNs)
	})
	for i := range k.all {
		if n := len(s.Sets); n == 0 || s.Sets[n-1].LengthNs != k.all[i].lengthNs {
			s.Sets = append(s.Sets, Set{LengthNs: k.all[i].lengthNs})
		}
	}
}

// record fills r with the next candle. It returns io.EOF after the last one.
func (k *binanceKlines) record(s *Survey, r *Record) error {
	r.reset()
	if k.next == len(k.all) {
		return io.EOF
	}
	c := &k.all[k.next]
	k.next++
	r.Kind, r.At, r.NS, r.Bar.Trades = Candle, c.at, c.startNs, -1
	r.Bar.Set = slices.IndexFunc(s.Sets, func(set Set) bool { return set.LengthNs == c.lengthNs })
	return s.prices(r, c.prices, c.volume, c.at)
}
