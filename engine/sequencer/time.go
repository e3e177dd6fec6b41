package sequencer

import (
	"errors"
	"slices"
	"time"

	"tickhive/internal/step"
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
	if l.manual == nil {
		return errors.New("engine: the clock is the machine's and cannot be set")
	}
	var err error
	move := func() {
		l.folds.quiet = quiet
		err = l.advance(ns)
		l.folds.quiet = false
		if quiet {
			l.publish()
			l.publishDue(l.manual.NowNs())
		}
	}
	if qerr := l.Query(move); qerr != nil {
		return qerr
	}
	return err
}

// sourceLate is the delay of a source beyond which the loop makes it skip.
const sourceLate = int64(5 * time.Second)

// runDue runs the due sources and publishes the changes that time alone makes. It reports
// whether there were any.
func (l *Loop) runDue() bool {
	if l.manual != nil {
		return false // a virtual clock moves only in advance
	}
	now := l.clk.NowNs()
	for _, s := range l.sources {
		if s.NextNs() < now-sourceLate {
			s.Skip(now)
		}
	}
	acted := l.runSources(now)
	return l.publishDue(now) || acted
}

// publishDue publishes the changes that time alone made up to ns. It reports whether there were
// any.
func (l *Loop) publishDue(ns int64) bool {
	ns = l.folds.sealed(l.pos, ns)
	if !l.folds.publishDue(ns) {
		return false
	}
	l.lastNs = max(l.lastNs, ns)
	return true
}

// runSources runs every source action that is due at or before ns, in order of time, each
// at its due time. On a virtual clock it ends with the first refusal, held in l.lost. On a real
// one it ends when too much waits for the disk. It reports whether a source acted.
func (l *Loop) runSources(ns int64) (acted bool) {
	l.sourceErr = nil
	for {
		due, src := step.Never, Source(nil)
		for _, s := range l.sources {
			if d := s.NextNs(); d < due {
				due, src = d, s
			}
		}
		if src == nil || due > ns {
			return acted
		}
		if l.manual == nil {
			if l.committer.full() || l.sourcesWait() {
				return acted
			}
		} else if due > l.manual.NowNs() {
			l.publishDue(due)
			l.manual.Set(due)
		}
		l.runSource(src, due)
		acted = true
		if l.manual != nil {
			l.drain()
			if l.committer.await(pendingCommands); l.sourceErr != nil {
				return acted
			}
		}
	}
}

func (l *Loop) runSource(src Source, due int64) {
	l.sourceCommands = src.Act(due, l.sourceCommands[:0])
	if len(l.sourceCommands) == 0 {
		return
	}
	at := max(l.lastNs, due)
	for i := range l.sourceCommands {
		l.sourceCommands[i].TimeNs = at
	}
	b := &l.sourceBatch
	if l.durableFirst() {
		b = &Batch{Commands: slices.Clone(l.sourceCommands)} // a copy, because the batch is used until it is durable
	} else {
		b.Commands = l.sourceCommands
	}
	b.begun, b.err = 0, nil
	l.work.slice(b)
	l.sourceLast = b
	l.sequence([]*Batch{b})
}

// advance moves the virtual clock. It runs on the loop's goroutine.
func (l *Loop) advance(ns int64) error {
	if ns < l.manual.NowNs() {
		return ErrTimeBack
	}
	l.drain()
	if l.work.refused {
		return ErrUnavailable
	}
	l.runSources(ns)
	l.committer.await(0) // fold everything before ns before the new time is published
	if l.sourceErr != nil {
		return l.sourceErr
	}
	l.publishDue(ns)
	l.manual.Set(ns)
	return nil
}

// nextNs returns the time at which a source or a sink is due. While too much waits for the
// disk, it is the disk alone that gives work.
func (l *Loop) nextNs() int64 {
	next := step.Never
	if l.manual != nil || l.draining || l.committer.full() {
		return next
	}
	for _, s := range l.sources {
		next = min(next, s.NextNs())
	}
	if l.folds.folded < l.pos {
		return next // the sinks publish once the disk has what waits for it
	}
	return min(next, l.folds.nextNs())
}
