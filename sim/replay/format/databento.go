package format

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"tickhive/engine"
	"tickhive/sim/replay/format/input"
	"tickhive/sim/replay/format/pairs"
)

// databentoColumns lists the columns of Databento's CSV that are read, by the names of its headers.
var databentoColumns = [...]string{
	"ts_event", "publisher_id", "instrument_id", "action", "side", "price", "size", "flags", // always there
	"ts_recv", "symbol", "order_id", "bid_px_00", "ask_px_00", "bid_sz_00", "ask_sz_00", "bid_px_01",
}

// Indexes in databentoColumns.
const (
	dbEvent = iota
	dbPublisher
	dbInstrument
	dbAction
	dbSide
	dbPrice
	dbSize
	dbFlags
	dbReceived
	dbSymbol
	dbOrder
	dbBidPrice
	dbAskPrice
	dbBidSize
	dbAskSize
	dbDeeper
	dbColumns
)

// Bits of the column flags.
const (
	dbLast     = 1 << 7 // the last record of an event
	dbSnapshot = 1 << 5 // the record is part of a complete book
	dbMaybeBad = 1 << 2 // the vendor missed messages before it
)

// remedyDatabento is the remedy for a file with another layout.
const remedyDatabento = "fetch the schema mbo, mbp-1 or tbbo; trades and ohlcv are files of --format trades"

// databento reads the order messages (mbo), or the best prices and the trades (mbp-1, tbbo), that Databento offers, as
// CSV or DBN.
type databento struct {
	stream
	pair  string // pair whose rows are taken; "": the file has one symbol
	all   bool   // the pair is the name of the only symbol
	cells [maxColumns]input.Cell
	where [dbColumns]int // index of each column, -1 without it
	width int

	symbol, publisher string // of the rows before
	other             string // symbol of the first row of another one
	mixed             bool   // there are several of these
	others, doubtful  int
	skipped           bool // the line was of another symbol
	update            uint64
}

func newDatabento(files []string) (Reader, error) {
	t, err := newStream("databento", files, 1)
	return &databento{stream: t}, err
}

// Open opens the file behind its header.
func (d *databento) Open(s *Survey) error {
	if err := d.open(s); err != nil {
		return err
	}
	d.symbol, d.publisher, d.other, d.mixed, d.others, d.doubtful, d.update = "", "", "", false, 0, 0, 0
	header, err := d.in.Next()
	if errors.Is(err, io.EOF) {
		return input.Top(d.in.File).Refuse(remedyDatabento, "the file is empty")
	} else if err != nil {
		return err
	}
	d.width = input.Columns(header, ',', d.cells[:])
	if s.learning() {
		s.Ignored = "%d messages without an order: not fed"
	}
	switch ok := findDatabento(d.cells[:min(d.width, maxColumns)], &d.where); {
	case !ok || d.width > maxColumns:
		return d.in.Fail(remedyDatabento, "the header is %q", input.Clip(header))
	case d.where[dbDeeper] >= 0:
		return d.in.Fail(remedyDatabento, "several levels a side: the schema is mbp-10")
	case !s.learning():
	case d.where[dbOrder] >= 0:
		s.Shape = Orders
	default:
		s.Shape = Levels
	}
	return nil
}

// findDatabento finds the columns of a header. ok is false for one of another layout.
func findDatabento(cells []input.Cell, where *[dbColumns]int) (ok bool) {
	for i, name := range databentoColumns {
		where[i] = slices.IndexFunc(cells, func(c input.Cell) bool { return string(c.Text) == name })
	}
	book := where[dbBidPrice] >= 0 && where[dbAskPrice] >= 0 && where[dbBidSize] >= 0 && where[dbAskSize] >= 0
	return !slices.Contains(where[:dbReceived], -1) && (where[dbOrder] >= 0 || book)
}

// isDatabento reports whether a line is the header of a file that this reader takes, or refuses by its schema.
func isDatabento(line []byte) bool {
	var cells [maxColumns]input.Cell
	n := input.Columns(line, ',', cells[:])
	return n <= maxColumns && findDatabento(cells[:n], new([dbColumns]int))
}

