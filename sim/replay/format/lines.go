package format

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	// maxLine bounds one line of a recorded file, in bytes. The longest known line is a depth snapshot of 5,000
	// levels a side, about 0.6 MB.
	maxLine = 4 << 20
	// maxDocument bounds a file with one JSON document, in bytes after decompression.
	maxDocument = 64 << 20
)

// remedyRead is the remedy for a file that cannot be read to its end.
const remedyRead = "fetch or unpack the file again"

// trim removes the blanks around a text. skipped is the number of leading ones.
func trim(s []byte) (text []byte, skipped int) {
	end := len(s)
	for skipped < end && isBlank(s[skipped]) {
		skipped++
	}
	for end > skipped && isBlank(s[end-1]) {
		end--
	}
	return s[skipped:end], skipped
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// lineReader reads a plain or packed text line by line. It belongs to one goroutine.
type lineReader struct {
	File   string
	R      *bufio.Reader
	Source plainText
	closer io.Closer
	N      int // number of the line last read, from 1
	buf    []byte

	back    *backward // nil: the text is read forward
	Array   bool      // the text is JSON around rows: each line is one of the rows
	answers *answers  // the rows stand in JSON objects; nil: they do not
	Skipped int       // number of blanks before the text that next returned
}

// openLines opens path, plain or packed.
func openLines(path string) (*lineReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	l, err := newLineReader(filepath.Base(path), f)
	if err != nil {
		_ = f.Close() // opened for reading only: no data can be lost
		return nil, err
	}
	l.closer = f
	return l, nil
}

// newLineReader reads a text that is open; name names it in errors.
func newLineReader(name string, in io.Reader) (*lineReader, error) {
	t, err := openText(in)
	if err != nil {
		return nil, refusePacked(name, err)
	}
	return &lineReader{File: name, R: t.Reader, Source: t}, nil
}

// refusePacked returns the error for a file that cannot be unpacked.
func refusePacked(name string, err error) error {
	return topOf(name).Refuse(remedyOf(err, "unpack the file, or fetch it again"), "%v", err)
}

// Next returns the next line without its end, or io.EOF after the last one. The line is valid until the next
// call. Empty lines are skipped.
func (l *lineReader) Next() ([]byte, error) {
	for {
		line, err := l.read()
		if err != nil {
			return nil, err
		}
		text, skipped := trim(line)
		if l.Skipped = skipped; len(text) > 0 {
			return text, nil
		}
	}
}

func (l *lineReader) read() ([]byte, error) {
	if l.back != nil && (l.back.begun || l.N >= l.back.Head) {
		l.Skipped = 0
		return l.readBack()
	}
	l.N++
	l.buf, l.Skipped = l.buf[:0], 0
	for {
		part, err := l.R.ReadSlice('\n')
		if len(l.buf) == 0 && err == nil {
			return part, nil
		}
		if len(l.buf)+len(part) > maxLine {
			return nil, l.Fail("split the line, or give the right --format", "longer than %d bytes", maxLine)
		}
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			return l.buf, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			if len(l.buf) == 0 {
				l.N--
				return nil, io.EOF
			}
			return l.buf, nil
		default:
			return nil, l.Fail(remedyOf(err, remedyRead), "%v", err)
		}
	}
}

// Here returns the position of a byte of the line last read.
func (l *lineReader) Here(at int) Position { return Position{l.File, l.N, l.Skipped + at + 1} }

// Refuse converts an error that a parser found in the line last read to a LineError. It returns nil for nil.
func (l *lineReader) Refuse(err error) error {
	if err == nil {
		return nil
	}
	var f *flaw
	if err = locate(0, err); !errors.As(err, &f) {
		return err
	}
	return l.Here(f.at).Refuse(f.remedy, "%v", err)
}

// Fail returns a LineError for the line last read as a whole.
func (l *lineReader) Fail(remedy, format string, args ...any) error {
	return l.Here(0).Refuse(remedy, format, args...)
}

// Close closes the file; l may be nil.
func (l *lineReader) Close() {
	if l == nil {
		return
	}
	var back io.Closer
	if l.back != nil {
		back = l.back.closer
	}
	l.Source.Close()
	for _, c := range [...]io.Closer{l.closer, back} {
		if c != nil {
			_ = c.Close() // opened for reading only: no data can be lost
		}
	}
}

// readDocument reads a whole file as one JSON document.
func readDocument(path string) (name string, doc []byte, err error) {
	l, err := openLines(path)
	if err != nil {
		return "", nil, err
	}
	defer l.Close()
	doc, err = io.ReadAll(io.LimitReader(l.R, maxDocument+1))
	if err != nil {
		at := Position{l.File, 1 + bytes.Count(doc, []byte{'\n'}), 1}
		return "", nil, at.Refuse(remedyOf(err, remedyRead), "%v", err)
	}
	if len(doc) > maxDocument {
		return "", nil, Position{l.File, 1, 1}.Refuse("split the answer", "longer than %d bytes", maxDocument)
	}
	return l.File, doc, nil
}

