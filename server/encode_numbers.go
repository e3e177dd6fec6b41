package server

import "tickhive/internal/fixed"

// appendRate appends v units of 10^-digits as the shortest decimal: rates, limits, percents.
func appendRate(dst []byte, v int64, digits int) []byte {
	return fixed.AppendShortest(dst, fixed.FromI64(v), digits)
}
