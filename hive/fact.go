package hive

// Fact holds what the launchpad reports about a token and its worker. It has the same members as launchpad.Fact,
// so that one converts to the other. Each member is constant or only grows, so facts may be folded in any order
// and more than once.
type Fact struct {
	Seq         uint64   // number of the launchpad's record
	WorkerID    uint32   // from 1
	Token       [20]byte // the token's address
	Symbol      string
	DeployedSec int64 // Unix seconds
	SwapSec     int64 // time of the last swap, Unix seconds, 0: never
	BoostSec    int64 // end of the last boost, Unix seconds, 0: never boosted
}

// Fold merges a fact into the state. Store.Fold must call it: after each launchpad command that has a fact, and
// for all current facts at a start.
//
// Identities are fixed and times are maxima, so facts may arrive in any order, more than once, late, or all again, and
// yield the same state. The snapshot holds the last launchpad record that it reflects (ReflectsSeq); a start folds all
// present facts in any case. An action on a worker whose fact is folded only after the record is replayed waits on a
// worker without a name; no view shows one.
func (s *State) Fold(f Fact) {
	s.launchpadSeq = max(s.launchpadSeq, f.Seq)
	w := s.edit(f.WorkerID)
	if !w.Known {
		w.Known, w.Token, w.Symbol, w.DeployedSec = true, f.Token, f.Symbol, f.DeployedSec
		s.byToken.Set(string(f.Token[:]), w.ID)
	}
	s.noteActivity(w, max(f.DeployedSec, f.SwapSec))
	w.BoostSec = max(w.BoostSec, f.BoostSec)
	s.maxBoostSec = max(s.maxBoostSec, f.BoostSec)
	s.put(w)
}

// ReflectsSeq returns the number of the newest launchpad record whose fact was folded.
func (s *State) ReflectsSeq() uint64 { return s.launchpadSeq }
