// Package journalcmd has the subcommands of tickhive that read a data directory offline, and the list of the logs that
// such a directory has.
//
// Owner: the goroutine that runs the command.
//
// Invariants:
//
//  1. Verify and Dump take no lock and change nothing.
//  2. Skip holds the lock of the directory and only appends.
//
// Reading order: files, verify, store, hive, dump, skip.
package journalcmd

import (
	"io"

	"tickhive/internal/exchange"
)

// Env holds the parts of the process that the subcommands use.
type Env struct {
	Out io.Writer
	// Progress begins to report long work, unless it is quiet.
	Progress func(name string, quiet bool) exchange.Progress
}

// Command reads a journal offline.
type Command struct {
	Verify Verify `cmd:"" help:"Check every record and print the state hash."`
	Dump   Dump   `cmd:"" help:"Print the records as JSON lines."`
	Skip   Skip   `cmd:"" help:"Skip a record that a start cannot apply."`
}
