package sequencer

import "sync/atomic"

// intake is the bounded queue in front of the loop: any goroutine puts, the loop takes
// all that waits at once. A list of batches whose newest is an atomic pointer: to put is
// one compare-and-swap, to take everything one swap. A channel locks for each batch at
// both ends, and whoever waits for an answer or for the end of the loop locks a channel
// that all share: 19 of 100 samples with 256 waiting.
type intake struct {
	newest  atomic.Pointer[Batch]
	waiting atomic.Int64
	asleep  atomic.Bool   // the loop waits for bell
	bell    chan struct{} // holds one token
	taken   *Batch        // oldest first; of the loop's goroutine
}

// noMore stands for the newest batch of a closed intake.
var noMore = new(Batch)

// put adds b and wakes the loop; the error is ErrBusy or ErrStopping.
func (q *intake) put(b *Batch) error {
	if q.waiting.Add(1) > QueueBatches {
		q.waiting.Add(-1)
		return ErrBusy
	}
	for {
		before := q.newest.Load()
		if before == noMore {
			q.waiting.Add(-1)
			return ErrStopping
		}
		b.next = before
		if q.newest.CompareAndSwap(before, b) {
			break
		}
	}
	if q.asleep.Load() && q.asleep.CompareAndSwap(true, false) {
		signal(q.bell)
	}
	return nil
}

// take is the oldest batch that waits, nil for none. The loop's goroutine.
func (q *intake) take() *Batch {
	if q.taken == nil {
		for b := q.newest.Swap(nil); b != nil; {
			b.next, q.taken, b = q.taken, b, b.next
		}
	}
	b := q.taken
	if b != nil {
		q.taken, b.next = b.next, nil
		q.waiting.Add(-1)
	}
	return b
}

// empty reports whether nothing waits. The loop's goroutine.
func (q *intake) empty() bool { return q.taken == nil && q.newest.Load() == nil }

// sleep makes the next put ring the bell; false when something waits already. The loop
// calls wake when it goes on. A token that is left over costs it one round for nothing.
func (q *intake) sleep() bool {
	q.asleep.Store(true)
	if q.empty() {
		return true
	}
	q.wake()
	return false
}

// wake ends a sleep, whatever ended it.
func (q *intake) wake() { q.asleep.Store(false) }

// close refuses what comes from now on; false when something waits still.
func (q *intake) close() bool {
	return q.taken == nil && q.newest.CompareAndSwap(nil, noMore)
}
