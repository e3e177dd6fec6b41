package sequencer

import (
	"fmt"

	"tickhive/engine"
)

// The loop holds events back until their commands are durable (sync always).

const (
	// pendingCommands bounds the commands that are applied but not yet durable under sync always.
	pendingCommands = 64 * BatchCommands
	// spareGroups and spareEvents bound the buffers that the loop retains for later groups.
	spareGroups = 4
	spareEvents = 16 * BatchCommands
)

// group is a run of batches that were journaled together and wait for the disk.
type group struct {
	pos     uint64
	events  []engine.Event
	batches []*Batch
}

// durableFirst reports whether events and answers wait for the disk.
func (l *Loop) durableFirst() bool { return l.journal != nil && l.journal.DurableFirst() }

// processLater applies the group but holds its events back until the group is durable.
func (l *Loop) processLater(batches []*Batch) {
	g := l.spareGroup()
	g.pos, g.batches = l.pos, append(g.batches, batches...)
	for _, b := range batches {
		b.ends = b.ends[:0]
		for i := range b.Commands {
			before := len(g.events)
			g.events = l.core.Apply(&b.Commands[i], g.events)
			l.observe(g.events[before:])
			b.ends = append(b.ends, len(g.events))
		}
		l.waiting += len(b.Commands)
	}
	l.count(g.events)
	l.tell()
	l.wait = append(l.wait, g)
	for l.waiting > pendingCommands {
		l.awaitDisk()
	}
}

// spareGroup returns an empty group. It reuses the buffers of an answered group if there is
// one: a group of 128 commands has 30 KB of events.
func (l *Loop) spareGroup() (g group) {
	if n := len(l.spare); n > 0 {
		g, l.spare = l.spare[n-1], l.spare[:n-1]
	}
	return g
}

func (l *Loop) keepGroup(g group) {
	if len(l.spare) == spareGroups || cap(g.events) > spareEvents {
		return
	}
	clear(g.batches)
	l.spare = append(l.spare, group{events: g.events[:0], batches: g.batches[:0]})
}

// flush makes the journal sync the waiting groups.
func (l *Loop) flush() {
	if len(l.wait) > 0 {
		l.journal.Flush()
	}
}

// awaitDisk waits until another waiting group is durable, or the journal has failed, and
// settles it. At least one group must wait.
func (l *Loop) awaitDisk() {
	l.flush()
	<-l.journal.Wake()
	l.settle()
}

// settle folds, publishes and answers the durable groups one by one: the submitters of the
// first group run while the loop folds the next.
func (l *Loop) settle() {
	if len(l.wait) == 0 {
		return
	}
	err := l.journal.Err()
	durable := l.journal.Durable()
	done, known := 0, 0
	for _, g := range l.wait {
		if g.pos > durable && err == nil {
			break
		}
		done++
		known += submitters(g.batches)
	}
	if done == 0 {
		return
	}
	l.meet(known)
	for _, g := range l.wait[:done] {
		l.waiting -= l.commands(g.batches) // before they are answered: then they are not ours
		if g.pos > durable {
			// The journal has stopped for good, so this group will never be durable. The core
			// has applied it, but no reader has seen it or will before the next start, which
			// may find it on the disk.
			l.refuse(g.batches, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err))
		} else {
			l.foldGroup(&g)
			l.publish()
			answer(g.batches, nil)
		}
		l.keepGroup(g)
	}
	rest := copy(l.wait, l.wait[done:])
	clear(l.wait[rest:])
	l.wait = l.wait[:rest]
}

func (l *Loop) foldGroup(g *group) {
	start := 0
	l.folded = g.pos - uint64(l.commands(g.batches))
	for _, b := range g.batches {
		for i, end := range b.ends {
			events := g.events[start:end]
			l.folded++
			l.fold(events)
			if b.Collect != nil {
				b.Collect(i, &b.Commands[i], events)
			}
			start = end
		}
	}
}
