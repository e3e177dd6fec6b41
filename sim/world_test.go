package sim

import (
	"fmt"
	"math"
	"os"
	"testing"
	"time"
)

func testWorld(seed uint64) *world {
	w := &world{rng: newRNG(seed, "world")}
	for _, s := range []string{"BTC", "ETH", "USDT", "EUR", "NEW"} {
		w.assets = append(w.assets, newAsset(seed, s))
	}
	return w
}

func TestPowersOfTwoAreExactToTheTableStep(t *testing.T) {
	for _, x := range []int64{0, 1, octave / 2, octave, -octave, 3*octave + 12345, -5*octave - 99, octave/1024 + 7} {
		want := 1e9 * math.Exp2(float64(x)/float64(octave))
		if got := scaleExp2(1e9, x); math.Abs(float64(got)-want) > 2+want*1e-7 {
			t.Errorf("10^9 x 2^(%d / 2^32) is %d, want %.1f", x, got, want)
		}
	}
	if got := scaleExp2(1<<40, 40*octave); got != 1<<63-1 {
		t.Errorf("too large a power is %d, want the largest number", got)
	}
	if got := scaleExp2(1<<40, -200*octave); got != 0 {
		t.Errorf("too small a power is %d, want 0", got)
	}
}

func TestGaussHasItsMeanAndDeviation(t *testing.T) {
	r := newRNG(1, "gauss")
	const n = 1 << 20
	sum, squares := 0.0, 0.0
	for range n {
		v := float64(r.gauss())
		sum += v
		squares += v * v
	}
	if mean, sd := sum/n, math.Sqrt(squares/n); math.Abs(mean) > 200 || math.Abs(sd-gaussSigma) > 100 {
		t.Errorf("mean %.1f, deviation %.1f, want 0 and %d", mean, sd, gaussSigma)
	}
}

func TestHeavySizesHaveTheirMeanAndTail(t *testing.T) {
	r := newRNG(1, "heavy")
	const n, mean = 1 << 18, 100_000
	sum, most := 0.0, int64(0)
	for range n {
		v := r.heavy(mean)
		sum += float64(v)
		most = max(most, v)
	}
	if got := sum / n; got < 0.7*mean || got > 1.3*mean || most < 20*mean {
		t.Errorf("mean %.0f, largest %d", got, most)
	}
}

// The expected numbers are recorded so that a machine with other results fails the test.
func TestTheWorldIsTheSameOnEveryMachine(t *testing.T) {
	w := testWorld(42)
	w.advance(int64(24 * time.Hour))
	got := fmt.Sprint(w.shared)
	for i := range w.assets {
		got += fmt.Sprint(" ", w.assets[i].level, " ", w.assets[i].vol)
	}
	const want = "29198 200005562 23138 322809073 68416 -1119373 17122 10062660 113247 559084770 22330"
	if got != want {
		t.Errorf("after a day of seed 42:\n got %s\nwant %s", got, want)
	}
}

func TestPricesStaySaneForMonths(t *testing.T) {
	t.Parallel()
	days := 60
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		days = 3 * 365
	}
	w := testWorld(7)
	least, most := make([]int64, len(w.assets)), make([]int64, len(w.assets))
	for d := 1; d <= days; d++ {
		w.advance(int64(d) * int64(24*time.Hour))
		for i := range w.assets {
			least[i], most[i] = min(least[i], w.assets[i].level), max(most[i], w.assets[i].level)
		}
	}
	for i := range w.assets {
		t.Logf("%s between %.2f and %.2f of its reference in %d days", w.assets[i].symbol,
			math.Exp2(float64(least[i])/float64(octave)), math.Exp2(float64(most[i])/float64(octave)), days)
		if most[i]-least[i] == 0 || most[i] >= priceBound || least[i] <= -priceBound {
			t.Errorf("%s does not move or is at its bound", w.assets[i].symbol)
		}
	}
	if usdt := most[2] - least[2]; usdt > octave/50 {
		t.Errorf("USDT moved by more than 1.4 %%: %d", usdt)
	}
}
