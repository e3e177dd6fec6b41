package slots_test

import (
	"testing"

	"github.com/tickhive/tickhive/engine/slots"
)

// The index finds what is open and nothing else, however sparse the open numbers are, and
// its directory spans them, not the history.
func TestIndex(t *testing.T) {
	var x slots.Index
	open := map[uint64]int32{}
	rnd := uint64(1)
	for n := uint64(1); n <= 2_000_000; n++ {
		x.Put(n, int32(n%1000)+1)
		open[n] = int32(n%1000) + 1
		if rnd = rnd*6364136223846793005 + 1; rnd>>60 == 0 && n > 1_900_000 {
			continue // stays
		}
		x.Delete(n)
		delete(open, n)
	}
	for n, s := range open {
		if x.Get(n) != s {
			t.Fatalf("%d is at %d", n, x.Get(n))
		}
	}
	if x.Get(5) != 0 || x.Get(3_000_000) != 0 || x.Pages() > 4096 {
		t.Fatalf("%d pages for the last 100,000 numbers", x.Pages())
	}
	seen := 0
	for n, s, ok := x.Next(0); ok; n, s, ok = x.Next(n + 1) {
		if open[n] != s {
			t.Fatalf("%d is not open", n)
		}
		seen++
	}
	if seen != len(open) {
		t.Fatalf("%d of %d seen", seen, len(open))
	}
	x.Put(3, 9) // older than everything kept
	if n, s, ok := x.Next(0); !ok || n != 3 || s != 9 || x.Get(3) != 9 {
		t.Fatalf("the oldest is %d", n)
	}
}
