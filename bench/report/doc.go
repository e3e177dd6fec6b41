// Package report holds the results of a benchmark: measures with the figures of every round, latencies, curves, and the
// machine and settings of the run, as JSON, as a table for a terminal and as a page (one HTML file with SVG plots), and
// compares two of them.
//
// Owner: the goroutine that runs the benchmarks; nothing is shared.
//
// Invariants:
//
//  1. A measure is judged by its best rounds, unless it says otherwise, and never shown without the median, the
//     smallest and the largest of its rounds.
//  2. A target is part of the measure: "met" is computed, not written down.
//  3. Compare calls a change a regression only beyond the noise that both files measured.
//
// It measures nothing and knows no scenario.
package report
