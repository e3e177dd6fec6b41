package audit

import (
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/machine"
)

// Auditor checks the money of a state after each record that a replay applies to it.
type Auditor struct {
	State   *machine.State
	From    uint64 // the records up to this position are not checked
	Records int    // checked so far

	shown  *machine.Shown // nil before the first record that is checked
	events []engine.Event // of the last record
}

// Sink receives the events of a record (machine.Options.Sinks).
func (a *Auditor) Sink(events []engine.Event, _ uint64) { a.events = append(a.events[:0], events...) }

// After checks the money after a record (keeper.Replay).
func (a *Auditor) After() error {
	if a.State.Pos <= a.From {
		return nil
	}
	if a.shown == nil {
		a.shown = machine.NewShown(a.State)
	} else {
		a.shown.Follow()
	}
	a.Records++
	if err := Check(a.State.Core, a.shown.Accounts); err != nil {
		return err
	}
	return Fills(a.State.Core, a.State.Feed.History(), a.events)
}
