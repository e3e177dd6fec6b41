package durable

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"tickhive/internal/step"
	"tickhive/internal/wal"
)

// storeOwner holds the fields that only the store's goroutine uses, except the atomic ones.
type storeOwner[C, T any] struct {
	lastNs    int64 // time of the last command; the store's time never goes back
	changed   bool  // the state has changes that are not published yet
	touched   bool  // WithState has run since the last snapshot
	wanted    bool  // a call requested a snapshot
	unsynced  bool  // records were written since the last sync
	group     []*request[C, T]
	lastGroup int
	sinceSnap int64      // bytes of log since the last snapshot began
	snapDone  chan error // receives the result of the snapshot that is being written
	writing   bool
	// writes the pending snapshot at the driver's next step; nil: a goroutine writes it
	write     func() error
	retryNs   int64                     // with a driver: time of the next attempt after a failed write, 0: none
	ended     bool                      // with a driver: the store is closed
	reflects  [wal.SnapshotsKept]uint64 // ReflectsSeq + 1 of each retained snapshot, newest first
	seqs      [wal.SnapshotsKept]uint64 // sequence of each retained snapshot, newest first
	writingAt snapshotMark

	retainFrom atomic.Uint64
	fallback   atomic.Uint64 // returned by FallbackSeq
}

type snapshotMark struct{ seq, reflects uint64 }

// run is the function of the store's goroutine: it serves calls, due changes and snapshots one after another.
func (s *Store[C, R, T]) run() {
	defer close(s.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(s.dueIn())
		select {
		case req, open := <-s.queue:
			if !open {
				s.endErr = s.finish()
				return
			}
			s.serve(req)
		case err := <-s.owner.snapDone:
			s.snapshotWritten(err)
		case <-timer.C:
			s.serve(nil)
		}
		s.snapshotIfDue()
	}
}

// Step does one piece of the work of run, for a driver: it writes the pending snapshot, or serves the waiting
// calls.
func (s *Store[C, R, T]) Step() step.Progress {
	switch {
	case s.owner.ended:
		return step.Progress{Stopped: true}
	case s.owner.writing:
		s.awaitSnapshot()
	default:
		select {
		case req, open := <-s.queue:
			if !open {
				s.endErr, s.owner.ended = s.finish(), true
				close(s.done)
				return step.Progress{Stopped: true}
			}
			s.serve(req)
		default:
			if p, later := s.later(s.opts.Clock.NowNs()); later {
				return p
			}
			s.serve(nil)
		}
	}
	s.snapshotIfDue()
	return step.Worked()
}

// later reports whether no change is due at now, and when the next one is due.
func (s *Store[C, R, T]) later(now int64) (p step.Progress, later bool) {
	next := &s.owner.retryNs
	wait := int64(s.dueIn())
	switch {
	case s.Health() == nil:
		*next = 0
		return step.Progress{NextNs: now + wait}, wait > 0
	case *next == 0:
		*next = now + wait
	case now >= *next:
		*next = 0
		return p, false
	}
	return step.Progress{NextNs: *next}, true
}

// snapshotIfDue starts a snapshot when one is due and no other is being written.
func (s *Store[C, R, T]) snapshotIfDue() {
	due := s.owner.wanted || s.owner.sinceSnap >= s.opts.SnapshotBytes
	if s.log != nil && due && !s.owner.writing && s.Health() == nil {
		s.startSnapshot()
	}
}

// dueIn returns the time until the next change that time alone causes.
func (s *Store[C, R, T]) dueIn() time.Duration {
	next := s.state.NextNs()
	if next == 0 || s.opts.Follows || s.opts.Clock.Virtual() || errors.Is(s.Health(), wal.ErrStopped) {
		return time.Hour
	}
	wait := time.Duration(max(next-s.opts.Clock.NowNs(), 0))
	if s.Health() != nil {
		wait = max(wait, retryAfter)
	}
	return wait
}

// serve handles a group of waiting calls with one sync. first is the call that woke the goroutine, nil for the
// timer.
func (s *Store[C, R, T]) serve(first *request[C, T]) {
	group := s.owner.group[:0]
	if first != nil {
		group = append(group, first)
		gather(s.queue, s.owner.lastGroup-1)
		for len(group) < maxGroup && len(s.queue) > 0 {
			req, open := <-s.queue
			if !open {
				break
			}
			group = append(group, req)
		}
	}
	for _, req := range group {
		s.handle(req)
	}
	if first == nil {
		if err := s.due(s.now()); err != nil {
			s.logf("store %s: what is due by now waits: %v", s.opts.Dir, err)
		}
	}
	err := s.commit()
	for i, req := range group {
		switch {
		case err == nil || errors.Is(req.err, wal.ErrOutcomeUnknown):
		case req.err == nil:
			req.err = wal.OutcomeUnknown(err)
		default:
			req.err = err // replaces a refusal too: it may depend on records that are not durable
		}
		close(req.done)
		group[i] = nil
	}
	s.owner.group, s.owner.lastGroup = group, len(group)
}

// gather yields the processor to the callers that were just answered, as long as more of them queue their next
// call. Without it, one sync would serve the first caller alone, and the others would wait for two. It never
// waits for a clock. For a single caller it costs one comparison.
func gather[C, T any](queue chan *request[C, T], last int) {
	for n, before := len(queue), 0; n > before && n < last; {
		runtime.Gosched()
		n, before = len(queue), n
	}
}

