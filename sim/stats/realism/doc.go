// Package realism compares a simulated market with recorded ones: spread, depth, sizes, cancellations, tails and
// clusters of returns, memory of the trades' signs, and impact.
//
//	files --> format.Reader --\
//	                           tape --> windows --> Samples --> Report
//	sim.Market --> engine.Core /
//
//	recordings, err := realism.Record(files)
//	simulated, err := realism.Simulate(ctx, simOptions, instruments, 24*time.Hour)
//	report := realism.Compare(simulated, realism.Ranges(recordings)) // or realism.Builtin()
//
// Both go through the same tape, so a statistic is computed in one way.
//
// Owner: the caller; the package retains nothing.
//
// Invariants:
//
//  1. Every recording has the same weight in a range, however many windows it has; one with fewer than three windows of
//     a statistic has none.
//  2. Every statistic is free of a market's units: ticks, levels, ratios and correlations.
//  3. A window that lacks what a statistic needs has no value of it.
//  4. Equal inputs give equal reports.
//
// The package does not know the exchange's API, a clock or a data directory.
package realism
