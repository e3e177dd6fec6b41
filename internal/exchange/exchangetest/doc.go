// Package exchangetest assembles a running exchange within a test or a benchmark: in memory or on a
// directory, on a virtual clock, with its listeners on free ports.
//
// Owner: the test's goroutine starts and stops a Rig. Any goroutine may send requests.
//
// Invariants:
//
//  1. A Rig is stopped at the end of its test, also when the test has failed.
//  2. Kill returns the directory as the end of the process would leave it, and leaves the
//     exchange running.
//
// It does not test the command line: test/cli starts the real program for that.
package exchangetest
