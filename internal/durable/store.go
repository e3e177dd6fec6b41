package durable

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// State is what a Store keeps: pure, owned by the store's goroutine, a function of the
// records applied to it. C is a decoded command, R the record of one accepted command
// (with its time stamp in it), T what the caller is told, V the immutable published view
// (usually a pointer). S is a pointer to the state.
type State[C, R, T, V any] interface {
	// Plan validates cmd at nowNs and makes the record that would carry it out,
	// without changing anything. A refusal is an error value of the state's own; it
	// leaves no record.
	Plan(nowNs int64, cmd C) (rec R, refusal error)
	// Apply carries out a record. It cannot fail: Plan or the recovery vouches for the
	// record. The result shares nothing with the state that changes later.
	Apply(rec *R) T
	// View is the state as readers see it, immutable.
	View() V
	// AppendSnapshot appends the whole state.
	AppendSnapshot(dst []byte) []byte
	// NextNs is when something happens by time alone, 0 when nothing waits.
	NextNs() int64
	// Due is the commands that time itself gives at nowNs; each of them is planned and
	// recorded like a caller's. It is called with nowNs = NextNs(), so that things
	// happen at their own time, also after a long sleep.
	Due(nowNs int64) []C
}

// Reflector is a State that folds another log as well (accounts fold engine events).
type Reflector interface {
	// ReflectsSeq is the sequence of the other log up to which everything is in the
	// state.
	ReflectsSeq() uint64
}

// Abandoner is a State that holds something from Plan until Apply (accounts hold money
// and a gate). Abandon tells it that the record planned last could not be written and
// will not be applied.
type Abandoner interface{ Abandon() }

// Options opens a Store. Codec functions are pure.
type Options[S State[C, R, T, V], C, R, T, V any] struct {
	// FS and Dir hold log and snapshots. FS nil: nothing is kept (tests, --data-dir none).
	FS  vfs.FS
	Dir string
	// Log is passed on to Open. Its RecordVersion is checked for snapshots too.
	Log wal.Options
	// New makes the empty state.
	New func() S
	// AppendRecord and DecodeRecord are the record's codec; a decoded record may not
	// share memory with the argument.
	AppendRecord func(dst []byte, rec *R) []byte
	DecodeRecord func(b []byte) (R, error)
	// DecodeSnapshot is the inverse of AppendSnapshot.
	DecodeSnapshot func(b []byte) (S, error)
	// Clock stamps commands; real when nil.
	Clock clock.Clock
	// SnapshotBytes of log after which a snapshot is taken; 0 means
	// DefaultSnapshotBytes.
	SnapshotBytes int64
	// KeepAll keeps segments that snapshots cover (journal.keep = all).
	KeepAll bool
	// Queue is how many calls may wait; 0 means DefaultQueue. More get ErrBusy.
	Queue int
	// BeforeRecord runs before a record is written, in the store's goroutine: a store
	// whose state reflects another log waits here until that one is durable
	// (docs/contract/storage.md#recovery). An error refuses the command with ErrUnavailable.
	BeforeRecord func(st S, rec *R) error
	// BeforeSync runs before a group of records is synced, in the store's goroutine: the
	// log that the state reflects as well is made durable up to there first, so that
	// no acknowledged record outlives what it refers to. One call a group, not a record. An
	// error stops the store: the records are written and cannot be vouched for.
	BeforeSync func(st S) error
	// BeforeSnapshot runs before a snapshot that reflects the other log up to a sequence
	// is written, in the goroutine that writes it. An error: there is no snapshot.
	BeforeSnapshot func(reflects uint64) error
	// BeforeReplay runs before each record is applied during recovery: a state that
	// folds another log brings it up to where the record saw it.
	BeforeReplay func(st S, rec *R) error
	// Progress, when set, hears during recovery how many of the log's bytes are read.
	Progress func(done, total int64)
	// Logf, when set, hears of what needs no one's decision (a snapshot that failed).
	Logf func(format string, args ...any)
}

// The store's limits.
const (
	// DefaultSnapshotBytes of log bound the time of a recovery to about a second.
	DefaultSnapshotBytes = 64 << 20
	// DefaultQueue is how many calls may wait for the store's goroutine.
	DefaultQueue = 4096
	// maxGroup is how many calls share one sync; it bounds the wait of the first.
	maxGroup = 1024
	// retryAfter is how long time-driven work waits after a write that failed.
	retryAfter = 250 * time.Millisecond
)

// Store is the durable shell around a pure State: encode, append, sync, apply, publish,
// reply. One goroutine owns state and log; every method may be called by anyone.
type Store[S State[C, R, T, V], C, R, T, V any] struct {
	opts  Options[S, C, R, T, V]
	state S
	log   *wal.Log // nil without FS
	info  RecoveryInfo
	found wal.Loaded

	view   atomic.Pointer[V]
	health atomic.Pointer[error]

	sendMu sync.RWMutex // guards closed against sends on queue
	closed bool
	queue  chan *request[S, C, T]
	done   chan struct{} // closed when the goroutine has ended
	endErr error         // what Close answers, set before done is closed

	owner storeOwner[S, C, T]
}

