package hive

import (
	"math/big"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/cockroachdb/apd/v3"
)

// decimalLogCents computes logCents with a decimal logarithm: the judge of the bounds. It has 60 digits, because 40 are
// too few next to a step: one unit of 10^48 moves the logarithm in its 49th digit.
func decimalLogCents(t testing.TB, holdings *big.Int) int64 {
	t.Helper()
	if holdings.Cmp(oneToken) < 0 {
		return 0
	}
	ctx := apd.BaseContext.WithPrecision(60)
	ctx.Rounding = apd.RoundHalfEven
	x := apd.NewWithBigInt(new(apd.BigInt).SetMathBigInt(holdings), -tokenDigits)
	var log, cents apd.Decimal
	_, err := ctx.Log10(&log, x)
	if err == nil {
		_, err = ctx.Quantize(&cents, &log, -2)
	}
	if err != nil {
		t.Fatalf("log10 of %s: %v", x, err)
	}
	return cents.Coeff.Int64()
}

// Both functions only rise, so they are equal between two steps at which they are equal. 7 and 100 have no common
// divisor, so every bound takes part.
func TestTheLogarithmStepsWhereTheDecimalOneDoes(t *testing.T) {
	for cents := int64(0); cents < 3000; cents += 7 {
		// The step to cents + 1 is behind bound cents % 100, moved to the digits of the holding.
		below := new(big.Int).Quo(logBounds[cents%100], pow10(boundDigits-tokenDigits-cents/100))
		for more := range int64(2) {
			h, want := below.Add(below, big.NewInt(more)), cents+more
			if got, judge := logCents(h), decimalLogCents(t, h); got != want || judge != want {
				t.Errorf("%s: %d hundredths, the decimal logarithm says %d, the step %d", h, got, judge, want)
			}
		}
	}
}

// Bound i is 10^48 x 10^((2i+1)/200), rounded down: its 200th power is the last one up to 10^(9600+2i+1).
func TestTheBoundsAreExact(t *testing.T) {
	for i, b := range logBounds {
		limit := pow10(200*boundDigits + 2*int64(i) + 1)
		for more, over := range []bool{false, true} {
			power := new(big.Int).Add(b, big.NewInt(int64(more)))
			if power.Exp(power, big.NewInt(200), nil); (power.Cmp(limit) > 0) != over {
				t.Errorf("bound %d + %d is beyond the exact one: %v", i, more, !over)
			}
		}
	}
}

func TestTheLogarithmEqualsTheDecimalOne(t *testing.T) {
	n := 5000
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		n = 1_000_000
	}
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	for range n {
		digits := make([]byte, 1+rng.IntN(boundDigits+1))
		for i := range digits {
			digits[i] = '0' + byte(rng.IntN(10))
		}
		h, _ := new(big.Int).SetString(string(digits), 10)
		if got, want := logCents(h), decimalLogCents(t, h); got != want {
			t.Fatalf("seed %d: %s: %d, the decimal logarithm says %d", seed, h, got, want)
		}
	}
	if got := logCents(pow10(80)); got != 3100 {
		t.Errorf("a holding beyond every supply: %d", got)
	}
}

func BenchmarkLogCents(b *testing.B) {
	h, _ := new(big.Int).SetString("123456789123456789123456789", 10)
	for b.Loop() {
		logCents(h)
	}
}
