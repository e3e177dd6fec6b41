package launchpad

import (
	"encoding/binary"
	"errors"
	"math/big"
	"math/bits"
	"strings"

	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/wire"
)

// Amount is a non-negative number of units of 10^-18 of a currency, in 256 bits. 128 bits would be too few: a
// supply of 10^30 tokens is 10^48 units. No sum of amounts passes 2^208
// (docs/internals/bounds.md#launchpad-and-hive). The zero value is 0.
type Amount struct{ w [4]uint64 } // least significant word first

// One is one whole token, NATIVE or USBI.
var One = AmountOf(1)

// AmountOf returns an amount of whole units of a currency.
func AmountOf(whole uint64) Amount {
	a, _ := AmountFromBig(new(big.Int).Mul(new(big.Int).SetUint64(whole), pow10(Decimals)))
	return a
}

// AmountFromBig returns v as an Amount; ok is false when v is negative or needs more than
// 256 bits.
func AmountFromBig(v *big.Int) (a Amount, ok bool) {
	if v.Sign() < 0 || v.BitLen() > 256 {
		return Amount{}, false
	}
	var b [32]byte
	v.FillBytes(b[:])
	for i := range a.w {
		a.w[i] = binary.BigEndian.Uint64(b[24-8*i:])
	}
	return a, true
}

// Big returns the number of units as a new big.Int.
func (a Amount) Big() *big.Int {
	var b [32]byte
	for i, w := range a.w {
		binary.BigEndian.PutUint64(b[24-8*i:], w)
	}
	return new(big.Int).SetBytes(b[:])
}

// IsZero reports a == 0.
func (a Amount) IsZero() bool { return a == Amount{} }

// Cmp returns -1, 0 or +1 as a is below, equal to or above b.
func (a Amount) Cmp(b Amount) int {
	for i := 3; i >= 0; i-- {
		switch {
		case a.w[i] < b.w[i]:
			return -1
		case a.w[i] > b.w[i]:
			return 1
		}
	}
	return 0
}

// Less reports a < b.
func (a Amount) Less(b Amount) bool { return a.Cmp(b) < 0 }

// Add returns a + b. It panics on a carry out of 256 bits, which hold 10^29 times the largest supply.
func (a Amount) Add(b Amount) Amount {
	var c uint64
	for i := range a.w {
		a.w[i], c = bits.Add64(a.w[i], b.w[i], c)
	}
	if c != 0 {
		panic("BUG: launchpad: amount overflows")
	}
	return a
}

// Sub returns a - b. It panics when b > a, because callers check every spender first.
func (a Amount) Sub(b Amount) Amount {
	var c uint64
	for i := range a.w {
		a.w[i], c = bits.Sub64(a.w[i], b.w[i], c)
	}
	if c != 0 {
		panic("BUG: launchpad: amount below zero")
	}
	return a
}

// mulDiv returns a x b / c rounded down. It uses big integers, because the product of a token reserve and a
// quote reserve needs 290 bits. It panics when c is 0.
func mulDiv(a, b, c Amount) Amount {
	v := new(big.Int).Mul(a.Big(), b.Big())
	q, ok := AmountFromBig(v.Quo(v, c.Big()))
	if !ok {
		panic("BUG: launchpad: quotient overflows")
	}
	return q
}

// code encodes or decodes the amount for the journal.
func (a *Amount) code(c *wire.Coder) {
	a.codeWords(c)
	if c.Reading() && a.w[3]>>16 != 0 {
		c.Fail("amount beyond 2^208") // below it, sums of 2^40 amounts fit into 256 bits
		*a = Amount{}
	}
}

// codeWords encodes or decodes the words of the amount, least significant first.
func (a *Amount) codeWords(c *wire.Coder) {
	used := uint8(4)
	for used > 0 && a.w[used-1] == 0 {
		used--
	}
	c.U8(&used, 4)
	for i := range a.w[:used] {
		c.U64(&a.w[i])
	}
	clear(a.w[used:])
	if c.Reading() && used > 0 && a.w[used-1] == 0 {
		c.Fail("amount with an empty first word")
	}
}

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

// powers holds 10^0 to 10^20. Nobody changes them: to make those that a swap needs would take a sixth of its time.
var powers = func() (all [parseDigits + 1]*big.Int) {
	for n := range all {
		all[n] = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
	}
	return all
}()

func pow10(n int64) *big.Int { return powers[n] }

// quotient returns a / b with 18 decimals, rounded half to even. The quotient fits, because a quote amount is
// below 10^50 units. It panics when b is 0.
func quotient(a, b Amount) Amount {
	q, ok := AmountFromBig(quoHalfEven(new(big.Int).Mul(a.Big(), pow10(Decimals)), b.Big()))
	if !ok {
		panic("BUG: launchpad: quotient overflows")
	}
	return q
}
