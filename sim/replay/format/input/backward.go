package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"tickhive/sim/replay/format/packed"
	"tickhive/sim/replay/format/remedy"
)

// backward reads the lines of a text from the last to the first.
type backward struct {
	*packed.Backward
	closer io.Closer
	begun  bool // the header was read
}

// Turn makes l read its first lines up to head forward and the rest backward. A packed file is unpacked in memory, up
// to MaxDocument.
func (l *Lines) Turn(path string, head int) error {
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
			return refusePacked(l.File, err)
		}
		defer t.Close()
		doc, err := io.ReadAll(io.LimitReader(t.Reader, MaxDocument+1))
		if err != nil {
			return l.Fail(remedy.Of(err, remedyRead), "%v", err)
		}
		if len(doc) > MaxDocument {
			return l.Fail("unpack the file to plain UTF-8, or sort its rows by time",
				"the newest row is first in a packed text of more than %d bytes", MaxDocument)
		}
		text = bytes.NewReader(doc)
	}
	if l.back.Backward, err = packed.NewBackward(text, head, MaxLine); err != nil {
		return l.Fail(remedyRead, "%v", err)
	}
	return nil
}

// readBack reads the next line of a text that is read backward behind its header.
func (l *Lines) readBack() ([]byte, error) {
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
