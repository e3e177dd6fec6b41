package sequencer

import (
	"errors"
	"fmt"

	"tickhive/engine"
	"tickhive/internal/clock"
)

// What happens to one group: stamp, append, apply, and unless the disk comes first, fold,
// publish and answer.

const (
	// BatchCommands limits the commands that are applied between two publications
	// (docs/internals/performance.md#publication-6).
	BatchCommands = 256
	// maxReusedEvents bounds the event buffer that the loop reuses for the next command: 12 MB.
	maxReusedEvents = 1 << 16
)

// sequenceGroup runs one group through journal, core, sinks, publication and answers.
func (l *Loop) sequenceGroup(batches []*Batch) {
	batches = l.stamp(batches)
	if l.manual != nil && len(l.sources) > 0 {
		l.sequenceStamped(batches)
		return
	}
	if len(batches) > 0 {
		l.sequence(batches)
	}
}

// sequenceStamped lets the sources of a virtual market act before each command that
// moves the clock.
func (l *Loop) sequenceStamped(batches []*Batch) {
	for _, b := range batches {
		if b.Stamped {
			l.runSources(b.Commands[0].TimeNs)
			if l.sourceErr != nil { // the virtual clock could not reach the time of this batch
				b.answer(l.sourceErr)
				continue
			}
		}
		l.sequence([]*Batch{b})
	}
}

// sequence journals, applies, folds, publishes and answers stamped batches.
func (l *Loop) sequence(batches []*Batch) {
	if err := l.writeJournal(batches); err != nil {
		l.refuse(batches, err)
		return
	}
	l.advanceClock(batches)
	if l.stats.OldestNs.Load() == 0 {
		l.stats.OldestNs.Store(clock.MachineNs())
	}
	if l.durableFirst() {
		l.committer.add(batches)
		return
	}
	l.folds.folded = l.pos - uint64(commands(batches))
	for _, b := range batches {
		l.applyBatch(b)
	}
	l.publish()
	l.folds.addToStats()
	l.contention.note(submitters(batches), l.QueueLen())
	answer(batches, nil)
}

// refuse answers batches with err. It records a source's error in lost for the caller that
// moves the clock.
func (l *Loop) refuse(batches []*Batch, err error) {
	if submitters(batches) < len(batches) && l.sourceErr == nil {
		l.sourceErr = err
	}
	answer(batches, err)
}

// applyBatch applies and folds a batch, publishing every BatchCommands commands of it.
func (l *Loop) applyBatch(b *Batch) {
	for i := range b.Commands {
		cmd := &b.Commands[i]
		l.events = l.core.Apply(cmd, l.events[:0])
		l.folds.observe(l.events)
		l.folds.count(l.events)
		l.folds.fold(l.events)
		if b.Collect != nil {
			b.Collect(i, cmd, l.events)
		}
		if (i+1)%BatchCommands == 0 {
			l.publish()
		}
	}
	if cap(l.events) > maxReusedEvents { // a command that swept a large book made the buffer large
		l.events = nil
	}
}

// publish shows what was folded since the last publication.
func (l *Loop) publish() {
	if l.folds.unpublished() {
		at := l.folds.sealed(l.pos, max(l.clk.NowNs(), l.lastNs))
		l.lastNs = max(l.lastNs, at)
		l.folds.publish(at)
	}
}

// commands counts the commands of batches.
func commands(batches []*Batch) (n int) {
	for _, b := range batches {
		n += len(b.Commands)
	}
	return n
}

// stamp gives every command its time. A stamped batch whose times go back is refused
// whole; the others go on.
func (l *Loop) stamp(batches []*Batch) []*Batch {
	kept := batches[:0]
	last, now := l.lastNs, l.clk.NowNs() // one reading for the group: it costs 40 ns
	for _, b := range batches {
		if len(b.Commands) == 0 {
			b.answer(nil)
			continue
		}
		if b.Stamped {
			if !l.acceptStamps(b, last) {
				b.answer(ErrTimeBack)
				continue
			}
			last = b.Commands[len(b.Commands)-1].TimeNs
		} else {
			last = max(last, now)
			for i := range b.Commands {
				b.Commands[i].TimeNs = last
			}
		}
		kept = append(kept, b)
	}
	return kept
}

func (l *Loop) acceptStamps(b *Batch, last int64) bool {
	if l.manual != nil {
		last = max(last, l.manual.NowNs())
	}
	for i := range b.Commands {
		if b.Commands[i].TimeNs < last {
			return false
		}
		last = b.Commands[i].TimeNs
	}
	return true
}

// advanceClock sets lastNs to the time of the group's last command, so that time never goes back.
func (l *Loop) advanceClock(batches []*Batch) {
	cmds := batches[len(batches)-1].Commands
	l.lastNs = max(l.lastNs, cmds[len(cmds)-1].TimeNs)
	if l.manual != nil && l.lastNs > l.manual.NowNs() {
		l.manual.Set(l.lastNs)
	}
}

// writeJournal journals the group in one write.
func (l *Loop) writeJournal(batches []*Batch) error {
	l.refs = l.refs[:0]
	for _, b := range batches {
		for i := range b.Commands {
			c := &b.Commands[i]
			c.Rules = engine.RulesVersion
			l.refs = append(l.refs, c)
		}
	}
	n := uint64(len(l.refs))
	if l.journal == nil {
		l.pos += n
	} else {
		if err := l.journal.Err(); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		pos, err := l.journal.Append(l.refs)
		if err != nil {
			if errors.Is(err, ErrOutcomeUnknown) {
				return err
			}
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		l.pos = pos
	}
	l.stats.Commands.Add(n)
	clear(l.refs)
	return nil
}
