package exchange

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/mirror"
	"tickhive/internal/refuse"
	"tickhive/internal/stream"
	"tickhive/internal/wal"
)

// settleWithin limits the time that a request waits for the stream.
const settleWithin = 10 * time.Second

// quorum reports whether the process shows and acknowledges only what the stream has.
func (o *Options) quorum() bool { return o.Stream.Open != nil && o.Stream.Quorum }

// shows returns the mark of what readers see.
func (o *Options) shows() sequencer.Mark {
	if o.quorum() {
		return sequencer.Acked
	}
	return o.Journal.Sync.Shows()
}

// quorumJournal is the journal of a writer that shows what the stream has confirmed (sequencer.Acked). Before this node
// is the writer of the stream, no client is admitted, and what is written counts as confirmed: Start waits until it is.
// When the mirror has failed, so has the journal: no mark moves any more.
type quorumJournal struct {
	*sequencer.WALJournal
	mirror    atomic.Pointer[mirror.Mirror] // nil: this node is not the writer of the stream yet
	confirmed atomic.Uint64                 // the last record of the market that the stream has confirmed
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

// maxUnshown bounds the records of the accounts that readers do not see. Beyond it changes are refused.
const maxUnshown = 1 << 14

// shownAccounts is what readers see of the accounts: a second state, which follows the one that decides. It folds what
// the loop shows, and applies a record of the accounts when the stream has it, at the position of the market that the
// record names.
type shownAccounts struct {
	state *accounts.State

	mu      sync.Mutex
	last    uint64 // newest record of the other state
	reached uint64 // the last record that the stream has
	waiting []accounts.Record
}

// showAccounts makes the state that readers see, before anything changes the other one.
func showAccounts(a *accountSide) (s *shownAccounts, err error) {
	werr := a.store.WithState(func() {
		s = &shownAccounts{last: a.store.Log().LastSeq()}
		if s.state, err = a.state.Clone(); err == nil {
			a.state.OnApply(s.note)
		}
	})
	return s, errors.Join(werr, err)
}

// note keeps a record of the other state. A decoded copy of it shares nothing with that state.
func (s *shownAccounts) note(rec *accounts.Record) {
	own, err := accounts.DecodeRecord(accounts.AppendRecord(nil, rec))
	if err != nil {
		panic("BUG: a record of the accounts cannot be decoded: " + err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.waiting = append(s.waiting, own)
}

// full reports whether too many records wait for the stream.
func (s *shownAccounts) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) >= maxUnshown
}

// reach applies what the stream has.
func (s *shownAccounts) reach(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached = max(s.reached, seq)
	s.apply()
}

// Fold implements sequencer.Sink. The stream has every record of the accounts that names an earlier position.
func (s *shownAccounts) Fold(events []engine.Event, pos uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting) > 0 && s.waiting[0].EnginePos < pos {
		s.applyFirst()
	}
	s.state.FoldEvents(events, pos)
	s.apply()
}

// Publish implements sequencer.Sink.
func (s *shownAccounts) Publish(ns int64) { accounts.Sink{State: s.state}.Publish(ns) }

// NextNs implements sequencer.Sink.
func (*shownAccounts) NextNs() int64 { return math.MaxInt64 }

// apply applies the records that the stream has and whose position is folded.
func (s *shownAccounts) apply() {
	for len(s.waiting) > 0 && s.last-uint64(len(s.waiting)) < s.reached &&
		s.waiting[0].EnginePos <= s.state.EnginePos() {
		s.applyFirst()
	}
}

func (s *shownAccounts) applyFirst() {
	s.state.Apply(&s.waiting[0])
	s.state.Publish()
	s.waiting[0] = accounts.Record{}
	if s.waiting = s.waiting[1:]; len(s.waiting) == 0 {
		s.waiting = nil
	}
}

// settle waits until the stream has what the accounts have changed, and readers see it. It is the only wait for the
// stream outside of the loop: as long as the accounts have a log and a goroutine of their own, their changes are no
// commands of the loop, which waits for the others (sequencer.Acked).
func (f *front) settle() error {
	x := f.phase.Load().running
	if x == nil || x.mirror.Load() == nil || !x.o.quorum() {
		return nil
	}
	w := x.mirror.Load()
	want := w.Ends()
	want[stream.Engine-1] = 0 // the records before them are sent first
	if err := w.Settle(want, settleWithin); err != nil {
		f.log.Debug("a change is not confirmed by the stream", "error", err) // status and metrics tell the operator
		return refuse.AsError(refuse.Unsettled("The change", "look at what it changes before you repeat the request."))
	}
	_ = x.loop.Query(func() {}) // the loop shows the commands that the accounts' records rest on; a stopped one has
	return nil
}

// settled returns the function that changes the accounts for the handlers.
func (f *front) settled(a *accountSide) func(accounts.Command) (accounts.Result, error) {
	return func(cmd accounts.Command) (res accounts.Result, err error) {
		if a.shown != nil && a.shown.full() {
			return res, fmt.Errorf("%w: %d changes wait for the stream", wal.ErrBusy, maxUnshown)
		}
		if res, err = a.store.Do(cmd); err == nil {
			err = f.settle()
		}
		return res, err
	}
}

// awaitStream waits until the stream has every record of this directory: what clients see from now on is never taken
// back.
func (w *writing) awaitStream(ctx context.Context) error {
	for want := w.Ends(); ctx.Err() == nil && w.Failure() == nil; {
		if w.Settle(want, time.Second) == nil {
			return nil
		}
	}
	if err := w.Failure(); err != nil {
		return err
	}
	return ctx.Err()
}
