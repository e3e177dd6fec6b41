package format

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tickhive/sim/replay/format/dbn"
	"tickhive/sim/replay/format/packed"
)

const (
	// MaxLine bounds one line of a recorded file, in bytes. The longest known line is a depth snapshot of 5,000
	// levels a side, about 0.6 MB.
	MaxLine = 4 << 20
	// MaxDocument bounds a file with one JSON document, in bytes after decompression.
	MaxDocument = 64 << 20
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

// lines reads a plain or packed text line by line. It belongs to one goroutine.
type lines struct {
	file   string
	r      *bufio.Reader
	source packed.Text
	closer io.Closer
	n      int // number of the line last read, from 1
	buf    []byte

	back    *backward // nil: the text is read forward
	array   bool      // the text is a JSON array: each line is one of its elements
	skipped int       // number of blanks before the text that next returned
}

// openLines opens path, plain or packed.
func openLines(path string) (*lines, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	l, err := newLines(filepath.Base(path), f)
	if err != nil {
		_ = f.Close() // opened for reading only: no data can be lost
		return nil, err
	}
	l.closer = f
	return l, nil
}

func newLines(name string, in io.Reader) (*lines, error) {
	t, err := packed.Open(in)
	if err != nil {
		return nil, refusePacked(name, err)
	}
	return &lines{file: name, r: t.Reader, source: t}, nil
}

// refusePacked returns the error for a file that cannot be unpacked.
func refusePacked(name string, err error) error {
	remedy := "unpack the file, or fetch it again"
	if errors.As(err, new(*dbn.SchemaError)) {
		remedy = "fetch the data in one of these"
	}
	return Position{name, 1, 1}.refuse(remedy, "%v", err)
}

// next returns the next line without its end, or io.EOF after the last one. The line is valid until the next
// call. Empty lines are skipped.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.read()
		if err != nil {
			return nil, err
		}
		text, skipped := trim(line)
		if l.skipped = skipped; len(text) > 0 {
			return text, nil
		}
	}
}

func (l *lines) read() ([]byte, error) {
	if l.back != nil && (l.back.begun || l.n >= l.back.Head) {
		l.skipped = 0
		return l.readBack()
	}
	l.n++
	l.buf, l.skipped = l.buf[:0], 0
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.buf) == 0 && err == nil {
			return part, nil
		}
		if len(l.buf)+len(part) > MaxLine {
			return nil, l.fail("split the line, or give the right --format", "longer than %d bytes", MaxLine)
		}
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			return l.buf, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			if len(l.buf) == 0 {
				l.n--
				return nil, io.EOF
			}
			return l.buf, nil
		default:
			return nil, l.fail(remedyRead, "%v", err)
		}
	}
}

// here returns the position of a byte of the line last read.
func (l *lines) here(at int) Position { return Position{l.file, l.n, l.skipped + at + 1} }

// refuse converts an error that a parser found in the line last read to a LineError. It returns nil for nil.
func (l *lines) refuse(err error) error {
	if err == nil {
		return nil
	}
	var f *flaw
	if err = locate(0, err); !errors.As(err, &f) {
		return err
	}
	return l.here(f.at).refuse(f.remedy, "%v", err)
}

// fail returns a LineError for the line last read as a whole.
func (l *lines) fail(remedy, format string, args ...any) error {
	return l.here(0).refuse(remedy, format, args...)
}

// close closes the file; l may be nil.
func (l *lines) close() {
	if l == nil {
		return
	}
	var back io.Closer
	if l.back != nil {
		back = l.back.closer
	}
	l.source.Close()
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
	defer l.close()
	doc, err = io.ReadAll(io.LimitReader(l.r, MaxDocument+1))
	if err != nil {
		return "", nil, Position{l.file, 1 + bytes.Count(doc, []byte{'\n'}), 1}.refuse(remedyRead, "%v", err)
	}
	if len(doc) > MaxDocument {
		return "", nil, Position{l.file, 1, 1}.refuse("split the answer", "longer than %d bytes", MaxDocument)
	}
	return l.file, doc, nil
}
