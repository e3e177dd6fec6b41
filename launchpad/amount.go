package launchpad

import (
	"encoding/binary"
	"math/big"
	"math/bits"

	"tickhive/internal/wire"
)

// Amount is a non-negative number of 10^-18 of its currency in 256 bits: a supply of
// 10^30 tokens is 10^48 units, beyond 128 bits. No sum of amounts passes 2^208
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

// Big returns a new big.Int of the same number of units.
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

// Add returns a + b. 256 bits hold 10^29 times the largest supply, so a carry out is a bug.
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

// Sub returns a - b; b > a panics, because every spender is checked first.
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

// mulDiv returns the floor of a x b / c through big integers: the product of a token and a
// quote reserve needs 290 bits. c == 0 panics.
func mulDiv(a, b, c Amount) Amount {
	v := new(big.Int).Mul(a.Big(), b.Big())
	q, ok := AmountFromBig(v.Quo(v, c.Big()))
	if !ok {
		panic("BUG: launchpad: quotient overflows")
	}
	return q
}

// code codes the amount for the journal: its words, least significant first.
func (a *Amount) code(c *wire.Coder) {
	used := uint8(4)
	for used > 0 && a.w[used-1] == 0 {
		used--
	}
	c.U8(&used, 4)
	for i := range a.w[:used] {
		c.U64(&a.w[i])
	}
	clear(a.w[used:])
	if c.Reading() && a.w[3]>>16 != 0 {
		c.Fail("amount beyond 2^208") // sums of 2^40 of them still fit
		*a = Amount{}
	}
}
