package sequencer

import (
	"sync/atomic"

	"github.com/tickhive/tickhive/engine"
)

// Gate is a reference to the running loop. Handlers have it before a loop exists and after the loop has ended.
// Any goroutine may call its methods. The zero Gate has no loop.
type Gate struct{ loop atomic.Pointer[Loop] }

// Lead sets the loop; nil removes it.
func (g *Gate) Lead(l *Loop) { g.loop.Store(l) }

// Submit calls Loop.Submit. Without a loop it returns ErrNoLoop.
func (g *Gate) Submit(b *Batch) error {
	if l := g.loop.Load(); l != nil {
		return l.Submit(b)
	}
	b.applied = 0
	return ErrNoLoop
}

// QueryPair is Loop.QueryPair. Without a loop it returns ErrNoLoop.
func (g *Gate) QueryPair(p engine.PairID, fn func()) error {
	if l := g.loop.Load(); l != nil {
		return l.QueryPair(p, fn)
	}
	return ErrNoLoop
}

// QueryParts is Loop.QueryParts. Without a loop it returns ErrNoLoop.
func (g *Gate) QueryParts(p engine.PairID, read func(pause func())) error {
	if l := g.loop.Load(); l != nil {
		return l.QueryParts(p, read)
	}
	return ErrNoLoop
}

// Query is Loop.Query. Without a loop it returns ErrNoLoop.
func (g *Gate) Query(fn func()) error {
	if l := g.loop.Load(); l != nil {
		return l.Query(fn)
	}
	return ErrNoLoop
}
