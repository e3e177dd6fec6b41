package admin

import (
	"math"
	"strconv"
	"strings"
)

// byteRange is a part of a body that a client asks for (RFC 9110, section 14.1.2).
type byteRange struct {
	from, to int64 // the first and the last byte
	suffix   int64 // the last bytes; -1: from and to are given
}

// parseRange reads the header Range. ok is false for another unit, several ranges and a text that is no range: the
// answer is the whole body then.
func parseRange(header string) (r byteRange, ok bool) {
	unit, spec, _ := strings.Cut(header, "=")
	first, last, dash := strings.Cut(strings.Trim(spec, " \t"), "-")
	if !strings.EqualFold(unit, "bytes") || !dash {
		return r, false
	}
	r = byteRange{to: math.MaxInt64, suffix: -1}
	if first == "" {
		r.suffix, ok = position(last)
		return r, ok
	}
	if r.from, ok = position(first); ok && last != "" {
		r.to, ok = position(last)
	}
	return r, ok && r.from <= r.to
}

// position reads a number of digits. One beyond every body is the largest one.
func position(digits string) (n int64, ok bool) {
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		n = math.MaxInt64
	}
	return n, digits != ""
}

// of returns the place of the range in a body. ok is false when the body has no byte of it.
func (r byteRange) of(size int64) (from, n int64, ok bool) {
	if r.suffix >= 0 {
		n = min(r.suffix, size)
		return size - n, n, n > 0
	}
	return r.from, min(r.to, size-1) - r.from + 1, r.from < size
}
