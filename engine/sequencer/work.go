package sequencer

import (
	"fmt"
	"slices"
	"time"

	"github.com/tickhive/tickhive/engine"
)

// What the loop has begun and not ended: commands that go on in further parts (engine.Continue),
// and batches whose next command waits. A slice holds the commands that the loop writes to the journal at once:
//
//	slice := one part of an unfinished command, then commands of pairs without one
//	       | a batch that is Together
//
// Slices are short, so requests of other pairs and queries run in between. The commands that wait
// for a pair keep their order, and so do the commands of one batch.

// retryWork is the pause after which the loop tries again to journal a part, when the journal has
// refused it and nothing else has come.
const retryWork = 100 * time.Millisecond

// unfinishedCommand names the command that a pair has not finished.
type unfinishedCommand struct {
	pair   engine.PairID
	batch  *Batch   // nil: no submitter waits for it
	index  int      // in batch
	behind []*Batch // have ended, and readers see their commands of the pair when this one has ended
}

// work holds the unfinished commands and the batches that wait. The loop's goroutine owns it.
type work struct {
	unfinished []unfinishedCommand // the first one goes on next
	reading    []engine.PairID     // pairs that a paused query reads
	waiting    []*Batch            // the next to run comes first
	refused    bool                // the journal has refused the newest part
	// alone: the newest slice was a batch that is Together, so no unfinished command went on in it.
	alone bool
	// limit is the number of commands that the next slice may have. It follows the number that the
	// slices before could apply, so that few commands are written again.
	limit int
}

// adapt sets the limit after a slice, of which applied commands were applied before it was over.
func (w *work) adapt(applied int, over bool) {
	if over {
		w.limit = max(1, min(2*applied, w.limit/2))
	} else {
		w.limit = min(SliceCommands, 2*w.limit)
	}
}

// pending reports whether anything is begun and not ended.
func (w *work) pending() bool { return len(w.unfinished) > 0 || len(w.waiting) > 0 }

// busy reports whether a pair takes no command: it has an unfinished one, or a query reads it.
func (w *work) busy(p engine.PairID) bool {
	if slices.Contains(w.reading, p) {
		return true
	}
	for i := range w.unfinished {
		if w.unfinished[i].pair == p {
			return true
		}
	}
	return false
}

// anyBusy reports whether any pair is busy.
func (w *work) anyBusy() bool { return len(w.unfinished)+len(w.reading) > 0 }

// deferBatch makes a batch wait. It returns ErrBusy when too many wait.
func (w *work) deferBatch(b *Batch) error {
	if len(w.waiting) >= QueueBatches {
		return ErrBusy
	}
	w.waiting = append(w.waiting, b)
	return nil
}

// refuseWaiting answers the waiting batches that have not begun with ErrBusy, and adds the others to begun. It returns
// the number of the former.
func (w *work) refuseWaiting(begun map[*Batch]bool) (n int) {
	w.waiting = slices.DeleteFunc(w.waiting, func(b *Batch) bool {
		switch {
		case b.done == nil:
			return false
		case b.applied > 0:
			begun[b] = true // the caller forgets it
			return false
		}
		b.answer(ErrBusy)
		n++
		return true
	})
	return n
}

// putBack makes batches wait that the slice did not reach. They run before the others.
func (w *work) putBack(batches []*Batch) { w.waiting = slices.Insert(w.waiting, 0, batches...) }

// take moves waiting batches whose next command can run to group: at most limit commands and one
// batch more.
// With begun it leaves the stamped batches that have not begun, which move the clock. A batch that is Together is a
// group of its own: the batches behind it wait.
func (w *work) take(group []*Batch, limit int, begun bool) []*Batch {
	kept := w.waiting[:0]
	for _, b := range w.waiting {
		if limit <= 0 || begun && b.Stamped && b.applied == 0 || !w.slice(b) {
			kept = append(kept, b)
			continue
		}
		if limit -= b.to - b.applied; b.Together {
			if limit = 0; !w.mayBeAlone(group) {
				kept = append(kept, b)
				continue
			}
		}
		group = append(group, b)
	}
	clear(w.waiting[len(kept):])
	w.waiting = kept
	return group
}

