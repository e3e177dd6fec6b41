package format

import "bytes"

// cell is one part of a comma separated row, without blanks.
type cell struct {
	text []byte
	at   int // byte of the row at which the text begins
}

// columns splits a comma separated row into at most len(dst) parts; n counts its parts.
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
