package sequencer

import "runtime"

// Constants that decide how waiting batches are grouped.

const (
	// groupYields is the number of consecutive yields without a new batch after which the loop
	// processes its group: under a microsecond when no other goroutine is runnable.
	groupYields = 4
	// groupEnough is the group size at which the loop stops yielding for more commands. Measured rates with 256
	// waiting submitters: a size of 256 gives 0.9 M commands/s, 64 gives 1.0 M, 32 and 16 give 1.15 M.
	groupEnough = 32
	// groupEnoughSync is groupEnough for groups that share a sync. Measured p50 of 256 waiting submitters: 390
	// us with a size of 32, 375 us with 48 and 64, 415 us with 96, 430 us with all in one group.
	groupEnoughSync = 64
	// groupYieldsSync is groupYields under sync always, where all submitters should share one sync (150 us).
	// Measured with 256 submitters: with 4 yields 26 % of them share a sync and the median latency is 3.8 syncs;
	// with 16 yields 27 % and 3.1 to 3.6 syncs.
	groupYieldsSync = 16
	// contentionGroups is the number of groups of a single submitter after which the loop stops yielding.
	contentionGroups = 64
)

// contention remembers how many submitters compete, to size the next group. The loop's
// goroutine owns it.
type contention struct {
	expected   int // number of submitters answered last, and of those that waited then
	groupsLeft int // groups in which the loop still yields; each group under contention sets it to contentionGroups
	// counts of the groups since the last sync, which share the next sync (sync always only)
	commands, batches int
}

// note records contention before the loop answers n submitters while others wait. Sources are not submitters: a
// group of sources alone does not show contention.
func (c *contention) note(n, waiting int) {
	if n == 0 {
		return
	}
	c.expected = n + waiting
	if c.expected > 1 {
		c.groupsLeft = contentionGroups
	} else {
		c.groupsLeft = max(c.groupsLeft-1, 0)
	}
}

// startSync forgets the groups that shared a sync.
func (c *contention) startSync() { c.commands, c.batches = 0, 0 }

// acceptsGroup reports whether the loop may take another group: its intake has not ended, and not too many
// commands wait for the disk.
func (l *Loop) acceptsGroup() bool {
	return !l.intakeClosed && !l.backlog.full()
}

// sharesSync reports whether the sync should wait for another group. Under sync always it waits until all known
// submitters have submitted again, because a late one would have to wait for one more sync.
func (l *Loop) sharesSync() bool {
	c := &l.contention
	return c.batches > 0 && c.batches < c.expected && c.commands < SliceCommands && l.acceptsGroup()
}

// commands counts the commands of a slice.
func commands(batches []*Batch) (n int) {
	for _, b := range batches {
		n += b.to - b.applied
	}
	return n
}

// fillGroup adds waiting batches to the group: at most limit commands and one batch more. A batch
// whose first command must wait for its pair is held.
// The submitters of the last group were just woken. fillGroup yields to them while this brings
// more batches, so that one write and one publication serve them all (256 waiting submitters:
// 2 commands a group without yielding, see BenchmarkLoop). It does not yield for a lone
// submitter: the processor would go to a goroutine that computes, for milliseconds when it
// makes a snapshot. Nor does it yield beyond groupEnough: the loop can serve that group
// while another processor runs the submitters of the group before. Under sync always it yields
// until all known submitters are back: a late one would wait for one more sync.
// A batch that is Together is a group of its own.
func (l *Loop) fillGroup(limit, known int) {
	if len(l.group) == 1 && l.group[0].Together {
		return
	}
	yields, enough := groupYields, groupEnough
	switch {
	case l.contention.groupsLeft == 0:
		yields = 0
	case l.backlog.show == Synced:
		yields, enough = groupYieldsSync, groupEnoughSync
	default:
		known = SliceCommands
	}
	for n, idle := 0, 0; n < limit; {
		b := l.intake.pop()
		if b == nil {
			if idle == yields || n >= enough || len(l.group) >= known {
				break
			}
			idle++
			runtime.Gosched()
			continue
		}
		idle = 0
		if !l.work.slice(b) || b.Together && !l.work.mayBeAlone(l.group) {
			if err := l.work.deferBatch(b); err != nil {
				l.stats.Busy.Add(1)
				b.answer(err)
			}
			if b.Together {
				return // what comes behind it runs behind it
			}
			continue
		}
		l.group = append(l.group, b)
		if n += b.to; b.Together {
			return
		}
	}
}
