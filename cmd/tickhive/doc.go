// Command tickhive is the whole exchange in one program.
//
// The package reads the configuration (file, environment, flags) and wires clock, core, feed,
// loop, listeners and sources together. It decides nothing about the market.
//
// Owner: main's goroutine starts everything and stops it again, in the order of wire.go. The
// comment of each running component names the goroutine that owns it.
//
// Invariants:
//
//  1. Only this package reads flags, environment and configuration files; components take an
//     Options struct.
//  2. Standard output carries only the lines that scripts wait for (listening, ready, results
//     of subcommands); logs go to standard error.
//  3. An unknown key in any source stops the program before it opens anything.
//  4. Shutdown cancels a start under way. Then it stops from the outside in: no new
//     connections, accepted requests are finished, the loop stops, the journal is closed. Only
//     SIGKILL, SIGQUIT and the third interrupt cut it short.
//  5. A setting without effect is refused where it would mislead (exit code 2) and reported in
//     one line where it is harmless.
//
// Reading order: main, config, config_types, config_keys, config_load, config_validate, config_market,
// serve, signals, places, wire, datadir, origin, logging, then one file per subcommand (cmd_*).
//
// The package keeps no state: everything that outlives the process is in the data directory,
// which the stores own.
package main
