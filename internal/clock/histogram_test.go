package clock

import (
	"math"
	"testing"
)

func TestDurationsCountInTheirBuckets(t *testing.T) {
	for _, c := range []struct {
		ns     int64
		bucket int
	}{
		{-5, 0},
		{0, 0},
		{999, 0},
		{1_000, 1},
		{1_999, 1},
		{2_000, 2},
		{1_000_000, 10},
		{4_194_303_999, 22},
		{4_194_304_000, 23},
		{math.MaxInt64, 23},
	} {
		var h Histogram
		h.Observe(c.ns)
		got, want := h.Counts(), Counts{SumNs: uint64(max(c.ns, 0))}
		want.Buckets[c.bucket] = 1
		if got != want {
			t.Errorf("%d ns: %v, want bucket %d", c.ns, got, c.bucket)
		}
	}
}

func TestQuantilesAreWithinTheirBuckets(t *testing.T) {
	var h Histogram
	if ns, ok := new(Counts).Quantile(50); ok {
		t.Errorf("the median of nothing: %d", ns)
	}
	for range 99 {
		h.Observe(3_000) // the bucket from 2 to 4 us
	}
	before := h.Counts()
	h.Observe(900_000) // from 512 to 1,024 us
	after := h.Counts()
	for _, c := range []struct {
		counts     Counts
		hundredths uint64
		low, high  int64
	}{
		{before, 50, 2_000, 4_000},
		{before, 100, 4_000, 4_000},
		{after, 99, 4_000, 4_000},
		{after, 100, 512_000, 1_024_000},
		{after.Minus(&before), 1, 512_000, 1_024_000},
		{before.Plus(&before), 50, 2_000, 4_000},
	} {
		if ns, ok := c.counts.Quantile(c.hundredths); !ok || ns < c.low || ns > c.high {
			t.Errorf("%d hundredths of %v: %d %v, want %d to %d", c.hundredths, c.counts, ns, ok, c.low, c.high)
		}
	}
	if only := after.Minus(&before); only.Total() != 1 || only.SumNs != 900_000 {
		t.Errorf("what was added: %v", only)
	}
}
