package durable

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/seal"
	"tickhive/internal/step"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// State is the pure state of a Store, a function of the records applied to it. Owner: the store's goroutine. C
// is a decoded command, R the record of an accepted command (with its time stamp), T the result for the caller.
type State[C, R, T any] interface {
	// Plan validates cmd at nowNs and returns the record that would carry it out. It changes nothing. A refusal
	// is an error value of the state and leaves no record.
	Plan(nowNs int64, cmd C) (rec R, refusal error)
	// Apply applies a record. It cannot fail, because Plan or the recovery has checked the record. The result
	// shares no memory with the state.
	Apply(rec *R) T
	// Publish makes the current state visible to its readers. The store calls it when all
	// records applied so far are durable.
	Publish()
	// AppendSnapshot appends the whole state.
	AppendSnapshot(dst []byte) []byte
	// LastNs returns the time of the last record applied, Unix nanoseconds.
	LastNs() int64
	// NextNs returns the time of the next change that time alone causes, 0 when there is none.
	NextNs() int64
	// Due returns the commands that time alone causes at nowNs. The store plans and records each of them like a
	// caller's command. It calls Due with nowNs = NextNs(), so each command runs at its due time, also when the
	// process was asleep.
	Due(nowNs int64) []C
}

// Reflector is a State that also folds another log (accounts fold the engine's events).
type Reflector interface {
	// ReflectsSeq returns the sequence of the other log up to which the state includes every
	// record.
	ReflectsSeq() uint64
}

// Abandoner is a State that holds something between Plan and Apply (accounts hold money). The store calls
// Abandon when it could not write the planned record and will not apply it.
type Abandoner interface{ Abandon() }

// Config holds the options that do not depend on the State.
type Config struct {
	// FS and Dir locate the log and the snapshots. FS nil: nothing is stored (tests, `--set data.dir=`).
	FS  vfs.FS
	Dir string
	// Log configures the log. Its RecordVersion applies to snapshots too.
	Log wal.Options
	// Seal seals records and snapshots, and opens sealed ones; plain ones are read too. nil: neither. With it, no
	// encoded record or snapshot may begin with a zero byte (package seal).
	Seal *seal.Key
	// Clock stamps commands; nil: the real clock.
	Clock clock.Clock
	// SnapshotBytes is the number of log bytes after which a snapshot is taken; 0: DefaultSnapshotBytes.
	SnapshotBytes int64
	// Follows makes a store whose records come from another one: the owner applies them with WithState. Nothing is due,
	// there is no first record, and Do is refused with ErrUnavailable. It excludes FS.
	Follows bool
	// Initial is the snapshot of another store with which one that Follows begins, as that store has written it; nil:
	// the empty state.
	Initial []byte
	// KeepAll retains segments that snapshots cover (journal.keep = all).
	KeepAll bool
	// Queue limits the waiting calls; 0: DefaultQueue. Further calls get ErrBusy.
	Queue int
	// Driver calls Step of the store; nil: the store has its own goroutine.
	Driver step.Driver
	// Progress, if set, receives the number of log bytes read during a recovery.
	Progress func(done, total int64)
	// Logf, if set, logs events that an operator need not decide on, such as a failed snapshot.
	Logf func(format string, args ...any)
}

// Options configures a Store. The functions that encode and decode must be pure.
type Options[C, R, T any] struct {
	Config
	// New returns the empty state.
	New func() State[C, R, T]
	// First holds the commands that Open carries out in a store without records.
	First []C
	// AppendRecord encodes and DecodeRecord decodes a record. A decoded record must not share memory with the
	// argument.
	AppendRecord func(dst []byte, rec *R) []byte
	DecodeRecord func(b []byte) (R, error)
	// DecodeSnapshot decodes the result of AppendSnapshot.
	DecodeSnapshot func(b []byte) (State[C, R, T], error)
	// BeforeRecord runs in the store's goroutine before a record is written. A store whose state reflects
	// another log waits here until that log is durable (docs/contract/storage.md#recovery). An error refuses the
	// command with ErrUnavailable.
	BeforeRecord func(rec *R) error
	// BeforeSync runs in the store's goroutine before a group of records is synced, once a group. It makes the
	// other log durable up to the position that the state reflects, so that no acknowledged record outlives the
	// records to which it refers. An error stops the store: the records are written, but may not be durable.
	BeforeSync func() error
	// BeforeSnapshot runs before a snapshot is written, in the goroutine that writes it. reflects is the
	// sequence of the other log that the snapshot reflects. An error prevents the snapshot.
	BeforeSnapshot func(reflects uint64) error
}

// The store's limits.
const (
	// DefaultSnapshotBytes of log keep a recovery to about a second.
	DefaultSnapshotBytes = 64 << 20
	// DefaultQueue limits the calls that wait for the store's goroutine.
	DefaultQueue = 4096
	// maxGroup limits the calls that share one sync, and thereby the wait of the first of them.
	maxGroup = 1024
	// retryAfter is the time until due commands are tried again after a failed write.
	retryAfter = 250 * time.Millisecond
)

