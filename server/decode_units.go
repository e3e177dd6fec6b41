package server

import (
	"bytes"
	"unsafe"

	"tickhive/internal/fixed"
)

// unitsResult is the result of converting a decimal to units.
type unitsResult uint8

const (
	unitsExact   unitsResult = iota
	unitsOff                 // digits beyond the unit are not zero
	unitsTooMany             // beyond int64
)

// units converts the text of a decimal, whose form is checked, to whole units of 10^-digits.
// negative reports the sign, even when the value does not fit.
func units(text []byte, digits int) (v int64, negative bool, res unitsResult) {
	s := text
	if s[0] == '-' {
		negative = true
		s = s[1:]
	}
	if len(s) > 19 { // the mantissa may overflow; slowUnits is exact
		return slowUnits(text, digits)
	}
	mant, frac, i := uint64(0), 0, 0
	for ; i < len(s) && s[i] != '.'; i++ {
		mant = mant*10 + uint64(s[i]-'0')
	}
	for i++; i < len(s); i++ {
		mant = mant*10 + uint64(s[i]-'0')
		frac++
	}
	for ; frac > digits; frac-- {
		if mant%10 != 0 {
			return 0, negative, unitsOff
		}
		mant /= 10
	}
	u := fixed.Mul64(mant, fixed.Pow10[digits-frac])
	if u.Hi != 0 || u.Lo > 1<<63-1 {
		return 0, negative, unitsTooMany
	}
	v = int64(u.Lo)
	if negative {
		v = -v
	}
	return v, negative && v != 0, unitsExact
}

func slowUnits(text []byte, digits int) (v int64, negative bool, res unitsResult) {
	d := mustDecimal(text)
	v, exact, fits := fixed.Units(d, digits)
	switch {
	case !exact:
		res = unitsOff
	case !fits:
		res = unitsTooMany
	}
	return v, d.Sign() < 0, res
}

// mustDecimal returns the exact value of a decimal of checked form, in 10^-18.
func mustDecimal(text []byte) fixed.I128 {
	d, err := fixed.Parse(unsafe.String(unsafe.SliceData(text), len(text)))
	if err != nil {
		panic("BUG: server: an unchecked decimal: " + string(text))
	}
	return d
}

// decimalSign returns the sign of a decimal whose form is checked.
func decimalSign(text []byte) int {
	if !bytes.ContainsAny(text, "123456789") {
		return 0
	}
	if text[0] == '-' {
		return -1
	}
	return 1
}

func compareDecimals(a, b []byte) int { return mustDecimal(a).Cmp(mustDecimal(b)) }
