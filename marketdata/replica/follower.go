package replica

import (
	"fmt"

	"tickhive/internal/wal"
)

// followRecords is the number of records that one step of a follower replays; they take half a millisecond.
const followRecords = 1024

// follower replays the log into a market up to a position.
type follower struct {
	market *Replica
	rd     *wal.Reader // nil: the follower has arrived
	to     uint64
}

// follow returns a follower that starts from the newest snapshot and stops at pos.
func (k *Keeper) follow(pos uint64) (f follower, err error) {
	f.to = pos
	if f.market, _, err = Load(k.o.Market, k.o.Dir, pos); err != nil {
		return f, err
	}
	if f.market.Pos < pos {
		f.rd, err = k.o.Log.Reader(f.market.Pos + 1)
	}
	return f, err
}

// advance replays at most followRecords records and reports whether the market has reached its position. It
// closes the reader then, and after an error.
func (f *follower) advance() (arrived bool, err error) {
	if f.rd == nil {
		return true, nil
	}
	next := min(f.to, f.market.Pos+followRecords)
	if err = f.market.Replay(f.rd, next, nil); err == nil && f.market.Pos != next {
		err = fmt.Errorf("replica: the log ends at record %d, the loop is at %d", f.market.Pos, f.to)
	}
	if err == nil && next < f.to {
		return false, nil
	}
	_ = f.rd.Close()
	f.rd = nil
	return err == nil, err
}
