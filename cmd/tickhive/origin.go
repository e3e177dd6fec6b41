package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// origin is what a data directory is begun with and keeps: a start that asks for something
// else is refused.
type origin struct {
	CreatedNs int64  `json:"createdNs"` // process clock: where a backfill begins
	Seed      uint64 `json:"seed"`      // of the simulated market and the ledger
	Clock     string `json:"clock"`     // real or virtual
	// ClockStartNs is the time that a virtual clock was started at, 0 when it is not known.
	ClockStartNs int64 `json:"clockStartNs,omitempty"`
	// Pairs is builtin once the configured pairs were added; empty when it is not known.
	Pairs string `json:"pairs,omitempty"`
}

// newOrigin is the origin of a directory that the configuration begins at startNs.
func newOrigin(cfg *Config, startNs int64) origin {
	o := origin{CreatedNs: startNs - int64(cfg.Sim.Backfill), Seed: uint64(cfg.Sim.Seed), Clock: cfg.Clock.Mode, Pairs: cfg.Market.Pairs}
	if o.Clock == clockVirtual {
		o.ClockStartNs = startNs
	}
	return o
}

// storeDirs hold what a process has kept of its market.
var storeDirs = []string{"engine", "accounts", "launchpad", "hive"}

// used reports whether a market was begun in the directory: a start that found its port
// taken leaves no store behind.
func (d *dataDir) used() bool {
	for _, name := range storeDirs {
		if _, err := os.Stat(d.sub(name)); err == nil {
			return true
		}
	}
	return false
}

// clockKind is the kind of clock of a directory whose meta.json does not name it: only a
// virtual clock has its file.
func clockKind(path string) string {
	if _, err := os.Stat(filepath.Join(path, "CLOCK")); err == nil {
		return clockVirtual
	}
	return clockReal
}

// agree compares the configuration with what the used directory was begun with. What the
// directory decides is put into cfg, with a line in notes where the configuration asks for
// something that has no effect any more; what would mislead is refused. startNs is where the
// configuration starts a virtual clock, clockNs where that clock was.
func (o *origin) agree(cfg *Config, dir string, startNs, clockNs int64) (notes []string, err error) {
	if cfg.Clock.Mode != o.Clock {
		return nil, o.otherClock(cfg, dir)
	}
	if seed := uint64(cfg.Sim.Seed); seed != o.Seed && cfg.given["sim.seed"] {
		return nil, usage("sim.seed: the data directory %s was begun with seed %d and keeps it, this start has %d: leave --seed out, or begin another --data-dir",
			dir, o.Seed, seed)
	}
	cfg.Sim.Seed = int64(o.Seed)
	if span := time.Duration(cfg.Sim.Backfill); span > 0 {
		notes = append(notes, fmt.Sprintf("sim.backfill: the data directory %s has a market already, which goes on; the backfill of %s is left out", dir, span))
		cfg.Sim.Backfill = 0
	}
	if cfg.Market.Pairs == pairsNone && o.Pairs == pairsBuiltin {
		notes = append(notes, fmt.Sprintf("market.pairs: the data directory %s has the configured pairs already; none takes no pair away", dir))
	} else {
		o.Pairs = cfg.Market.Pairs
	}
	note, err := o.agreeStart(cfg, dir, startNs, clockNs)
	if note != "" {
		notes = append(notes, note)
	}
	return notes, err
}

// otherClock refuses a start with the other kind of clock.
func (o *origin) otherClock(cfg *Config, dir string) error {
	remedy := "go on with --clock virtual"
	if o.Clock == clockReal {
		remedy = "go on without --clock virtual"
	}
	return usage("clock.mode: the data directory %s was begun with a %s clock, this start has a %s one, and the times of one market come from one clock: "+
		"%s, or begin another directory with --data-dir DIR", dir, o.Clock, cfg.Clock.Mode, remedy)
}

// agreeStart compares the configured start of a virtual clock with where it is. The start
// that the directory was begun with may stay on the command line.
func (o *origin) agreeStart(cfg *Config, dir string, startNs, clockNs int64) (note string, err error) {
	if cfg.Clock.Start == "" || cfg.Clock.Mode != clockVirtual {
		return "", nil
	}
	if startNs >= clockNs {
		return "", nil // the clock is moved there
	}
	start, now := timeText(startNs), timeText(clockNs)
	switch {
	case cfg.recorded:
		return "", usage("replay: the files begin at %s, before %s, where the clock of the data directory %s is: begin another --data-dir, or start later in the files with --from",
			start, now, dir)
	case o.ClockStartNs != 0 && startNs != o.ClockStartNs:
		return "", usage("clock.start: %s is before %s, where the clock of the data directory %s is, and a clock never goes back: "+
			"leave --clock-start out to go on from there, or begin another --data-dir", start, now, dir)
	}
	return fmt.Sprintf("clock.start: the clock of the data directory %s goes on from %s; it was started at %s before", dir, now, start), nil
}

func timeText(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
