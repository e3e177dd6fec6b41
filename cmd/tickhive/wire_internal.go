package main

import (
	"tickhive/engine/sequencer"
	"tickhive/server"
)

// wireInternal adds the routes of the internal listener other than order entry.
func (x *exchange) wireInternal(o *server.InternalOptions) {
	o.StateHash = x.stateHash
	if x.policy == sequencer.SyncAlways {
		o.Settle = x.settle
	}
	o.Metrics = server.NewMetrics(server.MetricsSource{
		Board: x.feed.Board(), Clock: x.clock,
		Loop: func() (*sequencer.LoopStats, int) {
			if l := x.gate.loop.Load(); l != nil {
				return l.Stats(), l.QueueLen()
			}
			return nil, 0
		},
		Routes: func() map[string][]server.RouteStat {
			return map[string][]server.RouteStat{"public": x.public.RouteStats(), "internal": x.internal.RouteStats()}
		},
		Server: func() *server.Server { return x.public }, Accepts: x.accepts,
	})
}
