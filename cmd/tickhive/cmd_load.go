package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tickhive/tickhive/bench/loadtool"
)

// loadCmd loads any HTTP server at a rate (docs/operating.md#load-tests).
type loadCmd struct {
	Target      string         `required:"" placeholder:"URL" help:"URL to request; with --mix the prefix of the routes."`
	RPS         *float64       `name:"rps" placeholder:"N" help:"Requests a second, sent whatever the answers (100); 0: as many as are answered."`
	Duration    time.Duration  `default:"10s" help:"Length of the run (${default})."`
	Connections int            `default:"10" placeholder:"C" help:"Connections, each with one request under way (${default})."`
	Mix         string         `placeholder:"MIX" help:"polls: what listing sites request, below the target. orders: orders and cancels, signed. streams: sockets that receive."`
	Signed      string         `placeholder:"FILE" help:"Key for --mix orders, as tickhive demo-key writes it."`
	Pairs       *int           `placeholder:"N" help:"Pairs of the mix (20)."`
	Remote      bool           `help:"Allow a target on another machine."`
	MaxP99      *time.Duration `name:"max-p99" placeholder:"DURATION" help:"Threshold: the 99th percentile of the latencies."`
	MaxP999     *time.Duration `name:"max-p999" placeholder:"DURATION" help:"Threshold: the 99.9th percentile."`
	MaxErrors   *float64       `placeholder:"PERCENT" help:"Threshold: errors, in percent of the requests."`
	MinRate     *float64       `placeholder:"PERCENT" help:"Threshold: the rate, in percent of --rps."`
	JSON        string         `name:"json" placeholder:"FILE" help:"Write the report as JSON; - for standard output."`
	HTML        string         `name:"html" placeholder:"FILE" help:"Write the report as a page."`
	Quiet       bool           `help:"Suppress the line of each second."`
	trustFlags
}

// Defaults: requests a second, and pairs of a mix.
const (
	defaultLoadRPS   = 100
	defaultLoadPairs = 20
)

// exitThreshold is the exit code of a run that missed a threshold.
const exitThreshold = 4

// Run loads the target and prints a report. Ctrl-C ends the run early, with a report.
func (c *loadCmd) Run(p *program) error {
	o := loadtool.Options{
		Target: c.Target, Mix: c.Mix, For: c.Duration, Connections: c.Connections, Remote: c.Remote,
	}
	switch {
	case c.RPS != nil:
		o.RPS = *c.RPS
	case c.Mix != loadtool.MixStreams:
		o.RPS = defaultLoadRPS
	}
	switch {
	case c.Pairs != nil:
		o.Pairs = *c.Pairs
	case c.Mix != "":
		o.Pairs = defaultLoadPairs
	}
	thresholds := c.thresholds()
	var noKey error
	if c.Signed != "" {
		o.Key, noKey = loadtool.ReadKey(c.Signed)
	}
	if noKey != nil {
		return usageError{Err: fmt.Errorf("load: --signed: %w", noKey)}
	}
	var err error
	if o.Roots, err = c.roots(); err != nil {
		return err
	}
	err = errors.Join(o.Validate(), thresholds.Validate(&o))
	if c.JSON == "-" && c.HTML == "-" {
		err = errors.Join(err, errors.New("--json and --html cannot both write to standard output"))
	}
	if err != nil {
		return usageError{Err: fmt.Errorf("load: %w", err)}
	}
	if !c.Quiet {
		o.Second = func(s loadtool.Second) {
			fmt.Fprintf(p.err, "%4.0f s  %9.0f/s  errors %d  sent late %d  slowest %s\n", s.At.Seconds(), s.Rate,
				s.Errors, s.Late, s.Slowest)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := loadtool.Run(ctx, o)
	if err != nil {
		err = fmt.Errorf("load: %w", remedied(err))
	}
	if r == nil {
		return err
	}
	return c.judge(p, r, err)
}

func (c *loadCmd) thresholds() loadtool.Thresholds {
	return loadtool.Thresholds{P99: c.MaxP99, P999: c.MaxP999, MaxErrors: c.MaxErrors, MinRate: c.MinRate}
}

// judge compares a report with the thresholds and writes it. err is what ended the run.
func (c *loadCmd) judge(p *program, r *loadtool.Report, err error) error {
	met := r.Apply(c.thresholds())
	if err := errors.Join(err, c.write(p, r)); err != nil {
		return err
	}
	if !met {
		return exitError(exitThreshold)
	}
	return nil
}

// write writes the reports.
func (c *loadCmd) write(p *program, r *loadtool.Report) error {
	var errs []error
	if c.JSON != "-" && c.HTML != "-" {
		errs = append(errs, r.WriteText(p.out))
	}
	if c.JSON != "" {
		errs = append(errs, toFile(p, c.JSON, func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(r)
		}))
	}
	if c.HTML != "" {
		errs = append(errs, toFile(p, c.HTML, r.WriteHTML))
	}
	return errors.Join(errs...)
}

// toFile writes a file, or standard output for the name -.
func toFile(p *program, name string, write func(io.Writer) error) error {
	if name == "-" {
		return write(p.out)
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
