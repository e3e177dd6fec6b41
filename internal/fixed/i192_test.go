package fixed_test

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/fixed"
)

func big192(v fixed.I192) *big.Int {
	n := new(big.Int)
	for _, w := range []uint64{v.W2, v.W1, v.W0} {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(w))
	}
	if v.W2>>63 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 192))
	}
	return n
}

// Sums of 192 bits do what big integers do, and their text is the number.
func TestI192IsABigInteger(t *testing.T) {
	const seed = 11
	rnd := rand.New(rand.NewPCG(seed, 1))
	word := func() uint64 {
		switch rnd.IntN(4) {
		case 0:
			return 0
		case 1:
			return ^uint64(0)
		}
		return rnd.Uint64() >> rnd.IntN(64)
	}
	top := func() uint64 { return uint64(int64(word()) >> 2) }
	wide := 0
	for range 50_000 {
		a, b := fixed.I192{W0: word(), W1: word(), W2: top()}, fixed.I192{W0: word(), W1: word(), W2: top()}
		x, y := big192(a), big192(b)
		term := fixed.I128{Hi: int64(word()), Lo: word()}
		z := big192(term.Wide())
		for _, c := range []struct {
			name string
			got  fixed.I192
			want *big.Int
		}{
			{"add", a.Add(b), new(big.Int).Add(x, y)},
			{"sub", a.Sub(b), new(big.Int).Sub(x, y)},
			{"neg", a.Neg(), new(big.Int).Neg(x)},
			{"plus", a.Plus(term), new(big.Int).Add(x, z)},
			{"minus", a.Minus(term), new(big.Int).Sub(x, z)},
			{"times", term.Wide().Times(b.W0), new(big.Int).Mul(z, new(big.Int).SetUint64(b.W0))},
		} {
			if big192(c.got).Cmp(c.want) != 0 {
				t.Fatalf("%s of %s, %s, %s: %s, want %s", c.name, x, y, z, big192(c.got), c.want)
			}
		}
		if a.Cmp(b) != x.Cmp(y) || a.Sign() != x.Sign() || a.CmpTerm(term) != x.Cmp(z) {
			t.Fatalf("%s and %s compare as %d", x, y, a.Cmp(b))
		}
		if got := big192(a.Clamp().Wide()); x.BitLen() < 127 && got.Cmp(x) != 0 || x.BitLen() > 128 &&
			got.Sign() != x.Sign() {
			t.Fatalf("%s clamps to %s", x, got)
		}
		if a.W2 != 0 && a.W2 != ^uint64(0) {
			wide++
		}
		digits := rnd.IntN(39)
		text := string(fixed.AppendI192(nil, a, digits))
		whole, part, _ := strings.Cut(text, ".")
		if digits == 0 {
			if part != "0" {
				t.Fatalf("%s is %q", x, text)
			}
			part = ""
		}
		if back, ok := new(big.Int).SetString(whole+part, 10); !ok || back.Cmp(x) != 0 || len(part) != digits {
			t.Fatalf("%s with %d digits is %q", x, digits, text)
		}
	}
	if wide < 20_000 {
		t.Fatalf("seed %d: %d wide numbers", seed, wide)
	}
	if got := string(fixed.AppendShortest192(nil, fixed.I192{W0: 1_500_000_000_000_000_000}, 18)); got != "1.5" {
		t.Fatal(got)
	}
}

// The sums of balances are taken modulo 2^128.
func TestI128Wraps(t *testing.T) {
	rnd := rand.New(rand.NewPCG(12, 1))
	modulus := new(big.Int).Lsh(big.NewInt(1), 128)
	same := func(got fixed.I128, want *big.Int) bool {
		diff := new(big.Int).Sub(big192(got.Wide()), want)
		return diff.Mod(diff, modulus).Sign() == 0
	}
	for range 10_000 {
		a := fixed.I128{Hi: int64(rnd.Uint64()), Lo: rnd.Uint64()}
		b := fixed.I128{Hi: int64(rnd.Uint64()), Lo: rnd.Uint64()}
		x, y := big192(a.Wide()), big192(b.Wide())
		if !same(a.AddWrap(b), new(big.Int).Add(x, y)) || !same(a.SubWrap(b), new(big.Int).Sub(x, y)) {
			t.Fatalf("%v, %v: %v and %v", a, b, a.AddWrap(b), a.SubWrap(b))
		}
	}
}
