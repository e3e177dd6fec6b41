package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/sim/replay"
	"github.com/tickhive/tickhive/sim/replay/format"
	"github.com/tickhive/tickhive/sim/replay/sample"
)

// replayCmd runs an exchange whose market is driven by recorded files.
type replayCmd struct {
	serveFlags   `embed:"" group:"Configuration, as for serve:"`
	Format       string        `placeholder:"NAME" help:"lobster, bitstamp, kraken, binance, bybit, tardis, databento or trades."`
	Detect       bool          `help:"Say which format the files have, and why; start nothing."`
	Pair         string        `placeholder:"CODE" help:"Pair code, or the symbol of the files; taken from the files when they name it."`
	Digits       string        `placeholder:"P,A" sep:"none" help:"Fractional digits of price and amount; derived from the files (lobster: 4,0). Of trades and bars, values with more are rounded and counted."`
	Speed        string        `default:"max" placeholder:"N|max" help:"Speed relative to the recording; max runs as fast as possible."`
	From         string        `placeholder:"TIME" help:"Start at this time of the recording."`
	ExchangeTime bool          `help:"Take the exchange's times, not those of receipt (binance, tardis)."`
	Passive      bool          `help:"Fill the orders that the file names, also where the engine would choose others (lobster, databento)."`
	Loop         bool          `help:"Start again at the end."`
	Check        bool          `help:"Compare the results with the recording."`
	CheckMin     string        `placeholder:"PERCENT" help:"Compare, and exit with 4 when fewer comparisons of a kind agree."`
	JSON         bool          `help:"Print the results of the comparisons as one JSON object."`
	Hold         bool          `help:"Keep serving after the end."`
	Sample       bool          `help:"Replay an hour of a simulated market that is part of the program, instead of files."`
	LayoutFile   string        `name:"layout" placeholder:"FILE" type:"existingfile" help:"Layout of tables (trades), a TOML file with the keys columns to skip-bad; flags come before it."`
	Table        format.Layout `embed:"" group:"Layout of tables (trades):"`
	Files        []string      `arg:"" optional:"" name:"file" type:"existingfile" help:"Files of one symbol, plain, gzip, zstd or zip; lobster: message file, orderbook file; binance: one or more, with a depth snapshot. Unreadable lines are reported before the replay starts."`

	least int64 // CheckMin in thousandths
}

// replayGCPercent lets the heap grow by half between two collections. Of two million trades 190 MiB are resident
// instead of 240 to 266, and the CPU time is the same: most of the heap is trades, which the collector does not scan.
const replayGCPercent = 50

// Run feeds the files once the server is ready, and prints the results of the comparisons on standard output.
// Without a configured data directory it writes nothing to disk.
func (c *replayCmd) Run(p *program) error {
	if c.Sample {
		drop, err := c.useSample()
		if err != nil {
			return err
		}
		defer drop()
	}
	if len(c.Files) == 0 {
		return usage("replay: name a file, or try --sample, an hour of a simulated market that is part of the program")
	}
	if err := c.readLayout(); err != nil {
		return usageError{Err: err}
	}
	if c.Detect {
		return c.detect(p.out)
	}
	if c.Format == "" {
		return usage("replay: --format is missing; --detect says which one the files have")
	}
	least, err := replay.ParsePercent(c.CheckMin)
	if err != nil {
		return usage("%w", err)
	}
	c.least = least
	c.Check = c.Check || least > 0 || c.JSON
	g := newProgress(p.err, "replay", "records", c.Quiet)
	r, err := replay.New(replay.Options{
		Format: c.Format, Files: c.Files, Pair: c.Pair, Digits: c.Digits, Speed: c.Speed, From: c.From,
		Loop: c.Loop, Check: c.Check, ExchangeTime: c.ExchangeTime, Passive: c.Passive,
		Layout:   c.Table,
		Progress: func(q replay.Progress) { g.Set(int64(q.Done), int64(q.Total)) },
	})
	if errors.As(err, new(*replay.OptionError)) {
		return usageError{Err: err}
	}
	if err != nil {
		return err
	}
	cfg, err := c.replayConfig(p, r.StartNs())
	if err != nil {
		return err
	}
	if !cfg.Given("data.dir") {
		cfg.Data.Dir = ""
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(replayGCPercent)
	}
	return c.drive(p, cfg, r, g, takeSignals(p))
}

