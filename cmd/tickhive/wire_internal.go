package main

import (
	"crypto/sha256"

	"tickhive/engine"
	"tickhive/server"
)

// wireInternal adds what the internal listener serves beyond order entry.
func (x *exchange) wireInternal(o *server.InternalOptions) {
	o.HashPair = x.hashPair
	o.HashControl = x.core.HashControl
	o.Metrics = server.NewMetrics(server.MetricsSource{
		Board: x.feed.Board(), Clock: x.clock,
		Loop: func() (*engine.LoopStats, int) {
			if l := x.gate.loop.Load(); l != nil {
				return l.Stats(), l.QueueLen()
			}
			return nil, 0
		},
		Routes: func() map[string][]server.RouteStat {
			return map[string][]server.RouteStat{"public": x.public.RouteStats(), "internal": x.internal.RouteStats()}
		},
		Server: func() *server.Server { return x.public },
	})
}

// hashPair is the hash of a pair's whole state: the book with everything that waits in
// it, and the market data folded from its events.
func (x *exchange) hashPair(p engine.PairID) [32]byte {
	book, market := x.core.HashPair(p), x.feed.HashPair(p)
	return sha256.Sum256(append(book[:], market[:]...))
}
