package exchange

import (
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/wal"
)

// Place says where a node of a cluster is. Only a driver asks for it, between two steps.
type Place struct {
	Log    wal.Position   // end of the log whose records the state has all
	Digest machine.Digest // of the state
	Term   uint64         // the newest that the node knows
}

// Place returns where a writer is. ok is false while its state lacks records of its log.
func (x *Running) Place() (p Place, ok bool) {
	p = Place{Log: x.journal.log.Position(), Digest: x.state.Digest()}
	if s := x.stream.Load(); s != nil {
		p.Term = s.At().Term
	}
	return p, p.Log.Seq == x.loop.Position()
}

// Place returns where a follower is. ok is false once its state must not be trusted.
func (y *Following) Place() (p Place, ok bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return Place{Log: y.end, Digest: y.state.Digest(), Term: y.term.Load()}, y.failed == nil && y.end.Seq == y.state.Pos
}

// Over returns a channel that is closed when a follower executes nothing more.
func (y *Following) Over() <-chan struct{} { return y.over }
