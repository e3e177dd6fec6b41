package sim

import (
	"time"

	"github.com/tickhive/tickhive/engine"
)

// worldStep is the time between two changes of the world's values, in ns.
const worldStep = int64(time.Second)

// Parameters of the volatility. Its logarithm is the sum of a shared part and each asset's own part. Both parts
// revert to their mean and receive a random shock every second. The standard deviations of the shocks cause the
// heavy tails (kurtosis 3 exp(4 s^2), s in natural logarithms); the time constants cause the clusters.
const (
	volUnit      = int64(1) << 16 // one octave (a factor of 2) of volatility
	sharedMemory = 3600           // time constant of the shared part, seconds
	ownMemory    = 1500           // time constant of an asset's own part, seconds
	// standard deviation of a shock to the shared part: 0.70 octaves x sqrt(2 / memory), in 2^-16 octaves
	sharedShake   = 1081
	ownShake      = 1675        // the same for an asset's own part
	volBound      = 3 * volUnit // the sum of both parts stays within plus or minus this
	shockOneIn    = 28_800      // mean seconds between events that raise the volatility of all assets
	shockSize     = 3 * volUnit / 2
	jumpOneIn     = 14_400      // mean seconds between jumps of one asset
	jumpLeast     = 20          // smallest jump, in typical moves of one second; the largest is three times as much
	priceMemory   = 40 * 86_400 // time constant, in seconds, with which a price reverts to its reference
	priceBound    = octave      // a price stays between half and twice its reference
	sharedPerCent = 65          // share of the common factor in an asset's moves, per cent
	// share of the asset's own factor: sqrt(100^2 - 65^2), so that the variance of the sum is 1
	ownPerCent = 76
)

// asset holds the simulated value and volatility of one currency.
type asset struct {
	symbol string
	sigma  int64 // typical move in one second, in octaves x 2^-32
	level  int64 // log2 of the value divided by the reference value, in octaves x 2^-32
	vol    int64 // own part of log2 of the volatility, in octaves x 2^-16
	rng    rng
}

// world changes the values of all assets every second; one shared factor influences all of them. It is a
// function of the seed and the number of seconds, so the copies in all loops agree. Owner: the Market.
type world struct {
	ns     int64 // time up to which the values have changed, Unix ns
	shared int64 // shared part of log2 of the volatility
	rng    rng
	assets []asset // sorted by symbol

	scenario Scenario
	phase    int64 // ns that the scenario's time of day is ahead of the clock (Behave)
}

// advance changes the values second by second until nowNs.
func (w *world) advance(nowNs int64) {
	for ; w.ns+worldStep <= nowNs; w.ns += worldStep {
		w.step()
	}
}

func (w *world) step() {
	w.shared += w.rng.gauss()*sharedShake/gaussSigma - w.shared/sharedMemory
	if w.rng.below(shockOneIn) == 0 {
		w.shared += shockSize
	}
	factor := w.rng.gauss()
	for i := range w.assets {
		w.assets[i].step(w.shared, factor)
	}
}

func (a *asset) step(shared, factor int64) {
	a.vol += a.rng.gauss()*ownShake/gaussSigma - a.vol/ownMemory
	move := (factor*sharedPerCent + a.rng.gauss()*ownPerCent) / 100
	if v := a.rng.next(); v%jumpOneIn == 0 { // an event that concerns this asset alone
		size := (jumpLeast + int64(v>>40)%jumpLeast*2) * gaussSigma
		move += size * (1 - 2*int64(v>>63))
	}
	sigma := scaleExp2(a.sigma, clamp(shared+a.vol, volBound)<<16)
	a.level += sigma*move/gaussSigma - a.level/priceMemory
	a.level = clamp(a.level, priceBound)
}

func clamp(v, bound int64) int64 { return min(max(v, -bound), bound) }

// find returns the index of the asset with this symbol, -1 when there is none.
func (w *world) find(symbol string) int {
	for i := range w.assets {
		if w.assets[i].symbol == symbol {
			return i
		}
	}
	return -1
}

// sigmaOfDay converts the typical move of a day, in hundredths of a per cent, to the typical move of a second
// in octaves x 2^-32: log2(1 + 0.0001) x 2^32 / sqrt(86400) = 2107.9.
func sigmaOfDay(basisPoints int64) int64 { return basisPoints * 2108 }

// dayMoves holds the typical daily move of known currencies in calm times, in hundredths of a per cent.
// Volatile times make an average day about half as large again. Stablecoins move by 0.01 per cent.
var dayMoves = map[string]int64{
	"BTC": 170, "ETH": 220, "BNB": 210, "SOL": 300, "XRP": 280, "ADA": 300, "DOGE": 340, "LTC": 260,
	"USDT": 1, "USDC": 1, "DAI": 1, "USD": 1, "USBI": 1, "EUR": 18, "GBP": 20, "JPY": 25, "CHF": 20,
}

// otherDayMove is the typical daily move of all other currencies.
const otherDayMove = 280

func newAsset(seed uint64, symbol string) asset {
	move, ok := dayMoves[symbol]
	if !ok {
		move = otherDayMove
	}
	return asset{symbol: symbol, sigma: sigmaOfDay(move), rng: newRNG(seed, "asset "+symbol)}
}

// Scenario names a pattern that the market follows, by the time of day in UTC.
type Scenario string

// The scenarios (docs/contract/configuration.md#scenarios).
const (
	Ordinary   Scenario = "none"
	FlashCrash Scenario = "flash-crash"
	Trend      Scenario = "trend"
	Halt       Scenario = "halt"
	ThinNight  Scenario = "thin-night"
)

// Scenarios lists the scenarios.
var Scenarios = []Scenario{Ordinary, FlashCrash, Trend, Halt, ThinNight}

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
	level, sum := w.scenario.level(w.pattern(w.ns)), int64(0)
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
