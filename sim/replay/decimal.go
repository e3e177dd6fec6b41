package replay

import (
	"errors"
	"fmt"
	"math/bits"

	"tickhive/internal/fixed"
)

// number is a decimal text taken apart: mantissa x 10^-scale. Exact as long as cut is
// false: a recorded binary float may have more digits than 19.
type number struct {
	mantissa uint64
	scale    int
	neg      bool
	cut      bool // digits beyond the 19th were dropped and not all zero
	full     bool // no further digit fits
}

var errNumber = errors.New("not a decimal number")

// maxExponent bounds the exponent that a recorded float may carry (1e-08).
const maxExponent = 40

// parseNumber reads [-]digits[.digits][e[+-]digits].
func parseNumber(s []byte) (number, error) {
	var n number
	i, digits, dot := 0, 0, -1
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		n.neg = s[i] == '-'
		i++
	}
	for ; i < len(s); i++ {
		c := s[i]
		if c == '.' && dot < 0 {
			dot = digits
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		digits++
		n.take(c-'0', dot >= 0)
	}
	if digits == 0 || digits > 64 || dot == digits {
		return number{}, errNumber
	}
	if i == len(s) {
		return n, nil
	}
	if s[i] != 'e' && s[i] != 'E' {
		return number{}, errNumber
	}
	return n.exponent(s[i+1:])
}

// take appends one digit, or drops it when it no longer fits.
func (n *number) take(d byte, fraction bool) {
	hi, lo := bits.Mul64(n.mantissa, 10)
	sum, carry := bits.Add64(lo, uint64(d), 0)
	if n.full = n.full || hi != 0 || carry != 0; n.full {
		n.cut = n.cut || d != 0
		if !fraction {
			n.scale-- // a whole digit that is not kept makes the number ten times as large
		}
		return
	}
	n.mantissa = sum
	if fraction {
		n.scale++
	}
}

func (n number) exponent(s []byte) (number, error) {
	neg := len(s) > 0 && s[0] == '-'
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 3 {
		return number{}, errNumber
	}
	e := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			return number{}, errNumber
		}
		e = e*10 + int(c-'0')
	}
	if e > maxExponent {
		return number{}, fmt.Errorf("exponent beyond %d", maxExponent)
	}
	if neg {
		e = -e
	}
	n.scale -= e
	return n, nil
}

// digits is how many fractional digits are not trailing zeros; of a number with more than
// 19 digits one more than any pair can have.
func (n number) digits() int {
	if n.cut {
		return fixed.Scale + 1
	}
	m, scale := n.mantissa, n.scale
	for scale > 0 && m%10 == 0 {
		m /= 10
		scale--
	}
	return max(scale, 0)
}

// units is the number in units of 10^-digits; another digit that is not zero is an error.
func (n number) units(digits int) (int64, error) {
	v, rest, err := n.divide(digits)
	if err != nil {
		return 0, err
	}
	if rest != 0 || n.cut {
		return 0, fmt.Errorf("more than %d fractional digits", digits)
	}
	return v, nil
}

// unitsRounded is the number rounded half up to 10^-digits: for values that were recorded
// as binary floats of a decimal with that many digits.
func (n number) unitsRounded(digits int) (int64, error) {
	v, rest, err := n.divide(digits)
	if err != nil {
		return 0, err
	}
	if rest >= 5 {
		if n.neg {
			v--
		} else {
			v++
		}
	}
	return v, nil
}

// divide is the quotient and the first dropped digit (1 when only later ones are not zero).
func (n number) divide(digits int) (v int64, rest uint64, err error) {
	m, shift := n.mantissa, n.scale-digits
	switch {
	case m == 0:
		return 0, 0, nil
	case shift > 19:
		return 0, 1, nil
	case shift > 0:
		low := m % fixed.Pow10[shift]
		m /= fixed.Pow10[shift]
		if rest = low / fixed.Pow10[shift-1]; rest == 0 && low != 0 {
			rest = 1
		}
	case shift < -19:
		return 0, 0, errors.New("number is too large")
	case shift < 0:
		hi, lo := bits.Mul64(m, fixed.Pow10[-shift])
		if hi != 0 {
			return 0, 0, errors.New("number is too large")
		}
		m = lo
	}
	if m >= 1<<63-1 {
		return 0, 0, errors.New("number is too large")
	}
	v = int64(m)
	if n.neg {
		v = -v
	}
	return v, rest, nil
}

// positiveUnits is units of a number that must be above zero.
func positiveUnits(what string, s []byte, digits int) (int64, error) {
	n, err := parseNumber(s)
	if err == nil {
		var v int64
		if v, err = n.units(digits); err == nil {
			if v > 0 {
				return v, nil
			}
			err = errors.New("must be above zero")
		}
	}
	return 0, fmt.Errorf("%s %q: %w", what, clip(s), err)
}

// positiveNumber reads a number that must be above zero.
func positiveNumber(what string, s []byte) (number, error) {
	n, err := parseNumber(s)
	if err == nil && (n.mantissa == 0 || n.neg) {
		err = errors.New("must be above zero")
	}
	if err != nil {
		return n, fmt.Errorf("%s %q: %w", what, clip(s), err)
	}
	return n, nil
}

// clip shortens what an error message quotes.
func clip(s []byte) string {
	const most = 40
	if len(s) > most {
		return string(s[:most]) + "..."
	}
	return string(s)
}
