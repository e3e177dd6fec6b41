package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/sim"
	"github.com/tickhive/tickhive/sim/stats"
	"github.com/tickhive/tickhive/sim/stats/realism"
)

// statsCmd prints statistics of a running exchange: TickHive, or another exchange with the same API. With Realism it
// simulates a market of its own and compares it with recordings.
type statsCmd struct {
	Target  string        `default:"http://127.0.0.1:8080" placeholder:"URL" help:"URL of the public listener (${default})."`
	Pairs   []string      `placeholder:"CODE" help:"Show only these pairs (default: all; with --realism the three largest)."`
	Hours   int           `default:"24" help:"Hours to look back, 1 to 168 (${default}); with --realism to simulate."`
	Samples int           `default:"20" help:"Number of spread samples (${default})."`
	Every   time.Duration `default:"250ms" help:"Time between samples (${default})."`

	Realism   bool     `help:"Simulate pairs in memory and compare them with recorded markets; needs no exchange."`
	Recorded  []string `placeholder:"FILE" sep:"none" type:"existingfile" help:"Recordings to compare with, in the formats of replay (default: built-in ranges). Repeatable; LOBSTER takes the message file, then the orderbook file."`
	Config    string   `placeholder:"FILE" type:"existingfile" help:"Configuration whose simulated pairs to compare."`
	Set       []string `placeholder:"KEY=VALUE" sep:"none" help:"Set a configuration key; repeatable."`
	MinInside int      `placeholder:"N" help:"With --realism, exit with 4 when fewer statistics of a pair are inside."`
	JSON      bool     `help:"With --realism, print one JSON object."`
	trustFlags
}

// Run queries the public API and prints one line per pair.
func (s *statsCmd) Run(p *program) error {
	if s.Realism {
		return s.compare(p)
	}
	if len(s.Recorded) > 0 || s.Config != "" || len(s.Set) > 0 || s.MinInside != 0 || s.JSON {
		return usage("stats: --recorded, --config, --set, --min-inside and --json belong to --realism")
	}
	transport, err := s.transport(nil)
	if err != nil {
		return err
	}
	all, err := stats.Fetch(context.Background(), stats.Options{
		BaseURL: s.Target, Pairs: s.Pairs, Hours: s.Hours, Samples: s.Samples, Every: s.Every,
		Client: &http.Client{Timeout: statsTimeout, Transport: transport},
	})
	if err != nil {
		return remedied(err)
	}
	return stats.Print(p.out, all)
}

// statsTimeout bounds one request of stats.
const statsTimeout = 30 * time.Second

// pairsCompared is the number of pairs that are compared when no pair is named: the busiest.
const pairsCompared = 3

// realismStart is the time at which a compared market opens, a Monday.
var realismStart = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// compare prints the statistics of simulated pairs beside recorded ones.
func (s *statsCmd) compare(p *program) error {
	if s.Hours < 1 || s.Hours > 168 {
		return usage("stats: --hours: %d must be from 1 to 168", s.Hours)
	}
	if most := realism.Statistics(); s.MinInside < 0 || s.MinInside > most {
		return usage("stats: --min-inside: %d must be from 0 to %d, the number of statistics", s.MinInside, most)
	}
	o, instruments, err := s.market(p)
	if err != nil {
		return err
	}
	recorded := realism.Builtin()
	if len(s.Recorded) > 0 {
		samples, err := realism.Record(s.Recorded)
		if err != nil {
			return err
		}
		recorded = realism.Ranges(samples)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	simulated, err := realism.Simulate(ctx, o, instruments, time.Duration(s.Hours)*time.Hour)
	if err != nil {
		return err
	}
	report := realism.Compare(simulated, recorded)
	if s.JSON {
		out := json.NewEncoder(p.out)
		out.SetIndent("", "  ")
		err = out.Encode(report)
	} else {
		err = report.Print(p.out)
	}
	if err != nil {
		return fmt.Errorf("stats: %w", err)
	}
	for i := range report.Pairs {
		if report.Pairs[i].Inside < s.MinInside {
			return exitError(exitThreshold)
		}
	}
	return nil
}

// market returns the simulated pairs to compare and their instruments.
func (s *statsCmd) market(p *program) (o sim.Options, instruments []*engine.Instrument, err error) {
	cfg, err := config.Load(s.Config, p.environ, s.Set)
	if err != nil {
		return o, nil, usageError{Err: err}
	}
	if !cfg.Simulated() {
		return o, nil, usage("stats: --realism: the configuration has no simulated market")
	}
	simulated, err := cfg.SimPairs()
	if err != nil {
		return o, nil, usageError{Err: err}
	}
	o = sim.Options{
		Core: engine.NewCore(engine.Options{}), Seed: uint64(cfg.Sim.Seed), StartNs: realismStart.UnixNano(),
		Pairs: simulated, Config: cfg.Sim.Config,
	}
	chosen := s.Pairs
	if len(chosen) == 0 {
		byWeight := slices.Clone(o.Pairs)
		slices.SortStableFunc(byWeight, func(a, b sim.Pair) int { return b.Weight - a.Weight })
		for _, pair := range byWeight[:min(len(byWeight), pairsCompared)] {
			chosen = append(chosen, pair.Code)
		}
	}
	for _, code := range chosen {
		if !slices.ContainsFunc(o.Pairs, func(pair sim.Pair) bool { return pair.Code == code }) {
			return o, nil, usage("stats: --pairs: %s is not simulated", code)
		}
	}
	o.Pairs = slices.DeleteFunc(o.Pairs, func(pair sim.Pair) bool { return !slices.Contains(chosen, pair.Code) })
	for i := range cfg.Pairs {
		if slices.Contains(chosen, cfg.Pairs[i].Code) {
			ins, err := cfg.Pairs[i].Instrument()
			if err != nil {
				return o, nil, errors.Join(errors.New("stats: the configuration's pairs"), err)
			}
			instruments = append(instruments, ins)
		}
	}
	return o, instruments, nil
}
