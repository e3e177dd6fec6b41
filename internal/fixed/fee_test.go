package fixed

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// Fees that a real exchange has taken at a rate of 0.1 % of what was received, 8 digits: they fit neither rounding down
// nor up. The last one is a tie.
func TestFeeOfRealFills(t *testing.T) {
	for received, want := range map[string]string{
		"233.4894363": "0.23348944", // exactly 0.2334894363
		"19.9840288":  "0.01998403",
		"0.017156":    "0.00001716", // not down
		"0.0148938":   "0.00001489", // not up
		"0.001684":    "0.00000168",
		"40.229875":   "0.04022988",
	} {
		units, _, _, err := ParseUnits(received, 8)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(AppendU128(nil, Fee(FromU64(uint64(units)), rateOne/1000, 0), 8)); got != want {
			t.Errorf("the fee of %s is %s, want %s", received, got, want)
		}
	}
}

// A fee is the nearest whole number of units, of two equally near ones the even one. It never exceeds what it is taken
// from, whatever the rates.
func TestFeeIsHalfEven(t *testing.T) {
	for _, x := range []struct {
		received       U128
		rate, discount uint32
		want           U128
	}{
		{FromU64(1), rateOne / 2, 0, FromU64(0)},
		{FromU64(3), rateOne / 2, 0, FromU64(2)},
		{FromU64(5), rateOne / 2, 0, FromU64(2)},
		{FromU64(7), rateOne, rateOne / 2, FromU64(4)},
		{FromU64(7), rateOne, 0, FromU64(7)},
		{FromU64(7), rateOne + 1, 0, FromU64(7)},
		{FromU64(7), rateOne, rateOne, U128{}},
		{FromU64(7), rateOne, rateOne + 1, U128{}},
		{FromU64(7), 0, 0, U128{}},
		{U128{}, rateOne, 0, U128{}},
		{FromU64(rateSquare), 1, rateOne - 1, FromU64(1)}, // the smallest share
		{U128{1<<64 - 1, 1<<64 - 1}, rateOne, 0, U128{1<<64 - 1, 1<<64 - 1}},
	} {
		if got := Fee(x.received, x.rate, x.discount); got != x.want {
			t.Errorf("the fee of %v at %d less %d is %v, want %v", x.received, x.rate, x.discount, got, x.want)
		}
	}
}

// Fees and shares agree with rational numbers of any size.
func TestFeesAndSharesAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	one, square := big.NewInt(rateOne), big.NewInt(rateSquare)
	rounded := 0
	for range 50_000 {
		n := U128{Hi: r.Uint64() >> r.IntN(64), Lo: r.Uint64() >> r.IntN(64)}
		if r.IntN(2) == 0 {
			n.Hi = 0
		}
		rate, discount := r.Uint32N(rateOne+1)>>r.IntN(27), r.Uint32N(rateOne+1)>>r.IntN(27)
		exact := new(big.Int).Mul(toBig(n), big.NewInt(int64(rate)*int64(rateOne-discount)))
		twice := new(big.Int).Lsh(new(big.Int).Sub(exact, new(big.Int).Mul(toBig(Fee(n, rate, discount)), square)), 1)
		if twice.CmpAbs(square) > 0 {
			t.Fatalf("the fee of %v at %d less %d is more than half a unit off", n, rate, discount)
		}
		if twice.Sign() != 0 {
			rounded++
		}
		down := new(big.Int).Mul(toBig(n), big.NewInt(int64(rate)))
		if got := ShareFloor(n, rate); toBig(got).Cmp(down.Quo(down, one)) != 0 {
			t.Fatalf("the share of %v at %d is %v, want %v", n, rate, got, down)
		}
	}
	if rounded < 10_000 {
		t.Errorf("%d fees are rounded", rounded)
	}
}

func BenchmarkFee(b *testing.B) {
	n := FromU64(123_456_789_012)
	for b.Loop() {
		n.Lo += Fee(n, rateOne/1000, rateOne/10).Lo & 1
	}
}
