package gzjoin

import "hash/crc32"

// CRC-32 is the remainder of a division of polynomials over two values. n bytes behind a text multiply its remainder by
// x to the power of 8n, so the CRC of a text in two pieces follows from the CRCs of the pieces. Bit 31 is the factor
// of x^0, bit 0 that of x^31.

// powers holds x to the power of 2^k modulo the polynomial of CRC-32.
var powers = func() (p [32]uint32) {
	p[0] = 1 << 30
	for k := 1; k < len(p); k++ {
		p[k] = multiply(p[k-1], p[k-1])
	}
	return p
}()

// multiply returns the product of a and b modulo the polynomial.
func multiply(a, b uint32) uint32 {
	var product uint32
	for bit := uint32(1 << 31); bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry != 0 {
			b ^= crc32.IEEE
		}
	}
	return product
}

// joinCRC returns the CRC-32 of a text with the CRC before, followed by size bytes with the CRC next.
func joinCRC(before, next, size uint32) uint32 {
	for k := 3; size != 0; size, k = size>>1, k+1 {
		if size&1 != 0 {
			before = multiply(powers[k&31], before)
		}
	}
	return before ^ next
}
