package sequencer

import (
	"errors"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clock"
)

// What happens to one slice: stamp, append, apply. What it has done waits in the Backlog, which shows it and answers.

// SliceCommands limits the commands of one batch that are applied between two publications
// (docs/internals/performance.md#publication-6).
const SliceCommands = 256

// sequenceSlice runs one slice, with the next commands of a group, through journal and core.
func (l *Loop) sequenceSlice(batches []*Batch) {
	batches = l.times.stamp(batches)
	if l.times.manual != nil {
		l.sequenceVirtual(batches)
	} else {
		l.sequence(batches)
	}
}

// sequenceVirtual carries out each stamped batch as a whole, because it moves the clock: nothing
// may be unfinished at the old time. Sources act before it.
func (l *Loop) sequenceVirtual(batches []*Batch) {
	from := 0
	for i, b := range batches {
		if !b.Stamped {
			continue
		}
		l.sequence(batches[from:i])
		l.drain()
		from = i + 1
		l.sources.run(b.Commands[0].TimeNs)
		if l.sources.err != nil { // the time it is stamped with was not reached
			b.answer(l.sources.err)
			continue
		}
		l.sequence([]*Batch{b})
		l.drain()
	}
	l.sequence(batches[from:])
}

// sequence journals and applies one slice: the next part of an unfinished command, and the chosen commands of stamped
// batches.
func (l *Loop) sequence(batches []*Batch) {
	if len(batches) == 0 && len(l.work.unfinished) == 0 {
		return
	}
	l.work.alone = len(batches) == 1 && batches[0].Together
	n, err := l.writeJournal(batches)
	if err != nil {
		l.refuseSlice(batches, err)
		return
	}
	if l.stats.OldestNs.Load() == 0 {
		l.stats.OldestNs.Store(clock.MachineNs())
	}
	l.backlog.begin(n)
	l.applySlice(batches)
	l.times.catchUp()
	l.backlog.end()
}

// applySlice applies what writeJournal has written, and notes the batches that have ended in Backlog.open. When the
// slice ends early, the batches that it did not reach run in the next slices.
func (l *Loop) applySlice(batches []*Batch) {
	ended, next := l.backlog.open.ended, l.refs
	if l.work.goesOn() {
		next = next[1:]
		p := *l.work.next()
		l.apply(&l.cont, p.batch, p.index)
		last := !l.core.Unfinished(p.pair)
		if l.work.advance(last); last {
			for _, b := range p.behind {
				ended = l.endOrDefer(b, ended)
			}
			if p.batch != nil {
				ended = l.endOrDefer(p.batch, ended)
			}
		}
	}
	applied, over := 0, false
	for i, b := range batches {
		for b.applied < b.to && !over {
			if applied%engine.LookAhead == 0 {
				l.core.Warm(next, applied)
			}
			at := b.applied
			b.applied++
			l.apply(&b.Commands[at], b, at)
			applied++
			over = l.core.SliceOver()
		}
		if over && l.core.Unfinished(b.Commands[b.applied-1].Pair) {
			ended = l.work.begin(b, ended)
		} else {
			ended = l.endOrDefer(b, ended)
		}
		if over {
			l.work.putBack(batches[i+1:])
			break
		}
	}
	clear(l.refs)
	if over || l.work.limit < SliceCommands {
		l.work.adapt(applied, over)
	}
	l.backlog.open.ended = ended
}

// endOrDefer adds a batch to ended, or makes it, or its next commands, wait.
func (l *Loop) endOrDefer(b *Batch, ended []*Batch) []*Batch {
	if b.applied < len(b.Commands) {
		l.work.waiting = append(l.work.waiting, b)
		return ended
	}
	if l.work.keepBehind(b) {
		return ended
	}
	return append(ended, b)
}

// apply applies one command, or a part of one. Its events are folded at once where the process shows what is written;
// otherwise they wait in Backlog.open.
func (l *Loop) apply(cmd *engine.Command, b *Batch, i int) {
	l.times.lastNs = max(l.times.lastNs, cmd.TimeNs)
	if l.backlog.show == Written {
		l.events = l.core.Apply(cmd, l.events[:0])
		l.applied(cmd, b, l.folds.folded+1, l.events)
		l.folds.fold(&outcome{batch: b, index: i, pair: cmd.Pair, unfinished: l.unfinished(cmd)}, l.events)
		return
	}
	u := l.backlog.open
	before := len(u.events)
	u.events = l.core.Apply(cmd, u.events)
	u.outcomes = append(u.outcomes, outcome{b, i, cmd.Pair, len(u.events), l.unfinished(cmd)})
	l.applied(cmd, b, u.first+uint64(len(u.outcomes)), u.events[before:])
}

