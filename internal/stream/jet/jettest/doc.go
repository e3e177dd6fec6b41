// Package jettest has the streams of tests: Mem, a log in memory with the behaviour of a server, and servers that are
// started by configuration files as nats-server is. Only tests import it.
//
// Owner: any goroutine may call a Mem; the goroutine of the test calls the rest.
//
// Invariants:
//
//  1. Mem passes the conformance test of package jet.
//  2. Servers end with their test.
package jettest
