package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/tickhive/tickhive/bench"
	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/bench/report"
	"github.com/tickhive/tickhive/internal/cmdline"
)

// runCmd runs one scenario or all of them.
type runCmd struct {
	Quick  bool     `help:"Run fewer rounds in half the time."`
	Rounds int      `help:"Alternating rounds of product and reference (5; 3 with --quick)."`
	JSON   string   `name:"json" placeholder:"FILE" help:"Write the report as JSON."`
	HTML   string   `name:"html" placeholder:"FILE" help:"Write the report as one HTML page with plots."`
	Dir    string   `default:"bin/bench" placeholder:"DIR" help:"Scratch directory for bench journals (${default})."`
	Target []string `placeholder:"URL" help:"For http and poll: target an existing server; repeat it to compare servers."`
	Quiet  bool     `help:"Suppress progress output."`

	Product string `placeholder:"FILE" help:"Exchange binary to measure (tickhive in the same directory)."`
}

// Run measures the selected scenarios and prints the report.
func (b *runCmd) Run(ctx *kong.Context, p *program) error {
	names := []string{ctx.Selected().Name}
	if names[0] == "all" {
		names = nil
		for _, n := range bench.Names() {
			if n != "scale" && n != "poll" { // scale grows for minutes, poll has no goal
				names = append(names, n)
			}
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	product := b.Product
	if product == "" {
		product = filepath.Join(filepath.Dir(self), "tickhive")
	}
	if _, err := os.Stat(product); err != nil {
		return fmt.Errorf("the exchange to measure: %w (`make build` builds it; --product names another file)", err)
	}
	dir, err := b.scratch()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // nothing in it is needed
	defer onInterrupt(func() {
		proc.KillAll()
		_ = os.RemoveAll(dir)
		fmt.Fprintln(p.err, "stopped: no report is written; the lines above have what was measured")
	})()
	o := bench.Options{
		Program: self, Product: product, Dir: dir, Quick: b.Quick, Rounds: b.Rounds, Targets: b.Target,
		Version: "TickHive " + cmdline.Version, Commit: cmdline.CommitHere(),
		Command: "tickhive-bench " + strings.Join(ctx.Args, " "),
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

// scratch makes a directory for the files of this run.
func (b *runCmd) scratch() (string, error) {
	dir, err := filepath.Abs(b.Dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(dir, "run-")
}

// exitInterrupted is the exit code after Ctrl-C or SIGTERM, as shells have it.
const exitInterrupted = 130

// onInterrupt lets Ctrl-C and SIGTERM end the program after tidy has run. cancel restores what they do otherwise.
func onInterrupt(tidy func()) (cancel func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			tidy()
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// write saves and prints the report, also when the run ended early.
func (b *runCmd) write(p *program, rep *report.Report) error {
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
