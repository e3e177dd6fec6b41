package packed

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// blockBytes is the number of bytes that a backward reader reads at once.
const blockBytes = 64 << 10

// Backward reads the lines of a text behind its header from the last to the first.
type Backward struct {
	Head  int // number of lines of the header
	Lines int // number of lines

	r     io.ReaderAt
	most  int    // bound of a line, in bytes
	start int64  // offset of the first line after the header
	pos   int64  // offset of buf
	buf   []byte // what was read and not returned
	ended bool
}

// NewBackward returns the lines of r behind the first head ones. A line has at most most bytes.
func NewBackward(r io.ReaderAt, head, most int) (*Backward, error) {
	b := &Backward{Head: head, r: r, most: most}
	return b, b.count()
}

// count counts the lines and finds the end of the header and of the text.
func (b *Backward) count() error {
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
func (b *Backward) Line() ([]byte, error) {
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
