// Command tickhive is the whole exchange in one program.
//
// The package reads the flags, has internal/config turn them into the options of internal/exchange, and starts and
// stops an exchange at the signals of the process. It decides nothing about the market and assembles nothing.
//
// Owner: main's goroutine opens an exchange, waits for its start or a signal, and stops it.
//
// Invariants:
//
//  1. Only this package reads flags and the environment, except for CPUPROFILE_DIR (internal/cmdline).
//  2. Standard output carries only the lines that scripts wait for (listening, ready, --ephemeral's, results
//     of subcommands); logs go to standard error.
//  3. An unknown key in any source stops the program before it opens anything.
//  4. Shutdown cancels a start under way and then stops in order. Only SIGKILL, SIGQUIT and the
//     third interrupt cut it short.
//  5. A setting without effect is refused where it would mislead (exit code 2) and reported in
//     one line where it is harmless.
//
// The package keeps no state: everything that outlives the process is in the data directory,
// which internal/exchange owns.
package main
