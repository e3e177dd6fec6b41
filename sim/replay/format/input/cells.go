package input

import "bytes"

// Cell is one part of a row, without surrounding blanks.
type Cell struct {
	Text []byte
	At   int // offset of text in the row, in bytes
}

// SeparatorOf returns the character that separates the cells of a row: a tab, a semicolon or a comma.
func SeparatorOf(line []byte) byte {
	for _, c := range []byte{'\t', ';'} {
		if bytes.IndexByte(line, c) >= 0 {
			return c
		}
	}
	return ','
}

// Columns splits a row into at most len(dst) parts. n is the number of parts in the row.
func Columns(line []byte, separator byte, dst []Cell) (n int) {
	for at := 0; ; {
		end := bytes.IndexByte(line[at:], separator)
		part := line[at:]
		if end >= 0 {
			part = part[:end]
		}
		if n < len(dst) {
			text, skipped := Trim(part)
			dst[n] = Cell{text, at + skipped}
		}
		n++
		if end < 0 {
			return n
		}
		at += end + 1
	}
}
