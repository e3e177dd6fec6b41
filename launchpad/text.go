package launchpad

import (
	"errors"
	"math/big"
	"strings"

	"tickhive/internal/fixed"
)

// scale is the number of fractional digits of every amount.
const scale = 18

// maxWholeDigits: the largest supply, 10^30, has 31 digits.
const maxWholeDigits = 31

// parseDigits is the most digits before the point that fixed.Parse reads.
const parseDigits = 20

// ErrAmount is a text that is not `[0-9]{1,31}(\.[0-9]{1,18})?`.
var ErrAmount = errors.New("not a decimal of the form [0-9]{1,31}(.[0-9]{1,18})?")

// ParseAmount reads a decimal exactly. The whole part may have 31 digits and not only
// the 20 of other inputs, because token amounts reach 10^30.
func ParseAmount(s string) (Amount, error) {
	whole, _, _ := strings.Cut(s, ".")
	if len(whole) > maxWholeDigits || strings.Contains(s, "-") {
		return Amount{}, ErrAmount
	}
	high := Amount{}
	if n := len(whole) - parseDigits; n > 0 {
		v, err := fixed.Parse(s[:n])
		if err != nil {
			return Amount{}, ErrAmount
		}
		high, _ = AmountFromBig(new(big.Int).Mul(amountOf(v).Big(), pow10(parseDigits))) // 49 digits: below 2^163
		s = s[n:]
	}
	v, err := fixed.Parse(s)
	if err != nil {
		return Amount{}, ErrAmount
	}
	return high.Add(amountOf(v)), nil
}

// amountOf is a value of fixed.Parse, which is not negative.
func amountOf(v fixed.I128) Amount { return Amount{[4]uint64{v.Lo, uint64(v.Hi)}} }

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// String is the shortest fixed-point text with at least one fractional digit: 0.001,
// 10.0, 0.0 (docs/contract/market-data.md#decimals).
func (a Amount) String() string { return fixedText(a.Big(), scale, 1) }

// wholeText is the number of whole units, without a fraction.
func (a Amount) wholeText() string { return new(big.Int).Quo(a.Big(), pow10(scale)).String() }

// fixedText prints v units of 10^-digits, dropping zeros at the end down to atLeast
// fractional digits.
func fixedText(v *big.Int, digits, atLeast int) string {
	s := v.String()
	if pad := digits + 1 - len(s); pad > 0 {
		s = strings.Repeat("0", pad) + s
	}
	dot := len(s) - digits
	end := len(s)
	for end > dot+atLeast && s[end-1] == '0' {
		end--
	}
	return s[:dot] + "." + s[dot:end]
}

// quoHalfEven is a / b rounded half to even; a >= 0, b > 0. a is overwritten.
func quoHalfEven(a, b *big.Int) *big.Int {
	q, r := a.QuoRem(a, b, new(big.Int))
	half := r.Lsh(r, 1).Cmp(b)
	if half > 0 || half == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func pow10(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }

// quotientText is a / b with up to 18 digits, half even, shortest text.
func quotientText(a, b Amount) string {
	v := new(big.Int).Mul(a.Big(), pow10(scale))
	return fixedText(quoHalfEven(v, b.Big()), scale, 1)
}
