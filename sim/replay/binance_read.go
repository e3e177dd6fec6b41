package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tickhive/engine"
)

// binanceKind is the kind of record that a stream line carries.
type binanceKind uint8

const (
	binanceOther binanceKind = iota // streams that say nothing about book or trades
	binanceTrade
	binanceDepth
	binanceTouch
	binanceSnapshot
	binancePartial   // the best levels alone: not used
	binanceAggregate // trades of one order in one: not used
)

// binanceStream tells a stream by what follows the symbol: depth@100ms.
func binanceStream(name string) binanceKind {
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

// binanceRecord is one line: local time and one message.
type binanceRecord struct {
	ns          int64
	kind        binanceKind
	symbol      string
	first, last uint64 // update ids of a depth diff; last of a touch and a snapshot
	bids, asks  []priceLevel
	side        engine.Side // the taker's
	price       number
	amount      number
}

// binanceLine is a combined stream message or a depth snapshot of REST.
type binanceLine struct {
	Stream     string          `json:"stream"`
	Data       json.RawMessage `json:"data"`
	LastUpdate *uint64         `json:"lastUpdateId"`
	Bids       []priceLevel    `json:"bids"`
	Asks       []priceLevel    `json:"asks"`
}

// binanceData is the data of the three streams that are used; absent members stay nil.
type binanceData struct {
	Symbol string          `json:"s"`
	First  *uint64         `json:"U"`
	Last   *uint64         `json:"u"`
	B      json.RawMessage `json:"b"` // depth: levels; touch: price
	A      json.RawMessage `json:"a"`
	BidQty text            `json:"B"`
	AskQty text            `json:"A"`
	Price  text            `json:"p"`
	Qty    text            `json:"q"`
	Maker  *bool           `json:"m"`
	// encoding/json falls back to a member of another case: M stands here so that it
	// does not land in m.
	Ignore json.RawMessage `json:"M"`
}

// remedyBinance is the remedy of a line that is none of a recorded stream.
const remedyBinance = `want lines of: local time in ns, a blank, and {"stream":...,"data":...} or a depth snapshot`

// parseBinance reads `ns {json}`: a combined stream message, or a depth snapshot of REST.
func parseBinance(line []byte) (r binanceRecord, err error) {
	ns, doc, ok := bytes.Cut(line, []byte{' '})
	if !ok {
		return r, flawAt(0, remedyBinance, "a line without a blank")
	}
	if r.ns, err = readUnix(ns, timeNs); err != nil {
		return r, err
	}
	return r, locate(len(line)-len(doc), r.parse(doc))
}

func (r *binanceRecord) parse(doc []byte) error {
	var m binanceLine
	if err := json.Unmarshal(doc, &m); err != nil {
		return locateJSON(err, remedyBinance)
	}
	if m.LastUpdate != nil {
		r.kind, r.last, r.bids, r.asks = binanceSnapshot, *m.LastUpdate, m.Bids, m.Asks
		if len(m.Bids)+len(m.Asks) == 0 {
			return flawAt(0, "take the snapshot again", "a depth snapshot without levels")
		}
		return nil
	}
	if m.Data == nil {
		return flawAt(0, remedyBinance, "neither a stream message nor a depth snapshot")
	}
	if err := r.readData(m.Stream, m.Data); err != nil {
		return locate(max(bytes.Index(doc, m.Data), 0), err)
	}
	return nil
}

// locateJSON tells where a document could not be read.
func locateJSON(err error, remedy string) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	at := int64(1)
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at = kind.Offset
	default: // the JSON is one, a value in it is wrong
		remedy = remedyValue
	}
	return flawAt(int(max(at-1, 0)), remedy, "JSON: %v", err)
}

func (r *binanceRecord) readData(name string, data []byte) error {
	if r.kind = binanceStream(name); r.kind == binanceOther || r.kind == binancePartial || r.kind == binanceAggregate {
		return nil
	}
	var m binanceData
	if err := json.Unmarshal(data, &m); err != nil {
		return locateJSON(err, remedyBinance)
	}
	r.symbol = m.Symbol
	switch r.kind {
	case binanceDepth:
		return r.readDepth(&m)
	case binanceTrade:
		return r.readTrade(&m)
	default:
		return r.readTouch(&m)
	}
}

func (r *binanceRecord) readTrade(m *binanceData) (err error) {
	r.kind = binanceTrade
	if r.price, err = positiveNumber("price", m.Price); err != nil {
		return err
	}
	if r.amount, err = positiveNumber("quantity", m.Qty); err != nil {
		return err
	}
	if m.Maker == nil {
		return errors.New("m (buyer is the maker) is missing")
	}
	if *m.Maker {
		r.side = engine.Sell
	}
	return nil
}

func (r *binanceRecord) readDepth(m *binanceData) error {
	r.kind = binanceDepth
	if m.First == nil || m.Last == nil || *m.Last < *m.First {
		return errors.New("update ids U and u are missing or turned round")
	}
	r.first, r.last = *m.First, *m.Last
	if err := json.Unmarshal(m.B, &r.bids); err != nil {
		return fmt.Errorf("bids: %w", err)
	}
	if err := json.Unmarshal(m.A, &r.asks); err != nil {
		return fmt.Errorf("asks: %w", err)
	}
	return nil
}

func (r *binanceRecord) readTouch(m *binanceData) (err error) {
	r.kind = binanceTouch
	if m.Last == nil {
		return errors.New("update id u is missing")
	}
	r.last = *m.Last
	r.bids, err = touchOf(m.B, m.BidQty, "bid")
	if err != nil {
		return err
	}
	r.asks, err = touchOf(m.A, m.AskQty, "ask")
	return err
}

// touchOf is a side's best level; none where the price is 0 (an empty side).
func touchOf(price json.RawMessage, qty text, what string) ([]priceLevel, error) {
	var p text
	if err := json.Unmarshal(price, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	var l priceLevel
	var err error
	if l.price, err = p.number(what); err != nil {
		return nil, err
	}
	if l.amount, err = qty.number(what + " quantity"); err != nil {
		return nil, err
	}
	if l.price.mantissa == 0 {
		return nil, nil
	}
	return []priceLevel{l}, nil
}
