// Package jettest starts servers of a stream for tests, by configuration files as nats-server does.
//
// Owner: the goroutine of the test that calls it.
//
// Invariant: servers end with their test.
//
// Reading order: servers.
package jettest
