package fifo

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

func TestAQueueIsASliceThatLosesItsFront(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var q Queue[int]
		var want []int
		for i := range 5000 {
			if rng.IntN(1000) < 600-int(seed) || len(want) == 0 {
				q.Push(i)
				want = append(want, i)
			} else if got := q.Pop(); got != want[0] {
				t.Fatalf("seed %d: %d came out, not %d", seed, got, want[0])
			} else {
				want = want[1:]
			}
			if q.Len() != len(want) {
				t.Fatalf("seed %d: %d values, not %d", seed, q.Len(), len(want))
			}
		}
		var got []int
		for i := range q.Len() {
			got = append(got, *q.At(i))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v, not %v", seed, got, want)
		}
	}
}

func TestACopyKeepsItsValues(t *testing.T) {
	var q Queue[int]
	for i := range 1000 {
		q.Push(i)
	}
	c, done := q.Copy(), make(chan struct{})
	go func() { // the race detector sees that nothing is shared
		defer close(done)
		for i := range c.Len() {
			if *c.At(i) != i {
				t.Errorf("value %d is %d", i, *c.At(i))
			}
		}
	}()
	for i := range 2000 {
		q.Push(-i)
		q.Pop()
	}
	<-done
}

// The table of chunks is all that a Push ever copies.
func TestNoCallAllocatesMoreBecauseTheQueueIsLong(t *testing.T) {
	const n = 1 << 20
	var q Queue[[8]uint64]
	var before, after runtime.MemStats
	most := uint64(0)
	for range n / chunkLen {
		runtime.ReadMemStats(&before)
		for range chunkLen {
			q.Push([8]uint64{})
		}
		runtime.ReadMemStats(&after)
		most = max(most, after.TotalAlloc-before.TotalAlloc)
	}
	const table, chunk = n / chunkLen * 24 * 2, 2 * chunkLen * 64
	if most > table+2*chunk {
		t.Errorf("%d pushes allocated %d bytes", chunkLen, most)
	}
	for q.Len() > 0 {
		q.Pop()
	}
	if len(q.chunks) > 1 {
		t.Errorf("an empty queue has %d chunks", len(q.chunks))
	}
}
