package sequencer

import (
	"errors"
	"fmt"

	"github.com/tickhive/tickhive/engine"
)

// The refusals of the loop itself; the edge answers 503 UNAVAILABLE for the first three, and
// 504 OUTCOME_UNKNOWN for ErrOutcomeUnknown.
var (
	// ErrBusy: the queue is full. Nothing was sequenced.
	ErrBusy = errors.New("sequencer: the command queue is full")
	// ErrStopping: the loop is shutting down. Nothing was sequenced.
	ErrStopping = errors.New("sequencer: shutting down")
	// ErrUnavailable: the journal refuses writes (full disk, or stopped after an earlier
	// failed fsync). Nothing was sequenced.
	ErrUnavailable = errors.New("sequencer: the journal takes no commands")
	// ErrNoLoop: this process has no loop, as a replica or while it starts. It is an ErrUnavailable.
	ErrNoLoop = fmt.Errorf("%w: there is no loop", ErrUnavailable)
	// ErrOutcomeUnknown: the commands were written to the journal, which then failed for good: a sync failed, or
	// another node is the writer. This process publishes none of their events; the next start applies the commands
	// that it finds.
	ErrOutcomeUnknown = errors.New("sequencer: the journal could not be made durable, the commands may be recorded")
	// ErrNoStream: the stream confirms nothing more to this process (Journal.Err).
	ErrNoStream = errors.New("sequencer: the stream confirms nothing more")
	// ErrUnconfirmed: the commands are applied, and the stream did not confirm them within ackWithin. Readers see them
	// when it does.
	ErrUnconfirmed = errors.New("sequencer: the stream has not confirmed the commands")
	// ErrTimeBack: a stamped command is older than the command sequenced before it. Nothing
	// was sequenced.
	ErrTimeBack = errors.New("sequencer: time goes back")
)

// Batch holds the commands of one request. The loop applies them in order, at most SliceCommands at
// once: commands of other batches may come in between, unless the batch is Stamped or Together. A batch
// belongs to the loop from Submit until Submit returns, or from Offer until its Outcome.
type Batch struct {
	Commands []engine.Command
	// Stamped: each command has its own TimeNs, to which the loop moves the virtual clock. Otherwise the loop
	// stamps the commands.
	Stamped bool
	// Together: the commands are a slice of their own, in one write of the journal and with no command of another batch
	// between them. All but the last must end in one part, as a Cancel does.
	Together bool
	// Wait is the mark that the records must have reached before the batch is answered. The batch is never answered
	// before readers see what it has done (LoopOptions.Show).
	Wait Mark
	// Collect receives the events of each part of each command, on the loop's goroutine, after
	// every sink has folded them; newRequest of internal/entry sets it for orders. A part of a
	// command that has several may have no event. The events are valid only during the call. It may
	// read what the sinks own (order history), must be quick and must not block.
	Collect func(i int, cmd *engine.Command, events []engine.Event)

	// Result is what Parts.Apply has returned for the last command of another part, once Submit has returned nil.
	Result any

	err  error
	done chan struct{} // nil: no submitter waits
	next *Batch        // the next in the intake; later the next to be woken, see answer

	applied int // commands that are applied, the newest perhaps in part
	to      int // end of the commands in the slice under way
}

// AppliedCount returns how many commands the loop has applied when Submit has returned an error. The newest
// of these may be unfinished; the commands behind it were not applied.
func (b *Batch) AppliedCount() int { return b.applied }

// Outcome returns the outcome of a batch that was offered, once: answered is false before the
// loop has answered it, and after Outcome has returned the answer.
func (b *Batch) Outcome() (answered bool, err error) {
	select {
	case <-b.done:
		b.wakeFollowers()
		return true, b.err
	default:
		return false, nil
	}
}

// Await returns the outcome of a batch that was offered, once, when the loop has answered it.
func (b *Batch) Await() error {
	<-b.done
	b.wakeFollowers()
	return b.err
}

// submitters returns the number of batches with a waiting submitter; sources made the others.
func submitters(batches []*Batch) (n int) {
	for _, b := range batches {
		if b.done != nil {
			n++
		}
	}
	return n
}

// wakeRun is the number of submitters of a group that wake each other in a chain: the loop wakes the first one,
// which wakes the others. A wake-up costs 100 ns, more than taking a batch from the queue.
const wakeRun = 8

// answer returns the outcome to the submitters of batches. The rest of a source's batch may end in the same slice as
// theirs; no one waits for it, so it has no place in a run.
func answer(batches []*Batch, err error) {
	var first, last *Batch
	n := 0
	for _, b := range batches {
		if err != nil && b.err == nil {
			b.err = err
		}
		switch {
		case b.done == nil:
			continue
		case n == 0:
			first = b
		default:
			last.next = b
		}
		last = b
		if n++; n == wakeRun {
			first.done <- struct{}{} // never blocks: the channel has room
			n = 0
		}
	}
	if n > 0 {
		first.done <- struct{}{}
	}
}

// answer answers one batch.
func (b *Batch) answer(err error) { answer([]*Batch{b}, err) }

// wakeFollowers wakes the submitters that are behind this one in its run (see answer), in order. A
// submitter owns its batch again only after it was woken, so next may be read here.
func (b *Batch) wakeFollowers() {
	for f := b.next; f != nil; {
		next := f.next
		f.next = nil
		f.done <- struct{}{}
		f = next
	}
	b.next = nil
}
