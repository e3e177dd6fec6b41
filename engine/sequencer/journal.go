package sequencer

import "tickhive/engine"

// Journal keeps the sequenced commands. The loop is its only writer.
type Journal interface {
	// Append writes the commands, stamped, in one write that survives the end of the
	// process; pos is the position of the last one. On error nothing of them is kept and
	// the loop refuses them; on ErrOutcomeUnknown something may be kept, and the journal has
	// failed.
	Append(cmds []*engine.Command) (pos uint64, err error)
	// DurableFirst reports whether answers and views must wait until Durable reaches
	// the position of their commands (journal.sync = always).
	DurableFirst() bool
	// Flush is called under DurableFirst when the loop has nothing more to append for now:
	// what was appended becomes durable at once, or soon.
	Flush()
	// Durable is the last position that is safe from a power cut.
	Durable() uint64
	// Wake is signaled when Durable has moved or the journal has failed.
	Wake() <-chan struct{}
	// Err is not nil once the journal takes nothing any more.
	Err() error
}

// Sink is a fold over the events: market data, balances, streams. All calls come from
// the loop's goroutine.
type Sink interface {
	// Fold takes events in seq order, each exactly once, with the journal position of
	// the last command among them.
	Fold(events []engine.Event, pos uint64)
	// Publish shows what was folded; it comes at command boundaries only.
	Publish(nowNs int64)
	// NextNs is when time alone next changes what Publish shows; math.MaxInt64: never.
	NextNs() int64
}

// Source makes commands by the clock: the simulated market. All calls come from the
// loop's goroutine, so what a source decides never depends on how goroutines run.
type Source interface {
	// DueNs is when the source next acts; math.MaxInt64: never.
	DueNs() int64
	// Act appends what it does at nowNs = DueNs() and moves DueNs beyond it.
	Act(nowNs int64, dst []engine.Command) []engine.Command
	// Skip tells the source that the time until nowNs passed without it (a stopped
	// process): it goes on from nowNs.
	Skip(nowNs int64)
}

// Observer is a Source that sees the events of every command right after it was applied,
// on the loop's goroutine. Sinks may get them later (a journal that syncs before it shows
// anything), and what a source decides must not depend on how fast a disk is.
type Observer interface {
	// See takes the events of one command; they are valid during the call only.
	See(events []engine.Event)
}