// Next returns the next row of the pair.
func (d *databento) Next(r *Record) error {
	for {
		d.skipped = false
		err := d.next(r, d.parse)
		switch {
		case err == nil && d.skipped:
			continue
		case errors.Is(err, io.EOF) && d.s.learning():
			if again, err := d.ended(); err != nil || !again {
				return cmp.Or(err, io.EOF)
			}
			continue
		case err == nil && d.s.learning():
			d.s.count(r.NS)
		}
		return err
	}
}

// ended ends a survey. again is true when it must start again, because the pair is the name of the only symbol.
func (d *databento) ended() (again bool, err error) {
	d.s.Pair = databentoPair(d.symbol)
	switch {
	case d.s.Records > 0:
		return false, nil
	case d.others > 0 && !d.mixed:
		d.all = true
		return true, d.Open(d.s)
	case d.others > 0:
		return false, d.in.Fail("give one of its symbols as --pair", "no rows of the pair, %d of other symbols",
			d.others)
	}
	return false, d.in.Fail(remedyRows, "no records")
}

// databentoPair returns the pair code of a symbol: BTC-USD is a pair, a share or a future is traded in dollars. A
// number is an instrument without a symbol.
func databentoPair(symbol string) string {
	if _, err := strconv.ParseUint(symbol, 10, 32); err == nil {
		return ""
	}
	if strings.ContainsAny(symbol, "-/_") {
		return pairs.Split(symbol)
	}
	return pairs.Of(strings.ReplaceAll(symbol, ".", ""), "USD")
}

// Notes implements Reader.Notes.
func (d *databento) Notes() []string {
	notes := noted(d.stream.Notes(), d.others, "%d rows of other symbols: left out")
	return noted(notes, d.doubtful, "%d rows behind messages that the vendor missed (F_MAYBE_BAD_BOOK)")
}

// at returns the cell of a column, empty without it.
func (d *databento) at(column int) input.Cell {
	if i := d.where[column]; i >= 0 {
		return d.cells[i]
	}
	return input.Cell{}
}

// parse reads a row.
func (d *databento) parse(line []byte, r *Record) error {
	if n := input.Columns(line, ',', d.cells[:]); n != d.width {
		return input.FlawAt(0, remedyRow, "%d columns, the header has %d", n, d.width)
	}
	if d.isOther() {
		d.skipped, r.NS = true, d.order.last
		return nil
	}
	if err := d.oneBook(); err != nil {
		return err
	}
	f := d.at(dbFlags)
	flags, err := strconv.ParseUint(string(f.Text), 10, 8)
	if err != nil {
		return input.FlawAt(f.At, input.RemedyValue, "flags %q are not 0 to 255", input.Clip(f.Text))
	}
	if flags&dbMaybeBad != 0 {
		d.doubtful++
	}
	r.More = flags&dbLast == 0
	at := d.at(dbEvent)
	if received := d.at(dbReceived); len(received.Text) > 0 && (flags&dbSnapshot != 0 || len(at.Text) == 0) {
		at = received // an order of a complete book has the time at which it came to rest
	}
	if r.NS, _, err = input.ReadTime(at.Text, 0, false); err != nil {
		return input.Locate(at.At, err)
	}
	if d.where[dbOrder] < 0 {
		return d.best(r)
	}
	return d.order3(r)
}

// isOther counts a row of another symbol than the pair.
func (d *databento) isOther() bool {
	c := d.at(dbSymbol)
	symbol := string(c.Text)
	if d.pair == "" || d.all || symbol == "" || symbol == d.symbol || databentoPair(symbol) == d.pair {
		return false
	}
	if d.others++; d.others == 1 {
		d.other = string(c.Text)
	}
	d.mixed = d.mixed || string(c.Text) != d.other
	return true
}

