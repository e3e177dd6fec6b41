package format

import (
	"bufio"
	"errors"
	"io"
)

// splitArray puts each element of a JSON array on a separate line. It leaves a text alone that is no array.
func (l *lines) splitArray() error {
	for {
		head, err := l.r.Peek(1)
		switch {
		case err != nil:
			return nil //nolint:nilerr // the first read returns it
		case isBlank(head[0]):
			if _, err := l.r.Discard(1); err != nil {
				return l.fail(remedyRead, "%v", err)
			}
		case head[0] == '[':
			l.array = true
			l.r = bufio.NewReaderSize(&elements{in: l.r}, 64<<10)
			return nil
		default:
			return nil
		}
	}
}

// elements reads a JSON array as lines: a line feed ends each element, and line feeds in elements become spaces.
type elements struct {
	in    *bufio.Reader
	depth int // number of open brackets and braces
	text  bool
	slash bool // the byte before, in a string, was a backslash
	ended bool
}

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
		if !isBlank(c) {
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
