package keeper

import (
	"fmt"
	"runtime"

	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/wal"
)

// followRecords is the number of records that one step of a follower replays; they take half a millisecond.
const followRecords = 1024

// follower replays the log into a state up to a position.
type follower struct {
	state *machine.State
	rd    *wal.Reader // nil: the follower has arrived
	to    uint64
	chain uint64 // of the log up to to, 0 if the follower did not read it
}

// follow returns a follower that starts from the newest snapshot and stops at pos.
func (k *Keeper) follow(pos uint64) (f follower, err error) {
	f.to = pos
	var found wal.Loaded
	if f.state, found, err = Load(k.o.Market, k.o.Dir, pos); err != nil {
		return f, err
	}
	if err = k.passOver(found); err != nil {
		return f, err
	}
	if f.state.Pos < pos {
		f.rd, err = k.o.Log.Reader(f.state.Pos + 1)
	}
	return f, err
}

// passOver sets damaged snapshots aside, so that none counts as one of the two that are retained. Needs mu.
func (k *Keeper) passOver(found wal.Loaded) error {
	if len(found.Damaged) == 0 {
		return nil
	}
	for _, bad := range found.Damaged {
		if k.o.Damaged != nil {
			k.o.Damaged(bad)
		}
	}
	k.covered.Store(found.Meta.Seq)
	return found.SetAside(k.o.Dir.FS, k.o.Dir.Dir)
}

// advance replays at most followRecords records and reports whether the state has reached its position. It
// closes the reader then, and after an error.
func (f *follower) advance() (arrived bool, err error) {
	if f.rd == nil {
		return true, nil
	}
	next := min(f.to, f.state.Pos+followRecords)
	if err = Replay(f.state, f.rd, next, f.yield); err == nil && f.state.Pos != next {
		err = fmt.Errorf("keeper: the log ends at record %d, the loop is at %d", f.state.Pos, f.to)
	}
	if err == nil && next < f.to {
		return false, nil
	}
	f.chain = f.rd.Position().Chain
	_ = f.rd.Close()
	f.rd = nil
	return err == nil, err
}

// compare returns an error if the follower differs from the live state at its position. Its snapshot would then
// hold another state than clients have seen.
func (f *follower) compare(live machine.Digest) error {
	parts := f.state.Digest().Diff(live)
	if parts == "" {
		return nil
	}
	return fmt.Errorf("keeper: at record %d the follower differs from the running exchange, so no snapshot is taken: "+
		"%s", f.to, parts)
}

// yield gives up the processor regularly (yield.go).
func (f *follower) yield() error {
	if f.state.Pos%yieldRecords == 0 {
		runtime.Gosched()
	}
	return nil
}
