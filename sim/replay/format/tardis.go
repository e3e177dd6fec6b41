package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/tickhive/tickhive/engine"
)

const (
	// maxTardisFiles bounds the files of one replay.
	maxTardisFiles = 8
	// maxTardisGroup bounds the rows of one message: a complete book has one row for each level.
	maxTardisGroup = 1 << 20
	// maxTardisCells bounds the columns of a row: 25 levels a side have 104.
	maxTardisCells = 256
)

// tardisKind is the data type of a file of Tardis.
type tardisKind uint8

const (
	tardisNone tardisKind = iota
	tardisTrades
	tardisLevels    // incremental_book_L2
	tardisSnapshots // book_snapshot_5, book_snapshot_25
	tardisQuotes
)

// String returns the name of the data type.
func (k tardisKind) String() string {
	return [...]string{"", "trades", "incremental_book_L2", "book_snapshot", "quotes"}[k]
}

// tardisHead is the header that all files begin with.
const tardisHead = "exchange,symbol,timestamp,local_timestamp,"

// Columns of every file.
const (
	tardisSymbol = 1
	tardisAt     = 2 // timestamp, of the exchange
	tardisTime   = 3 // local_timestamp, by which the files are merged unless the exchange's times are wanted
	tardisData   = 4
)

// remedyTardis is the remedy for a file with another layout.
const remedyTardis = "want a file of trades, incremental_book_L2, book_snapshot_5, book_snapshot_25 or quotes, with " +
	"its header " + tardisHead + "..."

// tardisKindOf returns the data type that a header names.
func tardisKindOf(header []byte) tardisKind {
	rest, ok := bytes.CutPrefix(header, []byte(tardisHead))
	switch {
	case !ok:
		return tardisNone
	case string(rest) == "id,side,price,amount":
		return tardisTrades
	case string(rest) == "is_snapshot,side,price,amount":
		return tardisLevels
	case string(rest) == "ask_amount,ask_price,bid_price,bid_amount":
		return tardisQuotes
	case bytes.HasPrefix(rest, []byte("asks[0].price,asks[0].amount,bids[0].price,bids[0].amount")):
		return tardisSnapshots
	}
	return tardisNone
}

// tardis reads the files that Tardis offers for one symbol and day, merged by the time of arrival. One file gives the
// book. Beside incremental_book_L2, snapshots and quotes are only compared.
type tardis struct {
	files  []*tardisFile
	s      *Survey
	symbol string
	update uint64 // number of messages that changed the book
	levels bool   // a file has incremental_book_L2
	time   int    // the column of the times
}

// tardisFile is one file and its next record.
type tardisFile struct {
	path  string
	kind  tardisKind
	in    *lineReader
	order lineOrder
	cells []cell
	width int // columns of the header
	time  int // the column of the times

	line   []byte // the row behind next, nil at the end
	ns     int64  // its time
	next   Record
	ready  bool // next is a record that was not returned
	behind bool // line is read or wrong: the row behind it is due
	ended  bool // there is no next
	begun  bool // a complete book was read
	update [2][]level
}

func newTardis(files []string) (Reader, error) {
	if len(files) == 0 || len(files) > maxTardisFiles {
		return nil, fmt.Errorf("replay: tardis takes 1 to %d files", maxTardisFiles)
	}
	t := &tardis{time: tardisTime}
	for _, path := range files {
		t.files = append(t.files, &tardisFile{path: path})
	}
	return t, nil
}

// Open opens every file at its first record.
func (t *tardis) Open(s *Survey) error {
	t.Close()
	t.s, t.symbol, t.update, t.levels = s, "", 0, false
	if s.learning() {
		s.Shape = Levels
	}
	var book *tardisFile
	for _, f := range t.files {
		if err := f.open(t.time); err != nil {
			return err
		}
		t.levels = t.levels || f.kind == tardisLevels
	}
	for _, f := range t.files {
		if f.kind == tardisTrades || t.levels && f.kind != tardisLevels {
			continue
		}
		if book != nil {
			return f.in.Fail("leave one of them out, or add incremental_book_L2, with which the others are compared",
				"%s beside %s: two files give the book", f.kind, book.kind)
		}
		book = f
	}
	return nil
}

// open opens the file behind its header.
func (f *tardisFile) open(time int) (err error) {
	*f = tardisFile{path: f.path, time: time, next: Record{Levels: f.next.Levels}}
	if f.in, err = openLines(f.path); err != nil {
		return err
	}
	return f.begin()
}

