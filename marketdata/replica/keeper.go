package replica

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// When a snapshot is due.
const (
	// DefaultSnapshotBytes is the number of log bytes after which a snapshot is taken: about a
	// million commands of 46 bytes, one second of replay.
	DefaultSnapshotBytes = 48 << 20
	// TimedCommands is the number of commands from which a snapshot by time pays: a tenth of a
	// second of replay. A snapshot costs half a second for a market of 35 MB.
	TimedCommands = 100_000
)

// LogDir names the directory of a market's log and snapshots.
type LogDir struct {
	FS      vfs.FS
	Dir     string
	Options wal.Options
}

// Live is the running loop, a *sequencer.Loop.
type Live interface {
	Query(fn func()) error
	// Position returns the position of the last journaled command. The loop's goroutine calls
	// it.
	Position() uint64
}

// KeeperOptions wires a Keeper. Market must have no extras: the keeper uses their live states.
type KeeperOptions struct {
	Market Options
	Log    *wal.Log
	Dir    LogDir
	Live   Live
	Extras []Extra // the live ones; read on the loop's goroutine
	// KeepAll retains every segment (journal.keep = all).
	KeepAll bool
	// SnapshotBytes is the log growth that makes the next snapshot due; 0: DefaultSnapshotBytes.
	SnapshotBytes int64
	// SnapshotEvery is the time after which TimedCommands make a snapshot due; 0: only
	// SnapshotBytes does.
	SnapshotEvery time.Duration
	// Clock measures SnapshotEvery. It is the machine's clock, whichever clock the market uses;
	// nil: clock.Real.
	Clock clock.Clock
	// Covered is the position of the newest snapshot at the start, 0 for none.
	Covered uint64
}

// Keeper takes snapshots and state hashes of a running market with a follower of its journal.
// Any goroutine may call it; it makes one at a time.
type Keeper struct {
	o       KeeperOptions
	mu      sync.Mutex // one follower at a time
	covered atomic.Uint64
	older   uint64       // position of the retained snapshot before the newest, under mu
	bytes   atomic.Int64 // of log, written when the newest was taken
	takenNs atomic.Int64 // time of the newest
}

// NewKeeper returns a keeper for a running loop.
func NewKeeper(o KeeperOptions) *Keeper {
	if o.SnapshotBytes == 0 {
		o.SnapshotBytes = DefaultSnapshotBytes
	}
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	o.Market.Beside = true
	k := &Keeper{o: o}
	k.covered.Store(o.Covered)
	k.bytes.Store(o.Log.BytesWritten() - o.Log.BytesSince(o.Covered))
	k.takenNs.Store(o.Clock.NowNs())
	return k
}

// Covered returns the position of the newest snapshot.
func (k *Keeper) Covered() uint64 { return k.covered.Load() }

// Due reports whether the log has grown enough for the next snapshot, or enough time has passed.
// After a start it counts the log from before the newest snapshot, at most a segment too much,
// and the time from the start.
func (k *Keeper) Due() bool {
	commands := k.o.Log.LastSeq() - k.covered.Load()
	switch {
	case commands == 0:
		return false
	case k.o.Log.BytesWritten()-k.bytes.Load() >= k.o.SnapshotBytes:
		return true
	}
	now, taken := k.o.Clock.NowNs(), k.takenNs.Load()
	if now < taken { // the clock went back
		k.takenNs.CompareAndSwap(taken, now)
		return false
	}
	return k.o.SnapshotEvery > 0 && commands >= TimedCommands && now-taken >= int64(k.o.SnapshotEvery)
}

// Snapshot writes a snapshot of the current state and drops the segments that both retained
// snapshots cover. It does nothing when no command was journaled since the last snapshot. An
// ErrStopped has ended the log.
func (k *Keeper) Snapshot() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	// Read before the instant: what is written in between counts twice rather than never.
	now, bytes := k.o.Clock.NowNs(), k.o.Log.BytesWritten()
	pos, extras, err := k.instant()
	if err != nil || pos == k.covered.Load() {
		return err
	}
	if err := k.o.Log.Sync(); err != nil { // a snapshot is never ahead of the durable log
		return err
	}
	follower, err := k.follow(pos)
	if err != nil {
		return err
	}
	err = k.o.Log.WriteSnapshot(wal.SnapshotMeta{Seq: pos}, func(w io.Writer) error {
		return follower.Write(yieldingWriter{w}, extras)
	})
	if err != nil {
		return err
	}
	k.older = k.covered.Swap(pos)
	k.bytes.Store(bytes)
	k.takenNs.Store(now)
	if k.o.KeepAll {
		return nil
	}
	return k.o.Log.DropBefore(k.older + 1)
}

// Hash returns the state hash at the current position.
func (k *Keeper) Hash() (StateHash, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	pos, _, err := k.instant()
	if err != nil {
		return StateHash{}, err
	}
	follower, err := k.follow(pos)
	if err != nil {
		return StateHash{}, err
	}
	return follower.Hash(), nil
}

// instant returns the current position and the states of the live extras at it.
func (k *Keeper) instant() (pos uint64, extras map[string][]byte, err error) {
	extras = make(map[string][]byte, len(k.o.Extras))
	err = k.o.Live.Query(func() {
		pos = k.o.Live.Position()
		for _, x := range k.o.Extras {
			extras[x.Name()] = x.AppendState(nil)
		}
	})
	return pos, extras, err
}

// follow returns a market at pos, made of the newest snapshot and the log.
func (k *Keeper) follow(pos uint64) (*Replica, error) {
	r, _, err := Load(k.o.Market, k.o.Dir, pos)
	if err != nil {
		return nil, err
	}
	if r.Pos == pos {
		return r, nil
	}
	rd, err := k.o.Log.Reader(r.Pos + 1)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rd.Close() }()
	if err := r.Replay(rd, pos, nil); err != nil {
		return nil, err
	}
	if r.Pos != pos {
		return nil, fmt.Errorf("replica: the log ends at record %d, the loop is at %d", r.Pos, pos)
	}
	return r, nil
}
