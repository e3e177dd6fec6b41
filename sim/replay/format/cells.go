package format

import "bytes"

// cell is one part of a comma-separated row, without surrounding blanks.
type cell struct {
	text []byte
	at   int // offset of text in the row, in bytes
}

// columns splits a comma-separated row into at most len(dst) parts. n is the number of parts in the row.
func columns(line []byte, dst []cell) (n int) {
	for at := 0; ; {
		end := bytes.IndexByte(line[at:], ',')
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
