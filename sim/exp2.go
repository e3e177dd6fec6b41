package sim

import (
	"math/big"
	"math/bits"
)

// Logarithms are base 2, in units of 2^-32: octave, 1<<32, means a factor of 2.
const (
	octave    = int64(1) << 32
	expBits   = 10 // log2 of the number of table entries per octave
	expPoints = 1 << expBits
	expUnit   = 31 // log2 of the table's unit: a table value v means v x 2^-31
)

// expTable holds 2^(k/1024). makeExpTable uses integer square roots only: math.Exp2 could differ in the last
// digit between processors.
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

// scaleExp2 returns v x 2^(x / octave), rounded down, for v >= 0.
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
