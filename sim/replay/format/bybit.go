package format

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/tickhive/tickhive/engine"
)

// bybit reads the books (ob500 and the like) and the trades that Bybit offers for download, merged by time: one
// complete book and its changes, a JSON message on each line, and trades as CSV.
type bybit struct {
	stream
	symbol string
	heads  []bybitHead // of the files
	begun  bool        // a complete book was read
}

// bybitHead says what a file holds.
type bybitHead struct {
	trades bool
	seen   bool
}

// bybitTrades is the beginning of the header of a file of trades.
const bybitTrades = "timestamp,symbol,side,size,price,"

// isBybit reports whether a line is one of a book of Bybit.
func isBybit(line []byte) bool {
	return strings.HasPrefix(string(line), `{"topic":"orderbook.`)
}

// remedyBybit is the remedy for a line that belongs to no file of Bybit.
const remedyBybit = `want lines {"topic":"orderbook.500.SYMBOL","type":"snapshot" or "delta",...}, or trades with ` +
	"the header " + bybitTrades + "..."

// bybitLine is a message of the book.
type bybitLine struct {
	Topic string `json:"topic"`
	Type  string `json:"type"`
	Time  text   `json:"ts"`
	Data  struct {
		Symbol string  `json:"s"`
		Bids   []level `json:"b"`
		Asks   []level `json:"a"`
		Update uint64  `json:"u"`
	} `json:"data"`
}

func newBybit(files []string) (Reader, error) {
	t, err := newStream("bybit", files, maxStreams)
	return &bybit{stream: t}, err
}

// Open opens the files.
func (b *bybit) Open(s *Survey) error {
	b.symbol, b.begun, b.heads = "", false, make([]bybitHead, len(b.paths))
	if s.learning() {
		s.Shape = Levels
	}
	return b.open(s)
}

// Next returns the next message or trade.
func (b *bybit) Next(r *Record) error {
	for {
		err := b.next(r, b.parse)
		switch {
		case errors.Is(err, io.EOF) && b.s.learning():
			b.s.Pair = splitPair(b.symbol)
			switch {
			case b.s.Records == 0:
				return b.in.Fail(remedyRows, "no records")
			case !b.begun:
				return b.in.Fail("give the file of the book too; trades alone are files of --format trades",
					"no complete book")
			}
			return err
		case err != nil:
			return err
		case r.left:
			continue
		}
		if b.s.learning() {
			b.s.count(r.NS)
		}
		return nil
	}
}

// parse reads a line of the file that is read.
func (b *bybit) parse(line []byte, r *Record) error {
	h := &b.heads[b.index]
	if !h.seen {
		if h.seen = true; strings.HasPrefix(string(line), bybitTrades) {
			h.trades, r.left, r.NS = true, true, b.order.last
			return nil
		}
	}
	if h.trades {
		return b.trade(line, r)
	}
	return b.book(line, r)
}

// book reads a message of the book.
func (b *bybit) book(line []byte, r *Record) (err error) {
	var m bybitLine
	if err := json.Unmarshal(line, &m); err != nil {
		return locateJSON(err, remedyBybit)
	}
	if !isBybit(line) {
		return flawAt(0, remedyBybit, "no message of an order book")
	}
	if r.NS, err = readUnix(m.Time, timeMs); err != nil {
		return locateMember(line, "ts", err)
	}
	if err := b.oneSymbol(m.Data.Symbol, memberAt(line, "s")); err != nil {
		return err
	}
	switch m.Type {
	case "snapshot":
		r.Kind, r.Replaces, b.begun = Book, true, true
	case "delta":
		if r.Kind = Update; !b.begun {
			return flawAt(memberAt(line, "type"), "give the file from its beginning, where the complete book is",
				"a change of the book before a complete one")
		}
	default:
		return flawAt(memberAt(line, "type"), remedyBybit, "type %q is neither snapshot nor delta", m.Type)
	}
	r.First, r.Last = m.Data.Update, m.Data.Update
	return b.s.book(r, m.Data.Bids, m.Data.Asks)
}

// Columns of a trade.
const (
	bybitTime = iota
	bybitSymbol
	bybitSide
	bybitSize
	bybitPrice
	bybitColumns
)

// trade reads a row of a file of trades. The side is the taker's.
func (b *bybit) trade(line []byte, r *Record) (err error) {
	var cells [bybitColumns]cell
	if n := splitRow(line, ',', cells[:]); n < bybitColumns {
		return flawAt(0, remedyShort, "%d columns, at least %d", n, bybitColumns)
	}
	if r.NS, _, err = readTime(cells[bybitTime].Text, 0, false); err != nil {
		return locate(cells[bybitTime].At, err)
	}
	symbol := cells[bybitSymbol]
	if err := b.oneSymbol(string(symbol.Text), symbol.At); err != nil {
		return err
	}
	r.Kind, r.Sided = Trade, true
	switch side := cells[bybitSide]; string(side.Text) {
	case "Buy":
		r.Side = engine.Buy
	case "Sell":
		r.Side = engine.Sell
	default:
		return flawAt(side.At, remedySide, "side %q is neither Buy nor Sell", clip(side.Text))
	}
	price, err := positive("price", cells[bybitPrice].Text)
	if err != nil {
		return locate(cells[bybitPrice].At, err)
	}
	amount, err := positive("size", cells[bybitSize].Text)
	if err != nil {
		return locate(cells[bybitSize].At, err)
	}
	return b.s.trade(r, price, amount)
}

// oneSymbol refuses a line of another symbol than the lines before, and an inverse contract, whose sizes are dollars.
func (b *bybit) oneSymbol(symbol string, at int) error {
	switch {
	case symbol == b.symbol:
		return nil
	case b.symbol != "":
		return flawAt(at, remedySymbols, "symbol %q, the lines before are of %q", symbol, b.symbol)
	case strings.HasSuffix(symbol, "USD"):
		return flawAt(at, "replay its trades alone, with --format trades --amount quote",
			"%q is an inverse contract: its sizes are dollars", symbol)
	}
	b.symbol = symbol
	return nil
}
