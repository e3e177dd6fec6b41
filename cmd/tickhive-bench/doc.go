// Command tickhive-bench measures the exchange against references in the same run.
//
// It is a program apart from tickhive, so that the exchange links neither plotting nor
// fonts. It starts the exchange (`tickhive serve`, found beside itself or given with
// --product) and its own reference servers as child processes.
//
// Owner: main runs one scenario after the other; package bench holds the scenarios.
//
// Invariants:
//
//  1. Product and references are built by the same compiler with the same profile
//     (`make bench`), so that a ratio compares like with like.
//  2. A child process ends when its standard input ends.
//
// Reading order: main.go, run.go, compare.go, children.go.
package main
