package fixed

import "math/bits"

// U128 is an unsigned 128-bit integer. Its unit depends on its use. The zero value is 0.
type U128 struct{ Hi, Lo uint64 }

// FromU64 converts v.
func FromU64(v uint64) U128 { return U128{Lo: v} }

// Mul64 returns the exact product a x b.
func Mul64(a, b uint64) U128 {
	hi, lo := bits.Mul64(a, b)
	return U128{hi, lo}
}

// Add returns a + b. It panics on a carry out of 128 bits: the limits of single terms keep every sum in the
// program far below 2^128 (docs/internals/bounds.md).
func (a U128) Add(b U128) U128 {
	lo, c := bits.Add64(a.Lo, b.Lo, 0)
	hi, c := bits.Add64(a.Hi, b.Hi, c)
	if c != 0 {
		panic("BUG: fixed: U128 sum overflows")
	}
	return U128{hi, lo}
}

// Sub returns a - b. It panics when b > a.
func (a U128) Sub(b U128) U128 {
	lo, c := bits.Sub64(a.Lo, b.Lo, 0)
	hi, c := bits.Sub64(a.Hi, b.Hi, c)
	if c != 0 {
		panic("BUG: fixed: U128 difference below zero")
	}
	return U128{hi, lo}
}

// SubFloor returns a - b, or 0 when b > a.
func (a U128) SubFloor(b U128) U128 {
	if a.Less(b) {
		return U128{}
	}
	return a.Sub(b)
}

// AddWrap returns a + b modulo 2^128.
func (a U128) AddWrap(b U128) U128 {
	lo, c := bits.Add64(a.Lo, b.Lo, 0)
	hi, _ := bits.Add64(a.Hi, b.Hi, c)
	return U128{hi, lo}
}

// SubWrap returns a - b modulo 2^128.
func (a U128) SubWrap(b U128) U128 {
	lo, c := bits.Sub64(a.Lo, b.Lo, 0)
	hi, _ := bits.Sub64(a.Hi, b.Hi, c)
	return U128{hi, lo}
}

// AddSat returns a + b, or the largest U128 when the sum is larger.
func (a U128) AddSat(b U128) U128 {
	lo, c := bits.Add64(a.Lo, b.Lo, 0)
	hi, c := bits.Add64(a.Hi, b.Hi, c)
	if c != 0 {
		return U128{1<<64 - 1, 1<<64 - 1}
	}
	return U128{hi, lo}
}

// Cmp returns -1, 0 or +1 as a is below, equal to or above b.
func (a U128) Cmp(b U128) int {
	switch {
	case a == b:
		return 0
	case a.Hi < b.Hi || (a.Hi == b.Hi && a.Lo < b.Lo):
		return -1
	}
	return 1
}

// Less reports a < b.
func (a U128) Less(b U128) bool { return a.Hi < b.Hi || (a.Hi == b.Hi && a.Lo < b.Lo) }

// IsZero reports a == 0.
func (a U128) IsZero() bool { return a.Hi|a.Lo == 0 }

// DivMod64 returns the quotient, rounded down, and the remainder of a / d. It panics when d is 0.
func (a U128) DivMod64(d uint64) (q U128, r uint64) {
	q.Hi, r = a.Hi/d, a.Hi%d
	q.Lo, r = bits.Div64(r, a.Lo, d)
	return q, r
}

// DivMod returns the quotient, rounded down, and the remainder of a / d. It panics when d is 0. It shifts and
// subtracts, so it is slow: settlement and tests use it, hot paths must not.
func (a U128) DivMod(d U128) (q, r U128) {
	if d.Hi == 0 {
		q, lo := a.DivMod64(d.Lo)
		return q, U128{Lo: lo}
	}
	for i := 127; i >= 0; i-- {
		r = r.Lsh1()
		if a.bit(i) {
			r.Lo |= 1
		}
		if !r.Less(d) {
			r = r.Sub(d)
			if i >= 64 {
				q.Hi |= 1 << (i - 64)
			} else {
				q.Lo |= 1 << i
			}
		}
	}
	return q, r
}

// Lsh1 returns a << 1 without the top bit.
func (a U128) Lsh1() U128 { return U128{a.Hi<<1 | a.Lo>>63, a.Lo << 1} }

func (a U128) bit(i int) bool {
	if i >= 64 {
		return a.Hi>>(i-64)&1 == 1
	}
	return a.Lo>>i&1 == 1
}

// MulCheck returns a x b. The second result reports whether the product fits into 128 bits.
func (a U128) MulCheck(b uint64) (U128, bool) {
	hi1, lo := bits.Mul64(a.Lo, b)
	over, hi2 := bits.Mul64(a.Hi, b)
	hi, c := bits.Add64(hi1, hi2, 0)
	return U128{hi, lo}, over == 0 && c == 0
}

// Pow10 holds 10^0 to 10^19, all powers that fit into a uint64.
var Pow10 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()
