// Package realism compares a simulated market with recorded ones: spread, depth, sizes,
// cancellations, tails and clusters of returns, memory of the trades' signs, and impact.
//
//	files --> format.Reader --\
//	                           tape --> windows --> Samples --> Report
//	sim.Market --> engine.Core /
//
// How to use it:
//
//	recordings, err := realism.Record(files)
//	simulated, err := realism.Simulate(ctx, simOptions, instruments, 24*time.Hour)
//	report := realism.Compare(simulated, realism.Ranges(recordings)) // or realism.Builtin()
//	err = report.Print(w)
//
// Recordings and simulated pairs go through the same tape, so a statistic is computed in one
// way. Books, sizes and cancellations are measured in windows of 10 minutes (10 seconds in a
// recording of less than an hour), returns in windows of an hour, and signs and impact in
// windows of 250 taker orders. All trades of one time and side count as one taker order.
//
// Owner: the caller; the package retains nothing.
//
// Invariants:
//
//  1. Every recording has the same weight in a range, however many windows it has; one with fewer
//     than three windows of a statistic has none.
//  2. Every statistic is free of a market's units: ticks, levels, ratios and correlations.
//  3. A window that lacks what a statistic needs has no value of it.
//  4. Equal inputs give equal reports.
//
// Reading order: statistics, tape, windows, recorded, simulated, builtin, report.
//
// The package does not know the exchange's API, a clock or a data directory.
package realism
