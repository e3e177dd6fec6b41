package sequencer

import (
	"errors"
	"math"
	"slices"
	"time"
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
		l.quiet = quiet
		err = l.advance(ns)
		l.quiet = false
		if quiet {
			l.publish()
			l.slide(l.manual.NowNs())
		}
	}
	if qerr := l.Query(move); qerr != nil {
		return qerr
	}
	return err
}

// runDue runs the due sources and publishes the changes that time alone makes.
func (l *Loop) runDue() {
	if l.manual != nil {
		return // a virtual clock moves only in advance
	}
	now := l.clk.NowNs()
	for _, s := range l.sources {
		if due := s.DueNs(); due < now-sourceLate {
			s.Skip(now)
		}
	}
	l.actUntil(now)
	l.slide(now)
}

// actUntil runs every source action that is due at or before ns, in order of time, each
// at its due time. On a virtual clock it ends with the first refusal, held in l.lost.
func (l *Loop) actUntil(ns int64) {
	for l.lost = nil; l.lost == nil || l.manual == nil; {
		due, src := int64(math.MaxInt64), Source(nil)
		for _, s := range l.sources {
			if d := s.DueNs(); d < due {
				due, src = d, s
			}
		}
		if src == nil || due > ns {
			return
		}
		if l.manual != nil && due > l.manual.NowNs() {
			l.slide(due)
			l.manual.Set(due)
		}
		l.act(src, due)
	}
}

func (l *Loop) act(src Source, due int64) {
	l.one = src.Act(due, l.one[:0])
	if len(l.one) == 0 {
		return
	}
	at := max(l.lastNs, due)
	for i := range l.one {
		l.one[i].TimeNs = at
	}
	b := &l.single
	if l.durableFirst() {
		b = &Batch{Commands: slices.Clone(l.one)} // kept until it is durable
	} else {
		b.Commands = l.one
	}
	l.run([]*Batch{b})
}

// slide publishes the changes that time alone made up to ns, second by second: a view shows
// the figures of the second in which it is read.
func (l *Loop) slide(ns int64) {
	if l.quiet {
		return
	}
	changed := false
	for _, s := range l.sinks {
		if s.NextNs() <= ns {
			changed = true
		}
	}
	if !changed {
		return
	}
	for _, s := range l.sinks {
		s.Publish(ns)
	}
}

// advance moves the virtual clock; on the loop's goroutine.
func (l *Loop) advance(ns int64) error {
	if ns < l.manual.NowNs() {
		return ErrTimeBack
	}
	l.actUntil(ns)
	for len(l.wait) > 0 { // fold everything before ns before the new time is published
		l.awaitDisk()
	}
	if l.lost != nil {
		return l.lost
	}
	l.slide(ns)
	l.manual.Set(ns)
	return nil
}

// untilNext returns how long the loop may sleep when no batch arrives.
func (l *Loop) untilNext() time.Duration {
	if l.manual != nil {
		return time.Hour
	}
	next := int64(math.MaxInt64)
	for _, s := range l.sources {
		next = min(next, s.DueNs())
	}
	for _, s := range l.sinks {
		next = min(next, s.NextNs())
	}
	if next == math.MaxInt64 {
		return time.Hour
	}
	return max(0, min(time.Hour, time.Duration(next-l.clk.NowNs())))
}
