// Package stats checks whether a market's figures look like a real market's: how many minutes
// have trades, how wide the spread is, how heavy the tails of the returns are, and whether
// volatile minutes follow volatile minutes. It computes the figures from minute candles and
// spreads, and reads both from the public HTTP API (tickhive stats).
//
// Owner: the caller; the package shares and retains nothing.
//
// Invariants:
//
//  1. The package decides nothing. It is the one place of the simulation where floating point
//     is allowed, because its figures are only printed for people.
//  2. The figures include their sample sizes: minutes and samples.
//
// The package does not know the engine, the simulated market or its seed.
package stats
