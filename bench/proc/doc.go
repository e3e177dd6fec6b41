// Package proc shows the machine to a benchmark: CPU time and memory of processes, child processes
// that communicate in lines, and a description of the machine.
//
// Owner: the benchmark's goroutine; a Child is used by one goroutine at a time.
//
// Invariants:
//
//  1. CPU time is the scheduler's, in nanoseconds, of every thread of the process.
//  2. A started child is always ended, by its process number.
//
// It reads no clock and measures nothing by itself.
package proc