// SplitJSON puts each element of a JSON array, or each row inside a JSON document, on a separate line. It leaves
// another text alone.
func (l *lineReader) SplitJSON() error {
	for {
		head, err := l.R.Peek(1)
		switch {
		case err != nil:
			return nil //nolint:nilerr // the first read returns it
		case isBlank(head[0]):
			if _, err := l.R.Discard(1); err != nil {
				return l.Fail(remedyRead, "%v", err)
			}
		case head[0] == '[':
			l.Array = true
			l.R = bufio.NewReaderSize(newElements(l.R), 64<<10)
			return nil
		case head[0] == '{':
			l.splitAnswers()
			return nil
		default:
			return nil
		}
	}
}

// backward reads the lines of a text from the last to the first.
type backward struct {
	*backLines
	closer io.Closer
	begun  bool // the header was read
}

// Turn makes l read its first lines up to head forward and the rest backward, before l has read a line. A packed file
// is unpacked in memory, and an array is kept there, up to maxDocument.
func (l *lineReader) Turn(path string, head int) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	l.back = &backward{closer: f}
	text := io.ReaderAt(f)
	var first [4]byte
	n, _ := f.ReadAt(first[:], 0) // a shorter file has less
	if isPacked(first[:n]) || l.Array {
		// l has read nothing but the blanks in front of an array.
		doc, err := io.ReadAll(io.LimitReader(l.R, maxDocument+1))
		if err != nil {
			return l.Fail(remedyOf(err, remedyRead), "%v", err)
		}
		if len(doc) > maxDocument {
			return l.Fail("unpack the file to plain UTF-8, or sort its rows by time",
				"the newest row is first in a packed text of more than %d bytes", maxDocument)
		}
		text = bytes.NewReader(doc)
		l.R = bufio.NewReader(bytes.NewReader(doc)) // for the lines up to head
	}
	if l.back.backLines, err = newBackLines(text, head, maxLine); err != nil {
		return l.Fail(remedyRead, "%v", err)
	}
	return nil
}

// readBack reads the next line of a text that is read backward behind its header.
func (l *lineReader) readBack() ([]byte, error) {
	if !l.back.begun {
		l.back.begun, l.N = true, l.back.Lines+1
	}
	l.N--
	line, err := l.back.Line()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, l.Fail(remedyRead, "%v", err)
	}
	return line, err
}

// elements reads a JSON array as lines: a line feed ends each element, and line feeds in elements become spaces.
type elements struct {
	in    *bufio.Reader
	depth int // number of open brackets and braces
	text  bool
	slash bool // the byte before, in a string, was a backslash
	ended bool
}

// newElements returns the elements of the array in in, as lines.
func newElements(in *bufio.Reader) *elements { return &elements{in: in} }

// Read implements io.Reader.
func (e *elements) Read(p []byte) (n int, err error) {
	for n < len(p) {
		c, err := e.in.ReadByte()
		if errors.Is(err, io.EOF) && !e.ended {
			err = errors.New("the JSON array does not end")
		}
		if err != nil {
			return n, err
		}
		if c, err = e.take(c); err != nil {
			return n, err
		}
		p[n] = c
		n++
	}
	return n, nil
}

// take returns the byte to pass on for the next byte of the array.
func (e *elements) take(c byte) (byte, error) {
	switch {
	case e.ended:
		if c != ' ' && (c < '\t' || c > '\r') {
			return 0, errors.New("something follows the JSON array")
		}
	case e.text:
		e.text = c != '"' || e.slash
		e.slash = c == '\\' && !e.slash
	case c == '"':
		e.text = true
	case c == '[' || c == '{':
		if e.depth++; e.depth == 1 {
			return ' ', nil
		}
	case c == ']' || c == '}':
		if e.depth--; e.depth == 0 {
			e.ended = true
			return '\n', nil
		}
	case c == ',' && e.depth == 1:
		return '\n', nil
	}
	if c == '\n' || c == '\r' {
		return ' ', nil
	}
	return c, nil
}

// blockBytes is the number of bytes that a backward reader reads at once.
const blockBytes = 64 << 10

// backLines reads the lines of a text behind its header from the last to the first.
type backLines struct {
	Head  int // number of lines of the header
	Lines int // number of lines

	r     io.ReaderAt
	most  int    // bound of a line, in bytes
	start int64  // offset of the first line after the header
	pos   int64  // offset of buf
	buf   []byte // what was read and not returned
	ended bool
}

// newBackLines returns the lines of r behind the first head ones. A line has at most most bytes.
func newBackLines(r io.ReaderAt, head, most int) (*backLines, error) {
	b := &backLines{Head: head, r: r, most: most}
	return b, b.count()
}

