package sim

import (
	"testing"
	"time"
)

// newScenario starts a market with a scenario at midnight.
func newScenario(t *testing.T, s Scenario, intensity int64) *bench {
	pairs := testPairs()[2:4]
	b := newBench(t, 3, pairs)
	b.market.world.scenario, b.market.intensity = s, intensity
	return b
}

func TestAFlashCrashFallsAndRecovers(t *testing.T) {
	t.Parallel()
	b := newScenario(t, FlashCrash, 100)
	last := func(at time.Duration) (out []int64) {
		b.advance(t, at)
		for _, id := range b.ids {
			out = append(out, b.Feed.Board().Load().View(id).Ticker.Last)
		}
		return out
	}
	before, low, after := last(30*time.Minute), last(30*time.Minute+25*time.Second), last(45*time.Minute)
	for i := range before {
		if low[i] > before[i]*95/100 || low[i] < before[i]*80/100 || after[i] < low[i]*104/100 {
			t.Errorf("pair %d: %d before the crash, %d in it, %d after", i, before[i], low[i], after[i])
		}
	}
}

func TestAHaltEndsAfterFiveMinutes(t *testing.T) {
	t.Parallel()
	b := newScenario(t, Halt, 100)
	b.advance(t, 31*time.Minute)
	trades := b.loop.Stats().Trades.Load()
	b.advance(t, 34*time.Minute)
	for _, id := range b.ids {
		if n := b.Core.OpenOrders(id); n != 0 {
			t.Errorf("pair %d has %d orders in the halt", id, n)
		}
	}
	if n := b.loop.Stats().Trades.Load(); n != trades {
		t.Errorf("%d trades in the halt", n-trades)
	}
	b.advance(t, 36*time.Minute)
	for _, id := range b.ids {
		if v := b.Feed.Board().Load().View(id); v.Bids.Len() < 50 || v.Asks.Len() < 50 {
			t.Errorf("pair %d has %d bids and %d asks after the halt", id, v.Bids.Len(), v.Asks.Len())
		}
	}
	if n := b.loop.Stats().Trades.Load(); n == trades {
		t.Error("no trades after the halt")
	}
}

func TestIntensityAndNightChangeTheActivity(t *testing.T) {
	t.Parallel()
	count := func(s Scenario, intensity int64) uint64 {
		b := newScenario(t, s, intensity)
		b.advance(t, 20*time.Minute)
		for _, id := range b.ids {
			if v := b.Feed.Board().Load().View(id); v.Bids.Len() < 50 || v.Asks.Len() < 50 {
				t.Errorf("%q %d: %d bids, %d asks", s, intensity, v.Bids.Len(), v.Asks.Len())
			}
		}
		return uint64(b.loop.Stats().Trades.Load())
	}
	usual, busy, calm, night := count(Ordinary, 100), count(Ordinary, 400), count(Ordinary, 25), count(ThinNight, 100)
	if busy < 3*usual || calm > usual/2 || night > usual/2 || calm == 0 || night == 0 {
		t.Errorf("%d trades usually, %d at 400 %%, %d at 25 %%, %d in a thin night", usual, busy, calm, night)
	}
}

func TestATrendRisesUntilNoon(t *testing.T) {
	t.Parallel()
	for hour, perMille := range map[int64]int64{0: 0, 6: 500, 12: 1000, 18: 500} {
		got, want := Trend.level(testStart+hour*hourNs), int64(trendSize)*perMille/1000
		if got < want-octave/1000 || got > want+octave/1000 {
			t.Errorf("%d:00: %d, want %d", hour, got, want)
		}
	}
	if o := (Options{Core: newBench(t, 1, nil).Core, Config: Config{Scenario: "storm"}}); o.Validate() == nil {
		t.Error("an unknown scenario is accepted")
	}
	if o := (Options{Core: newBench(t, 1, nil).Core, Config: Config{Intensity: 9}}); o.Validate() == nil {
		t.Error("an intensity below 10 per cent is accepted")
	}
}
