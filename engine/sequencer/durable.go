package sequencer

import (
	"tickhive/engine"
	"tickhive/internal/step"
)

// The committer holds events back until their commands are durable (sync always).

const (
	// pendingCommands limits the commands that are applied but not yet durable under sync always.
	pendingCommands = 64 * SliceCommands
	// spareGroups and spareEvents bound the buffers that the loop retains for later groups.
	spareGroups = 4
	spareEvents = 16 * SliceCommands
	// pendingEvents bounds their events: 15 MB.
	pendingEvents = 1 << 16
)

// group is a slice that was journaled at once and waits for the disk.
type group struct {
	first, pos uint64 // positions before its first and of its last record
	events     []engine.Event
	outcomes   []outcome
	ended      []*Batch // the batches that end with it
}

// outcome is one applied command, or one part of a command.
type outcome struct {
	batch      *Batch // nil: no submitter waits for it
	index      int    // in batch
	pair       engine.PairID
	end        int // of its events in the group's
	unfinished bool
}

// Committer holds the groups that are applied and wait for the disk, oldest first. Owner: the loop's goroutine.
// Without sync always it is empty.
type Committer struct {
	loop     *Loop
	waiting  []group
	commands int     // in waiting
	events   int     // in waiting
	joining  *group  // receives the outcomes of the slice under way
	spare    []group // answered groups, for reuse of their buffers
}

// Step makes the journal sync the waiting groups, then folds, publishes and answers the durable
// ones. With a WALJournal it does one sync for all waiting groups. Any other Journal may sync
// elsewhere: Step does not wait for it, and the loop is notified by Journal.Wake.
func (c *Committer) Step() step.Progress {
	if c.empty() {
		return step.Idle()
	}
	c.loop.records.journal.Flush()
	if c.release() {
		return step.Worked()
	}
	return step.Idle()
}

func (c *Committer) empty() bool { return len(c.waiting) == 0 }

// full reports whether no group may join: too much waits for the disk.
func (c *Committer) full() bool { return c.commands > pendingCommands || c.events > pendingEvents }

// add applies a new slice of n records, and holds its events back until it is durable.
func (c *Committer) add(batches []*Batch, n int) {
	l := c.loop
	g := c.spareGroup()
	g.first, g.pos = l.records.pos-uint64(n), l.records.pos
	c.joining = &g
	g.ended = append(g.ended, l.applySlice(batches)...)
	clear(l.ended)
	c.joining = nil
	c.commands += len(g.outcomes)
	c.events += len(g.events)
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
	clear(g.outcomes)
	clear(g.ended)
	c.spare = append(c.spare, group{events: g.events[:0], outcomes: g.outcomes[:0], ended: g.ended[:0]})
}

// await waits until at most most commands are not durable, or the journal has failed. Only a virtual clock
// needs it: the clock must not pass the time of a command whose effect is not visible yet.
func (c *Committer) await(most int) {
	for c.commands > most || c.events > pendingEvents {
		c.loop.records.journal.Flush()
		<-c.loop.records.journal.Wake()
		c.release()
	}
}

// release folds, publishes and answers the durable groups one by one: the submitters of the
// first group run while the loop folds the next. It reports whether there were any. Once the
// journal has failed it answers every group.
func (c *Committer) release() bool {
	l := c.loop
	err := l.records.journal.Err()
	durable := l.records.journal.Durable()
	done, known := 0, 0
	for _, g := range c.waiting {
		if g.pos > durable && err == nil {
			break
		}
		done++
		known += submitters(g.ended)
	}
	if done == 0 {
		return false
	}
	l.contention.startSync()
	l.contention.note(known, l.QueueLen())
	for i := range c.waiting[:done] {
		g := &c.waiting[i]
		if g.pos > durable {
			// The journal has stopped for good, so this group will never be durable. The core
			// has applied it, but no reader has seen it or will before the next start, which
			// may find it on the disk.
			c.waiting = c.waiting[i:]
			l.folds.folded = l.records.pos
			l.abandon(err)
			return true
		}
		c.commands -= len(g.outcomes)
		c.events -= len(g.events)
		c.foldGroup(g)
		l.publish()
		answer(g.ended, nil)
		c.recycle(*g)
	}
	rest := copy(c.waiting, c.waiting[done:])
	clear(c.waiting[rest:])
	c.waiting = c.waiting[:rest]
	return true
}

func (c *Committer) foldGroup(g *group) {
	r := &c.loop.folds
	start := 0
	r.folded = g.first
	for i := range g.outcomes {
		o := &g.outcomes[i]
		events := g.events[start:o.end]
		r.fold(events)
		if r.withhold(o.pair, o.unfinished); o.batch != nil && o.batch.Collect != nil {
			o.batch.Collect(o.index, &o.batch.Commands[o.index], events)
		}
		start = o.end
	}
	r.folded = g.pos // void records too
}
