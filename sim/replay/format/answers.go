package format

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// answers reads JSON documents that hold rows somewhere inside, as exchanges answer and pandas writes them, and returns
// one row a line.
type answers struct {
	in     io.LimitedReader // bounds one document
	docs   *json.Decoder
	rows   bytes.Buffer
	err    error
	events int               // number of documents without rows
	beside map[string]string // the single values beside the rows of the first document, by names in small letters
}

// maxAnswerDepth bounds the objects around the rows of an answer, answerPeek the bytes that show whether a text is one.
const maxAnswerDepth, answerPeek = 6, 64 << 10

// isAnswer reports whether a text begins with a JSON document that holds rows. head is its beginning; a document that
// goes on behind it is no row.
func isAnswer(head []byte) bool {
	var doc json.RawMessage
	err := json.NewDecoder(bytes.NewReader(head)).Decode(&doc)
	if err != nil {
		return errors.Is(err, io.ErrUnexpectedEOF) && len(head) == answerPeek
	}
	return len(listsOf("", doc, 0)) > 0
}

// newAnswers returns the rows of the documents in a text.
func newAnswers(in io.Reader) *answers {
	a := &answers{in: io.LimitedReader{R: in, N: maxDocument}}
	a.docs = json.NewDecoder(&a.in)
	return a
}

// Read implements io.Reader.
func (a *answers) Read(p []byte) (int, error) {
	for a.rows.Len() == 0 && a.err == nil {
		a.err = a.document()
	}
	if a.rows.Len() == 0 {
		return 0, a.err
	}
	return a.rows.Read(p) //nolint:wrapcheck // it returns none
}

// document reads the next document.
func (a *answers) document() error {
	a.in.N = maxDocument
	var doc json.RawMessage
	switch err := a.docs.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return io.EOF
	case a.in.N <= 0:
		return flawAt(0, "ask for less at once, and give the answers one by one",
			"JSON: an answer longer than %d bytes", maxDocument)
	case err != nil:
		return flawAt(0, "fetch the answer again", "JSON: %v", err)
	}
	return a.take(doc)
}

// take writes the rows of one document.
func (a *answers) take(doc []byte) error {
	found := listsOf("", doc, 0)
	var names []string
	for _, l := range found {
		names = append(names, strings.TrimPrefix(l.path, "."))
	}
	if len(found) > 1 {
		return flawAt(0, "write one of them as a file: jq '."+names[0]+"' FILE > b.json",
			"the answer has several lists of rows: %s", clipTo([]byte(strings.Join(names, ", ")), 3*detectWide))
	}
	if len(found) == 0 {
		a.events++
		return nil
	}
	if a.beside == nil {
		a.beside = found[0].beside
	}
	for _, row := range found[0].rows {
		if err := json.Compact(&a.rows, row); err != nil {
			return fmt.Errorf("JSON: %w", err)
		}
		a.rows.WriteByte('\n')
	}
	return nil
}

// rowList is a list of rows in an answer.
type rowList struct {
	path   string // its place, as jq writes it
	rows   []json.RawMessage
	beside map[string]string // the single values of the objects around it
}

// member is one member of a JSON object, in the order of the text.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf returns the members of an object, nil for another value.
func membersOf(doc []byte) (out []member) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for dec.More() {
		name, err := dec.Token()
		text, ok := name.(string)
		var value json.RawMessage
		if err != nil || !ok || dec.Decode(&value) != nil {
			return nil
		}
		out = append(out, member{text, value})
	}
	return out
}

// elementsOf returns the elements of an array, nil for another value.
func elementsOf(doc json.RawMessage) (out []json.RawMessage) {
	if len(doc) == 0 || doc[0] != '[' || json.Unmarshal(doc, &out) != nil {
		return nil
	}
	return out
}

// single reports whether a value is neither an object nor an array.
func single(v json.RawMessage) bool { return len(v) > 0 && v[0] != '{' && v[0] != '[' }

// listsOf returns the lists of rows in a document.
func listsOf(path string, doc json.RawMessage, depth int) (out []rowList) {
	if depth > maxAnswerDepth {
		return nil
	}
	if rows := elementsOf(doc); rows != nil {
		return listOf(path, rows, depth)
	}
	all := membersOf(doc)
	if rows := frameOf(all); rows != nil {
		return []rowList{{path: path, rows: rows}}
	}
	known := map[column]bool{}
	for _, m := range all {
		c, _ := columnNamed(m.name)
		known[c] = known[c] || single(m.value) || c == colBook
	}
	if known[colPrice] || known[colOpen] || known[colBook] { // it is a row itself, or a book
		return nil
	}
	beside := map[string]string{}
	for _, m := range all {
		switch {
		case single(m.value):
			beside[strings.ToLower(m.name)] = string(unquote(m.value))
		case m.name != "schema": // of pandas: it lists the columns
			out = append(out, listsOf(path+"."+m.name, m.value, depth+1)...)
		}
	}
	for i := range out {
		if out[i].beside == nil {
			out[i].beside = map[string]string{}
		}
		for name, value := range beside {
			if _, ok := out[i].beside[name]; !ok {
				out[i].beside[name] = value
			}
		}
	}
	return out
}

