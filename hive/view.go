package hive

import (
	"strconv"

	"github.com/tidwall/btree"
)

// View is the complete state of the hive at one instant; immutable. Queries take the time of the process clock.
// A view is exact up to its next due second. A query that arrives later, before the due changes are applied,
// gets the state of the last instant before.
//
// The trees below a view are copy-on-write. The action log and its posting lists are append-only and published by
// length: a reader never looks beyond the number of entries that its view names.
type View struct {
	opt          Options
	seed         uint64
	genesisNs    int64
	nowNs        int64
	nextNs       int64
	seq          uint64
	maxActiveSec int64
	maxBoostSec  int64

	log             logView
	all, untargeted *postings

	workers       *btree.Map[uint32, *Worker]
	byToken       *btree.Map[string, uint32]
	byStatus      *btree.Map[uint64, struct{}]
	proposals     *btree.Map[uint32, *Proposal]
	byState       *btree.Map[uint64, struct{}]
	byWorker      *btree.Map[uint64, struct{}]
	byWorkerState *btree.Map[uint64, struct{}]
	closed        *btree.Map[uint64, uint32]
}

// Publish stores the current View for readers.
func (s *State) Publish() { s.Show()() }

// Show implements durable.Shower.
func (s *State) Show() (show func()) {
	v := s.View()
	return func() { s.published.Store(v) }
}

// View returns the current state. It copies in O(1): trees share nodes until the state changes them, and the
// log only grows.
func (s *State) View() *View {
	return &View{
		opt: s.opt, seed: s.seed, genesisNs: s.genesisNs, nowNs: s.nowNs, nextNs: s.NextNs(),
		seq: s.seq, maxActiveSec: s.maxActiveSec, maxBoostSec: s.maxBoostSec,
		log: s.log.logView, all: s.all, untargeted: s.untargeted,
		workers: s.workers.Copy(), byToken: s.byToken.Copy(), byStatus: s.byStatus.Copy(),
		proposals: s.proposals.Copy(), byState: s.byState.Copy(), byWorker: s.byWorker.Copy(),
		byWorkerState: s.byWorkerState.Copy(), closed: s.closed.Copy(),
	}
}

// Seq returns the number of records that the view reflects.
func (v *View) Seq() uint64 { return v.seq }

// Newest returns the largest workerId, 0 when there is no worker. Facts arrive in any order, so it may exceed
// the number of workers.
func (v *View) Newest() uint32 {
	id, _, _ := v.workers.Max()
	return id
}

// Entries returns the number of entries of the action log.
func (v *View) Entries() uint64 { return v.log.n }

// Head returns the hash of the last log entry.
func (v *View) Head() Hash { return v.log.head }

// atSec returns the second for which the view answers a query at nowNs.
func (v *View) atSec(nowNs int64) int64 {
	if v.nextNs != 0 && nowNs >= v.nextNs {
		nowNs = v.nextNs - 1
	}
	return max(nowNs, v.nowNs) / secondNs
}

// worker returns the worker of a :tokenId.
func (v *View) worker(tokenID uint64) (*Worker, bool) {
	w, ok := v.workers.Get(workerOf(tokenID))
	return w, ok && w.Known
}

// ParseTokenID reads a :tokenId. It does not check whether the token exists.
func ParseTokenID(text string) (uint64, bool) {
	n, err := strconv.ParseUint(text, 10, 63)
	return n, err == nil && strconv.FormatUint(n, 10) == text
}

// entriesOf returns the part of a posting list that the view covers.
func (v *View) entriesOf(l *idList) ids { return ids{&v.log, l.upTo(v.log.n)} }

// lowerBound returns the number of keys in tr that are below key.
func lowerBound(tr *btree.Map[uint64, struct{}], key uint64) int {
	lo, hi := 0, tr.Len()
	for lo < hi {
		mid := (lo + hi) / 2
		if k, _, _ := tr.GetAt(mid); k < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
