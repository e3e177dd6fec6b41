package hive

// Fact holds the launchpad's state of a token and its worker. It has the same members as
// the launchpad's Fact, so that one converts into the other. Each is fixed or only
// grows: facts may be folded in any order and more than once.
type Fact struct {
	Seq         uint64   // of the launchpad's record
	WorkerID    uint32   // from 1
	Token       [20]byte // address
	Symbol      string
	DeployedSec int64 // Unix seconds
	SwapSec     int64 // last swap, Unix seconds, 0: never
	BoostSec    int64 // end of the last boost, Unix seconds, 0: never
}

// Fold joins a fact into the state. It belongs into Store.Fold: after each launchpad
// command that has one, and for all present facts at a start.
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

// ReflectsSeq is the newest launchpad record whose fact was folded.
func (s *State) ReflectsSeq() uint64 { return s.launchpadSeq }
