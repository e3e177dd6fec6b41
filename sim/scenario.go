package sim

import (
	"time"

	"tickhive/engine"
)

// Scenario names a pattern that the market follows, by the time of day in UTC. The zero value is an ordinary market.
type Scenario string

// The scenarios (docs/contract/configuration.md#scenarios).
const (
	Ordinary   Scenario = ""
	FlashCrash Scenario = "flash-crash"
	Trend      Scenario = "trend"
	Halt       Scenario = "halt"
	ThinNight  Scenario = "thin-night"
)

func (s Scenario) valid() bool {
	switch s {
	case Ordinary, FlashCrash, Trend, Halt, ThinNight:
		return true
	}
	return false
}

const (
	hourNs   = int64(time.Hour)
	secondNs = int64(time.Second)
	milliNs  = int64(time.Millisecond)
	dayNs    = 24 * hourNs

	crashAt    = 30 * int64(time.Minute) // time in each hour at which prices begin to fall, or the halt begins
	crashFall  = 20 * int64(time.Second) // duration of the fall
	crashRise  = 10 * int64(time.Minute) // duration of the recovery
	crashSize  = octave * 152 / 1000     // log2(1/0.9): a fall by 10 per cent
	trendSize  = octave * 111 / 1000     // log2(1.08): a rise by 8 per cent in 12 hours
	haltTime   = 5 * int64(time.Minute)
	nightFrom  = 22 * hourNs
	nightTo    = 6 * hourNs
	nightSlow  = 570 // time between two steps of a night, per cent; a step has slightly fewer trades
	nightWide  = 4   // the makers' spread is so many times the usual one, plus the distance of two quotes
	nightMajor = 4   // the makers' spread of a major pair is this part of another pair's
	nightStale = 8   // most stale quotes of a side that arbitrageurs take in a step; the makers cancel the others
)

// level returns what the scenario adds to the level of a volatile currency, in octaves x 2^-32.
func (s Scenario) level(ns int64) int64 {
	switch s {
	case FlashCrash:
		switch at := ns%hourNs - crashAt; {
		case at < 0 || at >= crashFall+crashRise:
			return 0
		case at < crashFall:
			return -crashSize * (at / milliNs) / (crashFall / milliNs)
		default:
			return -crashSize * ((crashFall + crashRise - at) / milliNs) / (crashRise / milliNs)
		}
	case Trend:
		at := ns % dayNs
		return trendSize / (dayNs / 2 / secondNs) * (min(at, dayNs-at) / secondNs)
	case Ordinary, Halt, ThinNight:
	}
	return 0
}

// halted reports whether the agents are absent.
func (s Scenario) halted(ns int64) bool {
	at := ns%hourNs - crashAt
	return s == Halt && at >= 0 && at < haltTime
}

// night reports whether the market is thin.
func (s Scenario) night(ns int64) bool {
	at := ns % dayNs
	return s == ThinNight && (at >= nightFrom || at < nightTo)
}

// volatile is the typical daily move, in hundredths of a per cent, from which a currency follows a scenario.
const volatile = 100

// shift returns what the scenario adds to the level of a pair, in octaves x 2^-32.
func (w *world) shift(a *agents) int64 {
	level, sum := w.scenario.level(w.ns), int64(0)
	if w.assets[a.base].sigma >= sigmaOfDay(volatile) {
		sum += level
	}
	if w.assets[a.quote].sigma >= sigmaOfDay(volatile) {
		sum -= level
	}
	return sum
}

// recede cancels the makers' quotes that are better than the best ones wanted. Without this the old quotes keep the
// spread of a night narrow: a price that moves away from the quotes of one side comes nearer to the other side's.
func (t *step) recede(bid, ask int64) {
	for side, best := range [2]int64{engine.Buy: bid, engine.Sell: ask} {
		side := engine.Side(side)
		l, n := &t.a.ladders[side], &t.cleared[side.Opposite()]
		for ; *n < l.n && better(side, l.at(l.n-1-*n).price, best); *n++ {
			t.cancel(l.at(l.n - 1 - *n).id)
		}
	}
}

// withdraw cancels all quotes of a pair.
func (a *agents) withdraw(dst []engine.Command) []engine.Command {
	for side := range a.ladders {
		l := &a.ladders[side]
		for i := range l.n {
			dst = append(dst, engine.Command{Kind: engine.Cancel, Pair: a.id, Order: l.at(i).id})
		}
	}
	return dst
}
