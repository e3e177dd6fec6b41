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
	var u U128
	whole, frac := 0, 0
	i := 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		whole++
		if whole > 20 {
			return I128{}, ErrSyntax
		}
		u = u.times10(s[i])
	}
	if whole == 0 {
		return I128{}, ErrSyntax
	}
	if i < len(s) {
		if s[i] != '.' {
			return I128{}, ErrSyntax
		}
		for i++; i < len(s); i++ {
			if s[i] < '0' || s[i] > '9' {
				return I128{}, ErrSyntax
			}
			if frac++; frac > Scale {
				return I128{}, ErrSyntax
			}
			u = u.times10(s[i])
		}
		if frac == 0 {
			return I128{}, ErrSyntax
		}
	}
	for ; frac < Scale; frac++ {
		u = u.times10('0')
	}
	v := u.ToI128()
	if neg {
		v = v.Neg()
	}
	return v, nil
}

func (a U128) times10(digit byte) U128 {
	m, _ := a.MulCheck(10) // at most 38 digits: below 2^127
	return m.Add(U128{Lo: uint64(digit - '0')})
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
