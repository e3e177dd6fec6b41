package sequencer

import (
	"errors"

	"github.com/tickhive/tickhive/internal/step"
)

// How the loop moves with time: sources that fall due, windows that slide, a virtual
// clock that is set.

// AdvanceTo moves a virtual clock to ns, with everything that falls due on the way, and
// returns after all of it is applied and published. A real clock, or a time that goes back, is
// an error. When the journal refuses a source's commands, AdvanceTo returns ErrUnavailable and
// the clock stays at the time of that source's action. When a later sync fails, it returns
// ErrOutcomeUnknown and the clock may be further.
func (l *Loop) AdvanceTo(ns int64) error {
	return l.moveTo(ns, false)
}

// AdvanceQuietly does the same as AdvanceTo for a backfill without readers: it publishes once,
// at the end. The state is the same.
func (l *Loop) AdvanceQuietly(ns int64) error {
	return l.moveTo(ns, true)
}

func (l *Loop) moveTo(ns int64, quiet bool) error {
	if l.times.manual == nil {
		return errors.New("sequencer: the clock is the machine's and cannot be set")
	}
	var err error
	move := func() {
		l.folds.quiet = quiet
		err = l.advance(ns)
		l.folds.quiet = false
		if quiet {
			l.publish()
			l.publishDue(l.times.manual.NowNs())
		}
	}
	if qerr := l.Query(move); qerr != nil {
		return qerr
	}
	return err
}

// runDue runs the due sources and publishes the changes that time alone makes. It reports
// whether there were any.
func (l *Loop) runDue() bool {
	if l.times.manual != nil {
		return false // a virtual clock moves only in advance
	}
	now := l.times.clk.NowNs()
	l.sources.skipLate(now)
	acted := l.sources.run(now)
	return l.publishDue(now) || acted
}

// publishDue publishes the changes that time alone made up to ns. It reports whether there were
// any.
func (l *Loop) publishDue(ns int64) bool {
	ns = l.folds.sealed(&l.records, ns)
	if !l.folds.publishDue(ns) {
		return false
	}
	l.times.lastNs = max(l.times.lastNs, ns)
	return true
}

// advance moves the virtual clock. It runs on the loop's goroutine.
func (l *Loop) advance(ns int64) error {
	if ns < l.times.manual.NowNs() {
		return ErrTimeBack
	}
	l.drain()
	if l.work.refused {
		return ErrUnavailable
	}
	l.sources.run(ns)
	l.backlog.await(0) // fold everything before ns before the new time is published
	if l.sources.err != nil {
		return l.sources.err
	}
	l.publishDue(ns)
	l.times.manual.Set(ns)
	return nil
}

// nextNs returns the time at which a source or a sink is due. While too much waits for the
// disk, it is the disk alone that gives work.
func (l *Loop) nextNs() int64 {
	next := step.Never
	if l.times.manual != nil || l.draining || l.backlog.full() {
		return next
	}
	next = l.sources.nextNs()
	if l.folds.folded < l.records.pos || l.folds.unknown {
		return next // the sinks publish once the disk has what waits for it, and after a failure never
	}
	if due := l.folds.nextNs(); due <= l.folds.sealed(&l.records, due) {
		next = min(next, due)
	}
	return next // otherwise the journal wakes the loop
}
