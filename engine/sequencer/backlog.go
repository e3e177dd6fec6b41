package sequencer

import (
	"fmt"
	"slices"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/step"
)

// Bounds of what is applied and not shown. When they are reached, the loop takes no further commands.
const (
	// unshownCommands limits the commands that are applied and not shown.
	unshownCommands = 64 * SliceCommands
	// unshownEvents bounds their events: 15 MB.
	unshownEvents = 1 << 16
	// spareGroups and spareEvents bound the buffers that the loop retains for later groups.
	spareGroups = 4
	spareEvents = 16 * SliceCommands
)

// ackWithin limits the time that a batch waits for the stream. The stream may be cut off for hours, a client is not
// to wait so long.
const ackWithin = 10 * time.Second

// group is what one slice has done. Readers see it, and its batches are answered, when its records have reached their
// marks.
type group struct {
	first, pos uint64 // positions before its first and of its last record
	stampedNs  int64
	events     []engine.Event
	outcomes   []outcome
	change     any      // of the other parts (Parts.Take)
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

// reach returns the position that must have reached a mark: void records behind it change nothing.
func (g *group) reach() uint64 {
	if len(g.outcomes) == 0 {
		return g.pos
	}
	return g.first + uint64(len(g.outcomes))
}

// answerable is a batch, or a read of what is applied, that waits for a mark.
type answerable struct {
	pos   uint64
	mark  Mark
	batch *Batch
	read  *query
}

// Backlog holds what is applied and waits for a mark: groups that the process does not show yet, oldest first, and
// behind them the answers that wait for more than that. Owner: the loop's goroutine.
//
// Every slice becomes a group. Where the process shows what is written, a group keeps no events: each command is folded
// when it is applied, and the group is released at once.
type Backlog struct {
	loop     *Loop
	show     Mark // what readers see has reached it; it never changes
	open     *group
	waiting  []*group
	commands int // in waiting
	events   int // in waiting
	late     int // of waiting: the first ones have waited too long, and their batches are answered
	answers  []answerable
	spares   []*group // answered groups, for reuse of their buffers: a group of 128 commands has 30 KB of events
}

// Step asks the journal to bring what waits to its mark, then folds, publishes and answers what has reached it. Under
// sync always a WALJournal syncs during Step, once for all waiting groups. Otherwise the journal reaches a mark
// elsewhere: Step does not wait for it, and the loop is notified by Journal.Wake.
func (b *Backlog) Step() step.Progress {
	if b.empty() {
		return step.Idle()
	}
	b.want()
	released := b.release()
	answered := b.answer()
	if gaveUp := b.giveUp(); released || answered || gaveUp {
		return step.Worked()
	}
	return step.Progress{NextNs: b.nextLateNs()}
}

func (b *Backlog) empty() bool { return len(b.waiting)+len(b.answers) == 0 }

// full reports whether no group may join: too much is not shown.
func (b *Backlog) full() bool { return b.commands > unshownCommands || b.events > unshownEvents }

// want asks the journal for the marks that are waited for.
func (b *Backlog) want() {
	r := &b.loop.records
	if n := len(b.waiting); n > 0 {
		r.journal.Want(b.show, b.waiting[n-1].reach())
	}
	for i := range b.answers {
		r.journal.Want(b.answers[i].mark, b.answers[i].pos)
	}
}

// begin opens the group of a new slice of n records.
func (b *Backlog) begin(n int) {
	pos := b.loop.records.pos
	g := b.spare()
	g.first, g.pos = pos-uint64(n), pos
	b.open = g
	if b.show == Written {
		b.loop.folds.folded = g.first
	}
}

// end closes the group of the slice, and releases it where the process shows what is written.
func (b *Backlog) end() {
	g := b.open
	b.open, g.stampedNs, g.change = nil, b.loop.times.lastNs, b.loop.parts.Take()
	b.loop.folds.addToStats()
	if b.show == Written {
		b.loop.contention.note(submitters(g.ended), b.loop.QueueLen())
		b.showGroup(g)
		return
	}
	b.commands += len(g.outcomes)
	b.events += len(g.events)
	b.waiting = append(b.waiting, g)
}

// showGroup folds, publishes and answers a group.
func (b *Backlog) showGroup(g *group) {
	if g.change != nil {
		b.loop.parts.Show(g.change)
		g.change, b.loop.folds.dirty = nil, true
	}
	b.loop.folds.foldGroup(g)
	b.loop.publish()
	answer(b.keep(g), nil)
	b.put(g)
}

// release folds, publishes and answers the groups that have reached the mark one by one: the submitters of the first
// group run while the loop folds the next. It reports whether there were any. Once the journal has failed it answers
// every group.
func (b *Backlog) release() bool {
	l := b.loop
	if len(b.waiting) == 0 {
		return false
	}
	reached, err := l.records.reached(b.show), l.records.journal.Err()
	done, known := 0, 0
	for _, g := range b.waiting {
		if g.reach() > reached && err == nil {
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
	for i, g := range b.waiting[:done] {
		if g.reach() > reached {
			// The journal has failed for good, so this group will never reach the mark here. The core has applied it,
			// but no reader has seen it or will before the next start, which may find its records.
			b.waiting = b.waiting[i:]
			l.abandon(err)
			return true
		}
		b.commands -= len(g.outcomes)
		b.events -= len(g.events)
		b.showGroup(g)
	}
	rest := copy(b.waiting, b.waiting[done:])
	clear(b.waiting[rest:])
	b.waiting, b.late = b.waiting[:rest], max(0, b.late-done)
	return true
}

// keep holds the batches of a shown group back whose answers wait for more, and returns the others.
func (b *Backlog) keep(g *group) []*Batch {
	if !slices.ContainsFunc(g.ended, func(one *Batch) bool { return one.Wait > b.show }) {
		return g.ended
	}
	g.ended = slices.DeleteFunc(g.ended, func(one *Batch) bool {
		if one.done == nil || one.Wait <= b.show || b.loop.records.reached(one.Wait) >= g.reach() {
			return false
		}
		b.answers = append(b.answers, answerable{pos: g.reach(), mark: one.Wait, batch: one})
		return true
	})
	return g.ended
}

// answer answers what is shown and has reached its mark. After a failure of the journal it answers the rest with
// ErrOutcomeUnknown.
func (b *Backlog) answer() bool {
	if len(b.answers) == 0 {
		return false
	}
	r := &b.loop.records
	before, err := len(b.answers), r.journal.Err()
	b.answers = slices.DeleteFunc(b.answers, func(a answerable) bool {
		switch reached := r.reached(a.mark) >= a.pos; {
		case !reached && err == nil:
			return false
		case a.read != nil:
			if !reached {
				a.read.err = fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
			close(a.read.done)
		case reached:
			a.batch.answer(nil)
		default:
			if a.batch.err != nil { // a refusal, which rests on what may be lost
				a.batch.err = fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
			a.batch.answer(fmt.Errorf("%w: %w", ErrOutcomeUnknown, err))
		}
		return true
	})
	return len(b.answers) < before
}

// endRead ends a read of what is applied, once all that it may have seen is shown. It reports whether it has ended.
func (b *Backlog) endRead(q *query) bool {
	if b.loop.folds.folded >= b.loop.records.pos {
		close(q.done)
		return true
	}
	b.answers = append(b.answers, answerable{pos: b.loop.records.pos, mark: b.show, read: q})
	return false
}

// stuck reports whether the stream has confirmed nothing for so long that the loop takes no further commands, not even
// into its queue.
func (b *Backlog) stuck() bool { return b.late > 0 && b.full() }

// giveUp answers the batches that have waited too long for the stream with ErrUnconfirmed, and while the loop is stuck
// those that wait for a place with ErrBusy. What the former have done is shown when the stream has it. It
// reports whether it has answered any.
func (b *Backlog) giveUp() bool {
	if b.show != Acked || len(b.waiting) == 0 {
		return false
	}
	late := map[*Batch]bool{}
	now := b.loop.times.clk.NowNs()
	for ; now >= b.nextLateNs(); b.late++ {
		for _, o := range b.waiting[b.late].outcomes {
			if o.batch != nil && o.batch.done != nil {
				late[o.batch] = true
			}
		}
	}
	refused := 0
	if b.stuck() {
		refused = b.loop.work.refuseWaiting(late) + b.loop.intake.refuse()
	}
	if len(late) > 0 {
		b.forget(late)
	}
	for one := range late {
		one.answer(ErrUnconfirmed)
	}
	return refused+len(late) > 0
}

// nextLateNs returns when the next group will have waited too long for the stream.
func (b *Backlog) nextLateNs() int64 {
	if b.show != Acked || b.late == len(b.waiting) {
		return step.Never
	}
	return b.waiting[b.late].stampedNs + int64(ackWithin)
}

// forget removes batches that are answered already from everything that is begun and not ended.
func (b *Backlog) forget(answered map[*Batch]bool) {
	gone := func(one *Batch) bool { return answered[one] }
	for _, g := range b.waiting {
		g.ended = slices.DeleteFunc(g.ended, gone)
		for i := range g.outcomes {
			if o := &g.outcomes[i]; gone(o.batch) {
				o.batch = nil
			}
		}
	}
	w := &b.loop.work
	w.waiting = slices.DeleteFunc(w.waiting, gone)
	for i := range w.unfinished {
		u := &w.unfinished[i]
		if u.behind = slices.DeleteFunc(u.behind, gone); gone(u.batch) {
			u.batch = nil
		}
	}
}

// spare returns an empty group.
func (b *Backlog) spare() *group {
	n := len(b.spares)
	if n == 0 {
		return &group{}
	}
	g := b.spares[n-1]
	b.spares = b.spares[:n-1]
	return g
}

// put takes back a group that is answered.
func (b *Backlog) put(g *group) {
	if len(b.spares) == spareGroups || cap(g.events) > spareEvents {
		return
	}
	clear(g.outcomes)
	clear(g.ended[:cap(g.ended)])
	g.events, g.outcomes, g.ended = g.events[:0], g.outcomes[:0], g.ended[:0]
	b.spares = append(b.spares, g)
}

// await waits until at most most commands are not shown, or the journal has failed. Only a virtual clock needs it: the
// clock must not pass the time of a command whose effect is not visible yet.
func (b *Backlog) await(most int) {
	for b.commands > most || b.events > unshownEvents {
		b.want()
		<-b.loop.records.journal.Wake()
		b.release()
	}
}
