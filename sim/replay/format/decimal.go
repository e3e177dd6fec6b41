package format

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"tickhive/internal/fixed"
)

// Decimal is a recorded number, in units of 10^-18.
type Decimal struct {
	v      fixed.I128 // digits beyond the 18th decimal are cut off
	digits int        // number of decimals without trailing zeros
}

var (
	errNumber = errors.New("not a decimal number")
	errLarge  = errors.New("number is too large")
)

const (
	maxDigits   = 64 // most digits of a number
	maxExponent = 40 // largest exponent of a recorded float (1e-08)
	maxWhole    = 20 // most digits before the point that fixed.Parse accepts; an int64 has fewer
)

// tooLarge replaces a number of more digits. It is 10^20, above every number of ticks or lots.
var tooLarge = fixed.Mul64(fixed.Pow10[19], fixed.Pow10[19]).ToI128()

// ParseDecimal reads [+-]digits[.digits][e[+-]digits]. It accepts more digits than fixed.Parse, because a
// recorded binary float may have them.
func ParseDecimal(s []byte) (Decimal, error) {
	v, err := fixed.Parse(string(s))
	if err != nil {
		return parseFloat(s)
	}
	d := Decimal{v: v}
	if dot := bytes.IndexByte(s, '.'); dot >= 0 {
		d.digits = len(bytes.TrimRight(s[dot+1:], "0"))
	}
	return d, nil
}

// float matches a number as programs print a float: whole digits, fraction, exponent.
var float = regexp.MustCompile(`^[+-]?([0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$`)

// parseFloat moves the point by the exponent and cuts off digits, so that fixed.Parse can read the number.
func parseFloat(s []byte) (Decimal, error) {
	part := float.FindSubmatch(s)
	if part == nil || len(part[1])+len(part[2]) == 0 || len(part[1])+len(part[2]) > maxDigits {
		return Decimal{}, errNumber
	}
	exponent, _ := strconv.Atoi(string(part[3])) // 0 without an exponent
	if exponent < -maxExponent || exponent > maxExponent {
		return Decimal{}, fmt.Errorf("exponent beyond %d", maxExponent)
	}
	zeros := bytes.Repeat([]byte{'0'}, maxExponent) // room to move the point in both directions
	text := slices.Concat(zeros, part[1], part[2], zeros)
	point := len(zeros) + len(part[1]) + exponent
	whole, fraction := bytes.TrimLeft(text[:point], "0"), bytes.TrimRight(text[point:], "0")
	d := Decimal{v: tooLarge, digits: len(fraction)}
	if len(whole) <= maxWhole {
		if len(whole) == 0 {
			whole = zeros[:1]
		}
		v, err := fixed.Parse(fmt.Sprintf("%s.%.*s", whole, fixed.Scale, append(fraction, '0')))
		if err != nil {
			return Decimal{}, err
		}
		d.v = v
	}
	if s[0] == '-' {
		d.v = d.v.Neg()
	}
	return d, nil
}

// Units returns the number in units of 10^-digits. It returns an error when the number has more decimals.
func (d Decimal) Units(digits int) (int64, error) {
	if d.digits > digits {
		return 0, fmt.Errorf("more than %d fractional digits", digits)
	}
	v, _, fits := fixed.Units(d.v, digits)
	if !fits {
		return 0, errLarge
	}
	return v, nil
}

// floor returns the number in units of 10^-digits, with the further decimals cut off.
func (d Decimal) floor(digits int) (int64, error) { return d.round(digits, 0) }

// rounded returns the number in units of 10^-digits, rounded half up. It serves decimals with that many digits
// that were recorded as binary floats.
func (d Decimal) rounded(digits int) (int64, error) {
	return d.round(digits, fixed.Pow10[fixed.Scale-digits]/2)
}

// round adds add, in units of 10^-18, to the magnitude and cuts off the further decimals.
func (d Decimal) round(digits int, add uint64) (int64, error) {
	q, _ := d.v.Abs().Add(fixed.FromU64(add)).DivMod64(fixed.Pow10[fixed.Scale-digits])
	if q.Hi != 0 || q.Lo >= math.MaxInt64 {
		return 0, errLarge
	}
	if d.v.Sign() < 0 {
		return -int64(q.Lo), nil
	}
	return int64(q.Lo), nil
}

// positive reads a number that must be above zero.
func positive(what string, s []byte) (Decimal, error) {
	d, err := ParseDecimal(s)
	if err == nil && d.v.Sign() <= 0 {
		err = errors.New("must be above zero")
	}
	return d, quoted(what, s, err)
}

// notNegative reads a number that may be zero.
func notNegative(what string, s []byte) (Decimal, error) {
	d, err := ParseDecimal(s)
	switch {
	case err != nil:
		return d, quoted(what, s, err)
	case s[0] == '-':
		return d, fmt.Errorf("%s %q is below zero", what, clip(s))
	}
	return d, nil
}

// quoted adds to err the name and the text of the value in which it was found.
func quoted(what string, s []byte, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", what, clip(s), err)
}

// clip shortens a text for an error message.
func clip(s []byte) string {
	const most = 40
	if len(s) > most {
		return string(s[:most]) + "..."
	}
	return string(s)
}