// RecoveryInfo says what a start found.
type RecoveryInfo struct {
	SnapshotSeq      uint64   // sequence of the snapshot used, 0 without one
	SnapshotReflects uint64   // its ReflectsSeq
	Replayed         uint64   // records applied after it
	LastSeq          uint64   // last record of the log
	TornTail         int64    // bytes cut at the end of the log
	Damaged          []string // snapshots that could not be used, and why
}

type requestKind uint8

const (
	doRequest requestKind = iota
	foldRequest
	tickRequest
	snapshotRequest
	snapshotSoonRequest
)

type request[S any, C any, T any] struct {
	kind   requestKind
	cmd    C
	fold   func(S)
	tickNs int64
	res    T
	err    error
	done   chan struct{}
}

// Do plans cmd, makes its record durable, applies and publishes it, and returns its
// result. The error is the state's refusal, or ErrUnavailable, ErrStopped, ErrBusy,
// ErrClosed, after all of which nothing is changed, or ErrOutcomeUnknown: the record was
// written and could not be made durable. A refusal, too, is told only when everything it
// rests on is durable.
func (s *Store[S, C, R, T, V]) Do(cmd C) (T, error) {
	req := &request[S, C, T]{kind: doRequest, cmd: cmd, done: make(chan struct{})}
	if err := s.send(req, false); err != nil {
		return req.res, err
	}
	<-req.done
	return req.res, req.err
}

// Fold runs f on the state in the store's goroutine, without a record: what f changes
// must come back from elsewhere after a restart (engine events, holds). The view is
// published before Fold returns. What is due by now is carried out before, unless it
// cannot be written at the moment: f must leave the same state before a record as after.
func (s *Store[S, C, R, T, V]) Fold(f func(st S)) error {
	req := &request[S, C, T]{kind: foldRequest, fold: f, done: make(chan struct{})}
	if err := s.send(req, true); err != nil {
		return err
	}
	<-req.done
	return req.err
}

// Tick carries out everything that is due at nowNs and returns when it is published; on
// a virtual clock nothing else does. On a real one the store wakes by itself.
func (s *Store[S, C, R, T, V]) Tick(nowNs int64) error {
	req := &request[S, C, T]{kind: tickRequest, tickNs: nowNs, done: make(chan struct{})}
	if err := s.send(req, true); err != nil {
		return err
	}
	<-req.done
	return req.err
}

// Snapshot takes one now and returns when it is durable.
func (s *Store[S, C, R, T, V]) Snapshot() error {
	req := &request[S, C, T]{kind: snapshotRequest, done: make(chan struct{})}
	if err := s.send(req, true); err != nil {
		return err
	}
	<-req.done
	return req.err
}

// SnapshotSoon asks for a snapshot in the background and does not wait for it: a store
// that folds another log takes one when that log wants to let go of segments.
func (s *Store[S, C, R, T, V]) SnapshotSoon() error {
	return s.send(&request[S, C, T]{kind: snapshotSoonRequest, done: make(chan struct{})}, true)
}

// send queues a request; wait says whether a full queue blocks or refuses.
func (s *Store[S, C, R, T, V]) send(req *request[S, C, T], wait bool) error {
	s.sendMu.RLock()
	defer s.sendMu.RUnlock()
	if s.closed {
		return wal.ErrClosed
	}
	if wait {
		s.queue <- req
		return nil
	}
	select {
	case s.queue <- req:
		return nil
	default:
		return fmt.Errorf("%w: %d calls wait", wal.ErrBusy, cap(s.queue))
	}
}

// View is the last published state: durable, one atomic load, never nil after OpenStore.
func (s *Store[S, C, R, T, V]) View() V { return *s.view.Load() }

// Health is nil, or why the store takes no commands at the moment: ErrUnavailable (it
// comes back by itself, also before the next command tries) or ErrStopped (it does not).
func (s *Store[S, C, R, T, V]) Health() error {
	p := s.health.Load()
	if p == nil {
		return nil
	}
	if errors.Is(*p, wal.ErrUnavailable) && s.log.Room() {
		s.health.CompareAndSwap(p, nil)
		return nil
	}
	return *p
}

// Recovered says what the start found.
func (s *Store[S, C, R, T, V]) Recovered() RecoveryInfo { return s.info }

// RetainFrom is the first sequence of the other log (see Reflector) that a recovery from
// any kept snapshot may need: pass it to that log's Retain. It is 1 until every kept
// snapshot reflects something.
func (s *Store[S, C, R, T, V]) RetainFrom() uint64 { return s.owner.retainFrom.Load() }

// Log is the store's log, nil without FS. Only its methods that say so may be called.
func (s *Store[S, C, R, T, V]) Log() *wal.Log { return s.log }

// Close finishes what was queued, takes a snapshot, closes the log and returns the
// first error of these. Later calls get ErrClosed.
func (s *Store[S, C, R, T, V]) Close() error {
	s.sendMu.Lock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
	s.sendMu.Unlock()
	<-s.done
	return s.endErr
}
