package format

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/tickhive/tickhive/engine"
)

// Bits of the column flags.
const (
	dbLast     = 1 << 7 // the last record of an event
	dbSnapshot = 1 << 5 // the record is part of a complete book
	dbMaybeBad = 1 << 2 // the vendor missed messages before it
)

// remedyPrice is the remedy for a price at or below zero.
const remedyPrice = "prices must be above zero: replay an instrument that has none at or below it, with --pair"

// databento reads the order messages (mbo), or the best levels and the trades (mbp-1, mbp-10, tbbo), that Databento
// offers, as CSV or DBN.
type databento struct {
	stream
	pair           string // pair whose rows are taken; "": the files have one symbol
	all            bool   // the pair is the name of the only symbol
	cells          [maxDatabentoColumns]cell
	heads          []databentoHead // of the files
	*databentoHead                 // of the file being read

	venue             string // publisher whose rows are taken; "": the files have one
	away              int    // number of rows of other publishers
	symbol, publisher string // of the rows before
	other             string // symbol of the first row of another one
	mixed             bool   // there are several of these
	others, doubtful  int
	update            uint64
}

func newDatabento(files []string) (Reader, error) {
	t, err := newStream("databento", files, maxStreams)
	t.serial = true // an event must not be cut by a row of another file
	return &databento{stream: t}, err
}

// Open opens the files behind their headers.
func (d *databento) Open(s *Survey) error {
	if err := d.open(s); err != nil {
		return err
	}
	d.symbol, d.publisher, d.other, d.mixed, d.others, d.doubtful, d.update = "", "", "", false, 0, 0, 0
	d.away = 0
	if d.heads = make([]databentoHead, len(d.sources)); s.learning() {
		s.Ignored = "%d messages without an order: not fed"
	}
	for i, f := range d.sources {
		d.in, d.databentoHead = f.in, &d.heads[i]
		if err := d.header(); err != nil {
			return err
		}
		if first := &d.heads[0]; (d.where[dbOrder] < 0) != (first.where[dbOrder] < 0) || d.depth != first.depth {
			return d.in.Fail("give files of one schema", "another schema than the first file has")
		}
	}
	if s.learning() && d.where[dbOrder] < 0 {
		s.Shape = Levels
	} else if s.learning() {
		s.Shape = Orders
	}
	return nil
}

// header reads the header of the file being read.
func (d *databento) header() error {
	header, err := d.in.Next()
	if errors.Is(err, io.EOF) {
		return topOf(d.in.File).Refuse(remedyDatabento, "the file is empty")
	} else if err != nil {
		return err
	}
	d.width = splitRow(header, ',', d.cells[:])
	if !d.find(d.cells[:min(d.width, maxDatabentoColumns)]) || d.width > maxDatabentoColumns {
		return d.in.Fail(remedyDatabento, "the header is %q", clip(header))
	}
	return nil
}

// Next returns the next row of the pair.
func (d *databento) Next(r *Record) error {
	for {
		err := d.next(r, d.parse)
		switch {
		case err == nil && r.left:
			continue
		case errors.Is(err, io.EOF) && d.s.learning():
			if again, err := d.ended(); err != nil || !again {
				return cmp.Or(err, io.EOF)
			}
			continue
		case err != nil:
			return err
		case r.Kind == Book && r.Depth > 0:
			d.update++
			r.First, r.Last = d.update, d.update
		}
		if d.s.learning() {
			d.s.count(r.NS)
		}
		return nil
	}
}

// ended ends a survey. again is true when it must start again, because the pair is the name of the only symbol.
func (d *databento) ended() (again bool, err error) {
	d.s.Pair = dollarPair(d.symbol)
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
	if d.away > 0 {
		return false, d.in.Fail("give one of its venues as --venue", "no rows of the venue %s, %d of others",
			d.venue, d.away)
	}
	return false, d.in.Fail(remedyRows, "no records")
}

// Notes implements Reader.Notes.
func (d *databento) Notes() []string {
	notes := noted(d.stream.Notes(), d.others, "%d rows of other symbols: left out")
	notes = noted(notes, d.away, "%d rows of other venues: left out")
	return noted(notes, d.doubtful, "%d rows behind messages that the vendor missed (F_MAYBE_BAD_BOOK)")
}

