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
