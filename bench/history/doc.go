// Package history measures how long an exchange takes to have a past: the replay of a file of trades, and the backfill
// of simulated pairs.
//
//	r := history.Run{S: scenario, Product: "bin/tickhive", Rounds: 5, Temp: temp, Say: say}
//	err := r.Measure()
//
// Owner: the goroutine of the scenario. It ends every process that it starts, and removes its files.
//
// Invariant: the product runs as a separate program, whose CPU time and memory the kernel counts.
//
// Reading order: history.
//
// It does not import server, and knows nothing of the other scenarios.
package history
