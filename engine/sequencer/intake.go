package sequencer

import "sync/atomic"

// QueueBatches bounds the waiting batches; beyond it Submit returns ErrBusy.
const QueueBatches = 4096

// intake is the bounded queue in front of the loop: any goroutine puts a batch, the loop removes
// all waiting batches at once. It is a linked list with an atomic pointer to the newest batch:
// put is one compare-and-swap, taking everything is one swap. Rejected: a channel. It locks for
// each batch at both ends, and every submitter that waits for an answer or for the end of the
// loop locks a shared channel: 19 of 100 profile samples with 256 waiting submitters.
type intake struct {
	newest  atomic.Pointer[Batch]
	waiting atomic.Int64
	asleep  atomic.Bool   // the loop sleeps until bell receives a token
	bell    chan struct{} // holds one token
	ready   *Batch        // batches removed from the list, oldest first; only the loop's goroutine uses it
}

// closedMark marks a closed intake: it is the newest batch.
var closedMark = new(Batch)

// put adds b and wakes the loop; the error is ErrBusy or ErrStopping.
func (q *intake) put(b *Batch) error {
	if q.waiting.Add(1) > QueueBatches {
		q.waiting.Add(-1)
		return ErrBusy
	}
	for {
		before := q.newest.Load()
		if before == closedMark {
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

// pop removes and returns the oldest waiting batch, nil for none. Only the loop's
// goroutine calls it.
func (q *intake) pop() *Batch {
	if q.ready == nil {
		for b := q.newest.Swap(nil); b != nil; {
			b.next, q.ready, b = q.ready, b, b.next
		}
	}
	b := q.ready
	if b != nil {
		q.ready, b.next = b.next, nil
		q.waiting.Add(-1)
	}
	return b
}

// refuse answers every waiting batch with ErrBusy and returns their number. Only the loop's goroutine calls it.
func (q *intake) refuse() (n int) {
	for b := q.pop(); b != nil; b = q.pop() {
		b.answer(ErrBusy)
		n++
	}
	return n
}

// empty reports whether no batch waits. Only the loop's goroutine calls it.
func (q *intake) empty() bool { return q.ready == nil && q.newest.Load() == nil }

// sleep makes the next put ring the bell; it returns false when a batch waits already. The
// loop calls wake when it goes on. A leftover token costs the loop one empty round.
func (q *intake) sleep() bool {
	q.asleep.Store(true)
	if q.empty() {
		return true
	}
	q.wake()
	return false
}

// wake ends a sleep; the loop calls it after every wake-up, whatever the cause.
func (q *intake) wake() { q.asleep.Store(false) }

// close makes put refuse every later batch; it returns false when a batch still waits.
func (q *intake) close() bool {
	return q.ready == nil && q.newest.CompareAndSwap(nil, closedMark)
}