// Store makes a State durable: it encodes, appends, syncs, applies, publishes and replies. One goroutine owns
// state and log; any goroutine may call the methods.
//
// Write the pure part (type State) with the methods of State and a codec, then:
//
//	store, err := durable.Open(durable.Options[Command, Record, Result]{
//		Config: durable.Config{
//			FS: vfs.OS{}, Dir: "data/hive",                  // FS nil: nothing is stored
//			Log: wal.Options{Writer: version, NoLock: true}, // one lock for the data directory
//			Clock: clk,
//		},
//		New: NewState, AppendRecord: AppendRecord, DecodeRecord: DecodeRecord,
//		DecodeSnapshot: DecodeSnapshot,
//	})
//	res, err := store.Do(cmd)    // durable and published; err: a refusal of the state,
//	                             // or ErrUnavailable, ErrStopped, ErrBusy, ErrClosed
//	store.Tick(nowNs)            // virtual clock; on a real one it wakes by itself
//	store.WithState(func() { ... })   // input from elsewhere, without a record
//	store.Close()                // snapshot, close
//
// A package wraps its Store in a type with two methods: View returns what State.Publish stored last (one atomic load),
// and WithState passes the state to its argument.
//
// A record is written (page cache) before it is applied, with one write per command and one sync per group: a full disk
// then refuses the command and leaves log and state unchanged, so there is nothing to undo or to read again. A failed
// sync leaves the state ahead of the records known to be durable; the store then stops and publishes nothing more.
type Store[C, R, T any] struct {
	opts  Options[C, R, T]
	state State[C, R, T]
	log   *wal.Log // nil without FS
	info  RecoveryInfo
	found wal.Loaded

	health atomic.Pointer[error]

	sendMu sync.RWMutex // guards closed, so that no call is queued after Close
	closed bool
	queue  chan *request[C, T]
	done   chan struct{} // closed when the goroutine has ended
	endErr error         // result of Close, set before done is closed

	owner storeOwner[C, T]
}

// RecoveryInfo describes the recovery of a start.
type RecoveryInfo struct {
	SnapshotSeq      uint64   // sequence of the snapshot used, 0 without one
	SnapshotReflects uint64   // ReflectsSeq of that snapshot
	Replayed         uint64   // number of records applied after it
	LastSeq          uint64   // last record of the log
	TornTail         int64    // bytes cut at the end of the log
	Damaged          []string // snapshots that could not be used, and why
}

type requestKind uint8

const (
	doRequest requestKind = iota
	stateRequest
	tickRequest
	snapshotRequest
	snapshotSoonRequest
)

type request[C, T any] struct {
	kind   requestKind
	cmd    C
	use    func()
	tickNs int64
	res    T
	err    error
	done   chan struct{}
}

// Do plans cmd, makes its record durable, applies and publishes it, and returns its result. The error is a
// refusal of the state, or ErrUnavailable, ErrStopped, ErrBusy or ErrClosed: after each of these nothing has
// changed. After ErrOutcomeUnknown the record was written but perhaps is not durable. A refusal is returned
// only when the records on which it depends are durable.
func (s *Store[C, R, T]) Do(cmd C) (T, error) {
	req := &request[C, T]{kind: doRequest, cmd: cmd, done: make(chan struct{})}
	if s.opts.Follows {
		return req.res, fmt.Errorf("%w: the records of this store come from another one", wal.ErrUnavailable)
	}
	if err := s.send(req, false); err != nil {
		return req.res, err
	}
	step.Wait(s.opts.Driver, req.done)
	return req.res, req.err
}

// WithState runs f, which may change the state, in the store's goroutine and without a record. After a restart, the
// same changes must come from elsewhere (engine events, holds). The store publishes the view before WithState
// returns. It first carries out due commands, unless it cannot write at the moment; f must therefore give the
// same state before and after such a command.
func (s *Store[C, R, T]) WithState(f func()) error {
	req := &request[C, T]{kind: stateRequest, use: f, done: make(chan struct{})}
	if err := s.send(req, true); err != nil {
		return err
	}
	step.Wait(s.opts.Driver, req.done)
	return req.err
}

// Tick carries out everything that is due at nowNs and returns when it is published. Every other call carries out first
// what is due. On a real clock the store also wakes by itself; after a virtual clock was moved, the caller calls Tick.
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

// SnapshotSoon requests a snapshot and does not wait for it. A store that folds another log needs one when that
// log is about to drop segments.
func (s *Store[C, R, T]) SnapshotSoon() error {
	return s.send(&request[C, T]{kind: snapshotSoonRequest, done: make(chan struct{})}, true)
}

// send queues a request. wait selects whether send blocks on a full queue or returns ErrBusy.
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

// Health returns nil, or the reason why the store accepts no commands now. From ErrUnavailable the store
// recovers by itself, from ErrStopped it does not.
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

// State returns the state, which only functions that WithState runs may use.
func (s *Store[C, R, T]) State() State[C, R, T] { return s.state }

// Recovered returns information about the recovery at the start.
func (s *Store[C, R, T]) Recovered() RecoveryInfo { return s.info }

// RetainFrom returns the first sequence of the other log (see Reflector) that a recovery from any retained
// snapshot may need. The caller passes it to that log's Retain. It is 1 until every retained snapshot reflects
// something.
func (s *Store[C, R, T]) RetainFrom() uint64 { return s.owner.retainFrom.Load() }

// FallbackSeq returns the last record of the older retained snapshot, 0 without one. A recovery starts there if
// the newest snapshot is damaged. Any goroutine may call it.
func (s *Store[C, R, T]) FallbackSeq() uint64 { return s.owner.fallback.Load() }

// Log returns the store's log, nil without FS. Only methods that any goroutine may call are permitted.
func (s *Store[C, R, T]) Log() *wal.Log { return s.log }

// Close serves the queued calls, takes a snapshot, closes the log and returns the first error. Later calls get
// ErrClosed.
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
