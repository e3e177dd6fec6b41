package hive

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkDecodeSnapshot(b *testing.B) {
	r := newRig(b)
	for n := uint32(1); n <= 1000; n++ {
		r.spawn(n)
	}
	chatter(r, rand.New(rand.NewPCG(1, 1)), 50_000, 1000)
	snap := r.s.AppendSnapshot(nil)
	for b.Loop() {
		if _, err := DecodeSnapshot(snap, r.s.opt); err != nil {
			b.Fatal(err)
		}
	}
}
