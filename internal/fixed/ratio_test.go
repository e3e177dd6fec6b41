package fixed

import (
	"math/big"
	"math/rand/v2"
	"strings"
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
		digits := rng.IntN(Scale + 1)
		amount := FromU64(rng.Uint64()>>rng.UintN(63) + 1)
		if rng.UintN(4) == 0 { // a sum of many trades
			amount = Mul64(amount.Lo, rng.Uint64()>>rng.UintN(63)+1)
		}
		total, fits := amount.MulCheck(rng.Uint64() >> (2 + rng.UintN(60)))
		if !fits {
			continue
		}
		total = total.AddSat(FromU64(rng.Uint64() >> rng.UintN(64))) // the price is no whole number of ticks
		places := max(8, min(18, digits+6))
		num := new(big.Int).Mul(bigOf(total), new(big.Int).SetUint64(Pow10[places]))
		den := new(big.Int).Mul(bigOf(amount), new(big.Int).SetUint64(Pow10[digits]))
		want := halfEven(num, den)
		if want.BitLen() > 128 {
			continue // beyond every price
		}
		got := string(AppendAverageHalfEven(nil, total, amount, digits))
		text := want.String()
		if pad := places + 1 - len(text); pad > 0 {
			text = strings.Repeat("0", pad) + text
		}
		if text = text[:len(text)-places] + "." + text[len(text)-places:]; got != text {
			t.Fatalf("%v / %v with %d digits: %s, want %s", total, amount, digits, got, text)
		}
	}
}

// An average lies between the prices that it is made of, so that of a filled order is never 0; exact halves of the last
// digit go to the even one.
func TestAveragesOfPrices(t *testing.T) {
	for _, c := range []struct {
		total, amount uint64
		digits        int
		want          string
	}{
		{1, 1, 18, "0.000000000000000001"},
		{3, 2, 18, "0.000000000000000002"}, // half: 1 is odd
		{5, 2, 18, "0.000000000000000002"}, // half: 2 is even
		{4, 3, 18, "0.000000000000000001"},
		{2_000_000, 1_500_000, 10, "0.0000000001333333"},
		{5, 2, 8, "0.00000002500000"},
		{4321, 1, 12, "0.000000004321000000"},
		{6020, 60, 2, "1.00333333"},
		{1, 1, 0, "1.00000000"},
		{1, 1, 3, "0.001000000"},
	} {
		got := string(AppendAverageHalfEven(nil, FromU64(c.total), FromU64(c.amount), c.digits))
		if got != c.want {
			t.Errorf("%d / %d with %d digits: %s, want %s", c.total, c.amount, c.digits, got, c.want)
		}
	}
	for digits := range Scale + 1 {
		if AverageDigits(digits) < digits {
			t.Errorf("an average has %d digits, fewer than the %d of a price", AverageDigits(digits), digits)
		}
	}
}
