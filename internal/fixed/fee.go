package fixed

import (
	"math"
	"math/bits"
)

// rateOne is the rate of 1, in 10^-8.
const rateOne = 100_000_000

// Fee returns price x amount x rate x (1 - discount) in 10^-18 of the quote currency, rounded half even
// (docs/contract/trading.md#fees). price is in ticks, amount in lots; digitsTotal is the number of digits of
// their product; rate and discount are in 10^-8. The largest I128 caps the fee; it is eighteen orders of
// magnitude above the largest possible balance.
func Fee(price, amount int64, digitsTotal int, rate, discount uint32) I128 {
	if rate == 0 || discount >= rateOne {
		return I128{}
	}
	// The product price x amount x share has the unit 10^-(digitsTotal+16) and at most 126+54 bits.
	share := uint64(rate) * uint64(rateOne-discount)
	product := Mul64(uint64(price), uint64(amount))
	mid, low := bits.Mul64(product.Lo, share)
	high, carry := bits.Mul64(product.Hi, share)
	mid, c := bits.Add64(mid, carry, 0)
	high += c
	if digitsTotal < 2 {
		q := U128{Hi: mid, Lo: low}
		scaled, fits := q.MulCheck(Pow10[2-digitsTotal])
		if high != 0 || !fits {
			return MaxFee
		}
		return saturate(scaled)
	}
	div := Pow10[digitsTotal-2]
	if high >= div {
		return MaxFee
	}
	var rest uint64
	mid, rest = bits.Div64(high, mid, div)
	low, rest = bits.Div64(rest, low, div)
	q := U128{Hi: mid, Lo: low}
	if half := div - rest; rest > half || (rest == half && q.Lo&1 == 1) {
		if q == (U128{Hi: math.MaxUint64, Lo: math.MaxUint64}) {
			return MaxFee
		}
		q = q.Add(FromU64(1))
	}
	return saturate(q)
}

// MaxFee caps each fee.
var MaxFee = I128{Hi: math.MaxInt64, Lo: math.MaxUint64}

func saturate(q U128) I128 {
	if q.Hi>>63 != 0 {
		return MaxFee
	}
	return q.ToI128()
}
