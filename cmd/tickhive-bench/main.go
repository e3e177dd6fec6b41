package main

import (
	"io"
	"os"
	"runtime"

	"tickhive/internal/cmdline"
)

// cli is the command line. The scenarios start the hidden commands as child processes.
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
	All         runCmd `cmd:"" help:"Every scenario but scale, replication in brief (about ten minutes)."`

	Compare compareCmd `cmd:"" help:"Compare two JSON reports; exit 1 on a regression beyond the noise."`

	Constant constantCmd `cmd:"" hidden:""`
	Plain    plainCmd    `cmd:"" hidden:""`
	Market   marketCmd   `cmd:"" hidden:""`
	Handler  handlerCmd  `cmd:"" hidden:""`
	Frames   framesCmd   `cmd:"" hidden:""`
	Listen   listenCmd   `cmd:"" hidden:""`
	Steps    worstCmd    `cmd:"" hidden:""`
	Wakeups  wakeupsCmd  `cmd:"" hidden:""`
	NATS     natsCmd     `cmd:"" name:"nats" hidden:""`
}

// program holds the parts of the process that commands use.
type program struct {
	out, err io.Writer
	floor    []byte // cmdline.HeapFloor bytes that delay the first garbage collection; nil in tests
	profile  *cmdline.Profile
}

func main() { os.Exit(start()) }

// start runs the program and returns the exit code. main and the tests that start the binary call it.
func start() int {
	p := &program{out: os.Stdout, err: os.Stderr, floor: make([]byte, cmdline.HeapFloor)}
	defer runtime.KeepAlive(p)
	return cmdline.Profiled("tickhive-bench", p.err, func(profile *cmdline.Profile) int {
		p.profile = profile
		return run(os.Args[1:], p)
	})
}

func run(args []string, p *program) int {
	return cmdline.Run(cmdline.Line{
		Name: "tickhive-bench", About: "Measures TickHive against references in the same run.",
		Commands: &cli{}, Bound: []any{p}, Out: p.out, Err: p.err,
	}, args)
}
