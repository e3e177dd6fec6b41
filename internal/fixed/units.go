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
// negative reports the sign, even when the value does not fit. It panics for another text.
func TextUnits(text []byte, digits int) (v int64, negative bool, res UnitsResult) {
	v, exact, fits, err := ParseUnits(unsafe.String(unsafe.SliceData(text), len(text)), digits)
	switch {
	case err != nil:
		panic("BUG: fixed: an unchecked decimal: " + string(text))
	case !exact:
		res = UnitsOff
	case !fits:
		res = UnitsTooMany
	}
	return v, text[0] == '-' && (v != 0 || res != UnitsExact), res
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