// begin reads the header.
func (f *tardisFile) begin() error {
	f.cells = make([]cell, maxTardisCells)
	header, err := f.in.Next()
	if errors.Is(err, io.EOF) {
		return topOf(f.in.File).Refuse(remedyTardis, "the file is empty")
	} else if err != nil {
		return err
	}
	if f.kind = tardisKindOf(header); f.kind == tardisNone {
		return f.in.Fail(remedyTardis, "the header is %q", clip(header))
	}
	if f.width = splitRow(header, ',', f.cells); f.width > maxTardisCells {
		return f.in.Fail(remedyTardis, "%d columns, at most %d", f.width, maxTardisCells)
	}
	f.behind = true
	return nil
}

// Close implements Reader.Close.
func (t *tardis) Close() {
	for _, f := range t.files {
		f.in.Close()
		f.in = nil
	}
}

// Notes implements Reader.Notes.
func (t *tardis) Notes() []string {
	back := 0
	for _, f := range t.files {
		back += f.order.back
	}
	return noted(nil, back, "%d rows whose time goes back by less than a second: taken at the time before")
}

// Next returns the earliest record of all files. At equal times the book comes before trades and comparisons.
func (t *tardis) Next(r *Record) error {
	var first *tardisFile
	for _, f := range t.files {
		if !f.ready && !f.ended {
			if err := t.advance(f); err != nil {
				return err
			}
		}
		if !f.ended && (first == nil || f.next.NS < first.next.NS ||
			f.next.NS == first.next.NS && f.kind == tardisLevels) {
			first = f
		}
	}
	if first == nil {
		if t.s.learning() && t.s.Records == 0 {
			return t.files[0].in.Fail(remedyRows, "no records")
		}
		return io.EOF
	}
	*r, first.next = first.next, *r
	first.ready = false
	switch r.Kind {
	case Book, Update:
		t.update++
		r.First, r.Last = t.update, t.update
	case Touch:
		r.Last = t.update
	default:
	}
	if t.s.learning() {
		t.s.count(r.NS)
	}
	return nil
}

// advance reads the next record of a file. After an error the row is passed over, so that a survey goes on behind it.
func (t *tardis) advance(f *tardisFile) error {
	if f.behind {
		if err := f.read(); err != nil {
			return err
		}
	}
	f.next.reset()
	if f.line == nil {
		f.ended = true
		return nil
	}
	f.next.At, f.next.NS = f.in.Here(0), f.ns
	err := t.oneSymbol(f)
	if err == nil {
		err = t.record(f)
	}
	f.ready, f.behind = err == nil, f.behind || err != nil
	return err
}

// record reads the row, or the rows, of the next record.
func (t *tardis) record(f *tardisFile) error {
	switch f.kind {
	case tardisTrades:
		return f.row(t.trade(f))
	case tardisLevels:
		return t.group(f)
	case tardisSnapshots:
		return f.row(t.snapshot(f))
	case tardisQuotes:
		return f.row(t.quote(f))
	case tardisNone:
	}
	return nil
}

// row ends a record that is one row.
func (f *tardisFile) row(err error) error {
	f.behind = true
	return f.in.Refuse(err)
}

// read reads the row behind next.
func (f *tardisFile) read() error {
	f.behind = true
	line, err := f.in.Next()
	if errors.Is(err, io.EOF) {
		f.line, f.behind = nil, false
		return nil
	} else if err != nil {
		return err
	}
	if n := splitRow(line, ',', f.cells); n != f.width {
		return f.in.Fail(remedyRow, "%d columns, the header has %d", n, f.width)
	}
	f.line = line
	at := f.cells[f.time]
	ns, err := readUnix(at.Text, timeUs)
	if err == nil {
		f.ns, err = f.order.take(ns)
	}
	f.behind = err != nil
	return f.in.Refuse(locate(at.At, err))
}

// oneSymbol refuses a row of another symbol than the first row.
func (t *tardis) oneSymbol(f *tardisFile) error {
	c := f.cells[tardisSymbol]
	switch {
	case string(c.Text) == t.symbol:
		return nil
	case t.symbol != "":
		return f.in.Refuse(flawAt(c.At, remedySymbols, "symbol %q, the rows before are of %q",
			clip(c.Text), t.symbol))
	}
	t.symbol = string(c.Text)
	if t.s.learning() {
		t.s.Pair = splitPair(t.symbol)
	}
	return nil
}

// trade reads a row of trades.
func (t *tardis) trade(f *tardisFile) error {
	c := f.cells[tardisData:]
	f.next.Kind = Trade
	switch side := c[1]; string(side.Text) {
	case "buy":
		f.next.Side, f.next.Sided = engine.Buy, true
	case "sell":
		f.next.Side, f.next.Sided = engine.Sell, true
	case "unknown":
	default:
		return flawAt(side.At, remedyValue, "side %q is neither buy, sell nor unknown",
			clip(side.Text))
	}
	price, err := positive("price", c[2].Text)
	if err != nil {
		return locate(c[2].At, err)
	}
	amount, err := positive("amount", c[3].Text)
	if err != nil {
		return locate(c[3].At, err)
	}
	return t.s.trade(&f.next, price, amount)
}

