package server

import (
	"strconv"
	"time"
)

// appendSecond appends 2026-01-01T00:00:00 for Unix seconds.
func appendSecond(dst []byte, sec int64) []byte {
	return time.Unix(sec, 0).UTC().AppendFormat(dst, "2006-01-02T15:04:05")
}

// appendISO appends a Unix time in ns with digits fractional digits, truncated, and Z.
func appendISO(dst []byte, ns int64, digits int) []byte {
	sec := floorDiv(ns, 1_000_000_000)
	dst = append(appendSecond(dst, sec), '.')
	frac := ns - sec*1_000_000_000
	for unit := int64(100_000_000); digits > 0; digits-- {
		dst = append(dst, byte('0'+frac/unit%10))
		unit /= 10
	}
	return append(dst, 'Z')
}

// appendMs appends a Unix time in ns as whole ms.
func appendMs(dst []byte, ns int64) []byte {
	return strconv.AppendInt(dst, floorDiv(ns, 1_000_000), 10)
}

// floorDiv returns a / b rounded down.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
