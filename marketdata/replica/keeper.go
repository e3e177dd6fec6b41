package replica

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// DefaultSnapshotBytes of log after which a snapshot is taken: two to three million
// commands, about two seconds of replay.
const DefaultSnapshotBytes = 128 << 20

// LogDir is where a market's log and snapshots are.
type LogDir struct {
	FS      vfs.FS
	Dir     string
	Options wal.Options
}

// Live is the running loop: *engine.Loop.
type Live interface {
	Query(fn func()) error
	// Position is the last journaled command; for the loop's goroutine.
	Position() uint64
}

// KeeperOptions wires a Keeper. Market must have no extras: their live states are taken.
type KeeperOptions struct {
	Market Options
	Log    *wal.Log
	Dir    LogDir
	Live   Live
	Extras []Extra // the live ones; asked on the loop's goroutine
	// KeepAll keeps every segment (journal.keep = all).
	KeepAll bool
	// SnapshotBytes of log since the last snapshot call for the next; 0: DefaultSnapshotBytes.
	SnapshotBytes int64
	// Covered is the newest snapshot's position at the start, 0 for none.
	Covered uint64
}

// Keeper takes snapshots and state hashes of a running market with a follower of its
// journal. Any goroutine may call it; one thing is made at a time.
type Keeper struct {
	o       KeeperOptions
	mu      sync.Mutex // one follower at a time
	covered atomic.Uint64
	older   uint64 // the kept snapshot before the newest, under mu
}

// NewKeeper makes a keeper for a running loop.
func NewKeeper(o KeeperOptions) *Keeper {
	if o.SnapshotBytes == 0 {
		o.SnapshotBytes = DefaultSnapshotBytes
	}
	o.Market.Beside = true
	k := &Keeper{o: o}
	k.covered.Store(o.Covered)
	return k
}

// Covered is the position of the newest snapshot.
func (k *Keeper) Covered() uint64 { return k.covered.Load() }

// Due reports whether the log has grown enough for the next snapshot.
func (k *Keeper) Due() bool {
	at := k.covered.Load()
	return k.o.Log.LastSeq() > at && k.o.Log.BytesSince(at) >= k.o.SnapshotBytes
}

// Snapshot writes a snapshot of now and lets go of the segments that both kept snapshots
// cover. Nothing is done when nothing happened since the last one. An ErrStopped has ended
// the log.
func (k *Keeper) Snapshot() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	pos, extras, err := k.instant()
	if err != nil || pos == k.covered.Load() {
		return err
	}
	if err := k.o.Log.Sync(); err != nil { // never ahead of the durable log
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
	if k.o.KeepAll {
		return nil
	}
	return k.o.Log.DropBefore(k.older + 1)
}

// Hash is the state hash of now.
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

// instant is the position of now and the states of the live extras at it.
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

// follow is a market at pos, made of the newest snapshot and the log.
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
