// Package proc is the machine as a benchmark sees it: CPU time and memory of processes,
// child processes that speak in lines, and what the machine is.
//
// Owner: the benchmark's goroutine; a Child is used by one goroutine at a time.
//
// Invariants:
//
//  1. CPU time is the scheduler's, in nanoseconds, of every thread of the process.
//  2. A child that was started is ended by its own process number, whatever happens.
//
// Reading order: cpu.go, child.go, machine.go.
//
// It reads no clock and measures nothing by itself.
package proc
