package fixed

import "math/big"

// QuotientDigits is the number of fractional digits of percentages
// (docs/contract/market-data.md#decimals).
const QuotientDigits = 8

// FloorDiv returns a / b rounded down. b must be above 0.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// DivHalfEven64 returns a / d rounded half to even. It panics when d is 0.
func (a U128) DivHalfEven64(d uint64) U128 {
	q, r := a.DivMod64(d)
	if rest := d - r; r > rest || r == rest && q.Lo&1 == 1 {
		q = q.Add(U128{Lo: 1})
	}
	return q
}

// PercentChangeHalfEven returns (now - then) / then x 100 in units of 10^-8, rounded half to even: the change
// of a price in per cent. It returns 0 when then <= 0. The arguments are int64, so nothing overflows.
func PercentChangeHalfEven(now, then int64) I128 {
	if then <= 0 {
		return I128{}
	}
	const scale = 100 * 100_000_000
	down := now < then
	diff := uint64(now) - uint64(then)
	if down {
		diff = -diff
	}
	v := Mul64(diff, scale).DivHalfEven64(uint64(then)).ToI128()
	if down {
		return v.Neg()
	}
	return v
}

// AverageDigits returns the number of fractional digits of an average of prices with digitsPrice digits: six more than
// a price has, so that rounding changes an average by at most a millionth of a tick. It is at least the number of
// digits of a percentage and at most Scale. It is never less than digitsPrice, so the average of prices is never 0.
func AverageDigits(digitsPrice int) int { return min(Scale, max(QuotientDigits, digitsPrice+6)) }

// AppendAverageHalfEven appends total / amount as a price with AverageDigits, rounded half to even. total is in units
// of 10^-(digitsPrice+digitsAmount), amount in 10^-digitsAmount and not 0.
func AppendAverageHalfEven(dst []byte, total, amount U128, digitsPrice int) []byte {
	digits := AverageDigits(digitsPrice)
	return AppendU128(dst, averageHalfEven(total, amount, Pow10[digits-digitsPrice]), digits)
}

// averageHalfEven returns total x scale / amount, rounded half to even. scale is at most 10^8, and total / amount a
// price, so the result fits.
func averageHalfEven(total, amount U128, scale uint64) U128 {
	ticks, rest := total.DivMod64(max(1, amount.Lo))
	if amount.Hi != 0 || ticks.Hi != 0 {
		return bigAverageHalfEven(total, amount, scale)
	}
	more, rest := Mul64(rest, scale).DivMod64(amount.Lo)
	v := Mul64(ticks.Lo, scale).Add(more)
	if left := amount.Lo - rest; rest > left || rest == left && v.Lo&1 == 1 {
		v = v.Add(U128{Lo: 1})
	}
	return v
}

// bigAverageHalfEven does the same for amounts beyond 64 bits: sums over many trades of a pair with many digits.
func bigAverageHalfEven(total, amount U128, scale uint64) U128 {
	num, den := toBig(total), toBig(amount)
	q, rest := num.QuoRem(num.Mul(num, new(big.Int).SetUint64(scale)), den, new(big.Int))
	if c := rest.Lsh(rest, 1).Cmp(den); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	if q.BitLen() > 128 {
		panic("BUG: fixed: an average price beyond the prices it is made of")
	}
	hi := new(big.Int).Rsh(q, 64)
	return U128{Hi: hi.Uint64(), Lo: q.Sub(q, hi.Lsh(hi, 64)).Uint64()}
}

func toBig(v U128) *big.Int {
	b := new(big.Int).SetUint64(v.Hi)
	return b.Or(b.Lsh(b, 64), new(big.Int).SetUint64(v.Lo))
}
