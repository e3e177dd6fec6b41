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
