package format

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"tickhive/sim/replay/format/packed"
)

// blockBytes is the number of bytes that a backward reader reads at once.
const blockBytes = 64 << 10

// backward reads the lines of a text from the last to the first.
type backward struct {
	r      io.ReaderAt
	closer io.Closer // nil: the text is in memory
	head   int       // number of lines that are read forward first: the header
	lines  int       // number of lines
	start  int64     // offset of the first line after the header
	pos    int64     // offset of buf
	buf    []byte    // what was read and not returned
	begun  bool      // the header was read
	ended  bool
}

// turn makes l read its first lines up to head forward and the rest backward. A packed file is unpacked in memory, up
// to MaxDocument.
func (l *lines) turn(path string, head int) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	l.back = &backward{r: f, closer: f, head: head}
	var first [4]byte
	n, _ := f.ReadAt(first[:], 0) // a shorter file has less
	if packed.Known(first[:n]) {
		t, err := packed.Open(f)
		if err != nil {
			return refusePacked(l.file, err)
		}
		defer t.Close()
		doc, err := io.ReadAll(io.LimitReader(t.Reader, MaxDocument+1))
		if err != nil {
			return l.fail(remedyRead, "%v", err)
		}
		if len(doc) > MaxDocument {
			return l.fail("unpack the file to plain UTF-8, or sort its rows by time",
				"the newest row is first in a packed text of more than %d bytes", MaxDocument)
		}
		l.back.r = bytes.NewReader(doc)
	}
	if err := l.back.count(); err != nil {
		return l.fail(remedyRead, "%v", err)
	}
	return nil
}

// count counts the lines and finds the end of the header and of the text.
func (b *backward) count() error {
	in := bufio.NewReaderSize(io.NewSectionReader(b.r, 0, 1<<62), blockBytes)
	for {
		part, err := in.ReadSlice('\n')
		b.pos += int64(len(part))
		switch {
		case err == nil:
			if b.lines++; b.lines == b.head {
				b.start = b.pos
			}
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			b.lines++
			return nil
		default:
			return err //nolint:wrapcheck // the caller adds the file
		}
	}
}

// line returns the line before the one it returned last, io.EOF after the first one.
func (b *backward) line() ([]byte, error) {
	for {
		if i := bytes.LastIndexByte(b.buf, '\n'); i >= 0 {
			line := b.buf[i+1:]
			b.buf = b.buf[:i]
			return line, nil
		}
		if len(b.buf) > MaxLine {
			return nil, fmt.Errorf("longer than %d bytes", MaxLine)
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

// readBack reads the next line of a text that is read backward behind its header.
func (l *lines) readBack() ([]byte, error) {
	if !l.back.begun {
		l.back.begun, l.n = true, l.back.lines+1
	}
	l.n--
	line, err := l.back.line()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, l.fail(remedyRead, "%v", err)
	}
	return line, err
}
