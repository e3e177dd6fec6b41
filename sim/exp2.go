package sim

import (
	"math/big"
	"math/bits"
)

// Logarithms are to the base 2 in units of 2^-32: an octave is 1<<32.
const (
	octave    = int64(1) << 32
	expBits   = 10 // table entries per octave, as a power of two
	expPoints = 1 << expBits
	expUnit   = 31 // the table is in units of 2^-31
)

// expTable holds 2^(k/1024). It is computed with integer square roots alone: a table computed
// with math.Exp2 could differ in its last digit from one processor to another.
var expTable = makeExpTable()

func makeExpTable() [expPoints + 1]uint64 {
	const unit = 120
	one := new(big.Int).Lsh(big.NewInt(1), unit)
	root := new(big.Int).Lsh(one, 1) // 2
	for range expBits {
		root.Sqrt(root.Lsh(root, unit))
	}
	var t [expPoints + 1]uint64
	v := new(big.Int).Set(one)
	for k := range t {
		t[k] = new(big.Int).Rsh(v, unit-expUnit).Uint64()
		v.Rsh(v.Mul(v, root), unit)
	}
	return t
}

// scaleExp2 returns v x 2^(x / octave) for v >= 0, rounded down.
func scaleExp2(v, x int64) int64 {
	whole, frac := x>>32, uint64(x)&(1<<32-1)
	k, rest := frac>>(32-expBits), frac&(1<<(32-expBits)-1)
	lo := expTable[k]
	m := lo + (expTable[k+1]-lo)*rest>>(32-expBits)
	hi, low := bits.Mul64(uint64(v), m)
	shift := int64(expUnit) - whole
	switch {
	case shift >= 128:
		return 0
	case shift >= 64:
		return int64(hi >> (shift - 64))
	case shift <= 0 || hi>>shift != 0:
		return 1<<63 - 1
	}
	r := hi<<(64-shift) | low>>shift
	return int64(min(r, 1<<63-1))
}
