package markettest

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
)

// Loop is a running loop of a test.
type Loop struct {
	*sequencer.Loop
	t    testing.TB
	core *engine.Core
}

// Run starts a loop over the market on a new goroutine. The loop uses the market's core,
// and its clock and feed where o has none.
func (m *Market) Run(t testing.TB, o sequencer.LoopOptions) *Loop {
	t.Helper()
	o.Core = m.Core
	if o.Clock == nil {
		o.Clock = m.Clock
	}
	if o.Sinks == nil {
		o.Sinks = []sequencer.Sink{m.Feed.Sink()}
	}
	l, done := sequencer.NewLoop(o), make(chan struct{})
	go func() {
		defer close(done)
		l.Run()
	}()
	t.Cleanup(func() {
		l.Stop()
		<-done
	})
	return &Loop{l, t, m.Core}
}

// Do submits commands as one batch and returns the first event of each that has events.
func (l *Loop) Do(cmds ...engine.Command) (first []engine.Event) {
	l.t.Helper()
	b := sequencer.Batch{Commands: cmds}
	b.Collect = func(_ int, _ *engine.Command, events []engine.Event) {
		if len(events) > 0 { // a mass cancel that finds no order has none
			first = append(first, events[0])
		}
	}
	if err := l.Loop.Submit(&b); err != nil {
		l.t.Error(err)
	}
	return first
}

// AddPairs adds instruments and returns their ids.
func (l *Loop) AddPairs(instruments ...*engine.Instrument) (ids []engine.PairID) {
	l.t.Helper()
	cmds := make([]engine.Command, 0, len(instruments))
	for _, i := range instruments {
		cmds = append(cmds, addPair(i))
	}
	for _, e := range l.Do(cmds...) {
		ids = append(ids, e.Pair)
	}
	return ids
}

// OpenOrders returns the number of open orders of a pair.
func (l *Loop) OpenOrders(p engine.PairID) (n int, err error) {
	err = l.QueryPair(p, func() { n = l.core.OpenOrders(p) })
	return n, err
}
