package residents

// rng is the SplitMix64 generator, which gives the same numbers on every machine. Each step has its own.
type rng uint64

func newRNG(seed, step uint64) rng {
	r := rng(seed*0x9E3779B97F4A7C15 ^ (step+1)*0xD1B54A32D192ED03)
	r.next()
	return r
}

func (r *rng) next() uint64 {
	*r += 0x9E3779B97F4A7C15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// below returns a number from 0 to n-1; n must be above 0.
func (r *rng) below(n int64) int64 { return int64(r.next() % uint64(n)) }

// between returns a number from low to high, both included.
func (r *rng) between(low, high int64) int64 { return low + r.below(high-low+1) }

// oneIn returns true with a probability of 1 in n.
func (r *rng) oneIn(n int64) bool { return r.below(n) == 0 }

// heavy returns a number of at least mean/4 with a heavy tail: it doubles with a probability of one in four,
// repeatedly, up to 64 times.
func (r *rng) heavy(mean int64) int64 {
	v := mean/4 + r.below(mean/2+1)
	for k := 0; k < 6 && r.oneIn(4); k++ {
		v *= 2
	}
	return v
}

// pick returns a random element of words.
func pick[T any](r *rng, words []T) T { return words[r.below(int64(len(words)))] }
