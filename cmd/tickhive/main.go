package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/alecthomas/kong"
)

// version is the program's, as the liveness string tells it (Decisions section 10.6).
const version = "1.0.0.0"

// cli is the command line: one member per subcommand, each in a file of its own.
type cli struct {
	Serve   serveCmd   `cmd:"" default:"withargs" help:"Run the exchange."`
	Replay  replayCmd  `cmd:"" help:"Run an exchange that recorded files drive."`
	Journal journalCmd `cmd:"" help:"Verify or dump the journal of a data directory, or leave a record out."`
	Stats   statsCmd   `cmd:"" help:"Figures of a running exchange, per pair."`
	Config  configCmd  `cmd:"" help:"Check or print the configuration."`
	Bench   benchCmd   `cmd:"" help:"Measure the exchange against references."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// program is what subcommands may touch of the process.
type program struct {
	out, err io.Writer
	environ  []string
	floor    []byte // heapFloor bytes, nil when a test calls run
	profile  *profile
}

// exitError ends the program with a code; what there is to say was said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// heapFloor is what the collector takes to be in use from the start on, so that it begins
// when 24 MiB more than the market's own size have been allocated, not when a market of
// 10 MiB has changed 10 MiB of views: an answer beside 10,000 changes a second costs 1.08x and
// 1.00x of one without any, 1.12x and 1.10x before (H5); with 64 MiB memory leaves the
// processor's cache and folding w1 costs 5 % more. It is never touched, so it takes no memory
// of its own; up to 24 MiB of garbage may stand where less stood.
const heapFloor = 24 << 20

func main() {
	os.Exit(process())
}

// process runs the program as main and the tests start it; it answers the exit code.
func process() int {
	p := &program{out: os.Stdout, err: os.Stderr, environ: os.Environ(), floor: make([]byte, heapFloor)}
	defer runtime.KeepAlive(p)
	var err error
	if p.profile, err = startProfile(os.Getenv(profileEnv)); err != nil {
		fmt.Fprintf(p.err, "tickhive: %v\n", err)
		return 1
	}
	code := run(os.Args[1:], p)
	if err := p.profile.stop(); err != nil {
		fmt.Fprintf(p.err, "tickhive: %v\n", err)
		return 1
	}
	return code
}

// run is the program; it answers the exit code.
func run(args []string, p *program) int {
	var c cli
	parser, err := kong.New(&c,
		kong.Name("tickhive"),
		kong.Description("A whole simulated spot exchange in one program."),
		kong.Writers(p.out, p.err),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Bind(p),
	)
	if err != nil {
		fmt.Fprintf(p.err, "tickhive: %v\n", err)
		return 2
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(p.err, "tickhive: %v\n", err)
		return 2
	}
	err = ctx.Run()
	var code exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintf(p.err, "tickhive: %v\n", err)
	return 1
}
