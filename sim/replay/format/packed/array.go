package packed

import (
	"bufio"
	"errors"
	"io"
)

// Elements reads a JSON array as lines: a line feed ends each element, and line feeds in elements become spaces.
type Elements struct {
	in    *bufio.Reader
	depth int // number of open brackets and braces
	text  bool
	slash bool // the byte before, in a string, was a backslash
	ended bool
}

// NewElements returns the elements of the array in in, as lines.
func NewElements(in *bufio.Reader) *Elements { return &Elements{in: in} }

// Read implements io.Reader.
func (e *Elements) Read(p []byte) (n int, err error) {
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
func (e *Elements) take(c byte) (byte, error) {
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