// handle plans, writes and applies one call. commit answers the caller.
func (s *Store[C, R, T]) handle(req *request[C, T]) {
	if err := s.Health(); errors.Is(err, wal.ErrStopped) {
		req.err = err
		return
	}
	now := s.now()
	if req.kind == tickRequest {
		now = max(now, req.tickNs)
		s.owner.lastNs = now
	}
	// A fold writes nothing, and its input does not come again. It therefore runs even when a full disk prevents
	// due commands.
	if err := s.due(now); err != nil && (req.kind != stateRequest || !errors.Is(err, wal.ErrUnavailable)) {
		req.err = err
		return
	}
	switch req.kind {
	case doRequest:
		req.res, req.err = s.carryOut(now, req.cmd)
	case stateRequest:
		req.use()
		s.owner.changed, s.owner.touched = true, true
	case snapshotRequest:
		req.err = s.snapshotNow()
	case snapshotSoonRequest:
		s.owner.wanted = true
	case tickRequest: // due, above, has done the work
	}
}

// due carries out the commands that are due until nowNs, each at its due time.
func (s *Store[C, R, T]) due(nowNs int64) error {
	for {
		next := s.state.NextNs()
		if next == 0 || next > nowNs || s.opts.Follows {
			return nil
		}
		cmds := s.state.Due(next)
		if len(cmds) == 0 {
			panic(fmt.Sprintf("BUG: state is due at %d and has nothing to do", next))
		}
		for _, cmd := range cmds {
			_, err := s.carryOut(next, cmd)
			switch {
			case errors.Is(err, wal.ErrUnavailable) || errors.Is(err, wal.ErrStopped):
				return err
			case err != nil:
				panic(fmt.Sprintf("BUG: the state refuses what is due at %d: %v", next, err))
			}
		}
	}
}

// carryOut plans a command, writes its record and applies it. The record is in the page cache before the state
// changes. A failed write therefore leaves log and state unchanged, and nothing needs to be undone.
func (s *Store[C, R, T]) carryOut(nowNs int64, cmd C) (res T, err error) {
	rec, err := s.state.Plan(nowNs, cmd)
	if err != nil {
		return res, err
	}
	if s.opts.BeforeRecord != nil {
		if err := s.opts.BeforeRecord(&rec); err != nil {
			s.abandon()
			return res, wal.Unavailable("what the record rests on", err)
		}
	}
	if s.log != nil {
		before := s.log.BytesWritten()
		s.log.Begin()
		s.log.Add(func(dst []byte) []byte { return s.opts.AppendRecord(dst, &rec) })
		if _, err := s.log.Write(); err != nil {
			s.abandon()
			s.sick(err)
			return res, err
		}
		s.sick(nil)
		s.owner.unsynced = true
		s.owner.sinceSnap += s.log.BytesWritten() - before
	}
	s.owner.changed = true
	return s.state.Apply(&rec), nil
}

func (s *Store[C, R, T]) abandon() {
	if a, ok := s.state.(Abandoner); ok {
		a.Abandon()
	}
}

// commit makes the group durable and then publishes it. When the sync fails, neither the view nor an answer
// shows the group, and the store stops.
func (s *Store[C, R, T]) commit() error {
	if s.owner.unsynced {
		if err := s.sync(); err != nil {
			s.sick(err)
			return err
		}
		s.owner.unsynced = false
	}
	if s.owner.changed && !errors.Is(s.Health(), wal.ErrStopped) {
		s.publish()
	}
	return nil
}

// sync syncs the store's log. Before that, it makes the other log durable (BeforeSync).
func (s *Store[C, R, T]) sync() error {
	if s.opts.BeforeSync != nil {
		if err := s.opts.BeforeSync(); err != nil {
			return s.log.Fail(fmt.Errorf("what the records rest on: %w", err))
		}
	}
	return s.log.Sync()
}

func (s *Store[C, R, T]) publish() {
	s.state.Publish()
	s.owner.changed = false
}

// now returns the clock's time, never earlier than the last command's.
func (s *Store[C, R, T]) now() int64 {
	s.owner.lastNs = max(s.owner.lastNs, s.opts.Clock.NowNs())
	return s.owner.lastNs
}

// sick records an error of the log for Health, unless the store has stopped. It does not record an unknown
// outcome, which concerns one command.
func (s *Store[C, R, T]) sick(err error) {
	if stopped := s.log.Stopped(); stopped != nil {
		err = stopped
	}
	if err == nil {
		s.health.Store(nil)
		return
	}
	s.health.Store(&err)
}

// finish ends the goroutine after all queued calls were answered.
func (s *Store[C, R, T]) finish() error {
	if s.owner.writing {
		s.awaitSnapshot()
	}
	if s.log == nil {
		return nil
	}
	var err error
	if (s.owner.sinceSnap > 0 || s.owner.touched) && s.Health() == nil {
		err = s.snapshotNow()
	}
	return errors.Join(err, s.log.Close())
}

func (s *Store[C, R, T]) logf(format string, args ...any) {
	if s.opts.Logf != nil {
		s.opts.Logf(format, args...)
	}
}
