package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"tickhive/sim/replay/format/packed"
)

// backward reads the lines of a text from the last to the first.
type backward struct {
	*packed.Backward
	closer io.Closer
	begun  bool // the header was read
}

// turn makes l read its first lines up to head forward and the rest backward. A packed file is unpacked in memory, up
// to MaxDocument.
func (l *lines) turn(path string, head int) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	l.back = &backward{closer: f}
	text := io.ReaderAt(f)
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
		text = bytes.NewReader(doc)
	}
	if l.back.Backward, err = packed.NewBackward(text, head, MaxLine); err != nil {
		return l.fail(remedyRead, "%v", err)
	}
	return nil
}

// readBack reads the next line of a text that is read backward behind its header.
func (l *lines) readBack() ([]byte, error) {
	if !l.back.begun {
		l.back.begun, l.n = true, l.back.Lines+1
	}
	l.n--
	line, err := l.back.Line()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, l.fail(remedyRead, "%v", err)
	}
	return line, err
}