// at returns the cell of a column, empty without it.
func (d *databento) at(column int) cell {
	if i := d.where[column]; i >= 0 {
		return d.cells[i]
	}
	return cell{}
}

// parse reads a row.
func (d *databento) parse(line []byte, r *Record) error {
	d.databentoHead = &d.heads[d.index]
	if n := splitRow(line, ',', d.cells[:]); n != d.width {
		return flawAt(0, remedyRow, "%d columns, the header has %d", n, d.width)
	}
	if d.isOther() || d.isAway() {
		if r.left = true; d.time(r, false) != nil {
			r.NS = d.order.last
		}
		return nil
	}
	if err := d.oneBook(); err != nil {
		return err
	}
	f := d.at(dbFlags)
	flags, err := strconv.ParseUint(string(f.Text), 10, 8)
	if err != nil {
		return flawAt(f.At, remedyValue, "flags %q are not 0 to 255", clip(f.Text))
	}
	if flags&dbMaybeBad != 0 {
		d.doubtful++
	}
	r.More = flags&dbLast == 0
	if err := d.time(r, flags&dbSnapshot != 0); err != nil {
		return err
	}
	if d.where[dbOrder] < 0 {
		return d.best(r)
	}
	return d.order3(r)
}

// time reads the time of a row: of the exchange. Rows are in order of their receipt, so an exchange's time that goes
// back, such as one of the order's entry, is shown at the time before. The event of an order of a complete book
// (snapshot) is its coming to rest: there the time of receipt counts.
func (d *databento) time(r *Record, snapshot bool) (err error) {
	at, received := d.at(dbEvent), d.at(dbReceived)
	d.order.received = 0
	if len(received.Text) > 0 {
		if d.order.received, _, err = readTime(received.Text, 0, false); err != nil {
			return locate(received.At, err)
		}
		if snapshot || len(at.Text) == 0 {
			at = received
		}
	}
	r.NS, _, err = readTime(at.Text, 0, false)
	return locate(at.At, err)
}

// isOther counts a row of another symbol than the pair.
func (d *databento) isOther() bool {
	c := d.at(dbSymbol)
	symbol := string(c.Text)
	if d.pair == "" || d.all || symbol == "" || symbol == d.symbol || symbolIs(symbol, d.pair) {
		return false
	}
	if d.others++; d.others == 1 {
		d.other = string(c.Text)
	}
	d.mixed = d.mixed || string(c.Text) != d.other
	return true
}

// isAway counts a row of another publisher than the venue.
func (d *databento) isAway() bool {
	if d.venue == "" || string(d.at(dbPublisher).Text) == d.venue {
		return false
	}
	d.away++
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
		return flawAt(c.At, "give one of them as --pair", "symbol %q, the rows before are of %q",
			clip(c.Text), d.symbol)
	default:
		return flawAt(p.At, fmt.Sprintf("name the one to take: --venue %s, or --venue %s", d.publisher, clip(p.Text)),
			"publisher %q, the rows before are of %q: each has its own book", clip(p.Text), d.publisher)
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
	return 0, false, flawAt(c.At, remedyValue, "side %q is neither A, B nor N", clip(c.Text))
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
		return flawAt(action.At, remedyValue, "action %q is not A, C, M, R, T, F or N",
			clip(action.Text))
	}
	if r.Kind == Execute && !r.Sided { // of an auction: it names no order that rests
		return d.sized(r)
	}
	if !r.Sided {
		return flawAt(d.at(dbSide).At, remedyValue, "action %s needs a side, A or B", action.Text)
	}
	id := d.at(dbOrder)
	if r.ID, err = strconv.ParseUint(string(id.Text), 10, 64); err != nil {
		return flawAt(id.At, remedyValue, "order id %q is not a number", clip(id.Text))
	}
	return d.sized(r)
}

