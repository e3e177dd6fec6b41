package sequencer

import (
	"slices"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/step"
)

// sourceLate is the delay of a source beyond which the loop makes it skip.
const sourceLate = int64(5 * time.Second)

// sources runs the sources of a loop. The loop's goroutine owns it.
type sources struct {
	loop     *Loop
	all      []Source
	last     *Batch           // the newest batch of a source
	commands []engine.Command // scratch of act
	batch    Batch            // scratch of act
	err      error            // first refusal of a source's commands since run began
}

// skipLate makes the sources skip that are too late.
func (s *sources) skipLate(now int64) {
	for _, one := range s.all {
		if one.NextNs() < now-sourceLate {
			one.Skip(now)
		}
	}
}

// nextNs returns the time at which a source is due.
func (s *sources) nextNs() int64 {
	next := step.Never
	for _, one := range s.all {
		next = min(next, one.NextNs())
	}
	return next
}

// run runs every source action that is due at or before ns, in order of time, each
// at its due time. On a virtual clock it ends with the first refusal, held in err. On a real
// one it ends when too much is not shown. It reports whether a source acted.
func (s *sources) run(ns int64) (acted bool) {
	l := s.loop
	s.err = nil
	for {
		due, src := step.Never, Source(nil)
		for _, one := range s.all {
			if d := one.NextNs(); d < due {
				due, src = d, one
			}
		}
		if src == nil || due > ns {
			return acted
		}
		if l.times.manual == nil {
			if l.backlog.full() || s.wait() {
				return acted
			}
		} else if due > l.times.manual.NowNs() {
			l.publishDue(due)
			l.times.manual.Set(due)
		}
		s.act(src, due)
		acted = true
		if l.times.manual != nil {
			l.drain()
			if l.backlog.await(unshownCommands); s.err != nil {
				return acted
			}
		}
	}
}

// act carries out one action of a source.
func (s *sources) act(src Source, due int64) {
	l := s.loop
	s.commands = src.Act(due, s.commands[:0])
	if len(s.commands) == 0 {
		return
	}
	at := max(l.times.lastNs, due)
	for i := range s.commands {
		s.commands[i].TimeNs = at
	}
	b := &s.batch
	if l.backlog.show != Written {
		b = &Batch{Commands: slices.Clone(s.commands)} // a copy, because the batch is used until it is folded
	} else {
		b.Commands = s.commands
	}
	b.applied, b.err = 0, nil
	l.work.slice(b)
	s.last = b
	l.sequence([]*Batch{b})
}

// wait reports whether the sources must wait: a pair is busy, or their last batch has not ended.
func (s *sources) wait() bool {
	b := s.last
	return s.loop.work.anyBusy() || b != nil && b.err == nil && b.applied < len(b.Commands)
}
