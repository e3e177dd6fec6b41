package fixed

import "unsafe"

// UnitsResult is the result of converting a decimal to units.
type UnitsResult uint8

// The results of TextUnits.
const (
	UnitsExact   UnitsResult = iota
	UnitsOff                 // digits beyond the unit are not zero
	UnitsTooMany             // beyond int64
)

// TextUnits converts the text of a decimal, whose form is checked, to whole units of 10^-digits.
// negative reports the sign, even when the value does not fit.
func TextUnits(text []byte, digits int) (v int64, negative bool, res UnitsResult) {
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
			return 0, negative, UnitsOff
		}
		mant /= 10
	}
	u := Mul64(mant, Pow10[digits-frac])
	if u.Hi != 0 || u.Lo > 1<<63-1 {
		return 0, negative, UnitsTooMany
	}
	v = int64(u.Lo)
	if negative {
		v = -v
	}
	return v, negative && v != 0, UnitsExact
}

func slowUnits(text []byte, digits int) (v int64, negative bool, res UnitsResult) {
	d := MustText(text)
	v, exact, fits := Units(d, digits)
	switch {
	case !exact:
		res = UnitsOff
	case !fits:
		res = UnitsTooMany
	}
	return v, d.Sign() < 0, res
}

// MustText returns the exact value of a decimal of checked form, in 10^-18. It panics for
// another text.
func MustText(text []byte) I128 {
	d, err := Parse(unsafe.String(unsafe.SliceData(text), len(text)))
	if err != nil {
		panic("BUG: fixed: an unchecked decimal: " + string(text))
	}
	return d
}
