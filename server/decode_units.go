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
	v, exact, fits, err := fixed.ParseUnits(unsafe.String(unsafe.SliceData(text), len(text)), digits)
	switch {
	case err != nil:
		panic("BUG: server: an unchecked decimal: " + string(text))
	case !exact:
		res = unitsOff
	case !fits:
		res = unitsTooMany
	}
	return v, text[0] == '-' && (v != 0 || res != unitsExact), res
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
