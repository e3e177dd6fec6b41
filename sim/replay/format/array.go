package format

import (
	"bufio"

	"tickhive/sim/replay/format/packed"
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
			l.r = bufio.NewReaderSize(packed.NewElements(l.r), 64<<10)
			return nil
		default:
			return nil
		}
	}
}
