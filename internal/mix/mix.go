package mix

import (
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// Constants of wyhash: odd, and half of their bits are set.
const (
	k0 = 0xa0761d6478bd642f
	k1 = 0xe7037ed1a0b428db
	k2 = 0x8ebc6af09c88c6e3
	k3 = 0x589965cc75374cc3
)

// Mul returns both halves of a product as one word: it is 0 where one of the words is.
func Mul(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// Of mixes two words. It costs one multiplication.
func Of(a, b uint64) uint64 { return Mul(a^k0, b^k1) }

// Of4 mixes four words. It costs three multiplications, two of them at once.
func Of4(a, b, c, d uint64) uint64 {
	return Of(Of(a, b), Mul(c^k2, d^k3))
}

// Bytes mixes bytes, which are of a kind: equal bytes of two kinds differ.
func Bytes(kind uint64, b []byte) uint64 { return Of(xxhash.Sum64(b), kind) }
