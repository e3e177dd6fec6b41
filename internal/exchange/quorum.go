package exchange

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"tickhive/engine/sequencer"
	"tickhive/internal/mirror"
)

// quorum reports whether the process shows and acknowledges only what the stream has.
func (o *Options) quorum() bool { return o.Stream.Open != nil && o.Stream.Quorum }

// shows returns the mark of what readers see.
func (o *Options) shows() sequencer.Mark {
	if o.quorum() {
		return sequencer.Acked
	}
	return o.Journal.Sync.Shows()
}

// waits returns the mark of the answers to changes of money, launchpad and hive: they survive a power cut.
func (o *Options) waits() sequencer.Mark { return max(o.shows(), sequencer.Synced) }

// quorumJournal is the journal of a writer that shows what the stream has confirmed (sequencer.Acked). Before this node
// is the writer of the stream, no client is admitted, and what is written counts as confirmed: Start waits until it is.
// When the mirror has failed, so has the journal: no mark moves any more.
type quorumJournal struct {
	*sequencer.WALJournal
	mirror    atomic.Pointer[mirror.Mirror] // nil: this node is not the writer of the stream yet
	confirmed atomic.Uint64                 // the last record that the stream has confirmed
	over      atomic.Bool                   // the mirror has ended, and the stream had everything
}

// leads reports whether the stream decides what is confirmed.
func (q *quorumJournal) leads() (m *mirror.Mirror, yes bool) {
	m = q.mirror.Load()
	return m, m != nil && !q.over.Load()
}

// Reached implements sequencer.Journal.
func (q *quorumJournal) Reached(m sequencer.Mark) uint64 {
	if m != sequencer.Acked {
		return q.WALJournal.Reached(m)
	}
	if _, yes := q.leads(); !yes {
		return q.WALJournal.Reached(sequencer.Written)
	}
	return q.confirmed.Load()
}

// reach notes what the stream has confirmed, and wakes the loop.
func (q *quorumJournal) reach(pos uint64) {
	for was := q.confirmed.Load(); pos > was && !q.confirmed.CompareAndSwap(was, pos); {
		was = q.confirmed.Load()
	}
	q.Ring()
}

// Want implements sequencer.Journal. The mirror syncs before it sends.
func (q *quorumJournal) Want(m sequencer.Mark, pos uint64) {
	if m != sequencer.Acked {
		q.WALJournal.Want(m, pos)
	} else if w, yes := q.leads(); yes {
		w.Want(pos)
	}
}

// Err implements sequencer.Journal.
func (q *quorumJournal) Err() error {
	if err := q.WALJournal.Err(); err != nil {
		return err
	}
	if w, yes := q.leads(); yes && w.Failure() != nil {
		return fmt.Errorf("%w: %w", sequencer.ErrNoStream, w.Failure())
	}
	return nil
}

// awaitStream waits until the stream has every record of this directory: what clients see from now on is never taken
// back.
func (w *writing) awaitStream(ctx context.Context) error {
	for want := w.End(); ctx.Err() == nil && w.Failure() == nil; {
		if w.Settle(want, time.Second) == nil {
			return nil
		}
	}
	if err := w.Failure(); err != nil {
		return err
	}
	return ctx.Err()
}
