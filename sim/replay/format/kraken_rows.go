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

	"tickhive/engine"
	"tickhive/sim/replay/format/decimal"
	"tickhive/sim/replay/format/input"
)

// krakenTrade is one row of a Trades answer.
type krakenTrade struct {
	ns            int64
	price, amount decimal.Decimal
	side          engine.Side // the taker's
	at            input.Position
}

// krakenCandle is one row of an OHLC answer.
type krakenCandle struct {
	startSec int64
	prices   [4]decimal.Decimal // open, high, low, close
	volume   decimal.Decimal
	count    int64
	at       input.Position
}

// krakenTicker holds the values of the current day (since 00:00 UTC) of a Ticker answer.
type krakenTicker struct {
	last, volume, vwap, low, high, open decimal.Decimal
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
func (p *krakenParser) here() input.Position {
	at := min(max(p.at, 0), int64(len(p.doc)))
	if at < p.counted {
		p.counted, p.newlines = 0, 0
	}
	p.newlines += bytes.Count(p.doc[p.counted:at], []byte{'\n'})
	p.counted = at
	column := int(at) - bytes.LastIndexByte(p.doc[:at], '\n')
	return input.Position{File: p.name, Line: 1 + p.newlines, Column: column}
}

// fail returns an error at the current position.
func (p *krakenParser) fail(format string, args ...any) error {
	return p.here().Refuse(remedyKraken, format, args...)
}

// refuse returns err at the current position, with its own remedy if it has one.
func (p *krakenParser) refuse(err error) error {
	var f *input.Flaw
	errors.As(input.Locate(0, err), &f)
	return p.here().Refuse(f.Remedy, "%v", err)
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
		return nil, p.fail("the answer is an error: %s", input.Clip([]byte(answer.Error[0])))
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
		return c.startSec * input.SecondNs, err
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
	if t.price, err = input.Positive("price", unquote(row[0])); err != nil {
		return t, err
	}
	if t.amount, err = input.Positive("volume", unquote(row[1])); err != nil {
		return t, err
	}
	if t.ns, err = input.ReadUnix(row[2], input.TimeUnix); err != nil {
		return t, err
	}
	switch string(unquote(row[3])) {
	case "b":
		t.side = engine.Buy
	case "s":
		t.side = engine.Sell
	default:
		return t, fmt.Errorf("side %q is not b or s", input.Clip(row[3]))
	}
	return t, nil
}

func parseKrakenCandle(row []json.RawMessage) (c krakenCandle, err error) {
	ns, err := input.ReadUnix(row[0], input.TimeUnix)
	if err != nil {
		return c, err
	}
	if c.startSec = ns / input.SecondNs; ns%input.SecondNs != 0 {
		return c, fmt.Errorf("time %q is not a whole second", input.Clip(row[0]))
	}
	for i := range c.prices {
		if c.prices[i], err = input.Positive("price", unquote(row[1+i])); err != nil {
			return c, err
		}
	}
	if c.volume, err = input.NotNegative("volume", unquote(row[6])); err != nil {
		return c, err
	}
	if c.count, err = strconv.ParseInt(string(row[7]), 10, 64); err != nil || c.count < 0 {
		return c, fmt.Errorf("count %q is not a number", input.Clip(row[7]))
	}
	return c, nil
}

// ticker reads the values of the current day: the first element of each pair of values, and the open.
func (p *krakenParser) ticker(f *krakenFile, members map[string]json.RawMessage) error {
	t := &krakenTicker{}
	for _, m := range []struct {
		key  string
		into *decimal.Decimal
	}{{"c", &t.last}, {"v", &t.volume}, {"p", &t.vwap}, {"l", &t.low}, {"h", &t.high}} {
		var parts []text
		if err := json.Unmarshal(members[m.key], &parts); err != nil || len(parts) == 0 {
			return p.fail("ticker %s: want an array of texts", m.key)
		}
		n, err := input.NotNegative(m.key, parts[0])
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
	if t.open, err = input.Positive("o", unquote(members["o"])); err != nil {
		return p.fail("ticker %v", err)
	}
	f.ticker = t
	return nil
}