// applied hands the events of the command that was just applied to those who do not wait for its mark, and a command of
// another part to its part.
func (l *Loop) applied(cmd *engine.Command, b *Batch, pos uint64, events []engine.Event) {
	l.folds.observe(events)
	l.folds.count(events)
	if cmd.Kind == engine.Other {
		if result := l.parts.Apply(cmd); b != nil {
			b.Result = result
		}
	}
	l.parts.Advance(pos)
}

// unfinished reports whether the command that was just applied goes on.
func (l *Loop) unfinished(cmd *engine.Command) bool {
	return (l.core.SliceOver() || cmd.Kind == engine.Continue) && l.core.Unfinished(cmd.Pair)
}

// refuseSlice answers batches whose commands the journal has refused. An unfinished command waits
// until the journal takes its next part, unless the journal has stopped for good.
func (l *Loop) refuseSlice(batches []*Batch, err error) {
	if n := len(l.backlog.waiting); n > 0 { // it may hold the events of a batch that has begun
		u := l.backlog.waiting[n-1]
		batches = slices.DeleteFunc(batches, func(b *Batch) bool {
			if b.applied > 0 {
				b.err = err
				u.ended = append(u.ended, b)
			}
			return b.applied > 0
		})
	}
	l.refuse(batches, err)
	l.work.refused = len(l.work.unfinished) > 0
	if l.work.pending() && (l.records.failed() || l.draining) {
		l.abandon(err)
	}
}

// refuse answers batches with err. It records a source's error for the caller that
// moves the clock.
func (l *Loop) refuse(batches []*Batch, err error) {
	l.folds.unknown = l.folds.unknown || errors.Is(err, ErrOutcomeUnknown)
	if submitters(batches) < len(batches) && l.sources.err == nil {
		l.sources.err = err
	}
	answer(batches, err)
}

// publish shows what was folded since the last publication.
func (l *Loop) publish() {
	if l.folds.unpublished() {
		at := l.folds.sealed(&l.records, max(l.times.clk.NowNs(), l.times.lastNs))
		l.times.lastNs = max(l.times.lastNs, at)
		l.folds.publish(at)
	}
}

// writeJournal journals the slice in one write and returns the number of its records.
func (l *Loop) writeJournal(batches []*Batch) (n int, err error) {
	l.refs = l.refs[:0]
	if l.work.goesOn() {
		l.cont = engine.Command{Kind: engine.Continue, Pair: l.work.next().pair, TimeNs: l.times.lastNs}
		if l.times.manual == nil {
			l.cont.TimeNs = max(l.times.lastNs, l.times.clk.NowNs())
			if len(batches) > 0 { // one reading for the slice
				l.cont.TimeNs = batches[0].Commands[batches[0].applied].TimeNs
			}
		}
		l.refs = append(l.refs, &l.cont)
	}
	for _, b := range batches {
		for i := b.applied; i < b.to; i++ {
			l.refs = append(l.refs, &b.Commands[i])
		}
	}
	for i, c := range l.refs {
		c.First = i == 0
	}
	if err := l.records.write(l.refs); err != nil {
		return 0, err
	}
	n = len(l.refs)
	l.work.refused = false
	l.stats.Commands.Add(uint64(n))
	return n, nil
}

// times is the time of the commands. The loop's goroutine owns it.
type times struct {
	clk    clock.Clock
	manual *clock.Manual // nil with a real clock
	lastNs int64         // no later command has an earlier time: of the last command, or published since
}

// stamp gives every command of the slice its time. A stamped batch whose times go back is refused
// whole; the others go on.
func (t *times) stamp(batches []*Batch) []*Batch {
	kept := batches[:0]
	last, now := t.lastNs, t.clk.NowNs() // one reading for the slice: it costs about 80 ns
	for _, b := range batches {
		if len(b.Commands) == 0 {
			b.answer(nil)
			continue
		}
		if b.Stamped {
			if b.applied == 0 && !t.acceptStamps(b, last) {
				b.answer(ErrTimeBack)
				continue
			}
			last = b.Commands[b.to-1].TimeNs
		} else {
			last = max(last, now)
			for i := b.applied; i < b.to; i++ {
				b.Commands[i].TimeNs = last
			}
		}
		kept = append(kept, b)
	}
	return kept
}

func (t *times) acceptStamps(b *Batch, last int64) bool {
	if t.manual != nil {
		last = max(last, t.manual.NowNs())
	}
	for i := range b.Commands {
		if b.Commands[i].TimeNs < last {
			return false
		}
		last = b.Commands[i].TimeNs
	}
	return true
}

// catchUp moves a virtual clock to the time of the newest command, so that time never goes back.
func (t *times) catchUp() {
	if t.manual != nil && t.lastNs > t.manual.NowNs() {
		t.manual.Set(t.lastNs)
	}
}
