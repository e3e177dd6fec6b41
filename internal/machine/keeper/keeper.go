package keeper

import (
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/internal/wire"
)

// Limits that decide when a snapshot is due.
const (
	// DefaultSnapshotBytes is the number of log bytes after which a snapshot is taken: about a
	// million commands of 46 bytes, one second of replay.
	DefaultSnapshotBytes = 48 << 20
	// SnapshotEvents is the number of events after which a snapshot is taken, whatever their
	// commands take in the log: about a second and a half of replay. A command that sweeps a book
	// makes a thousand events.
	SnapshotEvents = 4_000_000
	// TimedCommands is the smallest number of new commands for which time alone makes a snapshot due: their
	// replay takes 0.1 s. A snapshot of a state of 35 MB costs 0.5 s.
	TimedCommands = 100_000
	// retryNs is the wait after a failed snapshot.
	retryNs = int64(200 * time.Millisecond)
)

// LogDir names the directory of a log and its snapshots.
type LogDir struct {
	FS      vfs.FS
	Dir     string
	Options wal.Options
}

// Loop is the loop of a running exchange; *sequencer.Loop implements it.
type Loop interface {
	Query(fn func()) error
	// Position returns the position of the last journaled command. The loop's goroutine calls
	// it.
	Position() uint64
}

// Options configures a Keeper. Market must have no extras: the keeper reads the states of the live ones.
type Options struct {
	Market machine.Options
	Log    *wal.Log
	Dir    LogDir
	Loop   Loop
	Extras []machine.Extra // the live extras; read on the loop's goroutine
	// Digest returns the digest of the live state at the loop's position; the loop's goroutine calls it. A snapshot is
	// written only if the follower has the same. nil: not compared.
	Digest func() machine.Digest
	// Reached returns the last position that a snapshot may have, from any goroutine: a snapshot of a later one waits.
	// nil: none waits.
	Reached func() uint64
	// Head returns the head of the snapshot of a position; called when the snapshot is written. nil: an empty one.
	Head func(pos uint64) ([]byte, error)
	// KeepAll retains every segment (journal.keep = all).
	KeepAll bool
	// SnapshotBytes is the log growth that makes the next snapshot due; 0: DefaultSnapshotBytes.
	SnapshotBytes int64
	// SnapshotEvery is the time after which TimedCommands new commands make a snapshot due; 0: only
	// SnapshotBytes makes one due.
	SnapshotEvery time.Duration
	// Clock measures SnapshotEvery. It is the machine's clock, whichever clock the market uses;
	// nil: clock.Real.
	Clock clock.Clock
	// Covered is the position of the newest snapshot at the start, 0 for none. CoveredBytes is what Log.BytesWritten
	// returned when it was taken; less than 0: before Log was opened.
	Covered      uint64
	CoveredBytes int64
	// Events returns the number of events since the start, from any goroutine; nil: events make no snapshot due.
	Events func() uint64
	// Failed receives the error of each snapshot that is not taken, but ErrNotReached; nil: no receiver.
	Failed func(error)
	// Damaged receives the reason why a retained snapshot cannot be used; nil: no receiver.
	Damaged func(reason string)
}

// Keeper takes snapshots and state hashes of a running exchange. It replays the journal into a second state (a
// follower), so the loop does not stop. Any goroutine may call it; it works on one snapshot or hash at a time.
type Keeper struct {
	o       Options
	mu      sync.Mutex       // held by the goroutine that uses a follower
	pending *pendingSnapshot // the snapshot that Step has begun; guarded by mu
	covered atomic.Uint64
	older   uint64        // position of the older of the two retained snapshots; guarded by mu
	bytes   atomic.Int64  // log bytes written when the newest snapshot was taken
	events  atomic.Uint64 // events of the loop at that time
	takenNs atomic.Int64  // time at which the newest snapshot was taken
}

// New returns a keeper for a running loop.
func New(o Options) *Keeper {
	if o.SnapshotBytes == 0 {
		o.SnapshotBytes = DefaultSnapshotBytes
	}
	if o.Events == nil {
		o.Events = func() uint64 { return 0 }
	}
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	k := &Keeper{o: o, older: o.Covered}
	k.covered.Store(o.Covered)
	k.bytes.Store(o.CoveredBytes)
	k.takenNs.Store(o.Clock.NowNs())
	return k
}

