package encode

import (
	"strconv"

	"tickhive/internal/fixed"
)

// AppendRate appends v x 10^-digits as the shortest decimal. It serves rates, limits and percents.
func AppendRate(dst []byte, v int64, digits int) []byte {
	return fixed.AppendShortest(dst, fixed.FromI64(v), digits)
}

// AppendUnits appends v x 10^-digits with all its digits, or null if applies is false.
func AppendUnits(b []byte, v int64, digits int, applies bool) []byte {
	if !applies {
		return append(b, "null"...)
	}
	return fixed.AppendI64(b, v, digits)
}

// AppendCanceled returns the body of a mass cancel.
func AppendCanceled(n int) []byte {
	return append(strconv.AppendInt([]byte(`{"canceled":`), int64(n), 10), '}')
}

// AppendAveragePrice appends total / filled with the digits of an average, rounded half to even, or null if nothing is
// filled. total is in product units, filled in lots.
func AppendAveragePrice(b []byte, total fixed.U128, filled int64, digitsPrice int) []byte {
	if filled == 0 {
		return append(b, "null"...)
	}
	return fixed.AppendAverageHalfEven(b, total, fixed.FromU64(uint64(filled)), digitsPrice)
}