// useSample makes the recording that is part of the program the files of the replay. drop removes them.
func (c *replayCmd) useSample() (drop func(), err error) {
	if len(c.Files) > 0 || c.Format != "" {
		return nil, usage("replay: --sample takes neither files nor --format")
	}
	dir, err := os.MkdirTemp("", "tickhive-sample-")
	if err != nil {
		return nil, fmt.Errorf("replay: the sample: %w", err)
	}
	drop = func() { _ = os.RemoveAll(dir) }
	if c.Files, err = sample.Write(dir); err != nil {
		drop()
		return nil, err
	}
	c.Format, c.Pair = sample.Format, cmp.Or(c.Pair, sample.Pair)
	return drop, nil
}

// readLayout puts the layout file under the flags.
func (c *replayCmd) readLayout() error {
	if c.LayoutFile != "" {
		kept, err := format.ReadLayout(c.LayoutFile)
		if err != nil {
			return err
		}
		c.Table = c.Table.Over(kept)
	}
	return c.Table.Check()
}

// detect prints what the first rows of each file look like. The exit code is 4 when a file cannot be replayed.
func (c *replayCmd) detect(w io.Writer) error {
	all, bad := []*format.Detection(nil), false
	for _, file := range c.Files {
		d := format.Detect(file, c.Pair, c.Table)
		all = append(all, d)
		fmt.Fprintf(w, "%s: %s\n", filepath.Base(file), cmp.Or(d.Format, "unknown"))
		for _, f := range d.Facts {
			fmt.Fprintf(w, "  %-12s %s\n", f.Name, f.Value)
		}
		if d.Problem != nil {
			bad = true
			fmt.Fprintf(w, "  %-12s %v\n", "problem", d.Problem)
		}
	}
	if !format.Together(all) {
		fmt.Fprintln(w, "the files have several formats; one replay takes one")
	}
	if bad {
		return exitError(exitThreshold)
	}
	return nil
}

// drive starts the exchange, feeds the files and stops the exchange.
func (c *replayCmd) drive(p *program, cfg *config.Config, r *replay.Replay, g *progress, signals processSignals) error {
	o, err := exchangeOptions(cfg, p, c.Quiet)
	if err != nil {
		return err
	}
	o.Clock.Recorded = true
	if !cfg.Given("server.console") && o.ConsoleFits() {
		o.Server.Console = admin.ConsoleLoopback
	}
	defer newReloads(&o).follow(signals)()
	say := announcement{out: p.out}
	if c.JSON {
		say.out = p.err // standard output is one object
	}
	s, x, err := p.start(o, say, signals.stop)
	if x == nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	finished := make(chan error, 1)
	go func() { finished <- c.feed(ctx, p, o, x, r, g) }()
	var sig os.Signal // nil: the replay ended by itself
	select {
	case err = <-finished:
		var below exitError
		if (err == nil || errors.As(err, &below)) && c.Hold {
			sig = <-signals.stop
		}
	case sig = <-signals.stop:
		cancel()
		err = <-finished
	}
	return errors.Join(err, s.stop(sig))
}

// replayKeys lists the keys that a replay sets itself, with their values and the reason.
var replayKeys = []struct{ key, value, why string }{
	{"sim.enabled", "off", "the recording is the market"},
	{"sim.backfill", "0s", "the recording is the market"},
	{"sim.past", "0s", "the recording is the market"},
	{"market.pairs", config.PairsNone, "the pair comes from the files"},
	{"clock.mode", config.ClockVirtual, "the recorded times drive the clock"},
	{"clock.start", "", "the clock starts with the recording; use --from to start later"},
}

