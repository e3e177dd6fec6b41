package accounts

import (
	"math/bits"

	"tickhive/internal/fixed"
)

// MaxMoney is 10^20 whole units in 10^-18: no balance may pass it
// (docs/contract/market-data.md#decimals).
var MaxMoney = fixed.Mul64(fixed.Pow10[19], fixed.Pow10[19]).ToI128()

// rateSquare is the unit of rate x (1 - discount): 10^-16.
const rateSquare = RateOne * RateOne

// moneyOf converts units of 10^-digits to money of 10^-18; ok is false beyond MaxMoney.
func moneyOf(units fixed.U128, digits int) (fixed.I128, bool) {
	v, fits := units.MulCheck(fixed.Pow10[fixed.Scale-digits])
	if !fits || v.Hi>>63 != 0 {
		return fixed.I128{}, false
	}
	m := v.ToI128()
	return m, m.Cmp(MaxMoney) <= 0
}

// atMost returns n, or MaxMoney where ok is false.
func atMost(n fixed.I128, ok bool) fixed.I128 {
	if !ok {
		return MaxMoney
	}
	return n
}

// lotsOf converts a whole number of lots to money of 10^-18.
func lotsOf(lots int64, digits int) (fixed.I128, bool) {
	return moneyOf(fixed.FromU64(uint64(lots)), digits)
}

// feeHalfEven returns n x rate x (1 - discount), rounded half even to 10^-18
// (docs/contract/trading.md#fees). n is not negative; rate and discount are in 10^-8, at most
// RateOne.
func feeHalfEven(n fixed.I128, rate, discount uint32) fixed.I128 {
	m := uint64(rate) * uint64(RateOne-discount)
	if m == 0 || n.Sign() == 0 {
		return fixed.I128{}
	}
	q, r := mulDiv(n, m, rateSquare)
	if twice := 2 * r; twice > rateSquare || (twice == rateSquare && q.Lo&1 == 1) {
		q = q.Add(fixed.FromU64(1))
	}
	return q.ToI128()
}

// percentHalfEven returns n x rate, rounded half even to 10^-18.
func percentHalfEven(n fixed.I128, rate uint32) fixed.I128 { return feeHalfEven(n, rate, 0) }

// shareFloor returns n x rate, rounded down to 10^-18 (docs/contract/accounts.md#accruals).
func shareFloor(n fixed.I128, rate uint32) fixed.I128 {
	q, _ := mulDiv(n, uint64(rate), RateOne)
	return q.ToI128()
}

// mulDiv returns the floor of n x m / d and the remainder; n >= 0 and m <= d.
func mulDiv(n fixed.I128, m, d uint64) (fixed.U128, uint64) {
	if n.Sign() < 0 || m > d {
		panic("BUG: accounts: mulDiv of a negative or growing product")
	}
	h1, p0 := bits.Mul64(n.Lo, m)
	p2, l1 := bits.Mul64(uint64(n.Hi), m)
	p1, carry := bits.Add64(h1, l1, 0)
	p2 += carry
	q1, r := bits.Div64(p2, p1, d) // p2 < d, because the quotient is at most n
	q0, r := bits.Div64(r, p0, d)
	return fixed.U128{Hi: q1, Lo: q0}, r
}

// rateOf converts a decimal to a rate in 10^-8; ok is false for more than 8 fractional digits
// or a value outside 0 to limit.
func rateOf(v fixed.I128, limit uint32) (uint32, bool) {
	u, exact, fits := fixed.Units(v, 8)
	if !exact || !fits || u < 0 || u > int64(limit) {
		return 0, false
	}
	return uint32(u), true
}

// percentRate converts a human percent (12.5) to a rate in 10^-8.
func percentRate(v fixed.I128, limit uint32) (uint32, bool) {
	u, exact, fits := fixed.Units(v, 6)
	if !exact || !fits || u < 0 || u > int64(limit) {
		return 0, false
	}
	return uint32(u), true
}

// decimalOf converts a rate in 10^-8 to a decimal in 10^-18.
func decimalOf(rate uint32) fixed.I128 {
	return fixed.Mul64(uint64(rate), fixed.Pow10[10]).ToI128()
}

// percentOf converts a rate in 10^-8 to a human percent in 10^-18.
func percentOf(rate uint32) fixed.I128 {
	return fixed.Mul64(uint64(rate), fixed.Pow10[12]).ToI128()
}

// least returns the smaller of two amounts or sums.
func least[M interface{ Cmp(other M) int }](a, b M) M {
	if a.Cmp(b) <= 0 {
		return a
	}
	return b
}

// positive returns v, or 0 where v is negative.
func positive[M interface{ Sign() int }](v M) (zero M) {
	if v.Sign() < 0 {
		return zero
	}
	return v
}
