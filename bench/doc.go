// Package bench is the harness that measures the exchange: every figure of the product
// beside a reference in the same run, in turn with it.
//
// What it is: the scenarios (engine, recovery, http, fresh, orders, poll, mixed, streams,
// scale) and the run around them. The load generator is in load, processes in proc, the
// report and its comparison in report, the floor of the engine in limits/floor.
//
// Owner: one goroutine runs one scenario after the other; what a scenario starts has
// ended when it returns.
//
// Invariants:
//
//  1. Product and reference take turns: A B A B, at least five rounds (three when quick).
//  2. What a reference does is checked to be the same work: equal fills and hashes, equal
//     bytes.
//  3. The product runs with the settings of serve, in a process of its own where HTTP is
//     measured, so that CPU of client and server are apart.
//  4. Nothing but loopback is asked, nothing outside of Options.Dir is written.
//
// Reading order: run.go, engine_core.go, engine_fold.go, engine_loop.go, recovery.go,
// product.go, http.go, fresh.go, orders.go, poll.go, streams.go, scale.go.
//
// It never imports server: what needs the server's constructor is a child process of the
// bench's binary, started through hidden subcommands (Options.Program).
package bench
