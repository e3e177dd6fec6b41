package server

import "tickhive/internal/fixed"

// appendRate appends v units of 10^-digits as the shortest decimal: rates, limits, percents.
func appendRate(dst []byte, v int64, digits int) []byte {
	return fixed.AppendShortest(dst, fixed.FromI64(v), digits)
}

// appendUnits appends v units of 10^-digits, null if applies is false.
func appendUnits(b []byte, v int64, digits int, applies bool) []byte {
	if !applies {
		return append(b, "null"...)
	}
	return fixed.AppendI64(b, v, digits)
}
