package format

import "bytes"

// cell is one part of a row, without surrounding blanks.
type cell struct {
	text []byte
	at   int // offset of text in the row, in bytes
}

// separatorOf returns the character that separates the cells of a row: a tab, a semicolon or a comma.
func separatorOf(line []byte) byte {
	for _, c := range []byte{'\t', ';'} {
		if bytes.IndexByte(line, c) >= 0 {
			return c
		}
	}
	return ','
}

// columns splits a row into at most len(dst) parts. n is the number of parts in the row.
func columns(line []byte, separator byte, dst []cell) (n int) {
	for at := 0; ; {
		end := bytes.IndexByte(line[at:], separator)
		part := line[at:]
		if end >= 0 {
			part = part[:end]
		}
		if n < len(dst) {
			text, skipped := trim(part)
			dst[n] = cell{text, at + skipped}
		}
		n++
		if end < 0 {
			return n
		}
		at += end + 1
	}
}
