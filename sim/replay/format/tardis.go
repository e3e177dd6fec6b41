package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"tickhive/sim/replay/format/input"
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
	in    *input.Lines
	order lineOrder
	cells []input.Cell
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
	if f.in, err = input.Open(f.path); err != nil {
		return err
	}
	return f.begin()
}

// begin reads the header.
func (f *tardisFile) begin() error {
	f.cells = make([]input.Cell, maxTardisCells)
	header, err := f.in.Next()
	if errors.Is(err, io.EOF) {
		return input.Top(f.in.File).Refuse(remedyTardis, "the file is empty")
	} else if err != nil {
		return err
	}
	if f.kind = tardisKindOf(header); f.kind == tardisNone {
		return f.in.Fail(remedyTardis, "the header is %q", input.Clip(header))
	}
	if f.width = input.Columns(header, ',', f.cells); f.width > maxTardisCells {
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
	if n := input.Columns(line, ',', f.cells); n != f.width {
		return f.in.Fail(remedyRow, "%d columns, the header has %d", n, f.width)
	}
	f.line = line
	at := f.cells[f.time]
	ns, err := input.ReadUnix(at.Text, input.TimeUs)
	if err == nil {
		f.ns, err = f.order.take(ns)
	}
	f.behind = err != nil
	return f.in.Refuse(input.Locate(at.At, err))
}
