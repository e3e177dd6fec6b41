package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/tickhive/tickhive/engine"
)

// kraken reads recorded answers of Kraken's public REST API: trades, and the candles and values of the day that
// were recorded with them. Files may come in any order; their content determines which answer they are. The
// survey keeps all values, because each file is one document, and it retains only candles whose trades are
// complete.
type kraken struct {
	paths []string

	s       *Survey
	trades  []krakenTrade
	candles []krakenCandle
	ticker  *krakenTicker
	pair    *krakenPair
	others  int // number of answers about other pairs
	books   int // number of answers with an order book, or with nothing
	at      int // index of the next record: trades first, then candles, then the ticker
}

func newKraken(files []string) (Reader, error) {
	if len(files) == 0 {
		return nil, errors.New("replay: kraken takes the Trades answer, " +
			"and to check it OHLC, Ticker and AssetPairs answers")
	}
	return &kraken{paths: files}, nil
}

func (k *kraken) Open(s *Survey) error {
	k.s, k.at = s, 0
	if !s.learning() {
		return nil
	}
	files, symbol, err := k.readAll()
	if err != nil {
		return err
	}
	s.Shape, s.Pair = Answers, pairOfKraken(symbol)
	if err := k.takeAll(files, symbol); err != nil {
		return err
	}
	if k.pair != nil && k.pair.DigitsPrice != nil && k.pair.DigitsAmount != nil {
		s.Price.most = max(s.Price.most, *k.pair.DigitsPrice)
		s.Amount.most = max(s.Amount.most, *k.pair.DigitsAmount)
	}
	s.Sets, s.Today = []Set{{LengthNs: k.length() * secondNs}}, k.ticker != nil
	return nil
}

func (k *kraken) Close() {}

func (k *kraken) Notes() []string {
	notes := noted(nil, k.others, "%d answers about other pairs: left out")
	return noted(notes, k.books, "%d answers with an order book, or with nothing: left out")
}

func (k *kraken) Next(r *Record) error {
	r.reset()
	n := k.at
	k.at++
	switch {
	case n < len(k.trades):
		t := &k.trades[n]
		if k.s.learning() {
			k.s.count(t.ns)
			k.s.Price.trade.take(t.price, t.at)
			k.s.Amount.trade.take(t.amount, t.at)
		}
		r.Kind, r.At, r.NS, r.Side, r.Sided = Trade, t.at, t.ns, t.side, true
		return k.s.trade(r, t.price, t.amount)
	case n < len(k.trades)+len(k.candles):
		c := &k.candles[n-len(k.trades)]
		r.Kind, r.At, r.NS, r.Bar.Trades = Candle, c.at, c.startSec*secondNs, c.count
		return k.s.prices(r, c.prices, c.volume, c.at)
	case n == len(k.trades)+len(k.candles) && k.ticker != nil:
		r.Kind = Today
		k.today(&r.Today)
		return nil
	case k.s.learning():
		k.candles = k.covered()
	}
	return io.EOF
}

// today copies the figures of the current day, from the newest ticker message, to v.
func (k *kraken) today(v *Values) {
	t := k.ticker
	vwap := Digits{use: VWAPDigits}
	*v = Values{
		High: k.s.Price.exact(t.high), Low: k.s.Price.exact(t.low),
		Open: k.s.Price.exact(t.open), Last: k.s.Price.exact(t.last),
		Volume: k.s.Amount.exact(t.volume), VWAP: vwap.exact(t.vwap), Trades: t.count,
	}
}

