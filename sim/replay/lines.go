package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	// MaxLine bounds one line of a recorded file, in bytes. The longest known line is a
	// depth snapshot of 5,000 levels a side, about 0.6 MB.
	MaxLine = 4 << 20
	// MaxDocument bounds a file that is one JSON document, in bytes after unpacking.
	MaxDocument = 64 << 20
)

// LineError is a bad line of a recorded file: which file, which line (from 1) and why.
type LineError struct {
	File   string
	Line   int
	Reason string
}

// Error is "FILE:LINE: REASON".
func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }

// lines reads a plain or gzip text line by line. It belongs to one goroutine.
type lines struct {
	file   string
	r      *bufio.Reader
	closer io.Closer
	n      int // number of the line last read, from 1
	buf    []byte
}

// openLines opens path; gzip is told by its first two bytes, not by the name.
func openLines(path string) (*lines, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	l, err := newLines(filepath.Base(path), f)
	if err != nil {
		_ = f.Close() // opened for reading: nothing can be lost
		return nil, err
	}
	l.closer = f
	return l, nil
}

func newLines(name string, in io.Reader) (*lines, error) {
	r := bufio.NewReaderSize(in, 64<<10)
	if head, _ := r.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		gz, err := gzip.NewReader(r)
		if err != nil {
			return nil, &LineError{name, 1, "gzip: " + err.Error()}
		}
		r = bufio.NewReaderSize(gz, 64<<10)
	}
	return &lines{file: name, r: r}, nil
}

// next is the next line without its end, valid until the following call; io.EOF after the
// last one. Empty lines are skipped.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.read()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (l *lines) read() ([]byte, error) {
	l.n++
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.buf) == 0 && err == nil {
			return part, nil
		}
		if len(l.buf)+len(part) > MaxLine {
			return nil, l.fail("longer than %d bytes", MaxLine)
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
			return nil, l.fail("%v", err)
		}
	}
}

// fail is a LineError for the line last read.
func (l *lines) fail(format string, args ...any) error {
	return &LineError{l.file, l.n, fmt.Sprintf(format, args...)}
}

func (l *lines) close() {
	if l.closer != nil {
		_ = l.closer.Close() // opened for reading: nothing can be lost
	}
}

// readDocument reads a whole file that is one JSON document.
func readDocument(path string) (name string, doc []byte, err error) {
	l, err := openLines(path)
	if err != nil {
		return "", nil, err
	}
	defer l.close()
	doc, err = io.ReadAll(io.LimitReader(l.r, MaxDocument+1))
	if err != nil {
		return "", nil, &LineError{l.file, 1 + bytes.Count(doc, []byte{'\n'}), err.Error()}
	}
	if len(doc) > MaxDocument {
		return "", nil, &LineError{l.file, 1, fmt.Sprintf("longer than %d bytes", MaxDocument)}
	}
	return l.file, doc, nil
}
