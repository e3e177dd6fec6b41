package sim

// rng is SplitMix64: one word of state, the same on every machine, good enough to pass the usual
// test batteries. Each agent group has its own rng: the draws of one group never affect another.
type rng uint64

// newRNG returns a generator for one named thing of a seed.
func newRNG(seed uint64, name string) rng {
	h := uint64(14695981039346656037) // FNV-1a
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

// below returns a number from 0 to n-1, n > 0. The bias is below n / 2^64.
func (r *rng) below(n int64) int64 { return int64(r.next() % uint64(n)) }

// gaussSigma is the standard deviation of gauss.
const gaussSigma = 37_837

// gauss returns a nearly normal number: the sum of four uniform 16-bit numbers, less its mean.
func (r *rng) gauss() int64 {
	v := r.next()
	return int64(v&0xffff) + int64(v>>16&0xffff) + int64(v>>32&0xffff) + int64(v>>48) - 2*0xffff
}

// heavy returns a positive number with a heavy tail and a mean near mean: twice as large with
// half the probability, up to 64 times.
func (r *rng) heavy(mean int64) int64 {
	v := r.next()
	k := 0
	for k < 6 && v&3 == 0 { // one in four continues
		v >>= 2
		k++
	}
	unit := max(mean/2, 1)
	return max(1, (unit/4+int64(v>>16%uint64(unit+unit/2+1)))<<k)
}
