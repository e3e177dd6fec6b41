// Package exchange assembles a whole exchange: clock, core, feed, loop, journal, stores, sources,
// handlers and listeners. It decides nothing about the market.
//
// Its phases are types, so that a half-built exchange cannot be named:
//
//	Open(Options) --> Opened --Recover--> Recovered --Start--> Running --Admit--> serves clients
//	                    |                     |                   |
//	                    +--------- Stop ------+------- Stop ------+--> directory closed
//
//	Opened      directory locked, handlers built, listeners open; the market is empty
//	Recovered   every log read to its end: market, accounts, launchpad, hive; no loop runs
//	Running     the loop runs; configured pairs and demo data are there
//	Following   in place of Running: no loop runs, the records come from a stream (Follow)
//
// From Open to Admit every route but the early ones answers 503. Launch runs Recover and Start on a
// new goroutine, which a signal can cancel.
//
// Owner: one goroutine calls the phases in their order. Handlers run on goroutines of the servers:
// they read the published views, and of the phase only the stage, an immutable value that a phase
// replaces whole. Everything else that they read is atomic: the admission of clients and the progress.
//
// Invariants:
//
//  1. A field belongs to the type of the first phase that has it, and is not changed by handlers.
//  2. Recover merges the market's journal and the accounts' log by position (recover.go:merge). After
//     an error it leaves nothing open; the caller stops the Opened.
//  3. Stop of a phase ends from the outside in: the guard (a stop is no disconnect of its clients), sockets,
//     listeners, snapshots, loop, launchpad and hive, accounts, journal, directory.
//  4. A start that panics stops and writes nothing, because what it built may be half changed.
//  5. Only front.go, cluster.go and hooks.go know the packages below server.
//
// With Machine.Driver nothing has a goroutine: the driver steps the components and carries on what waits for
// them, and the caller calls the phases and the handlers (internal/vopr).
//
// How it is used:
//
//	opened, err := exchange.Open(options)
//	launch := opened.Launch()
//	running, err := launch.Running() // waits
//	running.Admit()
//	launch.Stop(ctx)                 // in any phase
//
// Reading order: options, hooks, open, front, status, connections, recover, logs, journal, accounts, agents, start,
// founding, stream, follow, node_snapshot, writer_snapshot, takeover, cluster, backfill, configure, demo, demo_agents,
// funded_key, background, snapshots, backup, watch, scrub, guard, stop, launch, figures.
//
// It reads no flag, no environment and no configuration file, and prints nothing: cmd/tickhive does.
package exchange
