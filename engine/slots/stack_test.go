package slots_test

import (
	"runtime"
	"testing"

	"github.com/tickhive/tickhive/engine/slots"
)

// A stack gives back what was pushed, the newest first, also over borders of its chunks.
func TestStack(t *testing.T) {
	var x slots.Stack[int32]
	for round := range int32(3) {
		for i := range int32(1000) {
			x.Push(i * round)
		}
		for i := int32(999); i >= 100*round; i-- {
			if got := x.Pop(); got != i*round {
				t.Fatalf("popped %d, want %d", got, i*round)
			}
		}
	}
	if x.Len() != 300 {
		t.Fatalf("%d values are left", x.Len())
	}
}

// A mass cancel releases the slots of half a million orders, step by step. No release may copy the list of
// the free ones: that took a millisecond of one step.
func TestAReleaseIsBoundedWork(t *testing.T) {
	const n = 500_000
	var x slots.Slab[int64]
	for range n {
		x.Alloc()
	}
	var before, after runtime.MemStats
	most := uint64(0)
	for from := int32(1); from < n; from += 1000 {
		runtime.ReadMemStats(&before)
		for i := range int32(1000) {
			x.Release(from + i)
		}
		runtime.ReadMemStats(&after)
		most = max(most, after.TotalAlloc-before.TotalAlloc)
	}
	if most > 128<<10 {
		t.Errorf("1,000 releases allocated %d bytes", most)
	}
	if x.InUse() != 0 || x.Alloc() != n {
		t.Errorf("%d slots are in use", x.InUse())
	}
}
