package fixed

import "math/bits"

// I128 is a signed 128-bit integer in two's complement. Its unit depends on its use: balances are in units of their
// asset, amounts of requests in 10^-18.
type I128 struct {
	Hi int64
	Lo uint64
}

// FromI64 converts v.
func FromI64(v int64) I128 { return I128{v >> 63, uint64(v)} }

// ToI128 converts a to a signed number. It panics when a is above the signed range.
func (a U128) ToI128() I128 {
	if a.Hi>>63 != 0 {
		panic("BUG: fixed: U128 beyond I128")
	}
	return I128{int64(a.Hi), a.Lo}
}

// Add returns a + b. It panics on overflow.
func (a I128) Add(b I128) I128 {
	lo, c := bits.Add64(a.Lo, b.Lo, 0)
	hi, _ := bits.Add64(uint64(a.Hi), uint64(b.Hi), c)
	s := I128{int64(hi), lo}
	if (a.Hi < 0) == (b.Hi < 0) && (s.Hi < 0) != (a.Hi < 0) {
		panic("BUG: fixed: I128 sum overflows")
	}
	return s
}

// AddWrap returns a + b modulo 2^128.
func (a I128) AddWrap(b I128) I128 {
	lo, c := bits.Add64(a.Lo, b.Lo, 0)
	hi, _ := bits.Add64(uint64(a.Hi), uint64(b.Hi), c)
	return I128{int64(hi), lo}
}

// SubWrap returns a - b modulo 2^128.
func (a I128) SubWrap(b I128) I128 {
	lo, c := bits.Sub64(a.Lo, b.Lo, 0)
	hi, _ := bits.Sub64(uint64(a.Hi), uint64(b.Hi), c)
	return I128{int64(hi), lo}
}

// Neg returns -a.
func (a I128) Neg() I128 {
	lo, c := bits.Sub64(0, a.Lo, 0)
	hi, _ := bits.Sub64(0, uint64(a.Hi), c)
	return I128{int64(hi), lo}
}

// Sub returns a - b. It panics on overflow.
func (a I128) Sub(b I128) I128 { return a.Add(b.Neg()) }

// Sign returns -1, 0 or +1.
func (a I128) Sign() int {
	switch {
	case a.Hi < 0:
		return -1
	case a.Hi == 0 && a.Lo == 0:
		return 0
	}
	return 1
}

// Cmp returns -1, 0 or +1 as a is below, equal to or above b.
func (a I128) Cmp(b I128) int {
	switch {
	case a == b:
		return 0
	case a.Hi < b.Hi || (a.Hi == b.Hi && a.Lo < b.Lo):
		return -1
	}
	return 1
}

// Abs returns the absolute value.
func (a I128) Abs() U128 {
	if a.Hi < 0 {
		a = a.Neg()
	}
	return U128{uint64(a.Hi), a.Lo}
}
