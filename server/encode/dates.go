package encode

import (
	"strconv"
	"time"
)

// AppendSecond appends Unix seconds as an ISO 8601 date and time without a zone: 2026-01-01T00:00:00.
func AppendSecond(dst []byte, sec int64) []byte {
	return time.Unix(sec, 0).UTC().AppendFormat(dst, "2006-01-02T15:04:05")
}

// AppendISO appends a Unix time in ns as an ISO 8601 date and time with Z. The seconds have digits decimals,
// truncated.
func AppendISO(dst []byte, ns int64, digits int) []byte {
	sec := FloorDiv(ns, 1_000_000_000)
	dst = append(AppendSecond(dst, sec), '.')
	frac := ns - sec*1_000_000_000
	for unit := int64(100_000_000); digits > 0; digits-- {
		dst = append(dst, byte('0'+frac/unit%10))
		unit /= 10
	}
	return append(dst, 'Z')
}

// AppendMs appends a Unix time in ns as whole ms.
func AppendMs(dst []byte, ns int64) []byte {
	return strconv.AppendInt(dst, FloorDiv(ns, 1_000_000), 10)
}

// FloorDiv returns a / b rounded down.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
