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

// AppendAveragePrice appends total / filled in 10^-8, rounded half to even, or null if nothing is filled. total is in
// product units, filled in lots.
func AppendAveragePrice(b []byte, total fixed.U128, filled int64, digitsPrice int) []byte {
	if filled == 0 {
		return append(b, "null"...)
	}
	return fixed.AppendU128(b, averagePrice(total, filled, digitsPrice), fixed.QuotientDigits)
}

// averagePrice returns total / filled in 10^-8, rounded half to even. It uses 64-bit arithmetic when the price
// has at most 8 decimals, the usual case.
func averagePrice(total fixed.U128, filled int64, digitsPrice int) fixed.U128 {
	if digitsPrice > fixed.QuotientDigits {
		return fixed.AveragePriceHalfEven(total, fixed.FromU64(uint64(filled)), digitsPrice)
	}
	scale := fixed.Pow10[fixed.QuotientDigits-digitsPrice]
	ticks, rest := total.DivMod64(uint64(filled))
	if ticks.Hi != 0 {
		panic("BUG: encode: an average price beyond the prices it is made of")
	}
	more, rest := fixed.Mul64(rest, scale).DivMod64(uint64(filled))
	v := fixed.Mul64(ticks.Lo, scale).Add(more)
	if left := uint64(filled) - rest; rest > left || rest == left && v.Lo&1 == 1 {
		v = v.Add(fixed.FromU64(1))
	}
	return v
}
