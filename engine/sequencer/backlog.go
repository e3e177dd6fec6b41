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
	// spareSlices and spareEvents bound the buffers that the loop retains for later slices.
	spareSlices = 4
	spareEvents = 16 * SliceCommands
)

// ackWithin limits the time that a batch waits for the stream. The stream may be cut off for hours, a client is not
// to wait so long.
const ackWithin = 10 * time.Second

// unshown is what one slice has done. Readers see it, and its batches are answered, when its records have reached their
// marks. A group is something else: the batches that the loop takes from its queue together (group.go).
type unshown struct {
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
	end        int // of its events in the slice's
	unfinished bool
}

// reach returns the position that must have reached a mark: void records behind it change nothing.
func (u *unshown) reach() uint64 {
	if len(u.outcomes) == 0 {
		return u.pos
	}
	return u.first + uint64(len(u.outcomes))
}

// answerable is a batch, or a read of what is applied, that waits for a mark.
type answerable struct {
	pos   uint64
	mark  Mark
	batch *Batch
	read  *query
}

// Backlog holds what is applied and waits for a mark: slices that the process does not show yet, oldest first, and
// behind them the answers that wait for more than that. Owner: the loop's goroutine.
//
// Every slice becomes an unshown. Where the process shows what is written, it keeps no events: each command is folded
// when it is applied, and the slice is released at once.
type Backlog struct {
	loop     *Loop
	show     Mark // what readers see has reached it; it never changes
	open     *unshown
	waiting  []*unshown
	commands int // in waiting
	events   int // in waiting
	late     int // of waiting: the first ones have waited too long, and their batches are answered
	answers  []answerable
	spares   []*unshown // answered ones, for reuse of their buffers: a slice of 128 commands has 30 KB of events
}

// Step asks the journal to bring what waits to its mark, then folds, publishes and answers what has reached it. Under
// sync always a WALJournal syncs during Step, once for all waiting slices. Otherwise the journal reaches a mark
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

// full reports whether no slice may join: too much is not shown.
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

// begin opens the unshown of a new slice of n records.
func (b *Backlog) begin(n int) {
	pos := b.loop.records.pos
	u := b.spare()
	u.first, u.pos = pos-uint64(n), pos
	b.open = u
	if b.show == Written {
		b.loop.folds.folded = u.first
	}
}

// end closes the open unshown, and releases it where the process shows what is written.
func (b *Backlog) end() {
	u := b.open
	b.open, u.stampedNs, u.change = nil, b.loop.times.lastNs, b.loop.parts.Take()
	b.loop.folds.addToStats()
	if b.show == Written {
		b.loop.contention.note(submitters(u.ended), b.loop.QueueLen())
		b.showSlice(u)
		return
	}
	b.commands += len(u.outcomes)
	b.events += len(u.events)
	b.waiting = append(b.waiting, u)
}

// showSlice folds, publishes and answers what a slice has done.
func (b *Backlog) showSlice(u *unshown) {
	if u.change != nil {
		b.loop.parts.Show(u.change)
		u.change, b.loop.folds.dirty = nil, true
	}
	b.loop.folds.foldSlice(u)
	b.loop.publish()
	answer(b.keep(u), nil)
	b.put(u)
}

// release folds, publishes and answers the slices that have reached the mark one by one: the submitters of the first
// slice run while the loop folds the next. It reports whether there were any. Once the journal has failed it answers
// every slice.
func (b *Backlog) release() bool {
	l := b.loop
	if len(b.waiting) == 0 {
		return false
	}
	reached, err := l.records.reached(b.show), l.records.journal.Err()
	done, known := 0, 0
	for _, u := range b.waiting {
		if u.reach() > reached && err == nil {
			break
		}
		done++
		known += submitters(u.ended)
	}
	if done == 0 {
		return false
	}
	l.contention.startSync()
	l.contention.note(known, l.QueueLen())
	for i, u := range b.waiting[:done] {
		if u.reach() > reached {
			// The journal has failed for good, so this slice will never reach the mark here. The core has applied it,
			// but no reader has seen it or will before the next start, which may find its records.
			b.waiting = b.waiting[i:]
			l.abandon(err)
			return true
		}
		b.commands -= len(u.outcomes)
		b.events -= len(u.events)
		b.showSlice(u)
	}
	rest := copy(b.waiting, b.waiting[done:])
	clear(b.waiting[rest:])
	b.waiting, b.late = b.waiting[:rest], max(0, b.late-done)
	return true
}

// keep holds the batches of a shown slice back whose answers wait for more, and returns the others.
func (b *Backlog) keep(u *unshown) []*Batch {
	if !slices.ContainsFunc(u.ended, func(one *Batch) bool { return one.Wait > b.show }) {
		return u.ended
	}
	u.ended = slices.DeleteFunc(u.ended, func(one *Batch) bool {
		if one.done == nil || one.Wait <= b.show || b.loop.records.reached(one.Wait) >= u.reach() {
			return false
		}
		b.answers = append(b.answers, answerable{pos: u.reach(), mark: one.Wait, batch: one})
		return true
	})
	return u.ended
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

// nextLateNs returns when the next slice will have waited too long for the stream.
func (b *Backlog) nextLateNs() int64 {
	if b.show != Acked || b.late == len(b.waiting) {
		return step.Never
	}
	return b.waiting[b.late].stampedNs + int64(ackWithin)
}

// forget removes batches that are answered already from everything that is begun and not ended.
func (b *Backlog) forget(answered map[*Batch]bool) {
	gone := func(one *Batch) bool { return answered[one] }
	for _, u := range b.waiting {
		u.ended = slices.DeleteFunc(u.ended, gone)
		for i := range u.outcomes {
			if o := &u.outcomes[i]; gone(o.batch) {
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

// spare returns an empty unshown.
func (b *Backlog) spare() *unshown {
	n := len(b.spares)
	if n == 0 {
		return &unshown{}
	}
	u := b.spares[n-1]
	b.spares = b.spares[:n-1]
	return u
}

// put takes back an unshown that is answered.
func (b *Backlog) put(u *unshown) {
	if len(b.spares) == spareSlices || cap(u.events) > spareEvents {
		return
	}
	clear(u.outcomes)
	clear(u.ended[:cap(u.ended)])
	u.events, u.outcomes, u.ended = u.events[:0], u.outcomes[:0], u.ended[:0]
	b.spares = append(b.spares, u)
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
