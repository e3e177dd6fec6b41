package hive

import (
	"github.com/tidwall/btree"

	"github.com/tickhive/tickhive/internal/refuse"
)

// Status is a worker's state (docs/contract/api.md).
type Status uint8

// The states of a worker.
const (
	Active Status = iota
	Idle
	Suspended
	statuses
)

var statusNames = [statuses]string{"active", "idle", "suspended"}

func (s Status) String() string { return statusNames[s] }

// Worker is one version of a worker. A change makes a new version, so that published versions never change.
// Times are Unix seconds, 0: never.
type Worker struct {
	ID          uint32 // from 1
	Token       [20]byte
	Symbol      string
	DeployedSec int64

	LastActiveSec int64 // last swap, signal, flag, own action or deployment; boosts are in BoostSec
	BoostSec      int64 // end of the last boost
	IsIdle        bool  // the worker is idle at the view's time
	Suspended     bool
	Config        *Config

	LastActionSec   int64 // time of the last entry with this worker as its source
	LastOverrideSec int64
	OverridingTier  Tier

	ActiveProposals int64

	postings *workerPostings // the same for all versions of the worker
}

// workerPostings holds the posting lists of a worker.
type workerPostings struct {
	aimed postings // entries whose target is the worker's token
	own   idList   // entries whose source is the worker
}

// TokenID returns the agentNftId of the worker's token.
func (w *Worker) TokenID() uint64 { return tokenOf(w.ID) }

func tokenOf(worker uint32) uint64 { return firstAgentNFT - 1 + uint64(worker) }

// workerOf returns the workerId of a token id, 0 when no worker can have that id.
func workerOf(tokenID uint64) uint32 {
	if tokenID < firstAgentNFT || tokenID-firstAgentNFT >= MaxWorkers {
		return 0
	}
	return uint32(tokenID - firstAgentNFT + 1)
}

// Status returns the worker's state at the view's time.
func (w *Worker) Status() Status {
	switch {
	case w.Suspended:
		return Suspended
	case w.IsIdle:
		return Idle
	}
	return Active
}

// idleAt returns the second at which the worker becomes idle. A running boost counts as activity until it ends.
func (w *Worker) idleAt() int64 { return max(w.LastActiveSec, w.BoostSec) + idleAfterSec }

// lastActive returns the second of the worker's last activity, as of nowSec. A boost counts as activity until it ends.
func (w *Worker) lastActive(nowSec int64) int64 { return max(w.LastActiveSec, min(nowSec, w.BoostSec)) }

func unknownWorker(field string) *refuse.Refusal {
	return refuse.Missing(field, "No worker has this token id.")
}

// edit returns a copy of a worker to be changed; put then stores it. A new worker has no name yet.
func (s *State) edit(id uint32) *Worker {
	if id == 0 || id > MaxWorkers {
		panic("BUG: hive: worker id out of range")
	}
	if w, ok := s.workers.Get(id); ok {
		c := *w
		return &c
	}
	return &Worker{ID: id, Config: defaultConfig, postings: new(workerPostings)}
}

// noteActivity records activity of the worker at sec.
func (s *State) noteActivity(w *Worker, sec int64) {
	w.LastActiveSec = max(w.LastActiveSec, sec)
	s.maxActiveSec = max(s.maxActiveSec, sec)
}

// put stores a version of a worker and updates the indexes. The worker's times and the time of the last change
// determine whether it is idle.
func (s *State) put(w *Worker) {
	w.IsIdle = w.idleAt() <= s.nowNs/secondNs
	s.place(w)
}

// place stores a version of a worker and updates the indexes.
func (s *State) place(w *Worker) {
	before, had := s.workers.Set(w.ID, w)
	s.digest += w.mix() - before.mix()
	if had {
		if before.Status() != w.Status() {
			s.byStatus.Delete(pair(uint32(before.Status()), w.ID))
		}
		if !before.IsIdle && (w.IsIdle || before.idleAt() != w.idleAt()) {
			s.idleQueue.Delete(idleKey(before))
		}
	}
	s.byStatus.Set(pair(uint32(w.Status()), w.ID), struct{}{})
	if !w.IsIdle {
		s.idleQueue.Set(idleKey(w), struct{}{})
	}
}

// idleKey returns the key that sorts workers by the time at which they become idle. MaxWorkers is 2^20.
func idleKey(w *Worker) uint64 { return uint64(w.idleAt())<<20 | uint64(w.ID-1) }

// idleOne marks the worker idle that becomes so first.
func (s *State) idleOne() {
	key, _, _ := s.idleQueue.Min()
	s.put(s.edit(uint32(key&(MaxWorkers-1)) + 1))
}

// pair returns a key of two parts for an index.
func pair(hi, lo uint32) uint64 { return uint64(hi)<<32 | uint64(lo) }

// Fact holds what the launchpad reports about a token and its worker. It has the same members as launchpad.Fact,
// so that one converts to the other. Each member is constant or only grows, so a fact may be folded more than once.
type Fact struct {
	WorkerID    uint32   // from 1
	Token       [20]byte // the token's address
	Symbol      string
	DeployedSec int64 // Unix seconds
	SwapSec     int64 // time of the last swap, Unix seconds, 0: never
	BoostSec    int64 // end of the last boost, Unix seconds, 0: never boosted
}

// Fold merges a fact into the state. The machine calls it behind each command of the launchpad that has one. The first
// fact of a worker makes it.
func (s *State) Fold(f Fact) {
	w := s.edit(f.WorkerID)
	w.Token, w.Symbol, w.DeployedSec = f.Token, f.Symbol, f.DeployedSec
	s.byToken.Set(string(f.Token[:]), w.ID)
	s.noteActivity(w, max(f.DeployedSec, f.SwapSec))
	w.BoostSec = max(w.BoostSec, f.BoostSec)
	s.maxBoostSec = max(s.maxBoostSec, f.BoostSec)
	s.put(w)
}

// Worker returns the worker of a token; ok is false for an unknown token.
func (v *View) Worker(nowNs int64, tokenID uint64) (d WorkerInfo, ok bool) {
	w, ok := v.worker(tokenID)
	if !ok {
		return d, false
	}
	return v.info(w, v.atSec(nowNs)), true
}

// closedSince returns the number of proposals of a worker that closed later than sec.
func (v *View) closedSince(worker uint32, sec int64) int64 {
	return int64(closedBy(v.closed, worker, 1<<42-1) - closedBy(v.closed, worker, sec))
}

// closedKey returns the key that sorts the closes of proposals by worker and time. MaxWorkers is 2^20 and seconds stay
// below 2^42, so both fit.
func closedKey(worker uint32, sec int64) uint64 { return uint64(worker)<<42 | uint64(sec) }

// closedBy returns the number of proposals of a worker that have closed by sec.
func closedBy(closed *btree.Map[uint64, uint32], worker uint32, sec int64) (n uint32) {
	closed.Descend(closedKey(worker, sec), func(key uint64, count uint32) bool {
		if key>>42 == uint64(worker) {
			n = count
		}
		return false
	})
	return n
}

// Recent returns the newest log entries whose target is the token, newest first.
func (v *View) Recent(tokenID uint64) []EntryInfo {
	w, ok := v.worker(tokenID)
	if !ok {
		return nil
	}
	list := v.entriesOf(w.postings.aimed.list(nil, nil))
	var out []EntryInfo
	for i := list.len() - 1; i >= 0 && len(out) < RecentActions; i-- {
		out = append(out, v.log.entry(list.at(i)).info(v.seed, v.genesisNs))
	}
	return out
}
