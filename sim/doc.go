// Package sim is a simulated market: seeded agents that trade through order entry like any client.
//
// Each currency's value moves every second. Each pair has makers, which keep quotes around the fair price, lean against
// their stock and refill filled quotes; arbitrageurs, which take orders beyond the fair price; momentum and noise
// traders.
//
// Owner: everything belongs to the loop's goroutine.
//
// Invariants:
//
//  1. The seed, the clock's ticks, the events, and the core's touch at a step determine every decision: the result is
//     the same on any machine, with any GOMAXPROCS. There is no floating point.
//  2. The quotes of the makers are known from events alone (FlagAgent), so they survive a restart that lost the agents'
//     own state.
//  3. A pair has at most levelsMax quotes a side at the end of a step, a major one about majorLevelsMax; after its
//     first step each has at least 50.
//  4. Time that passed without the market (Skip) leaves no trade; the fair price continues from the last trade.
//
// The package does not know funds (the agents trade for the built-in account), HTTP or files. Package replay feeds
// recorded files instead; package stats compares figures with real markets.
package sim
