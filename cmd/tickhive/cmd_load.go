package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/bench/loadtool"
)

// loadCmd loads any HTTP server at a rate (docs/guide/load.md).
type loadCmd struct {
	Target      string                   `placeholder:"URL" help:"URL to request; with --mix the prefix of the routes."`
	Method      string                   `placeholder:"METHOD" help:"GET, POST, PUT, PATCH or DELETE (GET, or POST with --body)."`
	Body        *string                  `placeholder:"TEXT" help:"Body of the request, JSON unless --header names a Content-Type; @FILE reads it from a file."`
	Header      []string                 `sep:"none" placeholder:"LINE" help:"Header of the request, such as \"Accept: text/csv\". Repeatable."`
	RPS         *float64                 `name:"rps" placeholder:"N" help:"Requests a second, sent whatever the answers (100); 0: as many as are answered."`
	Duration    *time.Duration           `placeholder:"DURATION" help:"Length of the run (10s); with --find-max of each of its runs, which are longer when a percentile needs more requests."`
	Stages      string                   `placeholder:"D:RATE,..." help:"Ramps in place of --rps and --duration, such as 10s:100,30s:100,10s:0: each a length and the rate at its end, from 0 on. 0s:RATE jumps."`
	WarmUp      time.Duration            `placeholder:"DURATION" help:"Load before the run, which the report leaves out; not with --mix streams, whose run begins when all sockets are open."`
	FindMax     bool                     `help:"Search the highest rate that meets the thresholds, beginning at --rps. Three runs have to meet it, and three have to miss the one above. Without --max-errors a run with an error misses."`
	MaxRPS      *float64                 `name:"max-rps" placeholder:"N" help:"With --find-max: the highest rate that the search tries (1000000)."`
	Connections int                      `default:"10" placeholder:"C" help:"Connections, at most 1000, each with one request under way (${default})."`
	Mix         string                   `placeholder:"MIX" help:"polls: what listing sites request, below the target. orders: orders and cancels, signed. streams: sockets that receive."`
	Signed      string                   `placeholder:"FILE" help:"Key that signs the requests, as tickhive demo-key writes it; for one URL or --mix orders."`
	Pairs       *int                     `placeholder:"N" help:"Pairs of the mix (20)."`
	Remote      bool                     `help:"Allow a target on another machine."`
	MaxP99      *time.Duration           `name:"max-p99" placeholder:"DURATION" help:"Threshold: the 99th percentile of the latencies."`
	MaxP999     *time.Duration           `name:"max-p999" placeholder:"DURATION" help:"Threshold: the 99.9th percentile."`
	MaxErrors   *float64                 `placeholder:"PERCENT" help:"Threshold: errors, in percent of the requests (any; with --find-max 0)."`
	MinRate     *float64                 `placeholder:"PERCENT" help:"Threshold: the rate, in percent of --rps."`
	RouteP99    map[string]time.Duration `name:"route-p99" placeholder:"ROUTE=DURATION" help:"Threshold of a route of the mix, as the report names it: the 99th percentile. Repeatable."`
	RouteErrors map[string]float64       `placeholder:"ROUTE=PERCENT" help:"Threshold of a route of the mix: errors, in percent of its requests. Repeatable."`
	JSON        string                   `name:"json" placeholder:"FILE" help:"Write the report as JSON; - for standard output."`
	HTML        string                   `name:"html" placeholder:"FILE" help:"Write the report as a page."`
	Quiet       bool                     `help:"Suppress the line of each second."`
	Compare     bool                     `help:"Load nothing: print two reports of --json side by side."`
	MaxWorse    *float64                 `placeholder:"PERCENT" help:"With --compare: exit with 4 when the rate, or a p99 or the errors of the new report, are worse by more."`
	Reports     []string                 `arg:"" optional:"" help:"With --compare: the old report and the new one."`
	trustFlags
}

// Defaults: requests a second, and pairs of a mix.
const (
	defaultLoadRPS   = 100
	defaultLoadPairs = 20
	defaultLoadFor   = 10 * time.Second
)

