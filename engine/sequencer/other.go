package sequencer

import "github.com/tickhive/tickhive/engine"

// Parts are the parts of the exchange beside the order books: accounts, launchpad, hive. Their state follows every
// record as soon as it is written; what readers see of them follows when the record has reached the mark that the
// process shows. The loop's goroutine calls the methods.
type Parts interface {
	// Apply applies a command of another part (engine.Other). Batch.Result is what it returns.
	Apply(cmd *engine.Command) (result any)
	// Advance moves the position, at which readers of the parts are, to the command that was just applied. The core has
	// booked the events of a command of the market already (engine.Funds).
	Advance(pos uint64)
	// Take returns what has changed since the last Take; nil: nothing.
	Take() (change any)
	// Show hands a change to what readers see, in the order of Take.
	Show(change any)
	// Publish makes what was handed over visible.
	Publish()
}

// OtherBatch returns the batch of one command of another part.
func OtherBatch(rec *engine.ControlRecord, wait Mark) *Batch {
	return &Batch{Wait: wait, Commands: []engine.Command{OtherCommand(rec)}}
}

// OtherCommand returns a command of another part.
func OtherCommand(rec *engine.ControlRecord) engine.Command {
	return engine.Command{Kind: engine.Other, Pair: engine.ControlPair, Control: rec}
}

// noParts stands for an exchange that is a market alone.
type noParts struct{}

func (noParts) Apply(*engine.Command) any { return nil }

func (noParts) Advance(uint64) {}

func (noParts) Take() any { return nil }

func (noParts) Show(any) {}

func (noParts) Publish() {}
