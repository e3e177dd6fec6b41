package sim

import (
	"math/big"
	"math/bits"
)

// rng is the SplitMix64 generator. It has one word of state, gives the same numbers on every machine and passes
// the usual statistical tests. Each group of agents has its own rng, so that one group's draws do not affect
// another.
type rng uint64

// newRNG returns the generator with this name for a seed.
func newRNG(seed uint64, name string) rng {
	h := uint64(14695981039346656037) // FNV-1a hash of the name
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	r := rng(h ^ seed*0x9E3779B97F4A7C15)
	r.next()
	return r
}

func (r *rng) next() uint64 {
	*r += 0x9E3779B97F4A7C15
	return mix(uint64(*r))
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// below returns a number from 0 to n-1; n must be above 0. The bias is below n / 2^64.
func (r *rng) below(n int64) int64 { return int64(r.next() % uint64(n)) }

// gaussSigma is the standard deviation of gauss.
const gaussSigma = 37_837

// gauss returns an approximately normal number with mean 0: the sum of four uniform 16-bit numbers minus the
// sum's mean.
func (r *rng) gauss() int64 {
	v := r.next()
	return int64(v&0xffff) + int64(v>>16&0xffff) + int64(v>>32&0xffff) + int64(v>>48) - 2*0xffff
}

// heavy returns a positive number with a heavy tail and a mean of about mean. It doubles with a probability of
// one in four, up to six times.
func (r *rng) heavy(mean int64) int64 {
	v := r.next()
	k := 0
	for k < 6 && v&3 == 0 { // a probability of one in four
		v >>= 2
		k++
	}
	unit := max(mean/2, 1)
	return max(1, (unit/4+int64(v>>16%uint64(unit+unit/2+1)))<<k)
}

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
