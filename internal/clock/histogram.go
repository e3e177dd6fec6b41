package clock

import (
	"math/bits"
	"sync/atomic"
)

// HistogramBuckets is the number of buckets: bucket i counts durations below 2^i us that are in no bucket before, and
// the last one counts everything from about 4 s on.
const HistogramBuckets = 24

// Histogram counts durations. The zero value is ready.
type Histogram struct {
	buckets [HistogramBuckets]atomic.Uint64
	sumNs   atomic.Uint64
}

// Observe counts a duration; a negative one counts as 0.
func (h *Histogram) Observe(ns int64) {
	ns = max(ns, 0)
	h.buckets[min(bits.Len64(uint64(ns)/1000), HistogramBuckets-1)].Add(1)
	h.sumNs.Add(uint64(ns))
}

// Counts is a copy of a histogram.
type Counts struct {
	Buckets [HistogramBuckets]uint64
	SumNs   uint64
}

// Counts returns a copy.
func (h *Histogram) Counts() (c Counts) {
	c.SumNs = h.sumNs.Load()
	for i := range c.Buckets {
		c.Buckets[i] = h.buckets[i].Load()
	}
	return c
}

// Minus returns the durations that h has and an earlier copy of the same histogram has not.
func (c Counts) Minus(earlier *Counts) Counts {
	c.SumNs -= min(earlier.SumNs, c.SumNs)
	for i := range c.Buckets {
		c.Buckets[i] -= min(earlier.Buckets[i], c.Buckets[i])
	}
	return c
}

// Plus returns the durations of both.
func (c Counts) Plus(other *Counts) Counts {
	c.SumNs += other.SumNs
	for i := range c.Buckets {
		c.Buckets[i] += other.Buckets[i]
	}
	return c
}

// Total returns the number of durations.
func (c *Counts) Total() (n uint64) {
	for _, of := range c.Buckets {
		n += of
	}
	return n
}

// Quantile returns the duration that a share of them, in hundredths, does not exceed: within its bucket the durations
// count as spread evenly, so it is at most twice, and at least half of the true one. ok is false without a duration.
func (c *Counts) Quantile(hundredths uint64) (ns int64, ok bool) {
	rank := (c.Total()*hundredths + 99) / 100 // rounded up: at least one
	for b, n := range c.Buckets {
		if rank > n {
			rank -= n
			continue
		}
		if n == 0 {
			break
		}
		low, high := int64(0), int64(1000)
		if b > 0 {
			low, high = 1000<<(b-1), 1000<<b
		}
		return low + (high-low)*int64(rank)/int64(n), true
	}
	return 0, false
}