// exitThreshold is the exit code of a run that missed a threshold.
const exitThreshold = 4

// Run loads the target and prints a report. Ctrl-C ends the run early, with a report.
func (c *loadCmd) Run(p *program) error {
	if c.Compare {
		return c.compare(p)
	}
	o, err := c.options()
	if err != nil {
		return usageError{Err: fmt.Errorf("load: %w", err)}
	}
	thresholds := c.thresholds()
	var noKey error
	if c.Signed != "" {
		o.Key, noKey = loadtool.ReadKey(c.Signed)
	}
	if noKey != nil {
		return usageError{Err: fmt.Errorf("load: --signed: %w", noKey)}
	}
	if o.Roots, err = c.roots(); err != nil {
		return err
	}
	err = errors.Join(o.Validate(), thresholds.Validate(&o))
	if c.FindMax && err == nil {
		err = loadtool.Searchable(&o, thresholds, c.upTo())
	}
	if err = errors.Join(err, c.checkFiles()); err != nil {
		return usageError{Err: fmt.Errorf("load: %w", err)}
	}
	if !c.Quiet {
		o.Second = func(s loadtool.Second) {
			fmt.Fprintln(p.err, secondLine(s))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, func() {
		stop() // the next signal ends the program
		fmt.Fprintln(p.err, c.ending())
	})()
	if c.FindMax {
		return c.findMax(ctx, p, o)
	}
	r, err := loadtool.Run(ctx, o)
	if err != nil {
		err = fmt.Errorf("load: %w", remedied(err))
	}
	if r == nil {
		return err
	}
	return c.judge(p, r, err)
}

// ending says what a run does that a signal ends.
func (c *loadCmd) ending() string {
	if c.Mix == loadtool.MixStreams {
		return "load: ends"
	}
	text := "load: ends, and waits for the answers under way, up to " + load.AnswerTimeout.String()
	if c.Mix == loadtool.MixOrders {
		return text + ", to cancel its orders; Ctrl-C again ends at once, without a report, and leaves them open: " +
			"DELETE /api/orders?all=true with the same key cancels them"
	}
	return text + "; Ctrl-C again ends at once, without a report"
}

// upTo returns the highest rate of a search.
func (c *loadCmd) upTo() float64 {
	if c.MaxRPS != nil {
		return *c.MaxRPS
	}
	return loadtool.MaxRPS
}

// secondLine returns the line of a second.
func secondLine(s loadtool.Second) string {
	text := fmt.Sprintf("%4.0f s  %9.0f/s  errors %d  sent late %d  ", s.At.Seconds(), s.Rate, s.Errors, s.Late)
	if s.Rate == 0 && s.Slowest == 0 {
		text += "no answer"
	} else {
		text += fmt.Sprintf("slowest %.3f ms", float64(s.Slowest.Microseconds())/1e3)
	}
	switch {
	case s.WarmingUp:
		text += "  warm-up"
	case s.Draining:
		text += "  waiting for answers"
	}
	return text
}

// options returns the options of a run by the flags. Validate checks their ranges.
func (c *loadCmd) options() (o loadtool.Options, err error) {
	o = loadtool.Options{
		Target: c.Target, Mix: c.Mix, For: defaultLoadFor, Warm: c.WarmUp, Connections: c.Connections, Remote: c.Remote,
		Method: c.Method, Headers: c.Header,
	}
	switch {
	case c.MaxWorse != nil:
		return o, errors.New("--max-worse is for --compare: give --compare OLD.json NEW.json")
	case len(c.Reports) > 0:
		return o, fmt.Errorf("%q is no flag: only --compare takes files", c.Reports[0])
	case c.Target == "":
		return o, errors.New("--target is missing: give --target URL")
	case c.MaxRPS != nil && !c.FindMax:
		return o, errors.New("--max-rps bounds the search of --find-max: give --rps for the rate of a run")
	case c.Stages != "" && (c.RPS != nil || c.Duration != nil):
		return o, errors.New("--stages name rates and lengths, so there is no --rps and no --duration")
	}
	if c.Duration != nil {
		o.For = *c.Duration
	}
	if c.Stages != "" {
		o.Stages, err = loadtool.ParseStages(c.Stages)
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
	if c.Body != nil && err == nil {
		o.Body, err = bodyOf(*c.Body)
	}
	return o, err
}

// bodyOf returns the bytes of --body.
func bodyOf(text string) ([]byte, error) {
	name, ok := strings.CutPrefix(text, "@")
	if !ok {
		return []byte(text), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--body: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(f, loadtool.MaxBody+1)) // Validate refuses the byte too many
	return body, errors.Join(err, f.Close())
}

// compare prints two reports. It takes no other flag.
func (c *loadCmd) compare(p *program) error {
	rest := *c
	rest.Compare, rest.MaxWorse, rest.Reports = false, nil, nil
	if !reflect.DeepEqual(rest, loadCmd{Connections: c.Connections}) || len(c.Reports) != 2 {
		return usageError{Err: errors.New("load: --compare takes two reports and no other flag but --max-worse: " +
			"load --compare OLD.json NEW.json")}
	}
	if c.MaxWorse != nil && !(*c.MaxWorse >= 0) {
		return usageError{Err: fmt.Errorf("load: --max-worse must be 0 percent or more: %g", *c.MaxWorse)}
	}
	before, err := loadtool.ReadReport(c.Reports[0])
	if err != nil {
		return usageError{Err: fmt.Errorf("load: %w", err)}
	}
	after, err := loadtool.ReadReport(c.Reports[1])
	if err != nil {
		return usageError{Err: fmt.Errorf("load: %w", err)}
	}
	met, err := loadtool.WriteComparison(p.out, before, after, c.MaxWorse)
	if err == nil && !met {
		return exitError(exitThreshold)
	}
	return err
}

// findMax searches the highest rate that meets the thresholds and writes the report of its last run.
func (c *loadCmd) findMax(ctx context.Context, p *program, o loadtool.Options) error {
	o.Second = nil // a line for each run is enough
	r, found, err := loadtool.FindMax(ctx, o, c.thresholds(), c.upTo(), func(t loadtool.Trial) {
		if word := map[bool]string{true: "ok", false: "missed"}[t.OK]; !c.Quiet {
			fmt.Fprintf(p.err, "%9.0f/s wanted  %9.0f/s  p99 %.3f ms  errors %d  %s\n", t.Wanted, t.Rate,
				float64(t.P99Us)/1e3, t.Errors, word)
		}
	})
	if err != nil {
		err = fmt.Errorf("load: %w", remedied(err))
	}
	if r == nil {
		return err
	}
	if err := errors.Join(err, c.write(p, r)); err != nil {
		return err
	}
	if !found {
		return exitError(exitThreshold)
	}
	return nil
}

func (c *loadCmd) thresholds() loadtool.Thresholds {
	return loadtool.Thresholds{
		P99: c.MaxP99, P999: c.MaxP999, MaxErrors: c.MaxErrors, MinRate: c.MinRate, RouteP99: c.RouteP99,
		RouteErrors: c.RouteErrors,
	}
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

// checkFiles returns an error when a report could not be written after the run. It leaves the files as they are.
func (c *loadCmd) checkFiles() error {
	if c.JSON != "" && c.JSON == c.HTML {
		return fmt.Errorf("--json and --html cannot both write to %s", map[bool]string{
			true: "standard output", false: c.JSON,
		}[c.JSON == "-"])
	}
	return writableFiles("--json", c.JSON, "--html", c.HTML)
}

// writableFiles returns an error when toFile could not write one of the files, each behind its flag.
func writableFiles(flagAndName ...string) error {
	for f := range slices.Chunk(flagAndName, 2) {
		if err := writable(f[1]); err != nil {
			return fmt.Errorf("%s: %w", f[0], err)
		}
	}
	return nil
}

// writable returns an error when toFile could not write a file.
func writable(name string) error {
	if name == "" || name == "-" {
		return nil
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return err
		}
		return errors.Join(f.Close(), os.Remove(name))
	case err != nil || !info.Mode().IsRegular() && !info.IsDir(): // opening a pipe waits for its reader
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
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
