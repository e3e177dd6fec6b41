package sequencer

import (
	"sync/atomic"

	"tickhive/engine"
)

// LoopStats holds counters for metrics. Any goroutine may read every member at any time.
type LoopStats struct {
	Commands  atomic.Uint64
	Batches   atomic.Uint64 // publications
	Events    atomic.Uint64
	Rejected  atomic.Uint64
	Trades    atomic.Uint64
	Busy      atomic.Uint64 // refused because the queue was full
	PublishNs atomic.Int64  // machine time of the last publication, Unix ns
	OldestNs  atomic.Int64  // machine time since which the oldest unpublished event waits, 0 none
}

// tally holds the counts since the loop's goroutine last added them to LoopStats. It adds once
// a publication instead of once a command, because an atomic addition costs 10 ns.
type tally struct{ events, trades, refused uint64 }

func (l *Loop) count(events []engine.Event) {
	l.tally.events += uint64(len(events))
	for i := range events {
		switch events[i].Kind {
		case engine.EventTrade:
			l.tally.trades++
		case engine.EventRejected:
			l.tally.refused++
		default: // counted as events alone
		}
	}
}

// tell moves the tally to LoopStats, which other goroutines read.
func (l *Loop) tell() {
	t := &l.tally
	l.stats.Events.Add(t.events)
	if t.trades != 0 {
		l.stats.Trades.Add(t.trades)
	}
	if t.refused != 0 {
		l.stats.Rejected.Add(t.refused)
	}
	*t = tally{}
}