// Covered returns the position of the newest snapshot.
func (k *Keeper) Covered() uint64 { return k.covered.Load() }

// Due reports whether the log has grown enough since the newest snapshot, or enough time has passed. After a
// start, it also counts what CoveredBytes counts from before that snapshot, and it measures time from the start.
func (k *Keeper) Due() bool {
	commands := k.o.Log.LastSeq() - k.covered.Load()
	switch {
	case commands == 0:
		return false
	case k.o.Log.BytesWritten()-k.bytes.Load() >= k.o.SnapshotBytes,
		k.o.Events()-k.events.Load() >= SnapshotEvents:
		return true
	}
	now, taken := k.o.Clock.NowNs(), k.takenNs.Load()
	if now < taken { // the clock went back
		k.takenNs.CompareAndSwap(taken, now)
		return false
	}
	return k.o.SnapshotEvery > 0 && commands >= TimedCommands && now-taken >= int64(k.o.SnapshotEvery)
}

// pendingSnapshot is a snapshot that has begun and is not written yet.
type pendingSnapshot struct {
	follower
	live   machine.Digest    // of the live state at the position
	extras map[string][]byte // states of the live extras at the snapshot's position
	ns     int64             // time at which it began
	bytes  int64             // log bytes written at that time
	events uint64            // events of the loop at that time
	asked  bool              // by Snapshot
}

// Step does one piece of work: it begins a snapshot when one is due, replays at most followRecords records into the
// follower, or writes the snapshot. Any goroutine may call it. Reading the older snapshot and writing the new one take
// one step each, whatever their size.
func (k *Keeper) Step() step.Progress {
	p, err := k.step()
	k.report(err)
	return p
}

// report passes the error of a snapshot on. It runs without mu: the receiver may take its time.
func (k *Keeper) report(err error) {
	if err != nil && !errors.Is(err, ErrNotReached) && k.o.Failed != nil {
		k.o.Failed(err)
	}
}

// step does the work of Step.
func (k *Keeper) step() (p step.Progress, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.pending != nil && k.waits(k.pending):
		return step.Progress{NextNs: k.o.Clock.NowNs() + retryNs}, nil
	case k.pending != nil:
		_, err = k.continueSnapshot(k.pending)
	case k.Due():
		if k.pending, err = k.startSnapshot(); k.pending == nil && err == nil {
			return step.Idle(), nil
		}
	default:
		return step.Progress{NextNs: k.nextNs()}, nil
	}
	if err != nil {
		return step.Progress{NextNs: k.o.Clock.NowNs() + retryNs}, err
	}
	return step.Worked(), nil
}

// lock locks mu when no snapshot is pending that has a follower. While one is, it calls Step to finish it.
func (k *Keeper) lock() {
	for k.mu.Lock(); k.pending != nil && !k.waits(k.pending); k.mu.Lock() {
		k.mu.Unlock()
		k.Step()
	}
}

// nextNs returns the time at which a snapshot may become due without further commands.
func (k *Keeper) nextNs() int64 {
	if at := k.takenNs.Load() + int64(k.o.SnapshotEvery); k.o.SnapshotEvery > 0 && at > k.o.Clock.NowNs() {
		return at
	}
	return step.Never
}

// ErrNotReached is the error of a Snapshot whose position Reached does not have yet.
var ErrNotReached = errors.New("the snapshot waits until the stream has acknowledged its records")

// Snapshot writes a snapshot of the current state and removes the log segments that both retained snapshots
// cover. It does nothing when no command was journaled since the last snapshot. It first finishes a snapshot
// that Step has begun. After an ErrStopped the log accepts no further commands.
//
// After ErrNotReached the snapshot stays pending: Step takes it later, and so does the next Snapshot, which takes no
// other one then.
func (k *Keeper) Snapshot() error {
	err := k.snapshot()
	k.report(err)
	return err
}

