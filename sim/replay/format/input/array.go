package input

import (
	"bufio"

	"tickhive/sim/replay/format/packed"
)

// SplitArray puts each element of a JSON array on a separate line. It leaves a text alone that is no array.
func (l *Lines) SplitArray() error {
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
			l.R = bufio.NewReaderSize(packed.NewElements(l.R), 64<<10)
			return nil
		default:
			return nil
		}
	}
}
