// Package exchange assembles a whole exchange: clock, state, feed, loop, journal, sources, handlers and
// listeners.
//
// Its phases are types, so that a half-built exchange cannot be named:
//
//	Open(Options) --> Opened --Recover--> Recovered --Start--> Running --Admit--> serves clients
//	                    |                     |                   |
//	                    +--------- Stop ------+------- Stop ------+--> directory closed
//
//	Opened      directory locked, handlers built, listeners open; the market is empty
//	Recovered   the log read to its end: market, accounts, launchpad, hive; no loop runs
//	Running     the loop runs; configured pairs and demo data are there
//	Following   in place of Running: no loop runs, the records come from a stream (Follow)
//
// Owner: one goroutine calls the phases in their order. Handlers run on goroutines of the servers: they read the
// published views, and of the phase only its phaseView, an immutable value that a phase replaces whole.
//
// Invariants:
//
//  1. A field belongs to the type of the first phase that has it, and is not changed by handlers.
//  2. After an error Recover leaves nothing open; the caller stops the Opened.
//  3. Stop of a phase ends from the outside in: sockets, listeners, snapshots, loop, journal, directory.
//  4. A start that panics stops and writes nothing, because what it built may be half changed.
//  5. With Machine.Driver nothing has a goroutine: the driver steps the components (internal/vopr).
//
// Options has the sections of the configuration as their packages declare them, and beside them what sections mean and
// what the caller has opened. Open replaces zero members by built-in values (withDefaults), calls the Validate of each
// component, and passes each section on as a whole: Server and Rate to server/edge, Sim to sim, Engine to the core.
//
// It decides nothing about the market, reads no flag, environment or configuration file, and prints nothing.
package exchange
