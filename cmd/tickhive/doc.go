// Command tickhive is the whole exchange in one program.
//
// What it is: the edge of configuration (file, environment, flags) and the wiring of
// clock, core, feed, loop, listeners and sources. It decides nothing about the market.
//
// Owner: main's goroutine starts everything and stops it again, in the order of wire.go;
// each thing that runs says itself which goroutine it belongs to.
//
// Invariants:
//
//  1. Flags, environment and files are read here and nowhere else; components take an
//     Options struct.
//  2. Standard output carries the lines that scripts wait for (listening, ready, results
//     of subcommands) and nothing else; logs go to standard error.
//  3. A key that is not known, anywhere, stops the program before it opens anything.
//  4. Shutdown ends a start under way, then goes outside in: no new connection, then what
//     was accepted is finished, then the loop stops, then the journal. No signal but SIGKILL,
//     SIGQUIT and the third interrupt cuts it short.
//  5. A setting that can have no effect is refused where it would mislead (exit code 2), and
//     announced in one line where it is harmless.
//
// Reading order: main, config, config_keys, config_load, config_validate, config_market,
// serve, signals, places, wire, datadir, origin, logging, then one file per subcommand (cmd_*).
//
// It does not keep state: what outlives the process is in the data directory, which
// the stores own.
package main