// listOf returns an array as a list of rows, or the lists in its elements as one.
func listOf(path string, rows []json.RawMessage, depth int) []rowList {
	if len(rows) == 0 || single(rows[0]) {
		return nil
	}
	list := rowList{path: path}
	for _, row := range rows {
		inner := []rowList(nil)
		if row[0] == '{' {
			inner = listsOf(path+"[]", row, depth+1)
		}
		if len(inner) == 1 {
			list.rows = append(list.rows, inner[0].rows...)
			continue
		}
		list.rows = append(list.rows, row)
	}
	return []rowList{list}
}

// frameOf returns the rows of a table that is written by columns or by its index, as pandas does and chart programs
// expect it; nil for another object.
func frameOf(all []member) []json.RawMessage {
	if rows := splitFrame(all); rows != nil {
		return rows
	}
	var names []string
	var columns [][]member
	known, nested := 0, len(all) > 0
	for _, m := range all {
		cells := membersOf(m.value)
		for i, v := range elementsOf(m.value) {
			cells = append(cells, member{fmt.Sprint(i), v})
		}
		nested = nested && m.value[0] == '{' && len(cells) > 0
		if len(cells) == 0 || !single(cells[0].value) {
			nested = false
			continue
		}
		if c, _ := columnNamed(m.name); c != noColumn && c != colBook {
			known++
		}
		names, columns = append(names, m.name), append(columns, cells)
	}
	switch {
	case known >= 2 && len(columns) > 0:
		return transposed(names, columns, nested)
	case nested && columnsNamed(columns[0]) >= 2:
		var rows []json.RawMessage
		for i, name := range names {
			rows = append(rows, rowOf(append([]member{index(name)}, columns[i]...)))
		}
		return rows
	}
	return nil
}

// index returns the value of an index as a member.
func index(text string) member {
	quoted, _ := json.Marshal(text) //nolint:errchkjson // a string has no error
	return member{"", quoted}
}

// columnsNamed returns the number of members that a table of trades or bars has.
func columnsNamed(row []member) (n int) {
	for _, m := range row {
		if c, _ := columnNamed(m.name); c != noColumn && c != colBook {
			n++
		}
	}
	return n
}

// transposed returns the rows of columns of one length.
func transposed(names []string, columns [][]member, indexed bool) (rows []json.RawMessage) {
	for i := range columns[0] {
		var row []member
		if indexed {
			row = append(row, index(columns[0][i].name))
		}
		for k, cells := range columns {
			if len(cells) != len(columns[0]) || cells[i].name != columns[0][i].name {
				return nil
			}
			row = append(row, member{names[k], cells[i].value})
		}
		rows = append(rows, rowOf(row))
	}
	return rows
}

// splitFrame returns the rows of {"columns":[...],"index":[...],"data":[...]}.
func splitFrame(all []member) (rows []json.RawMessage) {
	part := func(name string) []json.RawMessage {
		i := slices.IndexFunc(all, func(m member) bool { return m.name == name })
		if i < 0 {
			return nil
		}
		return elementsOf(all[i].value)
	}
	names, indexes, data := part("columns"), part("index"), part("data")
	if len(names) == 0 || len(data) == 0 {
		return nil
	}
	for i, values := range data {
		cells := elementsOf(values)
		if len(cells) != len(names) {
			return nil
		}
		var row []member
		if len(indexes) == len(data) {
			row = append(row, member{"", indexes[i]})
		}
		for k, v := range cells {
			row = append(row, member{string(unquote(names[k])), v})
		}
		rows = append(rows, rowOf(row))
	}
	return rows
}

// rowOf writes a row. A member without a name is the row's index: it is the time when no other one is.
func rowOf(row []member) json.RawMessage {
	isTime := func(m member) bool { c, _ := columnNamed(m.name); return c == colTime }
	timed := slices.ContainsFunc(row, isTime)
	out := []byte{'{'}
	for _, m := range row {
		name := m.name
		if name == "" && !timed {
			name = columnNames[colTime][0]
		} else if name == "" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		quoted, _ := json.Marshal(name) //nolint:errchkjson // a string has no error
		out = append(append(append(out, quoted...), ':'), m.value...)
	}
	return append(out, '}')
}

// splitAnswers makes l read the rows of JSON documents as lines, when its text begins with one.
func (l *lineReader) splitAnswers() {
	if head, _ := l.R.Peek(answerPeek); !isAnswer(head) { // a shorter file has less
		return
	}
	l.Array, l.answers = true, newAnswers(l.R)
	l.R = bufio.NewReaderSize(l.answers, answerPeek)
	_, _ = l.R.Peek(1) // of the first document beside is known; its error comes again
}

// beside returns the value beside the rows of an answer that has the meaning of a column, "" without one.
func (l *lineReader) beside(c column) string {
	if l.answers == nil {
		return ""
	}
	for name, value := range l.answers.beside {
		if k, _ := columnNamed(name); k == c {
			return value
		}
	}
	return ""
}
