package sequencer

import "tickhive/internal/step"

// The committer holds events back until their commands are durable (sync always).

const (
	// pendingCommands limits the commands that are applied but not yet durable under sync always.
	pendingCommands = 64 * SliceCommands
	// pendingEvents bounds their events: 15 MB.
	pendingEvents = 1 << 16
)

// Committer holds the groups that are applied and wait for the disk, oldest first. Owner: the loop's goroutine.
// Without sync always it is empty.
type Committer struct {
	loop     *Loop
	waiting  []*group
	commands int // in waiting
	events   int // in waiting
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
	g := c.loop.applied.apply(batches, n)
	c.commands += len(g.outcomes)
	c.events += len(g.events)
	c.waiting = append(c.waiting, g)
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
	for i, g := range c.waiting[:done] {
		if g.pos > durable {
			// The journal has stopped for good, so this group will never be durable. The core
			// has applied it, but no reader has seen it or will before the next start, which
			// may find it on the disk.
			c.waiting = c.waiting[i:]
			l.abandon(err)
			return true
		}
		c.commands -= len(g.outcomes)
		c.events -= len(g.events)
		l.applied.release(g)
	}
	rest := copy(c.waiting, c.waiting[done:])
	clear(c.waiting[rest:])
	c.waiting = c.waiting[:rest]
	return true
}
