// Command tickhive-bench measures the exchange against references in the same run.
//
// It is a separate program, so that the exchange links neither plotting nor fonts. It starts the exchange (`tickhive
// serve`, from its own directory or given with --product) and the other ends of measurements as child processes.
//
// Owner: main runs the scenarios of package bench one after the other.
//
// Invariants:
//
//  1. Product and references are built by the same compiler with the same profile (`make bench`), so that a ratio
//     compares only the programs.
//  2. A child process ends when its standard input ends.
package main