// mayBeAlone reports whether the next slice may be a batch that is Together: the group is empty, and an unfinished
// command has gone on since the last such slice.
func (w *work) mayBeAlone(group []*Batch) bool {
	return len(group) == 0 && !(w.alone && len(w.unfinished) > 0)
}

// slice chooses the next commands of a batch: at most limit, and none of a pair that is busy; of a batch that is
// Together all or none. It reports whether there are any.
func (w *work) slice(b *Batch) bool {
	b.to = min(len(b.Commands), b.applied+w.limit)
	if b.Together {
		b.to = len(b.Commands)
	}
	if w.anyBusy() {
		for i := b.applied; i < b.to; i++ {
			if w.busy(b.Commands[i].Pair) {
				b.to = i
			}
		}
		if b.Together && b.to < len(b.Commands) {
			b.to = b.applied
		}
	}
	return b.to > b.applied || len(b.Commands) == 0
}

// goesOn reports whether an unfinished command goes on in the slice under way.
func (w *work) goesOn() bool { return len(w.unfinished) > 0 && !w.alone }

// next returns the unfinished command that goes on in the next slice. There must be one.
func (w *work) next() *unfinishedCommand { return &w.unfinished[0] }

// begin notes that the newest command of b is unfinished. It takes the batches of ended that must wait for its pair,
// and returns the others.
func (w *work) begin(b *Batch, ended []*Batch) []*Batch {
	w.unfinished = append(w.unfinished, unfinishedCommand{
		pair: b.Commands[b.applied-1].Pair, batch: b, index: b.applied - 1,
	})
	return slices.DeleteFunc(ended, w.keepBehind)
}

// keepBehind makes a batch that has ended wait for a pair that is not shown before its unfinished command has ended,
// if the batch has a command of that pair. It reports whether the batch waits.
func (w *work) keepBehind(b *Batch) bool {
	for i := range w.unfinished {
		u := &w.unfinished[i]
		for k := range b.Commands {
			if b.Commands[k].Pair == u.pair {
				u.behind = append(u.behind, b)
				return true
			}
		}
	}
	return false
}

// advance moves the first unfinished command behind the others, or removes it when it has ended.
func (w *work) advance(ended bool) {
	p := w.unfinished[0]
	w.unfinished = slices.Delete(w.unfinished, 0, 1)
	if !ended {
		w.unfinished = append(w.unfinished, p)
	}
}

// drain carries out everything that is begun: a virtual clock must not move before. It ends early
// when the journal refuses a part.
func (l *Loop) drain() {
	for l.work.pending() {
		l.drained = l.work.take(l.drained[:0], l.work.limit, true)
		if len(l.drained) == 0 && len(l.work.unfinished) == 0 {
			return
		}
		if l.sequence(l.times.stamp(l.drained)); l.work.refused {
			return
		}
		l.backlog.await(unshownCommands)
	}
}

// abandon answers every batch that is begun and not ended, because the journal has stopped for good:
// with ErrOutcomeUnknown if one of its commands is applied, with ErrUnavailable otherwise. The next
// start finishes the commands that the journal has.
func (l *Loop) abandon(err error) {
	seen := map[*Batch]bool{nil: true}
	var unknown, refused []*Batch
	add := func(b *Batch) {
		if seen[b] {
			return
		}
		if seen[b] = true; b.applied > 0 {
			unknown = append(unknown, b)
		} else {
			refused = append(refused, b)
		}
	}
	for i := range l.backlog.waiting {
		g := l.backlog.waiting[i]
		for k := range g.outcomes {
			add(g.outcomes[k].batch)
		}
		for _, b := range g.ended { // refused behind its first commands
			add(b)
		}
	}
	for i := range l.work.unfinished {
		add(l.work.unfinished[i].batch)
		for _, b := range l.work.unfinished[i].behind {
			add(b)
		}
	}
	for _, b := range l.work.waiting {
		add(b)
	}
	l.work = work{limit: SliceCommands, reading: l.work.reading}
	l.backlog.waiting, l.backlog.late, l.backlog.commands, l.backlog.events = nil, 0, 0, 0
	l.refuse(refused, fmt.Errorf("%w: %s", ErrUnavailable, err.Error())) // not wrapped: they are not recorded
	l.refuse(unknown, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err))
}
