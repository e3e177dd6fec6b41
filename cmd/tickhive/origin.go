package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// origin holds the settings that a data directory gets when it is begun and never changes. A
// start with contradicting settings is refused.
type origin struct {
	CreatedNs int64  `json:"createdNs"` // process clock: start of a backfill
	Seed      uint64 `json:"seed"`      // of the simulated market and the ledger
	Clock     string `json:"clock"`     // real or virtual
	// ClockStartNs is the start time of a virtual clock, 0 if it is unknown.
	ClockStartNs int64 `json:"clockStartNs,omitempty"`
	// Pairs is builtin once the configured pairs were added; empty if it is unknown.
	Pairs string `json:"pairs,omitempty"`
}

// newOrigin returns the origin of a directory that the configuration begins at startNs.
func newOrigin(cfg *Config, startNs int64) origin {
	o := origin{CreatedNs: startNs - int64(cfg.Sim.Backfill), Seed: uint64(cfg.Sim.Seed), Clock: cfg.Clock.Mode, Pairs: cfg.Market.Pairs}
	if o.Clock == clockVirtual {
		o.ClockStartNs = startNs
	}
	return o
}

// storeDirs names the directories of the stores.
var storeDirs = []string{"engine", "accounts", "launchpad", "hive"}

// used reports whether the directory holds a market. A start that fails because its port is in
// use creates no store.
func (d *dataDir) used() bool {
	for _, name := range storeDirs {
		if _, err := os.Stat(d.sub(name)); err == nil {
			return true
		}
	}
	return false
}

// clockKind returns the kind of clock of a directory whose meta.json does not name it. Only a
// virtual clock has a CLOCK file.
func clockKind(path string) string {
	if _, err := os.Stat(filepath.Join(path, "CLOCK")); err == nil {
		return clockVirtual
	}
	return clockReal
}

// agree compares the configuration with the used directory's origin. It copies the directory's
// settings into cfg and returns a note for each configured setting that has no effect any
// more. It refuses settings that would mislead. startNs is the configured start of a virtual
// clock, clockNs the time that this clock had reached.
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

// otherClock returns the refusal of a start with the other kind of clock.
func (o *origin) otherClock(cfg *Config, dir string) error {
	remedy := "go on with --clock virtual"
	if o.Clock == clockReal {
		remedy = "go on without --clock virtual"
	}
	return usage("clock.mode: the data directory %s was begun with a %s clock, this start has a %s one, and the times of one market come from one clock: "+
		"%s, or begin another directory with --data-dir DIR", dir, o.Clock, cfg.Clock.Mode, remedy)
}

// agreeStart compares the configured start of a virtual clock with its current time. The
// original start may remain on the command line.
func (o *origin) agreeStart(cfg *Config, dir string, startNs, clockNs int64) (note string, err error) {
	if cfg.Clock.Start == "" || cfg.Clock.Mode != clockVirtual {
		return "", nil
	}
	if startNs >= clockNs {
		return "", nil // the clock moves forward to startNs
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
