package launchpad

import (
	"encoding/binary"
	"math/big"
	"math/bits"

	"tickhive/internal/wire"
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

// code encodes or decodes the amount for the journal: its words, least significant first.
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
		c.Fail("amount beyond 2^208") // below it, sums of 2^40 amounts fit into 256 bits
		*a = Amount{}
	}
}
