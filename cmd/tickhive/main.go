package main

import (
	"fmt"
	"io"
	"os"
	"runtime"

	kongcompletion "github.com/jotaen/kong-completion"

	"github.com/tickhive/tickhive/internal/cmdline"
)

// cli is the command line: one member per subcommand, each in its own file.
type cli struct {
	Serve   serveCmd   `cmd:"" help:"Run the exchange."`
	Replica replicaCmd `cmd:"" help:"Serve the public reads of an exchange that another process writes."`
	Stream  streamCmd  `cmd:"" help:"Show or verify the stream that replicas follow."`
	Cluster clusterCmd `cmd:"" help:"Show a cluster of a writer, a standby and replicas on this machine."`
	Replay  replayCmd  `cmd:"" help:"Replay recorded market data through a fresh exchange."`

	Export exportCmd `cmd:"" help:"Write trades, candles, tickers, orders, fills or balances of a running exchange."`

	Journal journalCmd `cmd:"" help:"Verify or dump the journal of a data directory, or skip a record."`

	Top     topCmd     `cmd:"" help:"Watch a running exchange: requests, loop, disk, streams, memory and incidents."`
	Stats   statsCmd   `cmd:"" help:"Show per-pair statistics of a running exchange."`
	Player  playerCmd  `cmd:"" help:"Control a running replay: play, pause, step, speed, seek."`
	Faults  faultsCmd  `cmd:"" help:"Make a running exchange misbehave on purpose, or stop it."`
	Sim     simCmd     `cmd:"" help:"Show how the simulated market of a running exchange behaves, pause it, or begin a scenario."`
	Clock   clockCmd   `cmd:"" help:"Show the clock of a running exchange, and move or run a virtual one."`
	Config  configCmd  `cmd:"" help:"Validate or print the configuration."`
	Backup  backupCmd  `cmd:"" help:"Write the state of a running exchange to a file, a verified snapshot."`
	Restore restoreCmd `cmd:"" help:"Make a data directory from a backup."`
	Load    loadCmd    `cmd:"" help:"Load any HTTP server at a rate and report latencies."`
	DemoKey demoKeyCmd `cmd:"" help:"Write a funded API key of a running exchange to a file."`

	Deposit depositCmd `cmd:"" help:"Give money to a user of a running exchange."`

	BinanceHosts binanceHostsCmd `cmd:"" help:"Write what a program needs to reach an exchange by Binance's host names."`

	Conformance conformanceCmd `cmd:"" help:"Check whether any exchange's API has the form that listing sites poll."`

	Ready readyCmd `cmd:"" help:"Report by the exit code whether an exchange serves clients."`

	Version versionCmd `cmd:"" help:"Print the version, the commit and the toolchain."`

	Completion kongcompletion.Completion `cmd:"" help:"Print the code that completes commands in bash, zsh or fish."`

	Man manCmd `cmd:"" help:"Print the manual page (troff)."`

	Bench movedBenchCmd `cmd:"" hidden:"" passthrough:""`
}

// program holds the parts of the process that subcommands use.
type program struct {
	out, err io.Writer
	environ  []string
	floor    []byte // cmdline.HeapFloor bytes that delay the first garbage collection; nil when a test calls run
	profile  *cmdline.Profile
}

// exitError ends the program with an exit code. The reason has been printed already.
type exitError = cmdline.ExitError

// usageError reports a contradiction between command line, configuration and data directory. Nothing was
// changed; the exit code is 2. Every other failure exits with 1.
type usageError = cmdline.UsageError

// usage returns a usageError.
func usage(format string, args ...any) error { return usageError{Err: fmt.Errorf(format, args...)} }

func main() {
	os.Exit(process())
}

// process runs the program and returns the exit code.
func process() int {
	args := hideToken(os.Args)
	p := &program{out: os.Stdout, err: os.Stderr, environ: os.Environ(), floor: make([]byte, cmdline.HeapFloor)}
	defer runtime.KeepAlive(p)
	return cmdline.Profiled("tickhive", p.err, func(profile *cmdline.Profile) int {
		p.profile = profile
		return run(args[1:], p)
	})
}

// run parses args, runs the selected subcommand and returns the exit code.
func run(args []string, p *program) int {
	return cmdline.Run(p.line(&cli{}), seekArgs(args))
}

// line returns the command line, which is parsed into c.
func (p *program) line(c *cli) cmdline.Line {
	return cmdline.Line{
		Name: "tickhive", About: "A simulated spot exchange in one program.",
		Commands: c, Bound: []any{p}, Out: p.out, Err: p.err, Examples: commandExamples,
	}
}
