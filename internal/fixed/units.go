package fixed

import "unsafe"

// UnitsResult is the result of converting a decimal to units.
type UnitsResult uint8

// The results of TextUnits.
const (
	UnitsExact   UnitsResult = iota
	UnitsOff                 // the value has further digits that are not zero
	UnitsTooMany             // the value is outside int64
)

// TextUnits converts the text of a decimal to units of 10^-digits. negative reports the sign, even when the
// value does not fit. The form must have been checked: any other text panics.
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

// MustText returns the exact value of a decimal in units of 10^-18. The form must have been checked: any other
// text panics.
func MustText(text []byte) I128 {
	d, err := Parse(unsafe.String(unsafe.SliceData(text), len(text)))
	if err != nil {
		panic("BUG: fixed: an unchecked decimal: " + string(text))
	}
	return d
}