// count counts the lines and finds the end of the header and of the text.
func (b *backLines) count() error {
	in := bufio.NewReaderSize(io.NewSectionReader(b.r, 0, 1<<62), blockBytes)
	for {
		part, err := in.ReadSlice('\n')
		b.pos += int64(len(part))
		switch {
		case err == nil:
			if b.Lines++; b.Lines == b.Head {
				b.start = b.pos
			}
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			b.Lines++
			return nil
		default:
			return err //nolint:wrapcheck // the caller adds the file
		}
	}
}

// Line returns the line before the one it returned last, io.EOF after the first one.
func (b *backLines) Line() ([]byte, error) {
	for {
		if i := bytes.LastIndexByte(b.buf, '\n'); i >= 0 {
			line := b.buf[i+1:]
			b.buf = b.buf[:i]
			return line, nil
		}
		if len(b.buf) > b.most {
			return nil, fmt.Errorf("longer than %d bytes", b.most)
		}
		if b.pos == b.start {
			if b.ended {
				return nil, io.EOF
			}
			b.ended = true
			return b.buf, nil
		}
		n := min(blockBytes, b.pos-b.start)
		buf := make([]byte, n+int64(len(b.buf)))
		if _, err := b.r.ReadAt(buf[:n], b.pos-n); err != nil {
			return nil, err //nolint:wrapcheck // the caller adds the file
		}
		copy(buf[n:], b.buf)
		b.buf, b.pos = buf, b.pos-n
	}
}

// cell is one part of a row, without surrounding blanks.
type cell struct {
	Text []byte
	At   int // offset of text in the row, in bytes
}

// separatorOf returns the character that separates the cells of a row: a tab, a semicolon or a comma.
func separatorOf(line []byte) byte {
	for _, c := range []byte{'\t', ';'} {
		if bytes.IndexByte(line, c) >= 0 {
			return c
		}
	}
	return ','
}

// tableSeparator returns the character that separates the cells of a table's row. Blanks separate only values.
func tableSeparator(line []byte) byte {
	c := separatorOf(line)
	if c != ',' || bytes.IndexByte(line, ',') >= 0 {
		return c
	}
	if bytes.IndexByte(line, '|') >= 0 {
		return '|'
	}
	first, rest, _ := bytes.Cut(line, []byte{' '})
	if _, err := ParseDecimal(first); err == nil && bytes.IndexByte(rest, ' ') > 0 {
		return ' '
	}
	return c
}

// splitTable splits a row of a table into at most len(dst) parts. A separator between quotes belongs to its cell, and
// of several blanks one separates.
func splitTable(line []byte, separator byte, dst []cell) (n int) {
	if separator != ' ' && bytes.IndexByte(line, '"') < 0 {
		return splitRow(line, separator, dst)
	}
	for at := 0; ; {
		for separator == ' ' && at < len(line) && line[at] == ' ' {
			at++
		}
		end, quoted := at, false
		for ; end < len(line) && (quoted || line[end] != separator); end++ {
			if line[end] == '"' {
				quoted = !quoted
			}
		}
		if quoted { // a quote that does not end
			return n + splitRow(line[at:], separator, dst[min(n, len(dst)):])
		}
		if n < len(dst) {
			text, skipped := trim(line[at:end])
			dst[n] = cell{text, at + skipped}
		}
		n++
		if end == len(line) {
			return n
		}
		at = end + 1
	}
}

// splitRow splits a row into at most len(dst) parts. n is the number of parts in the row.
func splitRow(line []byte, separator byte, dst []cell) (n int) {
	for at := 0; ; {
		end := bytes.IndexByte(line[at:], separator)
		part := line[at:]
		if end >= 0 {
			part = part[:end]
		}
		if n < len(dst) {
			text, skipped := trim(part)
			dst[n] = cell{text, at + skipped}
		}
		n++
		if end < 0 {
			return n
		}
		at += end + 1
	}
}

// positive reads a number that must be above zero.
func positive(what string, s []byte) (Decimal, error) {
	d, err := ParseDecimal(s)
	if err == nil && d.V.Sign() <= 0 {
		err = errors.New("must be above zero")
	}
	return d, quoted(what, s, err)
}

// notNegative reads a number that may be zero.
func notNegative(what string, s []byte) (Decimal, error) {
	d, err := ParseDecimal(s)
	switch {
	case err != nil:
		return d, quoted(what, s, err)
	case s[0] == '-':
		return d, fmt.Errorf("%s %q is below zero", what, clip(s))
	}
	return d, nil
}

// quoted adds to err the name and the text of the value in which it was found.
func quoted(what string, s []byte, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", what, clip(s), err)
}

// clip shortens a text for an error message.
func clip(s []byte) string {
	const most = 40
	if len(s) > most {
		return string(s[:most]) + "..."
	}
	return string(s)
}
