package fixed

import "errors"

// ErrSyntax is a text that is not `-?[0-9]{1,20}(\.[0-9]{1,18})?`
// (docs/contract/market-data.md#decimals).
var ErrSyntax = errors.New("not a decimal of the form -?[0-9]{1,20}(.[0-9]{1,18})?")

// Scale is the unit of balances, fees, accruals and every Dec: 10^-18.
const Scale = 18

// Parse reads a decimal exactly as units of 10^-18. Every text of the form fits
// (at most 10^38 < 2^127).
func Parse(s string) (I128, error) {
	neg := len(s) > 0 && s[0] == '-'
	if neg {
		s = s[1:]
	}
	whole, n := digits(s)
	u := U128{Lo: whole}
	if n == 19 && len(s) > n && s[n] >= '0' && s[n] <= '9' { // the 20th
		u = Mul64(whole, 10).Add(U128{Lo: uint64(s[n] - '0')})
		n++
	}
	if n == 0 {
		return I128{}, ErrSyntax
	}
	frac := uint64(0)
	if s = s[n:]; s != "" {
		frac, n = digits(s[1:])
		if s[0] != '.' || n == 0 || n > Scale || n != len(s)-1 {
			return I128{}, ErrSyntax
		}
		frac *= Pow10[Scale-n]
	}
	m, _ := u.MulCheck(Pow10[Scale]) // at most 38 digits: below 2^127
	v := m.Add(U128{Lo: frac}).ToI128()
	if neg {
		v = v.Neg()
	}
	return v, nil
}

// digits reads the first digits of s, at most 19 of them: all that fit into a uint64.
func digits(s string) (v uint64, n int) {
	for n < len(s) && n < 19 && s[n] >= '0' && s[n] <= '9' {
		v = v*10 + uint64(s[n]-'0')
		n++
	}
	return v, n
}

// Units converts a value of 10^-18 to whole units of 10^-digits. exact is false when
// digits beyond the unit are not zero (off tick, off lot), fits is false when the
// result is outside int64.
func Units(v I128, digits int) (units int64, exact, fits bool) {
	q, r := v.Abs().DivMod64(Pow10[Scale-digits])
	if r != 0 {
		return 0, false, true
	}
	if q.Hi != 0 || q.Lo > 1<<63-1 {
		return 0, true, false
	}
	units = int64(q.Lo)
	if v.Sign() < 0 {
		units = -units
	}
	return units, true, true
}
