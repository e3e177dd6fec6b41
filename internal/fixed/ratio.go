package fixed

import "github.com/cockroachdb/apd/v3"

// QuotientDigits is the number of fractional digits of percentages and other quotients
// (docs/contract/market-data.md#decimals).
const QuotientDigits = 8

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

// AveragePriceHalfEven returns total / amount as a price in units of 10^-8, rounded half to even. total is in
// units of 10^-(digitsPrice+digitsAmount), amount in 10^-digitsAmount and not 0.
func AveragePriceHalfEven(total, amount U128, digitsPrice int) U128 {
	ctx := apd.Context{
		Precision: 60, MaxExponent: apd.MaxExponent, MinExponent: apd.MinExponent,
		Rounding: apd.RoundHalfEven,
	}
	var q, num, den apd.Decimal
	setU128(&num, total, -int32(digitsPrice))
	setU128(&den, amount, 0)
	// Round only once: compute the integer part, then compare the remainder with half of the divisor.
	num.Exponent += QuotientDigits
	var rest apd.Decimal
	if _, err := ctx.QuoInteger(&q, &num, &den); err != nil {
		panic("BUG: fixed: average of nothing: " + err.Error())
	}
	if _, err := ctx.Rem(&rest, &num, &den); err != nil {
		panic("BUG: fixed: average of nothing: " + err.Error())
	}
	var twice apd.Decimal
	if _, err := ctx.Mul(&twice, &rest, apd.New(2, 0)); err != nil {
		panic("BUG: fixed: remainder: " + err.Error())
	}
	v := getU128(&q)
	if c := twice.Cmp(&den); c > 0 || c == 0 && v.Lo&1 == 1 {
		v = v.Add(U128{Lo: 1})
	}
	return v
}

func setU128(d *apd.Decimal, v U128, exponent int32) {
	var hi, lo, base apd.BigInt
	hi.SetUint64(v.Hi)
	lo.SetUint64(v.Lo)
	base.Lsh(&hi, 64)
	d.Coeff.Add(&base, &lo)
	d.Exponent = exponent
}

// getU128 converts a non-negative integer.
func getU128(d *apd.Decimal) U128 {
	v := new(apd.BigInt).Set(&d.Coeff)
	for e := d.Exponent; e > 0; e-- {
		v.Mul(v, apd.NewBigInt(10))
	}
	var hi apd.BigInt
	hi.Rsh(v, 64)
	if d.Exponent < 0 || !hi.IsUint64() {
		panic("BUG: fixed: quotient beyond U128")
	}
	var lo apd.BigInt
	lo.And(v, new(apd.BigInt).SetUint64(1<<64-1))
	return U128{hi.Uint64(), lo.Uint64()}
}