// replayConfig returns the configuration with the keys that a replay sets. It refuses a command line that sets
// one of them to another value. It overrides a value in a file or in the environment without an error, because
// serve may use the same file and environment.
func (c *replayCmd) replayConfig(p *program, startNs int64) (*config.Config, error) {
	for _, s := range append(append([]string(nil), c.Set...), c.settings()...) {
		name, value, _ := strings.Cut(s, "=")
		for _, k := range replayKeys {
			if strings.TrimSpace(name) == k.key && value != k.value {
				return nil, usage("replay: %s=%s: %s; remove the setting", k.key, value, k.why)
			}
		}
	}
	for _, k := range replayKeys {
		c.Set = append(c.Set, k.key+"="+k.value)
	}
	c.Set = append(c.Set, "clock.start="+time.Unix(0, startNs).UTC().Format(time.RFC3339Nano))
	cfg, err := c.config(p)
	if err != nil {
		return nil, err
	}
	return cfg, nil
}

// feed adds the pair, runs the files and prints the report.
func (c *replayCmd) feed(ctx context.Context, p *program, o exchange.Options, x *exchange.Running, r *replay.Replay,
	g *progress,
) error {
	spec := r.PairSpec()
	if c.Sample {
		o.Log.Info("replay", "note", "the sample is generated: an hour of a simulated market, not a recorded one")
	}
	if r.Unnamed() {
		o.Log.Warn("replay", "pair", spec.Code, "note", "the files do not name their pair; name it with --pair")
	}
	id, err := r.Join(x)
	if err != nil {
		return err
	}
	for _, taken := range r.Takings() {
		o.Log.Info("replay", "taken", taken.String())
	}
	report, err := r.Run(ctx, x, id, &replay.HTTP{
		Context: ctx, BaseURL: "http://" + x.PublicAddr(), Pair: spec.Code,
		DigitsPrice: spec.DigitsPrice, DigitsAmount: spec.DigitsAmount,
	})
	g.Done()
	if c.JSON {
		err = errors.Join(err, c.writeJSON(p.out, &report, r.Takings(), errors.Is(err, context.Canceled)))
	} else {
		for _, line := range report.Lines() {
			fmt.Fprintln(p.out, line)
		}
	}
	for _, note := range report.Notes() {
		o.Log.Info("replay", "note", note)
	}
	o.Log.Info("replay", "records", report.Records, "orders", report.Placed, "trades", report.Trades, "refused",
		report.Refused)
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case errors.Is(err, sequencer.ErrTimeBack):
		return fmt.Errorf("replay: the recording starts before the last record of the data directory %s; "+
			"use an empty --data-dir (%w)", o.Dir, err)
	}
	if err == nil && c.least > 0 && !report.Agrees(c.least) {
		return exitError(exitThreshold)
	}
	return err
}

// writeJSON writes the results of the comparisons as one line.
func (c *replayCmd) writeJSON(w io.Writer, r *replay.Report, taken []format.Taken, interrupted bool) error {
	type check struct {
		Kind  string `json:"kind"`
		Good  int    `json:"good"`
		All   int    `json:"all"`
		Given bool   `json:"given"`
	}
	out := struct {
		Records  uint64         `json:"records"`
		Orders   uint64         `json:"orders"`
		Trades   uint64         `json:"trades"`
		Refused  uint64         `json:"refused"`
		Stopped  bool           `json:"interrupted"`
		Agrees   bool           `json:"agrees"`
		Checks   []check        `json:"checks"`
		Misses   []replay.Miss  `json:"misses"`
		Notes    []string       `json:"notes"`
		Compares string         `json:"compares"`
		Taken    []format.Taken `json:"taken"`
	}{
		Records: r.Records, Orders: r.Placed, Trades: r.Trades, Refused: r.Refused,
		Stopped: interrupted, Agrees: !interrupted && r.Agrees(cmp.Or(c.least, replay.Whole)),
		Checks: []check{}, Misses: append([]replay.Miss{}, r.Misses...), Notes: append([]string{}, r.Notes()...),
		Compares: "as read", Taken: append([]format.Taken{}, taken...),
	}
	for i := range r.Checks {
		k := &r.Checks[i]
		out.Checks = append(out.Checks, check{k.Kind, k.Good, k.All, k.Given})
	}
	return json.NewEncoder(w).Encode(out)
}
