package main

import (
	"io"
	"os"
	"runtime"

	"github.com/tickhive/tickhive/bench"
	"github.com/tickhive/tickhive/bench/report"
	"github.com/tickhive/tickhive/internal/cmdline"
)

// cli is the command line. The scenarios start the hidden command as child processes.
type cli struct {
	Engine      runCmd `cmd:"" help:"Matching core, feed and loop against the floor."`
	Recovery    runCmd `cmd:"" help:"Recovery, and the pause of a snapshot."`
	Restart     runCmd `cmd:"" help:"Start after a kill under full load."`
	Replay      runCmd `cmd:"" help:"Replay of trades, and backfills of the simulated market."`
	HTTP        runCmd `cmd:"" name:"http" help:"Hot routes against constant bytes."`
	Fresh       runCmd `cmd:"" help:"Staleness and CPU while the market changes."`
	Orders      runCmd `cmd:"" help:"Order entry over HTTP."`
	Signed      runCmd `cmd:"" help:"Signed orders over HTTP against the GET of a ticker."`
	Worst       runCmd `cmd:"" help:"The longest step of the loop during the worst single request."`
	Poll        runCmd `cmd:"" help:"Aggregator pollers, open loop."`
	Mixed       runCmd `cmd:"" help:"Pollers while the engine takes 50,000 orders a second."`
	Streams     runCmd `cmd:"" help:"WebSocket fan-out."`
	Replication runCmd `cmd:"" help:"A stream: writer, replicas and standby against nats.go alone."`
	Scale       runCmd `cmd:"" help:"How cost grows with pairs, orders, trades, connections, pollers."`
	All         runCmd `cmd:"" help:"Every scenario with goals but scale, replication in brief (at most eight minutes)."`

	Compare compareCmd `cmd:"" help:"Compare two JSON reports; exit 1 on a regression beyond the noise."`

	Child childCmd `cmd:"" hidden:""`
}

// program holds the parts of the process that commands use.
type program struct{ out, err io.Writer }

// childCmd is the process at the other end of a measurement.
type childCmd struct {
	Name string   `arg:""`
	Args []string `arg:"" optional:""`
}

// Run runs the process until its standard input ends.
func (c *childCmd) Run(p *program) error { return bench.Child(c.Name, c.Args, os.Stdin, p.out) }

// compareCmd compares two reports.
type compareCmd struct {
	Before string `arg:"" help:"JSON report."`
	After  string `arg:"" help:"JSON report."`
}

// Run prints the change of every measure that both reports have. It exits 1 on a regression beyond the noise of
// both.
func (b *compareCmd) Run(p *program) error {
	before, err := report.Load(b.Before)
	if err != nil {
		return err
	}
	after, err := report.Load(b.After)
	if err != nil {
		return err
	}
	n, err := report.WriteComparison(p.out, before, after)
	if err != nil {
		return err
	}
	if n > 0 {
		return cmdline.ExitError(1)
	}
	return nil
}

func main() { os.Exit(start()) }

// start runs the program and returns the exit code. main and the tests that start the binary call it.
func start() int {
	floor := make([]byte, cmdline.HeapFloor) // delays the first garbage collection, as in the exchange
	defer runtime.KeepAlive(floor)
	p := &program{out: os.Stdout, err: os.Stderr}
	return cmdline.Profiled("tickhive-bench", p.err, func(*cmdline.Profile) int { return run(os.Args[1:], p) })
}

func run(args []string, p *program) int {
	return cmdline.Run(cmdline.Line{
		Name: "tickhive-bench", About: "Measures TickHive against references in the same run.",
		Commands: &cli{}, Bound: []any{p}, Out: p.out, Err: p.err,
	}, args)
}