// levelAt reads a level from two cells. An empty price is no level.
func levelAt(price, amount cell) (l level, ok bool, err error) {
	if len(price.Text) == 0 {
		return l, false, nil
	}
	if l.price, err = positive("price", price.Text); err != nil {
		return l, false, locate(price.At, err)
	}
	l.amount, err = notNegative("amount", amount.Text)
	return l, err == nil, locate(amount.At, err)
}

// group reads the rows of one message: all rows with one time, or all rows of a complete book.
func (t *tardis) group(f *tardisFile) error {
	whole, ns, rows := f.isSnapshot(), f.ns, 0
	if !whole && !f.begun {
		return f.in.Fail("give the file of the whole day, which begins with the complete book",
			"the first row is not one of a complete book (is_snapshot true)")
	}
	f.begun = true
	f.next.Kind, f.next.Replaces = Update, whole
	if whole {
		f.next.Kind = Book
	}
	sides := &f.update
	sides[0], sides[1] = sides[0][:0], sides[1][:0]
	for ; f.line != nil && f.isSnapshot() == whole && (whole || f.ns == ns); rows++ {
		if rows == maxTardisGroup {
			return f.in.Fail("cut the file", "more than %d rows of one time", maxTardisGroup)
		}
		if err := t.change(f, sides); err != nil {
			return f.in.Refuse(err)
		}
		if err := f.read(); err != nil {
			return err
		}
	}
	return t.s.book(&f.next, sides[0], sides[1])
}

func (f *tardisFile) isSnapshot() bool { return string(f.cells[tardisData].Text) == "true" }

// change reads a row of incremental_book_L2.
func (t *tardis) change(f *tardisFile, sides *[2][]level) error {
	if err := t.oneSymbol(f); err != nil {
		return err
	}
	c := f.cells[tardisData:]
	if s := string(c[0].Text); s != "true" && s != "false" {
		return flawAt(c[0].At, remedyValue, "is_snapshot %q is neither true nor false",
			clip(c[0].Text))
	}
	side := engine.Buy
	switch string(c[1].Text) {
	case "bid":
	case "ask":
		side = engine.Sell
	default:
		return flawAt(c[1].At, remedyValue, "side %q is neither bid nor ask", clip(c[1].Text))
	}
	l, ok, err := levelAt(c[2], c[3])
	if err == nil && !ok {
		err = flawAt(c[2].At, remedyValue, "no price")
	}
	sides[side] = append(sides[side], l)
	return err
}

// snapshot reads a row of book_snapshot: ask and bid by turns, best first.
func (t *tardis) snapshot(f *tardisFile) error {
	c := f.cells[tardisData:f.width]
	if len(c)%4 != 0 {
		return flawAt(0, remedyTardis, "%d columns of levels, want price and amount of as many asks as bids",
			len(c))
	}
	sides := &f.update
	sides[0], sides[1] = sides[0][:0], sides[1][:0]
	for i := 0; i < len(c); i += 4 {
		for k, side := range [2]engine.Side{engine.Sell, engine.Buy} {
			l, ok, err := levelAt(c[i+2*k], c[i+2*k+1])
			if err != nil {
				return err
			}
			if ok && l.amount.V.Sign() > 0 {
				sides[side] = append(sides[side], l)
			}
		}
	}
	return t.wholeBook(f)
}

// quote reads a row of quotes.
func (t *tardis) quote(f *tardisFile) error {
	c := f.cells[tardisData:]
	sides := &f.update
	sides[0], sides[1] = sides[0][:0], sides[1][:0]
	for side, at := range [2][2]cell{{c[2], c[3]}, {c[1], c[0]}} {
		l, ok, err := levelAt(at[0], at[1])
		if err != nil {
			return err
		}
		if ok && l.amount.V.Sign() > 0 {
			sides[side] = append(sides[side], l)
		}
	}
	return t.wholeBook(f)
}

// wholeBook makes the levels of a row the book, or the best of them a comparison.
func (t *tardis) wholeBook(f *tardisFile) error {
	f.next.Kind, f.next.Replaces = Book, true
	bids, asks := f.update[0], f.update[1]
	if t.levels {
		f.next.Kind, f.next.Replaces = Touch, false
		bids, asks = bids[:min(1, len(bids))], asks[:min(1, len(asks))]
	}
	return t.s.book(&f.next, bids, asks)
}
