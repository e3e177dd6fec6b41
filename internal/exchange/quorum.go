package exchange

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
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

// quorumJournal is the journal of a writer that shows what the stream has confirmed (sequencer.Acked), under sync
// always what is synced here too. The sync and the way to the stream run side by side: a power cut here takes what the
// next start reads in the stream. Before the sender runs, no client is admitted, and what is written counts as
// confirmed: Start waits until it is. When the sender has failed, so has the journal: no mark moves any more.
type quorumJournal struct {
	*sequencer.WALJournal
	synced    bool                        // under sync always
	joined    bool                        // the start has read the stream
	sender    atomic.Pointer[node.Sender] // nil: it does not run yet
	confirmed atomic.Uint64               // the last record that the stream has confirmed
	sealedNs  atomic.Int64                // time of the last message that the stream has confirmed
	over      atomic.Bool                 // the sender has ended, and the stream had everything
}

// leads reports whether the stream decides what is confirmed.
func (q *quorumJournal) leads() (s *node.Sender, yes bool) {
	s = q.sender.Load()
	return s, s != nil && !q.over.Load()
}

// Reached implements sequencer.Journal.
func (q *quorumJournal) Reached(m sequencer.Mark) uint64 {
	if m != sequencer.Acked {
		return q.WALJournal.Reached(m)
	}
	if _, yes := q.leads(); !yes {
		return q.WALJournal.Reached(sequencer.Written)
	}
	if q.synced {
		return min(q.confirmed.Load(), q.WALJournal.Reached(sequencer.Synced))
	}
	return q.confirmed.Load()
}

// SealedNs implements sequencer.Journal: a writer that takes over adds nothing before the last message of the stream.
func (q *quorumJournal) SealedNs() int64 { return q.sealedNs.Load() }

// reach notes what the stream has confirmed, and wakes the loop. One goroutine calls it at a time.
func (q *quorumJournal) reach(at stream.State) {
	q.confirmed.Store(max(q.confirmed.Load(), at.End.Seq))
	q.sealedNs.Store(max(q.sealedNs.Load(), at.SentNs))
	q.Ring()
}

// snapshots returns the last position that a snapshot may have: the stream has it, so no writer after this one has
// another record there. A new directory has no stream yet.
func (q *quorumJournal) snapshots() uint64 {
	if _, yes := q.leads(); yes || q.joined && !q.over.Load() {
		return q.confirmed.Load()
	}
	return math.MaxUint64
}

// Want implements sequencer.Journal. The sender has the records before this goroutine syncs them.
func (q *quorumJournal) Want(m sequencer.Mark, pos uint64) {
	if m == sequencer.Acked {
		s, yes := q.leads()
		if !yes {
			return
		}
		if s.Want(pos); !q.synced {
			return
		}
	}
	q.WALJournal.Want(sequencer.Synced, pos)
}

// Err implements sequencer.Journal.
func (q *quorumJournal) Err() error {
	if err := q.WALJournal.Err(); err != nil {
		return err
	}
	if s, yes := q.leads(); yes && s.Failure() != nil {
		return fmt.Errorf("%w: %w", sequencer.ErrNoStream, s.Failure())
	}
	return nil
}

// awaitStream waits until the stream has every record of this directory: what clients see from now on is never taken
// back.
func (w *writing) awaitStream(ctx context.Context) error {
	for want := w.x.journal.log.LastSeq(); ctx.Err() == nil && w.Failure() == nil; {
		if w.Settle(ctx, want, time.Second) == nil {
			return nil
		}
	}
	if err := w.Failure(); err != nil {
		return err
	}
	return ctx.Err()
}
