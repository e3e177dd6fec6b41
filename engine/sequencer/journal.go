package sequencer

import (
	"errors"
	"fmt"
	"math"

	"github.com/tickhive/tickhive/engine"
)

// Mark says how safe a record is. A record that has reached Synced is written. One that has reached Acked survives what
// Synced survives, because a start reads it in the stream; the log here may be synced later.
type Mark uint8

// The marks that a record reaches, in this order.
const (
	Written Mark = iota // it survives the end of the process
	Synced              // it survives a power cut
	Acked               // it survives the loss of the machine: the stream of the cluster has it
)

// Journal stores the sequenced commands. The loop is its only writer.
type Journal interface {
	// Append writes the commands, stamped, in one write that survives the end of the
	// process; pos is the position of the last one. On error the journal holds none of them
	// and the loop refuses them; on ErrOutcomeUnknown it may hold some, and the journal has
	// failed.
	Append(cmds []*engine.Command) (pos uint64, err error)
	// Reached returns the last position that has reached a mark.
	Reached(m Mark) uint64
	// Want makes the records up to pos reach a mark, at once or soon. The loop calls it when it has nothing more to
	// append.
	Want(m Mark, pos uint64)
	// SealedNs returns a time before which no other writer can add a command: what has ended by then is final, once all
	// that is applied here is folded. math.MaxInt64 where there is no other writer.
	SealedNs() int64
	// Wake returns a channel that receives when a mark or SealedNs has moved or the journal has failed.
	Wake() <-chan struct{}
	// Err returns an error once the journal accepts no more records, and no mark moves any more.
	Err() error
}

// Sink is a fold over the events: market data, balances, streams. sinks of internal/exchange lists
// the sinks of an exchange in their order. One call comes after the other, on the loop's goroutine.
type Sink interface {
	// Fold applies the events of one part of a command, which may be none, in seq order, each
	// exactly once, with the journal position of the part.
	Fold(events []engine.Event, pos uint64)
	// Publish publishes the folded state. The loop calls it at command boundaries only.
	Publish(nowNs int64)
	// NextNs returns the time at which time alone next changes the published state;
	// math.MaxInt64: never.
	NextNs() int64
}

// Withholder is a Sink that shows pairs one by one. It must not show what a pair has folded while the
// pair's command is unfinished.
type Withholder interface {
	// Withhold sets the pairs with an unfinished command; they are valid during the call only.
	Withhold(pairs []engine.PairID)
}

// Source makes commands by the clock: the simulated market. All calls come from the
// loop's goroutine, so what a source decides never depends on how goroutines run.
type Source interface {
	// NextNs returns the time at which the source next acts; math.MaxInt64: never.
	NextNs() int64
	// Act appends the commands for nowNs = NextNs() and moves NextNs beyond it.
	Act(nowNs int64, dst []engine.Command) []engine.Command
	// Skip makes the source continue from nowNs, because the time until then passed without it
	// (a stopped process).
	Skip(nowNs int64)
}

// Observer is a Source that receives the events of every command right after the core applied
// it, on the loop's goroutine. Sinks may receive them later (under sync always, after the
// sync), and a source's decisions must not depend on the speed of a disk.
type Observer interface {
	// Observe receives the events of one command; they are valid during the call only.
	Observe(events []engine.Event)
}

// records is the journal as the loop sees it, with the position of the last command.
type records struct {
	journal Journal // nil: nothing survives the process
	pos     uint64
}

// reached returns Journal.Reached. What is applied is written.
func (r *records) reached(m Mark) uint64 {
	if m == Written || r.journal == nil {
		return r.pos
	}
	return r.journal.Reached(m)
}

// sealedNs returns Journal.SealedNs.
func (r *records) sealedNs() int64 {
	if r.journal == nil {
		return math.MaxInt64
	}
	return r.journal.SealedNs()
}

// failed reports whether the journal has stopped for good.
func (r *records) failed() bool { return r.journal != nil && r.journal.Err() != nil }

// stopped returns ErrUnavailable once the journal has stopped for good.
func (r *records) stopped() error {
	if !r.failed() {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, r.journal.Err())
}

// wake returns Journal.Wake, nil without a journal.
func (r *records) wake() <-chan struct{} {
	if r.journal == nil {
		return nil
	}
	return r.journal.Wake()
}

// write journals the commands in one write.
func (r *records) write(cmds []*engine.Command) error {
	if r.journal == nil {
		r.pos += uint64(len(cmds))
		return nil
	}
	if err := r.stopped(); err != nil {
		return err
	}
	pos, err := r.journal.Append(cmds)
	switch {
	case err == nil:
		r.pos = pos
		return nil
	case errors.Is(err, ErrOutcomeUnknown):
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
