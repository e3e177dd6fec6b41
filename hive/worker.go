package hive

import "tickhive/internal/refuse"

// Status is a worker's state (docs/contract/api.md).
type Status uint8

// The worker states.
const (
	Active Status = iota
	Idle
	Suspended
	statuses
)

var statusNames = [statuses]string{"active", "idle", "suspended"}

func (s Status) String() string { return statusNames[s] }

// Worker is one version of a worker: a change makes a new one, so that published ones
// stay. Times are Unix seconds, 0 for never.
type Worker struct {
	ID          uint32 // from 1
	Known       bool   // its fact has been folded
	Token       [20]byte
	Symbol      string
	DeployedSec int64

	LastActiveSec int64 // swap, signal, flag or own action, or deployment; a boost aside
	BoostSec      int64 // a boost runs up to here
	IsIdle        bool  // at the view's time
	Suspended     bool
	Config        *Config

	LastActionSec   int64 // own entry
	LastOverrideSec int64
	OverridingTier  Tier

	ActiveProposals int64
	closedSec       []int64 // when its proposals closed, ascending; append-only

	postings *workerPostings // shared by all versions
}

// workerPostings is the posting lists of a worker.
type workerPostings struct {
	aimed postings // entries whose target is its token
	own   idList   // entries whose source it is
}

// TokenID returns the agentNftId of the worker's token.
func (w *Worker) TokenID() uint64 { return tokenOf(w.ID) }

func tokenOf(worker uint32) uint64 { return firstAgentNFT - 1 + uint64(worker) }

// workerOf is the workerId that belongs to a token id; 0 when none can.
func workerOf(tokenID uint64) uint32 {
	if tokenID < firstAgentNFT || tokenID-firstAgentNFT >= MaxWorkers {
		return 0
	}
	return uint32(tokenID - firstAgentNFT + 1)
}

// Status is the worker's state at the view's time.
func (w *Worker) Status() Status {
	switch {
	case w.Suspended:
		return Suspended
	case w.IsIdle:
		return Idle
	}
	return Active
}

// idleAt is the second at which the worker falls idle: a running boost counts as
// activity up to its end.
func (w *Worker) idleAt() int64 { return max(w.LastActiveSec, w.BoostSec) + idleAfterSec }

// lastActive is lastActiveAt at nowSec.
func (w *Worker) lastActive(nowSec int64) int64 { return max(w.LastActiveSec, min(nowSec, w.BoostSec)) }

func unknownWorker(field string) *refuse.Refusal {
	return refuse.Missing(field, "No worker has this token id.")
}

// knownWorker is the worker if its fact has been folded.
func (s *State) knownWorker(id uint32) (*Worker, bool) {
	w, ok := s.workers.Get(id)
	if !ok || !w.Known {
		return nil, false
	}
	return w, true
}

// edit is a copy of a worker for a change, a nameless one when the hive has not heard of
// it yet (recovery, before the facts are folded).
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

// noteActivity notes activity at sec.
func (s *State) noteActivity(w *Worker, sec int64) {
	w.LastActiveSec = max(w.LastActiveSec, sec)
	s.maxActiveSec = max(s.maxActiveSec, sec)
}

// put publishes a changed worker among the workers and in the indexes. Whether it is
// idle follows from its times and the time of the last record alone.
func (s *State) put(w *Worker) {
	w.IsIdle = w.idleAt() <= s.nowNs/secondNs
	before, had := s.workers.Set(w.ID, w)
	if had && before.Known {
		if before.Status() != w.Status() {
			s.byStatus.Delete(pair(uint32(before.Status()), w.ID))
		}
		if !before.IsIdle && (w.IsIdle || before.idleAt() != w.idleAt()) {
			s.idleQueue.Delete(idleKey(before))
		}
	}
	if !w.Known {
		return
	}
	s.byStatus.Set(pair(uint32(w.Status()), w.ID), struct{}{})
	if !w.IsIdle {
		s.idleQueue.Set(idleKey(w), struct{}{})
	}
}

// idleKey orders workers by when they fall idle; MaxWorkers is 2^20.
func idleKey(w *Worker) uint64 { return uint64(w.idleAt())<<20 | uint64(w.ID-1) }

// markIdle marks every worker idle whose idle second is due.
func (s *State) markIdle(nowSec int64) {
	for {
		key, _, ok := s.idleQueue.Min()
		if !ok || int64(key>>20) > nowSec {
			return
		}
		s.put(s.edit(uint32(key&(MaxWorkers-1)) + 1))
	}
}

// pair is a two-part key of an index.
func pair(hi, lo uint32) uint64 { return uint64(hi)<<32 | uint64(lo) }
