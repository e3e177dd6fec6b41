package sequencer_test

import (
	"errors"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
)

func TestAGateLeadsToTheLoopThatRuns(t *testing.T) {
	var gate sequencer.Gate
	b := sequencer.Batch{Commands: []engine.Command{addPairCommand()}}
	pair := func() error { return gate.Submit(&b) }
	if err := pair(); !errors.Is(err, sequencer.ErrNoLoop) {
		t.Errorf("a closed gate answered a batch with %v", err)
	}
	if err := gate.Query(func() { t.Error("a closed gate ran a query") }); !errors.Is(err, sequencer.ErrNoLoop) {
		t.Errorf("a closed gate answered a query with %v", err)
	}
	loop := startLoop(t, sequencer.LoopOptions{Core: engine.NewCore(engine.Options{}), Clock: clock.Real{}})
	gate.Lead(loop)
	if err := pair(); err != nil {
		t.Error(err)
	}
	ran := false
	if err := gate.Query(func() { ran = true }); err != nil || !ran {
		t.Errorf("the query ran: %v, %v", ran, err)
	}
	gate.Lead(nil)
	if err := pair(); !errors.Is(err, sequencer.ErrNoLoop) || b.AppliedCount() != 0 {
		t.Errorf("a gate that was closed again answered a batch with %v, %d applied", err, b.AppliedCount())
	}
	if err := loop.Submit(&b); err != nil || b.AppliedCount() != 1 {
		t.Errorf("the loop answered it with %v, %d applied", err, b.AppliedCount())
	}
	loop.BeginStop()
	if err := loop.Submit(&b); !errors.Is(err, sequencer.ErrStopping) || b.AppliedCount() != 0 {
		t.Errorf("a loop that stops answered it with %v, %d applied", err, b.AppliedCount())
	}
}
