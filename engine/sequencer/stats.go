package sequencer

import (
	"sync/atomic"

	"github.com/tickhive/tickhive/internal/clock"
)

// LoopStats holds counters for metrics. Any goroutine may read every member at any time.
type LoopStats struct {
	Commands  atomic.Uint64
	Batches   atomic.Uint64 // publications
	Events    atomic.Uint64
	Rejected  atomic.Uint64
	Orders    atomic.Uint64 // accepted
	Trades    atomic.Uint64
	Busy      atomic.Uint64 // refused because the queue was full
	PublishNs atomic.Int64  // machine time of the last publication, Unix ns
	OldestNs  atomic.Int64  // machine time since which the oldest unpublished event waits, 0 none
	// Waits has, by publication, the time that its oldest event has waited: to be applied, folded, confirmed and shown.
	Waits clock.Histogram
}
