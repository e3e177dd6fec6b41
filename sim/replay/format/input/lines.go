package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tickhive/sim/replay/format/packed"
	"tickhive/sim/replay/format/remedy"
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

// Trim removes the blanks around a text. skipped is the number of leading ones.
func Trim(s []byte) (text []byte, skipped int) {
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

// Lines reads a plain or packed text line by line. It belongs to one goroutine.
type Lines struct {
	File   string
	R      *bufio.Reader
	Source packed.Text
	closer io.Closer
	N      int // number of the line last read, from 1
	buf    []byte

	back    *backward // nil: the text is read forward
	Array   bool      // the text is a JSON array: each line is one of its elements
	Skipped int       // number of blanks before the text that next returned
}

// Open opens path, plain or packed.
func Open(path string) (*Lines, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	l, err := New(filepath.Base(path), f)
	if err != nil {
		_ = f.Close() // opened for reading only: no data can be lost
		return nil, err
	}
	l.closer = f
	return l, nil
}

// New reads a text that is open; name names it in errors.
func New(name string, in io.Reader) (*Lines, error) {
	t, err := packed.Open(in)
	if err != nil {
		return nil, refusePacked(name, err)
	}
	return &Lines{File: name, R: t.Reader, Source: t}, nil
}

// refusePacked returns the error for a file that cannot be unpacked.
func refusePacked(name string, err error) error {
	return Top(name).Refuse(remedy.Of(err, "unpack the file, or fetch it again"), "%v", err)
}

// Next returns the next line without its end, or io.EOF after the last one. The line is valid until the next
// call. Empty lines are skipped.
func (l *Lines) Next() ([]byte, error) {
	for {
		line, err := l.read()
		if err != nil {
			return nil, err
		}
		text, skipped := Trim(line)
		if l.Skipped = skipped; len(text) > 0 {
			return text, nil
		}
	}
}

func (l *Lines) read() ([]byte, error) {
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
		if len(l.buf)+len(part) > MaxLine {
			return nil, l.Fail("split the line, or give the right --format", "longer than %d bytes", MaxLine)
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
			return nil, l.Fail(remedy.Of(err, remedyRead), "%v", err)
		}
	}
}

// Here returns the position of a byte of the line last read.
func (l *Lines) Here(at int) Position { return Position{l.File, l.N, l.Skipped + at + 1} }

// Refuse converts an error that a parser found in the line last read to a LineError. It returns nil for nil.
func (l *Lines) Refuse(err error) error {
	if err == nil {
		return nil
	}
	var f *Flaw
	if err = Locate(0, err); !errors.As(err, &f) {
		return err
	}
	return l.Here(f.at).Refuse(f.Remedy, "%v", err)
}

// Fail returns a LineError for the line last read as a whole.
func (l *Lines) Fail(remedy, format string, args ...any) error {
	return l.Here(0).Refuse(remedy, format, args...)
}

// Close closes the file; l may be nil.
func (l *Lines) Close() {
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

// ReadDocument reads a whole file as one JSON document.
func ReadDocument(path string) (name string, doc []byte, err error) {
	l, err := Open(path)
	if err != nil {
		return "", nil, err
	}
	defer l.Close()
	doc, err = io.ReadAll(io.LimitReader(l.R, MaxDocument+1))
	if err != nil {
		at := Position{l.File, 1 + bytes.Count(doc, []byte{'\n'}), 1}
		return "", nil, at.Refuse(remedy.Of(err, remedyRead), "%v", err)
	}
	if len(doc) > MaxDocument {
		return "", nil, Position{l.File, 1, 1}.Refuse("split the answer", "longer than %d bytes", MaxDocument)
	}
	return l.File, doc, nil
}
