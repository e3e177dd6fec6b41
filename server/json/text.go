package json

import (
	"time"
	"unicode/utf8"

	"github.com/tickhive/tickhive/internal/fixed"
)

// HexDigits are the digits of hexadecimal numbers.
const HexDigits = "0123456789abcdef"

// AppendText appends s as a JSON string; bytes that are not UTF-8 become U+FFFD.
func AppendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
			i++
		case c < 0x20 || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', HexDigits[c>>4], HexDigits[c&15])
			i++
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return append(dst, '"')
}

// AppendUUID appends a UUID as lower-case text, without quotes.
func AppendUUID(dst []byte, id [16]byte) []byte {
	for i, b := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, HexDigits[b>>4], HexDigits[b&15])
	}
	return dst
}

// AppendSecond appends Unix seconds as an ISO 8601 date and time without a zone and without quotes:
// 2026-01-01T00:00:00.
func AppendSecond(dst []byte, sec int64) []byte {
	return time.Unix(sec, 0).UTC().AppendFormat(dst, "2006-01-02T15:04:05")
}

// AppendISO appends a Unix time in ns as an ISO 8601 date and time with Z and without quotes. The seconds have digits
// decimals, truncated.
func AppendISO(dst []byte, ns int64, digits int) []byte {
	sec := fixed.FloorDiv(ns, 1_000_000_000)
	dst = append(AppendSecond(dst, sec), '.')
	frac := ns - sec*1_000_000_000
	for unit := int64(100_000_000); digits > 0; digits-- {
		dst = append(dst, byte('0'+frac/unit%10))
		unit /= 10
	}
	return append(dst, 'Z')
}
