package replica

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"tickhive/engine"
	"tickhive/internal/wal"
)

// followRecords is the number of records that one step of a follower replays; they take half a millisecond.
const followRecords = 1024

// follower replays the log into a market up to a position.
type follower struct {
	market *Replica
	rd     *wal.Reader // nil: the follower has arrived
	to     uint64
	chain  uint64 // of the log up to to, 0 if the follower did not read it
}

// follow returns a follower that starts from the newest snapshot and stops at pos.
func (k *Keeper) follow(pos uint64) (f follower, err error) {
	f.to = pos
	var found wal.Loaded
	if f.market, found, err = Load(k.o.Market, k.o.Dir, pos); err != nil {
		return f, err
	}
	if err = k.passOver(found); err != nil {
		return f, err
	}
	if f.market.Pos < pos {
		f.rd, err = k.o.Log.Reader(f.market.Pos + 1)
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
	f.chain = f.rd.Position().Chain
	_ = f.rd.Close()
	f.rd = nil
	return err == nil, err
}

// pairState is the part of a pair's state that takes no time to compare.
type pairState struct {
	seq    engine.Seq
	order  engine.OrderID // the last one
	trade  engine.TradeID // the last one
	price  int64          // of the last trade
	orders int            // open ones
}

// pairStates returns the states by pair; the first is the control stream.
func pairStates(c *engine.Core) []pairState {
	all := []pairState{{seq: c.LastSeq(engine.ControlPair)}}
	for id := range c.EndPair() {
		p := pairState{seq: c.LastSeq(id), order: c.LastOrderID(id), orders: c.OpenOrders(id)}
		p.trade, p.price = c.LastTrade(id)
		all = append(all, p)
	}
	return all
}

// Digest returns a checksum of what takes no time to compare: by pair seq, last order, last trade, its price and the
// number of open orders.
func Digest(c *engine.Core) uint64 {
	var h xxhash.Digest
	h.Reset()
	var b [40]byte
	for _, p := range pairStates(c) {
		binary.LittleEndian.PutUint64(b[0:], uint64(p.seq))
		binary.LittleEndian.PutUint64(b[8:], uint64(p.order))
		binary.LittleEndian.PutUint64(b[16:], uint64(p.trade))
		binary.LittleEndian.PutUint64(b[24:], uint64(p.price))
		binary.LittleEndian.PutUint64(b[32:], uint64(p.orders))
		_, _ = h.Write(b[:]) // never fails
	}
	return h.Sum64()
}

// compare returns an error if the follower differs from the live core at its position. Its snapshot would then
// hold another market than clients have seen.
func (f *follower) compare(live []pairState) error {
	mine := pairStates(f.market.Core)
	if slices.Equal(mine, live) {
		return nil
	}
	return fmt.Errorf("replica: at record %d the follower differs from the market, so no snapshot is taken: "+
		"seq, last order, last trade, price and open orders by pair are %d and %d", f.to, mine, live)
}