// snapshot does the work of Snapshot.
func (k *Keeper) snapshot() error {
	k.mu.Lock()
	asked, before := k.pending != nil && k.pending.asked, k.covered.Load()
	k.mu.Unlock()
	k.lock()
	defer k.mu.Unlock()
	if k.pending != nil {
		k.pending.asked = true
		return ErrNotReached
	}
	if asked && k.covered.Load() != before {
		return nil
	}
	m, err := k.startSnapshot()
	if m != nil && err == nil && k.waits(m) {
		m.asked, k.pending = true, m
		return ErrNotReached
	}
	for taken := false; m != nil && err == nil && !taken; {
		taken, err = k.continueSnapshot(m)
	}
	return err
}

// startSnapshot starts a snapshot of the current position. It returns nil when no command was journaled since
// the last snapshot.
func (k *Keeper) startSnapshot() (*pendingSnapshot, error) {
	// Read the counters before the position: bytes written in between then count twice rather than never.
	m := &pendingSnapshot{ns: k.o.Clock.NowNs(), bytes: k.o.Log.BytesWritten(), events: k.o.Events()}
	pos, extras, live, err := k.capture()
	if err != nil || pos == k.covered.Load() {
		return nil, err
	}
	if err := k.o.Log.Sync(); err != nil { // a snapshot is never ahead of the durable log
		return nil, err
	}
	m.to, m.extras, m.live = pos, extras, live
	return m, nil
}

// waits reports whether a snapshot waits for Reached. It has no follower then, so it costs no memory.
func (k *Keeper) waits(m *pendingSnapshot) bool {
	return m.state == nil && k.o.Reached != nil && k.o.Reached() < m.to
}

// continueSnapshot makes the follower, replays the next records, or writes the snapshot when all were replayed before.
// taken reports that the snapshot is written. After an error the snapshot is not pending any more.
func (k *Keeper) continueSnapshot(m *pendingSnapshot) (taken bool, err error) {
	if m.state == nil {
		if m.follower, err = k.follow(m.to); err != nil {
			k.pending = nil
		}
		return false, err
	}
	replaying := m.rd != nil
	if _, err = m.advance(); err == nil && replaying {
		return false, nil
	}
	k.pending = nil
	if err == nil && k.o.Digest != nil {
		err = m.compare(m.live)
	}
	meta := wal.SnapshotMeta{Seq: m.to, Chain: m.chain}
	if err == nil && k.o.Head != nil {
		meta.Head, err = k.o.Head(m.to)
	}
	if err != nil {
		return false, err
	}
	err = k.o.Log.WriteSnapshot(meta, func(w io.Writer) error {
		return m.state.Write(wire.Pausing(w, runtime.Gosched), m.extras)
	})
	if err != nil {
		return false, err
	}
	k.older = k.covered.Swap(m.to)
	k.bytes.Store(m.bytes)
	k.events.Store(m.events)
	k.takenNs.Store(m.ns)
	if k.o.KeepAll {
		return true, nil
	}
	return true, k.o.Log.DropBefore(k.older + 1)
}

// Hash returns the hash of the state at the current position. It first finishes a snapshot that Step has begun.
func (k *Keeper) Hash() (machine.StateHash, error) {
	k.lock()
	defer k.mu.Unlock()
	pos, _, _, err := k.capture()
	if err != nil {
		return machine.StateHash{}, err
	}
	f, err := k.follow(pos)
	for arrived := false; err == nil && !arrived; {
		arrived, err = f.advance()
	}
	if err != nil {
		return machine.StateHash{}, err
	}
	return f.state.Hash(), nil
}

// capture returns the current position, the states of the live extras and the digest of the live state at it.
func (k *Keeper) capture() (pos uint64, extras map[string][]byte, live machine.Digest, err error) {
	extras = make(map[string][]byte, len(k.o.Extras))
	err = k.o.Loop.Query(func() {
		pos = k.o.Loop.Position()
		for _, x := range k.o.Extras {
			extras[x.Name()] = x.AppendState(nil)
		}
		if k.o.Digest != nil {
			live = k.o.Digest()
		}
	})
	return pos, extras, live, err
}
