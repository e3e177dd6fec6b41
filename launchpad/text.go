package launchpad

import (
	"errors"
	"math/big"
	"strings"

	"tickhive/internal/fixed"
)

// Decimals is the number of fractional digits of every amount.
const Decimals = 18

// maxWholeDigits is the number of digits of the largest supply, 10^30.
const maxWholeDigits = 31

// parseDigits is the number of digits before the point that fixed.Parse accepts.
const parseDigits = 20

// errAmount reports a text that does not have the form `[0-9]{1,31}(\.[0-9]{1,18})?`.
var errAmount = errors.New("not a decimal of the form [0-9]{1,31}(.[0-9]{1,18})?")

// ParseAmount reads a decimal exactly. The whole part may have 31 digits, because token amounts reach 10^30;
// other inputs allow 20.
func ParseAmount(s string) (Amount, error) {
	whole, _, _ := strings.Cut(s, ".")
	if len(whole) > maxWholeDigits || strings.Contains(s, "-") {
		return Amount{}, errAmount
	}
	high := Amount{}
	if n := len(whole) - parseDigits; n > 0 {
		v, err := fixed.Parse(s[:n])
		if err != nil {
			return Amount{}, errAmount
		}
		high, _ = AmountFromBig(new(big.Int).Mul(amountOf(v).Big(), pow10(parseDigits))) // fits: 49 digits, below 2^163
		s = s[n:]
	}
	v, err := fixed.Parse(s)
	if err != nil {
		return Amount{}, errAmount
	}
	return high.Add(amountOf(v)), nil
}

// amountOf converts a non-negative value of fixed.Parse.
func amountOf(v fixed.I128) Amount { return Amount{[4]uint64{v.Lo, uint64(v.Hi)}} }

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// String returns the shortest decimal with at least one fractional digit: 0.001, 10.0, 0.0
// (docs/contract/market-data.md#decimals).
func (a Amount) String() string {
	s := a.Big().String()
	if pad := Decimals + 1 - len(s); pad > 0 {
		s = strings.Repeat("0", pad) + s
	}
	dot, end := len(s)-Decimals, len(s)
	for end > dot+1 && s[end-1] == '0' {
		end--
	}
	return s[:dot] + "." + s[dot:end]
}

// Whole returns the number of whole units, without a fraction.
func (a Amount) Whole() *big.Int { return new(big.Int).Quo(a.Big(), pow10(Decimals)) }

// quoHalfEven returns a / b rounded half to even, for a >= 0 and b > 0. It overwrites a.
func quoHalfEven(a, b *big.Int) *big.Int {
	q, r := a.QuoRem(a, b, new(big.Int))
	half := r.Lsh(r, 1).Cmp(b)
	if half > 0 || half == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func pow10(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }

// quotient returns a / b with 18 decimals, rounded half to even. The quotient fits, because a quote amount is
// below 10^50 units. It panics when b is 0.
func quotient(a, b Amount) Amount {
	q, ok := AmountFromBig(quoHalfEven(new(big.Int).Mul(a.Big(), pow10(Decimals)), b.Big()))
	if !ok {
		panic("BUG: launchpad: quotient overflows")
	}
	return q
}
