package json

import (
	"bytes"
	"slices"
)

// Table says which members of the objects of a list are the columns of a file of comma-separated values.
//
// It is the only writer of such files: a route's answer becomes one by it (?format=csv), and so does what the program
// exports. The first line names the columns, each line ends with a line feed, an absent value is empty.
type Table struct {
	In      string // the member that holds the list; empty: the document is the list
	Columns []string
}

// AppendCSV appends the line of names and the rows of a document that this program wrote. It returns false for any
// other text.
func (t *Table) AppendCSV(dst, document []byte) ([]byte, bool) {
	dst = t.AppendNames(dst)
	ok := t.Rows(document, func(cells []Cell) { dst = AppendRow(dst, cells) })
	return dst, ok
}

// AppendNames appends the line of names.
func (t *Table) AppendNames(dst []byte) []byte {
	for i, name := range t.Columns {
		dst = append(appendComma(dst, i), name...)
	}
	return append(dst, '\n')
}

// AppendRow appends the line of a row.
func AppendRow(dst []byte, cells []Cell) []byte {
	for i, c := range cells {
		dst = appendComma(dst, i)
		if c.Quoted {
			dst = append(dst, safeCell(c.Text)...)
		} else {
			dst = append(dst, c.Text...)
		}
	}
	return append(dst, '\n')
}

// Cell is the value of a column in a row. The text of an absent value is nil.
type Cell struct {
	Text   []byte
	Quoted bool // it is a text
}

// Rows calls each for the rows of a document, which keeps none of the cells.
func (t *Table) Rows(document []byte, each func(cells []Cell)) bool {
	r := Reader{data: document}
	switch {
	case t.In == "":
		t.rows(&r, each)
	case r.Object():
		for name, ok := r.Member(); ok; name, ok = r.Member() {
			if string(name) == t.In {
				t.rows(&r, each)
			} else {
				r.skip()
			}
		}
	}
	return r.Finish() == nil
}

func appendComma(dst []byte, column int) []byte {
	if column == 0 {
		return dst
	}
	return append(dst, ',')
}

// rows reads the list at which r is.
func (t *Table) rows(r *Reader, each func(cells []Cell)) {
	if !r.Array() {
		return
	}
	cells := make([]Cell, len(t.Columns))
	for r.Element() {
		clear(cells)
		if !r.Object() {
			continue
		}
		for name, ok := r.Member(); ok; name, ok = r.Member() {
			if i := slices.Index(t.Columns, string(name)); i >= 0 {
				cells[i] = r.cell()
			} else {
				r.skip()
			}
		}
		each(cells)
	}
}

// cell reads a value: none for null, an object or an array.
func (r *Reader) cell() (c Cell) {
	switch first := r.Peek(); {
	case first == '"':
		c.Text, c.Quoted = r.quoted()
	case first == '-' || first-'0' <= 9:
		c.Text, _ = r.number()
	case first == 't' || first == 'f':
		start := r.pos
		r.skip()
		c.Text = r.data[start:r.pos]
	default:
		r.skip()
	}
	return c
}

// safeCell returns a text in quotes where it needs them. A text that a spreadsheet would take for a formula begins with
// an apostrophe, which makes the spreadsheet show it.
func safeCell(s []byte) []byte {
	formula := len(s) > 0 && bytes.IndexByte([]byte("=+-@\t\r"), s[0]) >= 0
	if !formula && !bytes.ContainsAny(s, ",\"\r\n") {
		return s
	}
	out := []byte{'"'}
	if formula {
		out = append(out, '\'')
	}
	return append(append(out, bytes.ReplaceAll(s, []byte{'"'}, []byte(`""`))...), '"')
}
