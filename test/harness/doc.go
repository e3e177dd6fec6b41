// Package harness starts the program for tests, talks to it and stops it.
//
//	harness.Main(m)            the TestMain of a package
//	in := harness.Start(t)     the program on free ports, ready; Launch and Serve wait for nothing
//	in.Call(200, "POST", ...)  a request to the internal API; Do sends any request
//	in.WaitLine, in.WaitLog    what it prints and logs
//	in.Signal, in.Wait         its end; a test that fails shows its log
//	harness.Run(t, "journal")  a command that ends
//
// The program is built once for all packages of tests, as the tests themselves are: with the race detector if they have
// it. Other editions, a later and an earlier version, are built from the same source with one place replaced.
//
// Owner: the goroutine of the test that starts an instance.
//
// Invariants:
//
//  1. What a test starts ends with the test, whatever way the test ends.
//  2. Every wait ends after Patience and shows the stacks of the program.
//  3. The result of a test that go test keeps is dropped when a source of the program changes.
//
// It checks nothing of the exchange by itself, apart from what several packages compare: books, balances, acknowledged
// orders.
package harness
