package slots_test

import (
	"math/rand/v2"
	"testing"

	"github.com/tickhive/tickhive/engine/slots"
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
				x.Put(h, s, slots.Key{uint64(s)})
				hashes[s] = h
			case r.IntN(2) == 0:
				x.Delete(h, s, slots.Key{uint64(s)})
				delete(hashes, s)
			}
			found, next := x.Seek(h, 0)
			for found != 0 && found != s {
				if hashes[found] != h {
					t.Fatalf("seed %d: slot %d has hash %x, not %x", seed, found, hashes[found], h)
				}
				found, next = x.Seek(h, next)
			}
			if next > 128 {
				t.Fatalf("seed %d: a search took %d places", seed, next)
			}
			if found == 0 {
				found = x.Spilled(slots.Key{uint64(s)})
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
	x.Put(7, 3, slots.Key{3})
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

// Keys whose hashes are all equal, or name all the places of one shard one behind the other, make neither a search nor
// a deletion longer than the bound, and none is lost.
func TestChosenKeysMakeNoLongSearch(t *testing.T) {
	const keys, bound = 20_000, 128
	for name, hash := range map[string]func(n int32) uint32{
		"one hash":    func(int32) uint32 { return 0xABCDE },
		"one place":   func(n int32) uint32 { return uint32(n)<<26 | 5<<6 },
		"one shard":   func(n int32) uint32 { return uint32(n) << 6 },
		"pairs":       func(n int32) uint32 { return uint32(n/2) << 6 },
		"mixed":       func(n int32) uint32 { return uint32(n) * 0x9E3779B1 },
		"two places":  func(n int32) uint32 { return uint32(n%2)<<20 | 7 },
		"last places": func(n int32) uint32 { return ^uint32(0) - uint32(n%300)<<6 },
	} {
		t.Run(name, func(t *testing.T) {
			var x slots.Table
			key := func(s int32) slots.Key { return slots.Key{uint64(s), 1} }
			at := func(s int32) int32 {
				found, next := x.Seek(hash(s), 0)
				for found != 0 && found != s {
					found, next = x.Seek(hash(s), next)
				}
				if next > bound {
					t.Fatalf("a search took %d places", next)
				}
				if found == 0 {
					found = x.Spilled(key(s))
				}
				return found
			}
			in := map[int32]bool{}
			put := func(s int32) { x.Put(hash(s), s, key(s)); in[s] = true }
			for s := int32(1); s <= keys; s++ {
				if at(s) != 0 {
					t.Fatalf("slot %d is there before it was put", s)
				}
				put(s)
			}
			r := rand.New(rand.NewPCG(3, 3))
			for range 4 * keys {
				if s := 1 + r.Int32N(keys); in[s] {
					x.Delete(hash(s), s, key(s))
					delete(in, s)
				} else {
					put(s)
				}
			}
			for s := int32(1); s <= keys; s++ {
				if want := in[s]; (at(s) == s) != want || !want && at(s) != 0 {
					t.Fatalf("slot %d: found %d, is there: %v", s, at(s), want)
				}
			}
			seen := 0
			x.All(func(s int32) {
				if seen++; !in[s] {
					t.Fatalf("slot %d was deleted", s)
				}
			})
			if seen != len(in) || x.Count() != seen {
				t.Errorf("%d of %d slots, counted %d", seen, len(in), x.Count())
			}
			t.Logf("%d of %d slots spilled, %d places", x.Spills(), seen, x.Places())
			if most := 32 * keys; x.Places() > most {
				t.Errorf("%d places for %d slots", x.Places(), keys)
			}
		})
	}
}
