package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/tickhive/tickhive/internal/cmdline"
)

// Words of meta.json.
const (
	ClockReal    = "real"
	ClockVirtual = "virtual"
	pairsBuiltin = "builtin"
	pairsNone    = "none"
)

// origin holds the settings that a data directory stores at its first start and never changes. A start with
// contradicting settings is refused.
type origin struct {
	CreatedNs int64  `json:"createdNs"` // process clock: start of a backfill
	Seed      uint64 `json:"seed"`      // of the simulated market and the ledger
	Clock     string `json:"clock"`     // kind of clock: real or virtual
	// ClockStartNs is the start time of a virtual clock, 0 if it is unknown.
	ClockStartNs int64 `json:"clockStartNs,omitempty"`
	// Pairs is builtin once the configured pairs were added; empty if it is unknown.
	Pairs string `json:"pairs,omitempty"`
}

// newOrigin returns the origin of a directory that this start begins.
func newOrigin(o Options) origin {
	begun := origin{CreatedNs: o.StartNs - int64(o.Backfill), Seed: o.Seed, Clock: ClockReal, Pairs: pairsNone}
	if o.ConfiguredPairs {
		begun.Pairs = pairsBuiltin
	}
	if o.Virtual {
		begun.Clock, begun.ClockStartNs = ClockVirtual, o.StartNs
	}
	return begun
}

// used reports whether the directory holds a market, or once did. A start that fails because its port
// is in use creates no log.
func (d *Dir) used() (bool, error) {
	if d.meta.End != (LogEnd{}) {
		return true, nil
	}
	names, err := d.fsys.List(d.Sub(LogName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("data directory: %w", err)
	}
	return len(names) > 0, nil
}

// checkOrigin compares the settings of this start with the directory's origin, whose Seed and Backfill apply. It adds
// a note for each setting that no longer has an effect, and refuses settings that would mislead. clockNs is the
// time that a virtual clock had reached.
func (d *Dir) checkOrigin(o Options, clockNs int64) error {
	begun := &d.meta.origin
	if o.Virtual != (begun.Clock == ClockVirtual) {
		return d.otherClock(o)
	}
	if o.Seed != begun.Seed && o.SeedGiven {
		return usage("sim.seed: the data directory %s was begun with seed %d and keeps it, this start has %d: "+
			"leave --seed out, or begin another --data-dir", d.path, begun.Seed, o.Seed)
	}
	if o.Backfill > 0 {
		d.note("sim.backfill: the data directory %s has a market already, which goes on; "+
			"the backfill of %s is left out", d.path, o.Backfill)
		d.backfill = 0
	}
	switch {
	case o.ConfiguredPairs:
		begun.Pairs = pairsBuiltin
	case begun.Pairs == pairsBuiltin:
		d.note("market.pairs: the data directory %s has the configured pairs already; none takes no pair away", d.path)
	default:
		begun.Pairs = pairsNone
	}
	return d.agreeStart(o, clockNs)
}

func (d *Dir) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// otherClock returns the refusal of a start with another kind of clock than the directory's.
func (d *Dir) otherClock(o Options) error {
	now, remedy := ClockReal, "go on with --clock virtual"
	if o.Virtual {
		now, remedy = ClockVirtual, "go on without --clock virtual"
	}
	return usage("clock.mode: the data directory %s was begun with a %s clock, this start has a %s one, "+
		"and the times of one market come from one clock: %s, or begin another directory with --data-dir DIR",
		d.path, d.meta.Clock, now, remedy)
}

// agreeStart compares the configured start of a virtual clock with the time that the clock has reached. An
// unchanged original start is accepted, so that it may remain on the command line.
func (d *Dir) agreeStart(o Options, clockNs int64) error {
	if !o.StartGiven || !o.Virtual || o.StartNs >= clockNs { // a later start moves the clock forward
		return nil
	}
	start, now := timeText(o.StartNs), timeText(clockNs)
	switch {
	case o.Recorded:
		return usage("replay: the files begin at %s, before %s, where the clock of the data directory %s is: "+
			"begin another --data-dir, or start later in the files with --from", start, now, d.path)
	case d.meta.ClockStartNs != 0 && o.StartNs != d.meta.ClockStartNs:
		return usage("clock.start: %s is before %s, where the clock of the data directory %s is, "+
			"and a clock never goes back: leave --clock-start out to go on from there, or begin another --data-dir",
			start, now, d.path)
	}
	d.note("clock.start: the clock of the data directory %s goes on from %s; it was started at %s before", d.path,
		now, start)
	return nil
}

// usage returns an error that makes the program exit with code 2.
func usage(format string, args ...any) error {
	return cmdline.UsageError{Err: fmt.Errorf(format, args...)}
}

func timeText(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
