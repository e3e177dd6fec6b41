package fixed

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// halfEven returns num / den rounded half even, by big.Int.
func halfEven(num, den *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(num, den, new(big.Int))
	twice := new(big.Int).Lsh(r, 1)
	if c := twice.Cmp(den); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func bigOf(v U128) *big.Int {
	b := new(big.Int).Lsh(new(big.Int).SetUint64(v.Hi), 64)
	return b.Add(b, new(big.Int).SetUint64(v.Lo))
}

func TestPercentChangeRoundsHalfEven(t *testing.T) {
	for _, c := range []struct {
		now, then int64
		want      string
	}{
		{0, 0, "0.00000000"},
		{100, 0, "0.00000000"},
		{0, 100, "-100.00000000"},
		{100, 100, "0.00000000"},
		{150, 100, "50.00000000"},
		{99, 100, "-1.00000000"},
		{2, 3, "-33.33333333"},
		{5, 3, "66.66666667"},
		{1<<63 - 1, 1, "922337203685477580600.00000000"},
		{1<<63 - 2, 1<<63 - 1, "0.00000000"},
		// 1 / 2 x 10^10 is 0.000000005: half, rounded to even.
		{20_000_000_001, 20_000_000_000, "0.00000000"},
		{20_000_000_003, 20_000_000_000, "0.00000002"},
		{19_999_999_999, 20_000_000_000, "0.00000000"},
		{19_999_999_997, 20_000_000_000, "-0.00000002"},
	} {
		if got := string(AppendI128(nil, PercentChangeHalfEven(c.now, c.then), QuotientDigits)); got != c.want {
			t.Errorf("from %d to %d: %s, want %s", c.then, c.now, got, c.want)
		}
	}
}

func TestQuotientsAgainstBigIntegers(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	for range 20_000 {
		now, then := int64(rng.Uint64()>>(1+rng.UintN(60))), int64(rng.Uint64()>>(1+rng.UintN(60)))
		if then > 0 {
			diff := new(big.Int).Sub(big.NewInt(now), big.NewInt(then))
			want := halfEven(new(big.Int).Mul(new(big.Int).Abs(diff), big.NewInt(10_000_000_000)), big.NewInt(then))
			got := PercentChangeHalfEven(now, then)
			if bigOf(got.Abs()).Cmp(want) != 0 || got.Sign()*diff.Sign() < 0 {
				t.Fatalf("from %d to %d: %+v, want %s", then, now, got, want)
			}
		}
		digits := rng.IntN(19)
		amount := FromU64(rng.Uint64()>>rng.UintN(63) + 1)
		total, _ := amount.MulCheck(rng.Uint64() >> (2 + rng.UintN(60)))
		num := new(big.Int).Mul(bigOf(total), big.NewInt(100_000_000))
		den := new(big.Int).Mul(bigOf(amount), new(big.Int).SetUint64(Pow10[digits]))
		if got, want := AveragePriceHalfEven(total, amount, digits), halfEven(num, den); bigOf(got).Cmp(want) != 0 {
			t.Fatalf("%v / %v with %d digits: %v, want %s", total, amount, digits, got, want)
		}
	}
}
