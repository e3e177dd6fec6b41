package sequencer

import (
	"fmt"

	"tickhive/engine"
	"tickhive/internal/step"
)

// The committer holds events back until their commands are durable (sync always).

const (
	// pendingCommands limits the commands that are applied but not yet durable under sync always.
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

// Committer holds the groups that are applied and wait for the disk, oldest first. Owner: the loop's goroutine.
// Without sync always it is empty.
type Committer struct {
	loop     *Loop
	waiting  []group
	commands int     // number of commands in wait
	spare    []group // answered groups, for reuse of their buffers
}

// Step makes the journal sync the waiting groups, then folds, publishes and answers the durable
// ones. With a WALJournal it does one sync for all waiting groups. Any other Journal may sync
// elsewhere: Step does not wait for it, and the loop is notified by Journal.Wake.
func (c *Committer) Step() step.Progress {
	if c.empty() {
		return step.Idle()
	}
	c.loop.journal.Flush()
	if c.release() {
		return step.Worked()
	}
	return step.Idle()
}

func (c *Committer) empty() bool { return len(c.waiting) == 0 }

// full reports whether too many commands wait for the disk, so that no group may be added.
func (c *Committer) full() bool { return c.commands > pendingCommands }

// durableFirst reports whether events and answers wait for the disk (sync always).
func (l *Loop) durableFirst() bool { return l.journal != nil && l.journal.DurableFirst() }

// add applies the batches of a new group and keeps its events until the group is durable.
func (c *Committer) add(batches []*Batch) {
	l := c.loop
	g := c.spareGroup()
	g.pos, g.batches = l.pos, append(g.batches, batches...)
	for _, b := range batches {
		b.ends = b.ends[:0]
		for i := range b.Commands {
			before := len(g.events)
			g.events = l.core.Apply(&b.Commands[i], g.events)
			l.folds.observe(g.events[before:])
			b.ends = append(b.ends, len(g.events))
		}
		c.commands += len(b.Commands)
	}
	l.folds.count(g.events)
	l.folds.addToStats()
	c.waiting = append(c.waiting, g)
}

// spareGroup returns an empty group. It reuses the buffers of an answered group if there is
// one: a group of 128 commands has 30 KB of events.
func (c *Committer) spareGroup() (g group) {
	if n := len(c.spare); n > 0 {
		g, c.spare = c.spare[n-1], c.spare[:n-1]
	}
	return g
}

func (c *Committer) recycle(g group) {
	if len(c.spare) == spareGroups || cap(g.events) > spareEvents {
		return
	}
	clear(g.batches)
	c.spare = append(c.spare, group{events: g.events[:0], batches: g.batches[:0]})
}

// await waits until at most most commands are not durable, or the journal has failed. Only a virtual clock
// needs it: the clock must not pass the time of a command whose effect is not visible yet.
func (c *Committer) await(most int) {
	for c.commands > most {
		c.loop.journal.Flush()
		<-c.loop.journal.Wake()
		c.release()
	}
}

// release folds, publishes and answers the durable groups one by one: the submitters of the
// first group run while the loop folds the next. It reports whether there were any. Once the
// journal has failed it answers every group.
func (c *Committer) release() bool {
	l := c.loop
	err := l.journal.Err()
	durable := l.journal.Durable()
	done, known := 0, 0
	for _, g := range c.waiting {
		if g.pos > durable && err == nil {
			break
		}
		done++
		known += submitters(g.batches)
	}
	if done == 0 {
		return false
	}
	l.contention.startSync()
	l.contention.note(known, l.QueueLen())
	for _, g := range c.waiting[:done] {
		c.commands -= commands(g.batches) // counted before the answer, after which the submitters own the batches
		if g.pos > durable {
			// The journal has stopped for good, so this group will never be durable. The core
			// has applied it, but no reader has seen it or will before the next start, which
			// may find it on the disk.
			l.folds.folded = g.pos
			l.refuse(g.batches, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err))
		} else {
			c.foldGroup(&g)
			l.publish()
			answer(g.batches, nil)
		}
		c.recycle(g)
	}
	rest := copy(c.waiting, c.waiting[done:])
	clear(c.waiting[rest:])
	c.waiting = c.waiting[:rest]
	return true
}

func (c *Committer) foldGroup(g *group) {
	r := &c.loop.folds
	start := 0
	r.folded = g.pos - uint64(commands(g.batches))
	for _, b := range g.batches {
		for i, end := range b.ends {
			events := g.events[start:end]
			r.fold(events)
			if b.Collect != nil {
				b.Collect(i, &b.Commands[i], events)
			}
			start = end
		}
	}
}
