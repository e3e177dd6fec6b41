package slots_test

import (
	"math/rand/v2"
	"testing"

	"tickhive/engine/slots"
)

// The table finds every slot that is in it by its hash and no other, also when hashes are equal or collide in one run,
// and after others have been deleted.
func TestTable(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var x slots.Table
		hashes := map[int32]uint32{}
		spread := uint32(1)<<(4+seed) - 1
		for range 5000 {
			s := 1 + r.Int32N(300+100*int32(seed))
			h, known := hashes[s]
			switch {
			case !known:
				h = r.Uint32() & spread
				x.Put(h, s)
				hashes[s] = h
			case r.IntN(2) == 0:
				x.Delete(h, s)
				delete(hashes, s)
			}
			found, next := x.Seek(h, 0)
			for found != 0 && found != s {
				if hashes[found] != h {
					t.Fatalf("seed %d: slot %d has hash %x, not %x", seed, found, hashes[found], h)
				}
				found, next = x.Seek(h, next)
			}
			if _, in := hashes[s]; in != (found == s) {
				t.Fatalf("seed %d: slot %d is in the table: %v, found %d", seed, s, in, found)
			}
		}
		seen := 0
		x.All(func(s int32) {
			if _, in := hashes[s]; !in {
				t.Fatalf("seed %d: slot %d was deleted", seed, s)
			}
			seen++
		})
		if seen != len(hashes) || x.Count() != seen {
			t.Fatalf("seed %d: %d of %d slots, counted %d", seed, seen, len(hashes), x.Count())
		}
	}
}

// An empty table has nothing, and a search ends where the run of its hash ends.
func TestTableEmpty(t *testing.T) {
	var x slots.Table
	if s, _ := x.Seek(7, 0); s != 0 {
		t.Fatalf("an empty table has slot %d", s)
	}
	x.All(func(s int32) { t.Fatalf("an empty table visits slot %d", s) })
	x.Put(7, 3)
	if s, _ := x.Seek(8, 0); s != 0 { // in a shard that was never used
		t.Fatalf("slot %d has hash 8", s)
	}
	s, next := x.Seek(7, 0)
	if s != 3 {
		t.Fatalf("slot 3 is not found, but %d", s)
	}
	if s, _ := x.Seek(7, next); s != 0 {
		t.Fatalf("slot %d follows", s)
	}
}
