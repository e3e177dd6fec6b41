// Package admin is the internal listener: orders of any account, pairs, assets, the clock, metrics
// and profiles (docs/contract/internal.md).
//
// Owner: handlers run on the goroutine of their connection. Exchange.Query runs what reads the
// engine's state on the goroutine that owns it.
//
// Invariants:
//
//  1. A listener without a token answers no request that a web page may have sent (server.go).
//     The only exceptions are the probes /internal/v1/ready, /healthz and /readyz, which answer every client.
//  2. A token is compared in constant time and never logged.
//  3. One change of a pair or asset runs at a time: read, change, submit.
//
// It serves no user: account, agents and others add their internal routes as a Resource.
package admin
