// Package bench measures the exchange: it runs the product and a reference alternately in
// one run and reports their figures side by side.
//
// Parts: the scenarios (engine, recovery, restart, replay, http, fresh, orders, signed, worst, poll,
// mixed, streams, replication, scale) and the run around them. The load generator is in load, processes in proc and
// what they run in peer, loops of nats.go alone in bare, the parts of the product between two nodes in
// journal, the report and its comparison in report, the floor of the engine in limits/floor,
// replays and backfills in history, the longest step of the loop in worst.
//
// A scenario is a function of a Run, its steps are functions too. Methods of Run are what
// steps share: progress, lengths, folders, children, the table of routes.
//
// Owner: one goroutine runs one scenario after the other. A scenario ends everything that it
// started before it returns.
//
// Invariants:
//
//  1. Product and reference take turns: A B A B, at least five rounds (three when quick).
//  2. Every reference is checked to do the same work: equal fills and hashes, equal bytes.
//  3. The product runs with the settings of serve, in a separate process where HTTP is
//     measured, so that the CPU times of client and server are separate.
//  4. The bench connects to loopback only and writes only below Options.Dir.
//
// Reading order: run.go, engine_core.go, engine_users.go, engine_fold.go, engine_loop.go,
// recovery.go, restart.go, product.go, handler.go, http.go, http_more.go, fresh.go, orders.go, signed.go,
// poll.go, pause.go, stalled.go, streams.go, scale.go, servers.go, replication.go, replication_catchup.go,
// replication_lag.go, replication_reads.go, replication_start.go, replication_faults.go.
//
// It never imports server: a measurement that needs the server's constructor runs in a child
// process of the bench's binary, started through hidden subcommands (Options.Program).
package bench
