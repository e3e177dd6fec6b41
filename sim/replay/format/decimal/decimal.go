package decimal

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
	V      fixed.I128 // digits beyond the 18th decimal are cut off
	Digits int        // number of decimals without trailing zeros
}

// ErrNumber reports a text that is no number.
var ErrNumber = errors.New("not a decimal number")

var errLarge = errors.New("number is too large")

const (
	maxDigits   = 64 // most digits of a number
	maxExponent = 40 // largest exponent of a recorded float (1e-08)
	maxWhole    = 20 // most digits before the point that fixed.Parse accepts; an int64 has fewer
)

// tooLarge replaces a number of more digits. It is 10^20, above every number of ticks or lots.
var tooLarge = fixed.Mul64(fixed.Pow10[19], fixed.Pow10[19]).ToI128()

// Parse reads [+-]digits[.digits][e[+-]digits]. It accepts more digits than fixed.Parse, because a
// recorded binary float may have them.
func Parse(s []byte) (Decimal, error) {
	v, err := fixed.Parse(string(s))
	if err != nil {
		return parseFloat(s)
	}
	d := Decimal{V: v}
	if dot := bytes.IndexByte(s, '.'); dot >= 0 {
		d.Digits = len(bytes.TrimRight(s[dot+1:], "0"))
	}
	return d, nil
}

// float matches a number as programs print a float: whole digits, fraction, exponent.
var float = regexp.MustCompile(`^[+-]?([0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$`)

// parseFloat moves the point by the exponent and cuts off digits, so that fixed.Parse can read the number.
func parseFloat(s []byte) (Decimal, error) {
	part := float.FindSubmatch(s)
	if part == nil || len(part[1])+len(part[2]) == 0 || len(part[1])+len(part[2]) > maxDigits {
		return Decimal{}, ErrNumber
	}
	exponent, _ := strconv.Atoi(string(part[3])) // 0 without an exponent
	if exponent < -maxExponent || exponent > maxExponent {
		return Decimal{}, fmt.Errorf("exponent beyond %d", maxExponent)
	}
	zeros := bytes.Repeat([]byte{'0'}, maxExponent) // room to move the point in both directions
	text := slices.Concat(zeros, part[1], part[2], zeros)
	point := len(zeros) + len(part[1]) + exponent
	whole, fraction := bytes.TrimLeft(text[:point], "0"), bytes.TrimRight(text[point:], "0")
	d := Decimal{V: tooLarge, Digits: len(fraction)}
	if len(whole) <= maxWhole {
		if len(whole) == 0 {
			whole = zeros[:1]
		}
		v, err := fixed.Parse(fmt.Sprintf("%s.%.*s", whole, fixed.Scale, append(fraction, '0')))
		if err != nil {
			return Decimal{}, err
		}
		d.V = v
	}
	if s[0] == '-' {
		d.V = d.V.Neg()
	}
	return d, nil
}

// Units returns the number in units of 10^-digits. It returns an error when the number has more decimals.
func (d Decimal) Units(digits int) (int64, error) {
	if d.Digits > digits {
		return 0, fmt.Errorf("more than %d fractional digits", digits)
	}
	v, _, fits := fixed.Units(d.V, digits)
	if !fits {
		return 0, errLarge
	}
	return v, nil
}

// Floor returns the number in units of 10^-digits, with the further decimals cut off.
func (d Decimal) Floor(digits int) (int64, error) { return d.round(digits, 0) }

// Rounded returns the number in units of 10^-digits, rounded half up. It serves decimals with that many digits
// that were recorded as binary floats.
func (d Decimal) Rounded(digits int) (int64, error) {
	return d.round(digits, fixed.Pow10[fixed.Scale-digits]/2)
}

// round adds add, in units of 10^-18, to the magnitude and cuts off the further decimals.
func (d Decimal) round(digits int, add uint64) (int64, error) {
	q, _ := d.V.Abs().Add(fixed.FromU64(add)).DivMod64(fixed.Pow10[fixed.Scale-digits])
	if q.Hi != 0 || q.Lo >= math.MaxInt64 {
		return 0, errLarge
	}
	if d.V.Sign() < 0 {
		return -int64(q.Lo), nil
	}
	return int64(q.Lo), nil
}
