package sim

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