// oneBook refuses a row of another symbol or another venue than the rows before.
func (d *databento) oneBook() error {
	c := d.at(dbSymbol)
	if len(c.Text) == 0 {
		c = d.at(dbInstrument)
	}
	switch p := d.at(dbPublisher); {
	case string(c.Text) == d.symbol && string(p.Text) == d.publisher:
		return nil
	case d.symbol == "":
		d.symbol, d.publisher = string(c.Text), string(p.Text)
		return nil
	case string(c.Text) != d.symbol:
		return input.FlawAt(c.At, "give one of them as --pair", "symbol %q, the rows before are of %q",
			input.Clip(c.Text), d.symbol)
	default:
		return input.FlawAt(p.At, "fetch the data of one venue",
			"publisher %q, the rows before are of %q: each has its own book", input.Clip(p.Text), d.publisher)
	}
}

// side reads the letter of a side. ok is false for N.
func (d *databento) side() (side engine.Side, ok bool, err error) {
	c := d.at(dbSide)
	switch string(c.Text) {
	case "B":
		return engine.Buy, true, nil
	case "A":
		return engine.Sell, true, nil
	case "N":
		return 0, false, nil
	}
	return 0, false, input.FlawAt(c.At, input.RemedyValue, "side %q is neither A, B nor N", input.Clip(c.Text))
}

// order3 reads a row of mbo.
func (d *databento) order3(r *Record) (err error) {
	action := d.at(dbAction)
	if r.Side, r.Sided, err = d.side(); err != nil {
		return err
	}
	switch string(action.Text) {
	case "A":
		r.Kind = Place
	case "M":
		r.Kind = Change
	case "C":
		r.Kind = Reduce
	case "F":
		r.Kind = Execute
	case "T":
		r.Kind = Trade
		return d.sized(r)
	case "R":
		r.Kind, r.Replaces = Book, true
		return nil
	case "N":
		return nil
	default:
		return input.FlawAt(action.At, input.RemedyValue, "action %q is not A, C, M, R, T, F or N",
			input.Clip(action.Text))
	}
	if !r.Sided {
		return input.FlawAt(d.at(dbSide).At, input.RemedyValue, "action %s needs a side, A or B", action.Text)
	}
	id := d.at(dbOrder)
	if r.ID, err = strconv.ParseUint(string(id.Text), 10, 64); err != nil {
		return input.FlawAt(id.At, input.RemedyValue, "order id %q is not a number", input.Clip(id.Text))
	}
	return d.sized(r)
}

// sized reads price and size of a row.
func (d *databento) sized(r *Record) error {
	p, a := d.at(dbPrice), d.at(dbSize)
	price, err := input.Positive("price", pointed(p.Text))
	if err != nil {
		return input.Locate(p.At, err)
	}
	amount, err := input.Positive("size", a.Text)
	if err != nil {
		return input.Locate(a.At, err)
	}
	return d.s.trade(r, price, amount)
}

// best reads a row of mbp-1 or tbbo: a trade, or the best level of each side.
func (d *databento) best(r *Record) (err error) {
	if r.Side, r.Sided, err = d.side(); err != nil {
		return err
	}
	if string(d.at(dbAction).Text) == "T" {
		r.Kind = Trade
		return d.sized(r)
	}
	r.Kind, r.Replaces = Book, true
	d.update++
	r.First, r.Last = d.update, d.update
	var sides [2][]level
	for side, at := range [2][2]input.Cell{
		{d.at(dbBidPrice), d.at(dbBidSize)}, {d.at(dbAskPrice), d.at(dbAskSize)},
	} {
		at[0].Text = pointed(at[0].Text)
		l, ok, err := levelAt(at[0], at[1])
		if err != nil {
			return err
		}
		if ok && l.amount.V.Sign() > 0 {
			sides[side] = append(sides[side], l)
		}
	}
	return d.s.book(r, sides[0], sides[1])
}

// pointed returns a price with a decimal point. Without one, a price counts units of 10^-9.
func pointed(s []byte) []byte {
	const decimals = 9
	if len(s) == 0 || bytes.IndexByte(s, '.') >= 0 || s[0] < '0' || s[0] > '9' {
		return s
	}
	padded := append(bytes.Repeat([]byte{'0'}, max(0, decimals+1-len(s))), s...)
	whole := len(padded) - decimals
	return slices.Concat(padded[:whole], []byte{'.'}, padded[whole:])
}
