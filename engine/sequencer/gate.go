package sequencer

import (
	"sync/atomic"

	"tickhive/engine"
)

// Gate leads to the loop that runs. Handlers have it before there is a loop, and after. Any
// goroutine may call its methods. The zero Gate is closed.
type Gate struct{ loop atomic.Pointer[Loop] }

// Lead makes the gate lead to l; nil closes it.
func (g *Gate) Lead(l *Loop) { g.loop.Store(l) }

// Submit is Loop.Submit. A closed gate returns ErrUnavailable.
func (g *Gate) Submit(b *Batch) error {
	if l := g.loop.Load(); l != nil {
		return l.Submit(b)
	}
	return ErrUnavailable
}

// QueryPair is Loop.QueryPair. A closed gate returns ErrUnavailable.
func (g *Gate) QueryPair(p engine.PairID, fn func()) error {
	if l := g.loop.Load(); l != nil {
		return l.QueryPair(p, fn)
	}
	return ErrUnavailable
}

// Query is Loop.Query. A closed gate returns ErrUnavailable.
func (g *Gate) Query(fn func()) error {
	if l := g.loop.Load(); l != nil {
		return l.Query(fn)
	}
	return ErrUnavailable
}
