package sim

import (
	"math"
	"slices"
	"testing"
	"time"
)

// behave changes the behaviour of the market on the loop.
func (b *bench) behave(t *testing.T, change func(*Behaviour)) {
	t.Helper()
	err := b.loop.Query(func() {
		now := b.market.Behaviour()
		change(&now)
		b.market.Behave(now, b.Clock.NowNs())
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) lastPrices() (all []int64) {
	for _, id := range b.ids {
		all = append(all, b.Feed.Board().Load().View(id).Ticker.Last)
	}
	return all
}

// A paused market makes no order and cancels none: its quotes stay. Afterwards it goes on near the last prices.
func TestAPausedMarketKeepsItsQuotes(t *testing.T) {
	t.Parallel()
	b := newScenario(t, Ordinary, 100)
	b.advance(t, 10*time.Minute)
	b.behave(t, func(x *Behaviour) { x.Paused = true })
	commands, open := b.loop.Stats().Commands.Load(), b.Core.OpenOrders(b.ids[0])
	if at := b.market.NextNs(); at != math.MaxInt64 {
		t.Errorf("the paused market is due at %d", at)
	}
	b.advance(t, 40*time.Minute)
	left := b.Core.OpenOrders(b.ids[0])
	if n := b.loop.Stats().Commands.Load(); n != commands || left != open || open < 50 {
		t.Errorf("%d commands in the pause, %d orders before it, %d after", n-commands, open, left)
	}
	before := b.lastPrices()
	b.behave(t, func(x *Behaviour) { x.Paused = false })
	b.advance(t, 41*time.Minute)
	if b.loop.Stats().Commands.Load() == commands {
		t.Error("the market does not go on")
	}
	for i, after := range b.lastPrices() {
		if after < before[i]*99/100 || after > before[i]*101/100 {
			t.Errorf("pair %d: %d before the pause, %d a minute after it", i, before[i], after)
		}
	}
}

// A scenario that is chosen at run time begins at once. Prices do not jump when it is chosen, nor when it ends.
func TestAChosenScenarioBeginsAtOnce(t *testing.T) {
	t.Parallel()
	b := newScenario(t, Ordinary, 100)
	const at = 7*time.Minute + 13*time.Second // no time of day at which a pattern begins
	b.advance(t, at)
	before := b.lastPrices()
	b.behave(t, func(x *Behaviour) { x.Scenario = FlashCrash })
	b.advance(t, at+10*time.Second)
	falling := b.lastPrices()
	b.advance(t, at+22*time.Second)
	low := b.lastPrices()
	for i := range before {
		if falling[i] < before[i]*93/100 || low[i] > before[i]*95/100 || low[i] < before[i]*80/100 {
			t.Errorf("pair %d: %d, after 10 s %d, after 22 s %d", i, before[i], falling[i], low[i])
		}
	}
	b.behave(t, func(x *Behaviour) { x.Scenario = Ordinary })
	b.advance(t, at+30*time.Second)
	for i, after := range b.lastPrices() {
		// the last trade of the fall is up to 7 s older than the end of the fall
		if after < low[i]*95/100 || after > low[i]*102/100 {
			t.Errorf("pair %d jumps from %d to %d when the crash is called off", i, low[i], after)
		}
	}
	b.behave(t, func(x *Behaviour) { x.Scenario = Halt })
	b.advance(t, at+time.Minute)
	for _, id := range b.ids {
		if n := b.Core.OpenOrders(id); n != 0 {
			t.Errorf("pair %d has %d orders in the halt", id, n)
		}
	}
}

// A pattern that began at some time is the one of its time of day.
func TestPatternsBeginWhereTheyBegin(t *testing.T) {
	t.Parallel()
	for _, s := range []Scenario{FlashCrash, Halt, ThinNight, Trend} {
		for _, chosen := range []time.Duration{0, 5 * time.Hour, 23*time.Hour + 59*time.Minute} {
			ns := testStart + int64(chosen)
			w := world{scenario: s, phase: s.begin() - ns%dayNs}
			at := func(after int64) []bool {
				of := w.pattern(ns + after)
				return []bool{s.level(of) != 0, s.halted(of), s.night(of)}
			}
			has, before := at(10*secondNs), at(-secondNs)
			want := []bool{s == FlashCrash || s == Trend, s == Halt, s == ThinNight}
			if s == Trend {
				before[0] = false // the day before ends as this one begins
			}
			if !slices.Equal(has, want) || slices.Contains(before, true) {
				t.Errorf("%s chosen at %v: %v, before it %v", s, chosen, has, before)
			}
		}
	}
}