// sized reads price and size of a row.
func (d *databento) sized(r *Record) error {
	p, a := d.at(dbPrice), d.at(dbSize)
	price, err := aboveZero(p)
	if err != nil {
		return err
	}
	amount, err := positive("size", a.Text)
	if err != nil {
		return locate(a.At, err)
	}
	return d.s.trade(r, price, amount)
}

// best reads a row of mbp-1, mbp-10 or tbbo: a trade, or the best levels of each side.
func (d *databento) best(r *Record) (err error) {
	if r.Side, r.Sided, err = d.side(); err != nil {
		return err
	}
	if string(d.at(dbAction).Text) == "T" {
		r.Kind = Trade
		return d.sized(r)
	}
	r.Kind, r.Replaces = Book, true
	r.Depth = d.depth
	var sides [2][]level
	for i := range d.depth {
		for side := range sides {
			price, amount := d.cells[d.levels[i][side]], d.cells[d.levels[i][2+side]]
			if len(price.Text) == 0 {
				continue
			}
			l, err := level{}, error(nil)
			if l.price, err = aboveZero(price); err != nil {
				return err
			}
			if l.amount, err = notNegative("size", amount.Text); err != nil {
				return locate(amount.At, err)
			}
			if l.amount.V.Sign() > 0 {
				sides[side] = append(sides[side], l)
			}
		}
	}
	return d.s.book(r, sides[0], sides[1])
}

// aboveZero reads a price. Spreads have prices at and below zero, which no market of this exchange has. Without them
// the book would be another, so they are refused and not passed over.
func aboveZero(c cell) (Decimal, error) {
	d, err := ParseDecimal(pointed(c.Text))
	switch {
	case err != nil:
		return d, locate(c.At, fmt.Errorf("price %q: %w", clip(c.Text), err))
	case d.V.Sign() <= 0:
		return d, flawAt(c.At, remedyPrice, "price %q is not above zero", clip(c.Text))
	}
	return d, nil
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

// databentoColumns lists the columns of Databento's CSV that are read, by the names of its headers.
var databentoColumns = [...]string{
	"ts_event", "publisher_id", "instrument_id", "action", "side", "price", "size", "flags", // always there
	"ts_recv", "symbol", "order_id",
}

// databentoLevel lists the columns of a level, without its number.
var databentoLevel = [...]string{"bid_px_%02d", "ask_px_%02d", "bid_sz_%02d", "ask_sz_%02d"}

// maxDatabentoLevels is the number of levels a side of mbp-10.
const maxDatabentoLevels = 10

// maxDatabentoColumns bounds the columns of a row: mbp-10 has 74.
const maxDatabentoColumns = 96

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
	dbColumns
)

// remedyDatabento is the remedy for a file with another layout.
const remedyDatabento = "fetch the schema mbo, mbp-1, mbp-10 or tbbo; trades and ohlcv are files of --format trades"

// databentoHead holds the columns of a file.
type databentoHead struct {
	where  [dbColumns]int                               // index of each column, -1 without it
	levels [maxDatabentoLevels][len(databentoLevel)]int // indexes of the columns of each level
	depth  int                                          // number of levels a side
	width  int                                          // number of columns
}

// find finds the columns of a header. It returns false for one of another layout.
func (h *databentoHead) find(cells []cell) bool {
	index := func(name string) int {
		return slices.IndexFunc(cells, func(c cell) bool { return string(c.Text) == name })
	}
	for i, name := range databentoColumns {
		h.where[i] = index(name)
	}
	for h.depth = 0; h.depth < maxDatabentoLevels; h.depth++ {
		for i, name := range databentoLevel {
			h.levels[h.depth][i] = index(fmt.Sprintf(name, h.depth))
		}
		if slices.Contains(h.levels[h.depth][:], -1) {
			break
		}
	}
	return !slices.Contains(h.where[:dbReceived], -1) && (h.where[dbOrder] >= 0 || h.depth > 0)
}

// isDatabento reports whether a line is the header of a file that this reader takes, or refuses by its schema.
func isDatabento(line []byte) bool {
	var cells [maxDatabentoColumns]cell
	n := splitRow(line, ',', cells[:])
	return n <= maxDatabentoColumns && new(databentoHead).find(cells[:n])
}