// takeAll adds the files' values for the pair symbol. A file may also have values of other pairs. A file with
// only other pairs is refused, because it would not be compared.
func (k *kraken) takeAll(files []*krakenFile, symbol string) error {
	k.trades, k.candles, k.ticker, k.pair, k.others, k.books = nil, nil, nil, nil, 0, 0
	mine := map[string]bool{}
	for _, f := range files {
		mine[f.name] = mine[f.name] || f.symbol == symbol
	}
	for _, f := range files {
		if !mine[f.name] {
			return topOf(f.name).Refuse(remedySymbols, "the answer is about %s, the trades are of %s",
				f.symbol, symbol)
		}
		if f.symbol != symbol {
			k.others++
			continue
		}
		if err := k.take(f); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads all answers. The trades determine the pair to replay.
func (k *kraken) readAll() (all []*krakenFile, symbol string, err error) {
	var bad problems
	for _, path := range k.paths {
		name, doc, err := readDocument(path)
		var files []*krakenFile
		if err == nil {
			files, err = parseKraken(name, doc, &bad)
		}
		if err != nil {
			if !errors.As(err, new(*LineError)) {
				return nil, "", err
			}
			bad.take(err)
		}
		for _, f := range files {
			if len(f.trades) == 0 {
				continue
			}
			if symbol != "" && symbol != f.symbol {
				return nil, "", topOf(name).Refuse(remedySymbols, "trades of more than one pair: "+
					"%s and %s", symbol, f.symbol)
			}
			symbol = f.symbol
		}
		all = append(all, files...)
	}
	if err := bad.err(); err != nil {
		return nil, "", err
	}
	if symbol == "" {
		return nil, "", errors.New("replay: kraken: none of the files is a Trades answer with trades; an OHLC answer " +
			"alone is replayed with --format trades --columns time=1,open=2,high=3,low=4,close=5,amount=7")
	}
	return all, symbol, nil
}

// take adds a file. A second file of trades continues the first one.
func (k *kraken) take(f *krakenFile) error {
	switch {
	case len(f.trades) > 0:
		if n := len(k.trades); n > 0 && f.trades[0].ns < k.trades[n-1].ns {
			return f.trades[0].at.Refuse("give the files in order of time, and none twice",
				"begins before the trades given before it end")
		}
		k.trades = append(k.trades, f.trades...)
	case len(f.candles) > 0:
		if len(k.candles) > 0 {
			return f.candles[0].at.Refuse("give one OHLC answer", "a second file of candles")
		}
		k.candles = f.candles
	case f.ticker != nil:
		if k.ticker != nil {
			return topOf(f.name).Refuse("give one Ticker answer", "a second ticker")
		}
		k.ticker = f.ticker
	case f.pair != nil:
		k.pair = f.pair
	default:
		k.books++
	}
	return nil
}

// length returns the length of the candles in seconds: the smallest difference of two starts. Without candles,
// or when that is no interval, it returns a minute.
func (k *kraken) length() int64 {
	smallest := int64(0)
	for i := 1; i < len(k.candles); i++ {
		d := k.candles[i].startSec - k.candles[i-1].startSec
		if d > 0 && (smallest == 0 || d < smallest) {
			smallest = d
		}
	}
	if smallest == 0 {
		return int64(time.Minute / time.Second)
	}
	return smallest
}

// covered returns the candles whose trades are complete. It leaves out three kinds: candles after the last
// trade's, the last trade's own if later candles show that trades are missing, and the newest candle. The
// newest was still open when it was recorded; it is included if its number of trades agrees.
func (k *kraken) covered() (out []krakenCandle) {
	if len(k.candles) == 0 {
		return nil
	}
	length, lastSec := k.length(), k.trades[len(k.trades)-1].ns/secondNs
	newest := k.candles[len(k.candles)-1].startSec
	more := false
	for _, c := range k.candles {
		more = more || c.startSec > lastSec && c.count > 0
	}
	for _, c := range k.candles {
		whole := c.startSec < newest || c.count == k.tradesFrom(newest)
		if whole && (!more || c.startSec+length <= lastSec) {
			out = append(out, c)
		}
	}
	return out
}

// tradesFrom returns the number of trades at or after startSec.
func (k *kraken) tradesFrom(startSec int64) (n int64) {
	for i := len(k.trades) - 1; i >= 0 && k.trades[i].ns >= startSec*secondNs; i-- {
		n++
	}
	return n
}

// krakenTrade is one row of a Trades answer.
type krakenTrade struct {
	ns            int64
	price, amount Decimal
	side          engine.Side // the taker's
	at            Position
}

// krakenCandle is one row of an OHLC answer.
type krakenCandle struct {
	startSec int64
	prices   [4]Decimal // open, high, low, close
	volume   Decimal
	count    int64
	at       Position
}

// krakenTicker holds the values of the current day (since 00:00 UTC) of a Ticker answer.
type krakenTicker struct {
	last, volume, vwap, low, high, open Decimal
	count                               int64
}

// krakenFile holds the rows of one pair in one answer. One member is set; none for an answer that the replay
// does not use (an order book).
type krakenFile struct {
	name    string
	symbol  string
	trades  []krakenTrade
	candles []krakenCandle
	ticker  *krakenTicker
	pair    *krakenPair
}

// krakenPair holds the digits of a pair in an AssetPairs answer.
type krakenPair struct {
	DigitsPrice  *int `json:"pair_decimals"`
	DigitsAmount *int `json:"lot_decimals"`
}

// parseKraken reads a recorded answer of Kraken's public REST API. The content determines which answer it is.
// It returns one element for each pair. Rows that are wrong by themselves are added to bad and left out.
func parseKraken(name string, doc []byte, bad *problems) ([]*krakenFile, error) {
	p := krakenParser{name: name, doc: doc, bad: bad}
	return p.parse()
}

type krakenParser struct {
	name string
	doc  []byte
	at   int64 // offset of the value being read, in bytes
	bad  *problems

	counted  int64 // offset up to which newlines are counted
	newlines int   // number of newlines up to counted
}

// remedyKraken is the remedy for an answer that cannot be used.
const remedyKraken = "give answers of Trades, OHLC, Ticker and AssetPairs as they came"

// here returns the current position of the parser. It counts lines from the previous position on, because a
// document may have a million rows.
func (p *krakenParser) here() Position {
	at := min(max(p.at, 0), int64(len(p.doc)))
	if at < p.counted {
		p.counted, p.newlines = 0, 0
	}
	p.newlines += bytes.Count(p.doc[p.counted:at], []byte{'\n'})
	p.counted = at
	column := int(at) - bytes.LastIndexByte(p.doc[:at], '\n')
	return Position{File: p.name, Line: 1 + p.newlines, Column: column}
}

// fail returns an error at the current position.
func (p *krakenParser) fail(format string, args ...any) error {
	return p.here().Refuse(remedyKraken, format, args...)
}

// refuse returns err at the current position, with its own remedy if it has one.
func (p *krakenParser) refuse(err error) error {
	var f *flaw
	errors.As(locate(0, err), &f)
	return p.here().Refuse(f.remedy, "%v", err)
}

func (p *krakenParser) failJSON(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		p.at = syntax.Offset
	}
	return p.fail("JSON: %v", err)
}

func (p *krakenParser) parse() ([]*krakenFile, error) {
	var answer struct {
		Error  []string                   `json:"error"`
		Result map[string]json.RawMessage `json:"result"`
	}
	dec := json.NewDecoder(bytes.NewReader(p.doc))
	if err := dec.Decode(&answer); err != nil {
		return nil, p.failJSON(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		p.at = dec.InputOffset()
		return nil, p.fail("something follows the JSON document")
	}
	if len(answer.Error) > 0 {
		return nil, p.fail("the answer is an error: %s", clip([]byte(answer.Error[0])))
	}
	var files []*krakenFile
	for _, key := range slices.Sorted(maps.Keys(answer.Result)) {
		if key == "last" {
			continue
		}
		f := &krakenFile{name: p.name, symbol: key}
		value := answer.Result[key]
		// The offset of the value in the document; value is a copy of the document's bytes.
		p.at = int64(bytes.Index(p.doc, value))
		if err := p.value(f, value); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, p.fail("result holds no pair")
	}
	return files, nil
}

func (p *krakenParser) value(f *krakenFile, value []byte) error {
	if value[0] == '[' {
		return p.rows(f, value)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return p.fail("want an object or an array")
	}
	switch {
	case members["pair_decimals"] != nil:
		f.pair = &krakenPair{}
		if err := json.Unmarshal(value, f.pair); err != nil {
			return p.fail("JSON: %v", err)
		}
		return nil
	case members["v"] != nil && members["p"] != nil:
		return p.ticker(f, members)
	case members["asks"] != nil:
		return nil // an order book: a single moment, with nothing to replay
	}
	return p.fail("neither trades, candles, a ticker, a book nor a pair's rules")
}

// rows reads trades (the first column is a price, as text) or candles (the first column is a time, a number).
func (p *krakenParser) rows(f *krakenFile, value []byte) error {
	base := p.at
	dec := json.NewDecoder(bytes.NewReader(value))
	if _, err := dec.Token(); err != nil { // skips the opening bracket
		return p.failJSON(err)
	}
	last := int64(0)
	for dec.More() {
		p.at = base + dec.InputOffset()
		p.at += int64(len(value[p.at-base:]) - len(bytes.TrimLeft(value[p.at-base:], ", \t\r\n")))
		var row []json.RawMessage
		if err := dec.Decode(&row); err != nil {
			return p.fail("JSON: %v", err)
		}
		ns, err := p.row(f, row)
		if err != nil {
			p.bad.take(p.refuse(err))
			continue
		}
		if ns < last {
			return p.here().Refuse("sort the rows by time", "time goes back: rows must be in order of time")
		}
		last = ns
	}
	if len(f.trades) > 0 && len(f.candles) > 0 {
		return p.fail("trades and candles in one file")
	}
	return nil
}

func (p *krakenParser) row(f *krakenFile, row []json.RawMessage) (ns int64, err error) {
	switch {
	case len(row) >= 8 && row[0][0] != '"':
		c, err := parseKrakenCandle(row)
		c.at = p.here()
		f.candles = append(f.candles, c)
		return c.startSec * secondNs, err
	case len(row) >= 4 && row[0][0] == '"':
		t, err := parseKrakenTrade(row)
		t.at = p.here()
		f.trades = append(f.trades, t)
		return t.ns, err
	}
	return 0, errors.New("neither a trade [price, volume, time, b|s, ...] " +
		"nor a candle [time, open, high, low, close, vwap, volume, count]")
}

func parseKrakenTrade(row []json.RawMessage) (t krakenTrade, err error) {
	if t.price, err = positive("price", unquote(row[0])); err != nil {
		return t, err
	}
	if t.amount, err = positive("volume", unquote(row[1])); err != nil {
		return t, err
	}
	if t.ns, err = readUnix(row[2], timeUnix); err != nil {
		return t, err
	}
	switch string(unquote(row[3])) {
	case "b":
		t.side = engine.Buy
	case "s":
		t.side = engine.Sell
	default:
		return t, fmt.Errorf("side %q is not b or s", clip(row[3]))
	}
	return t, nil
}

func parseKrakenCandle(row []json.RawMessage) (c krakenCandle, err error) {
	ns, err := readUnix(row[0], timeUnix)
	if err != nil {
		return c, err
	}
	if c.startSec = ns / secondNs; ns%secondNs != 0 {
		return c, fmt.Errorf("time %q is not a whole second", clip(row[0]))
	}
	for i := range c.prices {
		if c.prices[i], err = positive("price", unquote(row[1+i])); err != nil {
			return c, err
		}
	}
	if c.volume, err = notNegative("volume", unquote(row[6])); err != nil {
		return c, err
	}
	if c.count, err = strconv.ParseInt(string(row[7]), 10, 64); err != nil || c.count < 0 {
		return c, fmt.Errorf("count %q is not a number", clip(row[7]))
	}
	return c, nil
}

// ticker reads the values of the current day: the first element of each pair of values, and the open.
func (p *krakenParser) ticker(f *krakenFile, members map[string]json.RawMessage) error {
	t := &krakenTicker{}
	for _, m := range []struct {
		key  string
		into *Decimal
	}{{"c", &t.last}, {"v", &t.volume}, {"p", &t.vwap}, {"l", &t.low}, {"h", &t.high}} {
		var parts []text
		if err := json.Unmarshal(members[m.key], &parts); err != nil || len(parts) == 0 {
			return p.fail("ticker %s: want an array of texts", m.key)
		}
		n, err := notNegative(m.key, parts[0])
		if err != nil {
			return p.fail("ticker %v", err)
		}
		*m.into = n
	}
	var counts []int64
	if err := json.Unmarshal(members["t"], &counts); err != nil || len(counts) == 0 {
		return p.fail("ticker t: want an array of numbers")
	}
	t.count = counts[0]
	var err error
	if t.open, err = positive("o", unquote(members["o"])); err != nil {
		return p.fail("ticker %v", err)
	}
	f.ticker = t
	return nil
}
