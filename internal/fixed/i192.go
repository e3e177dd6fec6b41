package fixed

import "math/bits"

// I192 is a signed 192-bit integer in two's complement, least significant word first. It holds a sum of money
// in 10^-18 of a currency. It cannot overflow in practice: a term is an I128, below 2^127, so it has room for
// 2^64 terms, which are 584 years of a billion additions a second.
type I192 struct{ W0, W1, W2 uint64 }

// Wide converts an amount to a sum.
func (a I128) Wide() I192 { return I192{a.Lo, uint64(a.Hi), uint64(a.Hi >> 63)} }

// Wide returns a itself, so that amounts and sums have a method in common.
func (a I192) Wide() I192 { return a }

// Add returns a + b.
func (a I192) Add(b I192) (s I192) {
	var c uint64
	s.W0, c = bits.Add64(a.W0, b.W0, 0)
	s.W1, c = bits.Add64(a.W1, b.W1, c)
	s.W2, _ = bits.Add64(a.W2, b.W2, c)
	return s
}

// Sub returns a - b.
func (a I192) Sub(b I192) (s I192) {
	var c uint64
	s.W0, c = bits.Sub64(a.W0, b.W0, 0)
	s.W1, c = bits.Sub64(a.W1, b.W1, c)
	s.W2, _ = bits.Sub64(a.W2, b.W2, c)
	return s
}

// Plus returns a + b for an I128.
func (a I192) Plus(b I128) I192 { return a.Add(b.Wide()) }

// Minus returns a - b for an I128.
func (a I192) Minus(b I128) I192 { return a.Sub(b.Wide()) }

// Times returns a x m, modulo 2^192.
func (a I192) Times(m uint64) (p I192) {
	h0, w0 := bits.Mul64(a.W0, m)
	h1, w1 := bits.Mul64(a.W1, m)
	var c uint64
	p.W0 = w0
	p.W1, c = bits.Add64(w1, h0, 0)
	p.W2 = a.W2*m + h1 + c
	return p
}

// Neg returns -a.
func (a I192) Neg() I192 { return I192{}.Sub(a) }

// Sign returns -1, 0 or +1.
func (a I192) Sign() int {
	switch {
	case int64(a.W2) < 0:
		return -1
	case a.W0|a.W1|a.W2 == 0:
		return 0
	}
	return 1
}

// Cmp returns -1, 0 or +1 as a is below, equal to or above b.
func (a I192) Cmp(b I192) int {
	switch {
	case a == b:
		return 0
	case int64(a.W2) < int64(b.W2) || a.W2 == b.W2 && (U128{a.W1, a.W0}).Less(U128{b.W1, b.W0}):
		return -1
	}
	return 1
}

// CmpTerm compares a with an I128, like Cmp.
func (a I192) CmpTerm(b I128) int { return a.Cmp(b.Wide()) }

// Clamp returns a, limited to the range of an I128.
func (a I192) Clamp() I128 {
	v := I128{int64(a.W1), a.W0}
	switch {
	case v.Wide() == a:
		return v
	case a.Sign() < 0:
		return I128{Hi: -1 << 63}
	}
	return I128{1<<63 - 1, 1<<64 - 1}
}

// AppendI192 appends v x 10^-digits like AppendI128; digits is 0 to 38.
func AppendI192(dst []byte, v I192, digits int) []byte {
	if v.Sign() < 0 {
		dst, v = append(dst, '-'), v.Neg()
	}
	if v.W2 == 0 {
		return AppendU128(dst, U128{v.W1, v.W0}, digits)
	}
	// 2^191 has 58 digits. After one division by 10^19, the upper digits fit into 128 bits.
	q, low := v.divMod19()
	text := appendPadded(AppendU128(nil, q, 0), low, 19)
	// removes the ".0" that AppendU64 appended between the parts
	text = append(text[:len(text)-19-2], text[len(text)-19:]...)
	whole := len(text) - digits
	dst = append(append(dst, text[:whole]...), '.')
	if digits == 0 {
		return append(dst, '0')
	}
	return append(dst, text[whole:]...)
}

// divMod19 returns the quotient and the remainder of a / 10^19 for a >= 0. The quotient is below 2^191 / 2^63 =
// 2^128.
func (a I192) divMod19() (q U128, r uint64) {
	d := Pow10[19]
	_, r = bits.Div64(0, a.W2, d) // a.W2 < 2^63 < d, so the first digit of the quotient is 0
	q.Hi, r = bits.Div64(r, a.W1, d)
	q.Lo, r = bits.Div64(r, a.W0, d)
	return q, r
}

// AppendShortest192 appends a sum like AppendShortest.
func AppendShortest192(dst []byte, v I192, digits int) []byte {
	return trimZeros(AppendI192(dst, v, digits))
}
