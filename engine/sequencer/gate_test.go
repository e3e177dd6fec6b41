package sequencer_test

import (
	"errors"
	"testing"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
)

func TestAGateLeadsToTheLoopThatRuns(t *testing.T) {
	var gate sequencer.Gate
	pair := func() error { return gate.Submit(&sequencer.Batch{Commands: []engine.Command{addPairCommand()}}) }
	if err := pair(); !errors.Is(err, sequencer.ErrUnavailable) {
		t.Errorf("a closed gate answered a batch with %v", err)
	}
	if err := gate.Query(func() { t.Error("a closed gate ran a query") }); !errors.Is(err, sequencer.ErrUnavailable) {
		t.Errorf("a closed gate answered a query with %v", err)
	}
	gate.Lead(startLoop(t, sequencer.LoopOptions{Core: engine.NewCore(engine.Options{}), Clock: clock.Real{}}))
	if err := pair(); err != nil {
		t.Error(err)
	}
	ran := false
	if err := gate.Query(func() { ran = true }); err != nil || !ran {
		t.Errorf("the query ran: %v, %v", ran, err)
	}
	gate.Lead(nil)
	if err := pair(); !errors.Is(err, sequencer.ErrUnavailable) {
		t.Errorf("a gate that was closed again answered a batch with %v", err)
	}
}
