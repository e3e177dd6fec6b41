package fixed

import "strconv"

// AppendU64 appends v x 10^-digits as text with exactly digits decimals, or one when digits is 0
// (docs/contract/market-data.md#decimals).
func AppendU64(dst []byte, v uint64, digits int) []byte {
	if digits == 0 {
		return append(strconv.AppendUint(dst, v, 10), '.', '0')
	}
	p := Pow10[digits]
	dst = append(strconv.AppendUint(dst, v/p, 10), '.')
	return appendPadded(dst, v%p, digits)
}

// AppendI64 appends a signed number like AppendU64. Zero never has a sign.
func AppendI64(dst []byte, v int64, digits int) []byte {
	if v < 0 {
		return AppendU64(append(dst, '-'), uint64(-v), digits)
	}
	return AppendU64(dst, uint64(v), digits)
}

// AppendU128 appends v x 10^-digits like AppendU64; digits is 0 to 38.
func AppendU128(dst []byte, v U128, digits int) []byte {
	if v.Hi == 0 && digits < 20 {
		return AppendU64(dst, v.Lo, digits)
	}
	var buf [40]byte // 2^128 has 39 digits
	i := len(buf)
	for v.Hi != 0 {
		var r uint64
		v, r = v.DivMod64(Pow10[19])
		for range 19 {
			i--
			buf[i] = byte('0' + r%10)
			r /= 10
		}
	}
	for r := v.Lo; r != 0; r /= 10 {
		i--
		buf[i] = byte('0' + r%10)
	}
	text := buf[i:]
	whole := len(text) - digits
	if whole <= 0 {
		dst = append(dst, '0', '.')
		for ; whole < 0; whole++ {
			dst = append(dst, '0')
		}
		return append(dst, text...)
	}
	dst = append(append(dst, text[:whole]...), '.')
	if digits == 0 {
		return append(dst, '0')
	}
	return append(dst, text[whole:]...)
}

// AppendI128 appends a signed number like AppendU128.
func AppendI128(dst []byte, v I128, digits int) []byte {
	if v.Sign() < 0 {
		dst = append(dst, '-')
	}
	return AppendU128(dst, v.Abs(), digits)
}

// AppendShortest appends v x 10^-digits without trailing zeros, but with at least one decimal: 0.001, 10.0,
// 0.0.
func AppendShortest(dst []byte, v I128, digits int) []byte {
	return trimZeros(AppendI128(dst, v, digits))
}

func trimZeros(dst []byte) []byte {
	end := len(dst)
	for dst[end-1] == '0' && dst[end-2] != '.' {
		end--
	}
	return dst[:end]
}

func appendPadded(dst []byte, v uint64, digits int) []byte {
	var buf [20]byte
	for i := digits - 1; i >= 0; i-- {
		buf[i] = byte('0' + v%10)
		v /= 10
	}
	return append(dst, buf[:digits]...)
}
