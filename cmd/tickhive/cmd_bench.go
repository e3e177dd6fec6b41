package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"tickhive/bench"
	"tickhive/bench/report"
)

// benchCmd measures the exchange against references in the same run. The hidden commands
// are the processes that the scenarios start.
type benchCmd struct {
	Engine   benchRunCmd `cmd:"" help:"Matching core, feed and loop against the floor."`
	Recovery benchRunCmd `cmd:"" help:"Recovery, and the pause of a snapshot."`
	HTTP     benchRunCmd `cmd:"" name:"http" help:"Hot routes against constant bytes."`
	Fresh    benchRunCmd `cmd:"" help:"Staleness and CPU while the market changes."`
	Orders   benchRunCmd `cmd:"" help:"Order entry over HTTP."`
	Poll     benchRunCmd `cmd:"" help:"Aggregator pollers, open loop."`
	Mixed    benchRunCmd `cmd:"" help:"Pollers while the engine takes 50,000 orders a second."`
	Streams  benchRunCmd `cmd:"" help:"WebSocket fan-out."`
	Scale    benchRunCmd `cmd:"" help:"How cost grows with pairs, orders, trades, connections, pollers."`
	All      benchRunCmd `cmd:"" help:"Every scenario but scale."`

	Compare benchCompareCmd `cmd:"" help:"Compare two JSON reports; exit 1 on a regression beyond the noise."`

	Constant benchConstantCmd `cmd:"" hidden:""`
	Plain    benchPlainCmd    `cmd:"" hidden:""`
	Market   benchMarketCmd   `cmd:"" hidden:""`
	Handler  benchHandlerCmd  `cmd:"" hidden:""`
	Frames   benchFramesCmd   `cmd:"" hidden:""`
	Listen   benchListenCmd   `cmd:"" hidden:""`
}

// benchRunCmd is one scenario, or all.
type benchRunCmd struct {
	Quick  bool     `help:"Fewer rounds, half the time."`
	Rounds int      `help:"Rounds of product and reference in turn (5; 3 with --quick)."`
	JSON   string   `name:"json" placeholder:"FILE" help:"Write the report as JSON."`
	HTML   string   `name:"html" placeholder:"FILE" help:"Write the report as one HTML page with plots."`
	Dir    string   `default:"bin/bench" placeholder:"DIR" help:"Where logs are written and removed again (${default})."`
	Target []string `placeholder:"URL" help:"http and poll: load this server; may be repeated, side by side."`
	Quiet  bool     `help:"No progress."`
}

// Run measures and prints.
func (b *benchRunCmd) Run(ctx *kong.Context, p *program) error {
	names := []string{ctx.Selected().Name}
	if names[0] == "all" {
		names = nil
		for _, n := range bench.Names() {
			if n != "scale" {
				names = append(names, n)
			}
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(b.Dir)
	if err != nil {
		return err
	}
	o := bench.Options{
		Program: self, Dir: dir, Quick: b.Quick, Rounds: b.Rounds, Targets: b.Target,
		Version: "TickHive " + version, Commit: commit(), Command: "tickhive " + strings.Join(ctx.Args, " "),
	}
	if !b.Quiet {
		o.Say = func(line string) { fmt.Fprintln(p.err, line) }
	}
	rep, err := bench.Measure(o, names...)
	if werr := b.write(p, rep); werr != nil && err == nil {
		err = werr
	}
	return err
}

// write gives out what was measured, also of a run that ended early.
func (b *benchRunCmd) write(p *program, rep *report.Report) error {
	if b.JSON != "" {
		if err := rep.Save(b.JSON); err != nil {
			return err
		}
	}
	if b.HTML != "" {
		f, err := os.Create(b.HTML)
		if err != nil {
			return err
		}
		if err := rep.WriteHTML(f); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return rep.WriteTable(p.out)
}

// commit is the revision that the binary was built from.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, dirty := "unknown", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = " with changes"
		}
	}
	if revision == "unknown" { // built without version control stamps: what stands here now
		if out, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output(); err == nil {
			revision = strings.TrimSpace(string(out))
		}
	}
	return revision + dirty
}

// benchCompareCmd compares two reports.
type benchCompareCmd struct {
	Before string `arg:"" help:"JSON report."`
	After  string `arg:"" help:"JSON report."`
}

// Run prints every measure of both; a regression beyond the noise of both files exits 1.
func (b *benchCompareCmd) Run(p *program) error {
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
		return exitError(1)
	}
	return nil
}
