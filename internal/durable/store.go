package durable

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/step"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// State is the state of a Store: pure, owned by the store's goroutine, a function of the
// records applied to it. C is a decoded command, R the record of one accepted command
// (including its time stamp), T the result for the caller.
type State[C, R, T any] interface {
	// Plan validates cmd at nowNs and returns the record that would carry it out,
	// without changing anything. A refusal is an error value that the state defines; it
	// leaves no record.
	Plan(nowNs int64, cmd C) (rec R, refusal error)
	// Apply carries out a record. It cannot fail: Plan or the recovery vouches for the
	// record. The result shares nothing with the state that changes later.
	Apply(rec *R) T
	// Publish makes the current state visible to its readers. The store calls it when all
	// records applied so far are durable.
	Publish()
	// AppendSnapshot appends the whole state.
	AppendSnapshot(dst []byte) []byte
	// LastNs returns the time of the last record applied, Unix nanoseconds.
	LastNs() int64
	// NextNs returns the time of the next change by time alone, 0 when nothing waits.
	NextNs() int64
	// Due returns the commands that time itself causes at nowNs; the store plans and records
	// each of them like a caller's command. The store calls it with nowNs = NextNs():
	// each command runs at its due time, also after a long sleep.
	Due(nowNs int64) []C
}

// Reflector is a State that folds another log as well (accounts fold engine events).
type Reflector interface {
	// ReflectsSeq returns the sequence of the other log up to which the state includes every
	// record.
	ReflectsSeq() uint64
}

// Abandoner is a State that holds something from Plan until Apply (accounts hold money
// and a gate). The store calls Abandon when it could not write the record planned last and
// will not apply it.
type Abandoner interface{ Abandon() }

// Config holds the options that do not depend on the State.
type Config struct {
	// FS and Dir hold log and snapshots. FS nil: nothing is stored (tests, --data-dir none).
	FS  vfs.FS
	Dir string
	// Log is passed on to Open. Its RecordVersion is checked for snapshots too.
	Log wal.Options
	// Clock stamps commands; real when nil.
	Clock clock.Clock
	// SnapshotBytes of log after which a snapshot is taken; 0 means
	// DefaultSnapshotBytes.
	SnapshotBytes int64
	// KeepAll keeps segments that snapshots cover (journal.keep = all).
	KeepAll bool
	// Queue limits the waiting calls; 0 means DefaultQueue. Further calls get ErrBusy.
	Queue int
	// Driver steps the store in place of its goroutine; nil: it has one.
	Driver step.Driver
	// Progress, when set, receives the number of the log's bytes read during recovery.
	Progress func(done, total int64)
	// Logf, when set, logs events that need no operator decision (a snapshot that failed).
	Logf func(format string, args ...any)
}

// Options opens a Store. Codec functions are pure.
type Options[C, R, T any] struct {
	Config
	// New returns the empty state.
	New func() State[C, R, T]
	// First holds the commands that Open carries out in a store without records.
	First []C
	// AppendRecord and DecodeRecord are the record's codec; a decoded record may not
	// share memory with the argument.
	AppendRecord func(dst []byte, rec *R) []byte
	DecodeRecord func(b []byte) (R, error)
	// DecodeSnapshot is the inverse of AppendSnapshot.
	DecodeSnapshot func(b []byte) (State[C, R, T], error)
	// BeforeRecord runs before a record is written, in the store's goroutine: a store
	// whose state reflects another log waits here until that one is durable
	// (docs/contract/storage.md#recovery). An error refuses the command with ErrUnavailable.
	BeforeRecord func(rec *R) error
	// BeforeSync runs before a group of records is synced, in the store's goroutine. It makes
	// the other log that the state reflects durable up to there first, so that no acknowledged
	// record outlives the records it refers to. One call a group, not a record. An error stops
	// the store: the records are written, but they may not be durable.
	BeforeSync func() error
	// BeforeSnapshot runs before a snapshot that reflects the other log up to a sequence
	// is written, in the goroutine that writes it. An error: there is no snapshot.
	BeforeSnapshot func(reflects uint64) error
}

// The store's limits.
const (
	// DefaultSnapshotBytes of log bound the time of a recovery to about a second.
	DefaultSnapshotBytes = 64 << 20
	// DefaultQueue limits the calls that wait for the store's goroutine.
	DefaultQueue = 4096
	// maxGroup limits the calls that share one sync; it bounds the wait of the first.
	maxGroup = 1024
	// retryAfter is the delay of time-driven work after a failed write.
	retryAfter = 250 * time.Millisecond
)

