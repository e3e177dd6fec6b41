package engine

import "sync/atomic"

// LoopStats are counters for metrics; every member may be read at any time.
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

func (l *Loop) count(events []Event) {
	l.stats.Events.Add(uint64(len(events)))
	var trades, refused uint64
	for i := range events {
		switch events[i].Kind {
		case EventTrade:
			trades++
		case EventRejected:
			refused++
		}
	}
	if trades != 0 {
		l.stats.Trades.Add(trades)
	}
	if refused != 0 {
		l.stats.Rejected.Add(refused)
	}
}
