package fixed

import "math/bits"

// rateOne is the rate of 1, in 10^-8, and rateSquare that of rate x (1 - discount), in 10^-16.
const (
	rateOne    = 100_000_000
	rateSquare = rateOne * rateOne
)

// Fee returns received x rate x (1 - discount), rounded half even to a unit (docs/contract/trading.md#fees). received
// is in units of what the fee is paid in; rate and discount are in 10^-8. A rate above 1 counts as 1, so a fee never
// exceeds what it is taken from.
func Fee(received U128, rate, discount uint32) U128 {
	if rate == 0 || discount >= rateOne {
		return U128{}
	}
	q, rest := received.share(uint64(min(rate, rateOne))*uint64(rateOne-discount), rateSquare)
	if half := rateSquare - rest; rest > half || rest == half && q.Lo&1 == 1 {
		q = q.Add(FromU64(1))
	}
	return q
}

// ShareFloor returns a x rate, rounded down to a unit; rate is in 10^-8, at most 1.
func ShareFloor(a U128, rate uint32) U128 {
	q, _ := a.share(uint64(min(rate, rateOne)), rateOne)
	return q
}

// share returns the quotient, rounded down, and the remainder of a x m / d; m is at most d, so the quotient fits.
func (a U128) share(m, d uint64) (q U128, rest uint64) {
	mid, low := bits.Mul64(a.Lo, m)
	high, carry := bits.Mul64(a.Hi, m)
	mid, c := bits.Add64(mid, carry, 0)
	if high += c; high == 0 && mid < d { // one division is enough for all but the largest amounts
		q.Lo, rest = bits.Div64(mid, low, d)
		return q, rest
	}
	q.Hi, rest = bits.Div64(high, mid, d) // high < d, because m <= d
	q.Lo, rest = bits.Div64(rest, low, d)
	return q, rest
}