// Store is the durable shell around a pure State: encode, append, sync, apply, publish,
// reply. One goroutine owns state and log; any goroutine may call every method.
type Store[C, R, T any] struct {
	opts  Options[C, R, T]
	state State[C, R, T]
	log   *wal.Log // nil without FS
	info  RecoveryInfo
	found wal.Loaded

	health atomic.Pointer[error]

	sendMu sync.RWMutex // guards closed against sends on queue
	closed bool
	queue  chan *request[C, T]
	done   chan struct{} // closed when the goroutine has ended
	endErr error         // result of Close, set before done is closed

	owner storeOwner[C, T]
}

// RecoveryInfo describes the recovery of a start.
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

type request[C, T any] struct {
	kind   requestKind
	cmd    C
	fold   func()
	tickNs int64
	res    T
	err    error
	done   chan struct{}
}

// Do plans cmd, makes its record durable, applies and publishes it, and returns its
// result. The error is the state's refusal, or ErrUnavailable, ErrStopped, ErrBusy,
// ErrClosed, after all of which nothing is changed, or ErrOutcomeUnknown: the record was
// written and could not be made durable. Do returns a refusal, too, only when every record
// that it depends on is durable.
func (s *Store[C, R, T]) Do(cmd C) (T, error) {
	req := &request[C, T]{kind: doRequest, cmd: cmd, done: make(chan struct{})}
	if err := s.send(req, false); err != nil {
		return req.res, err
	}
	step.Wait(s.opts.Driver, req.done)
	return req.res, req.err
}

// Fold runs f, which may change the state, in the store's goroutine, without a record: what
// f changes must come back from elsewhere after a restart (engine events, holds). The store publishes
// the view before Fold returns. It carries out due commands before f, unless it cannot write
// them at the moment: f must therefore lead to the same state before a record as after it.
func (s *Store[C, R, T]) Fold(f func()) error {
	req := &request[C, T]{kind: foldRequest, fold: f, done: make(chan struct{})}
	if err := s.send(req, true); err != nil {
		return err
	}
	step.Wait(s.opts.Driver, req.done)
	return req.err
}

// Tick carries out everything that is due at nowNs and returns after it is published. On a
// virtual clock only Tick does this; on a real clock the store also wakes by itself.
func (s *Store[C, R, T]) Tick(nowNs int64) error {
	req := &request[C, T]{kind: tickRequest, tickNs: nowNs, done: make(chan struct{})}
	if err := s.send(req, true); err != nil {
		return err
	}
	step.Wait(s.opts.Driver, req.done)
	return req.err
}

// Snapshot takes a snapshot and returns when it is durable.
func (s *Store[C, R, T]) Snapshot() error {
	req := &request[C, T]{kind: snapshotRequest, done: make(chan struct{})}
	if err := s.send(req, true); err != nil {
		return err
	}
	step.Wait(s.opts.Driver, req.done)
	return req.err
}

// SnapshotSoon asks for a snapshot in the background and does not wait for it: a store
// that folds another log takes one when that log is about to drop segments.
func (s *Store[C, R, T]) SnapshotSoon() error {
	return s.send(&request[C, T]{kind: snapshotSoonRequest, done: make(chan struct{})}, true)
}

// send queues a request; wait selects whether a full queue blocks or refuses.
func (s *Store[C, R, T]) send(req *request[C, T], wait bool) error {
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

// Health returns nil, or the reason why the store accepts no commands at the moment:
// ErrUnavailable (the store recovers by itself, even before the next command tries) or
// ErrStopped (the store does not recover).
func (s *Store[C, R, T]) Health() error {
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

// State returns the state. It belongs to the store's goroutine: see Fold.
func (s *Store[C, R, T]) State() State[C, R, T] { return s.state }

// Recovered describes the recovery of the start.
func (s *Store[C, R, T]) Recovered() RecoveryInfo { return s.info }

// RetainFrom returns the first sequence of the other log (see Reflector) that a recovery from
// any retained snapshot may need: pass it to that log's Retain. It returns 1 until every
// retained snapshot reflects something.
func (s *Store[C, R, T]) RetainFrom() uint64 { return s.owner.retainFrom.Load() }

// FallbackSeq returns the last record of the older retained snapshot, 0 without one: a recovery
// begins there if the newest snapshot is damaged. Any goroutine.
func (s *Store[C, R, T]) FallbackSeq() uint64 { return s.owner.fallback.Load() }

// Log returns the store's log, nil without FS. Call only those of its methods that permit any
// goroutine.
func (s *Store[C, R, T]) Log() *wal.Log { return s.log }

// Close finishes what was queued, takes a snapshot, closes the log and returns the
// first error of these. Later calls get ErrClosed.
func (s *Store[C, R, T]) Close() error {
	s.sendMu.Lock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
	s.sendMu.Unlock()
	step.Wait(s.opts.Driver, s.done)
	return s.endErr
}
