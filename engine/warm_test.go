package engine_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
)

// Warm changes nothing: commands that are read ahead make the same events and the same state, in a book that is large
// enough for it, whatever they name.
func TestWarmChangesNothing(t *testing.T) {
	var cores [2]*engine.Core
	var events [2][]engine.Event
	for i := range cores {
		m := newMarket(t, engine.Options{}, enginetest.Instrument())
		cores[i] = m.core
	}
	apply := func(cmds []engine.Command) {
		refs := make([]*engine.Command, len(cmds))
		for i := range cmds {
			cmds[i].TimeNs = 20_001 * enginetest.DayNs
			refs[i] = &cmds[i]
		}
		for i, cmd := range refs {
			if i%engine.LookAhead == 0 {
				cores[1].Warm(refs, i)
			}
			for k, c := range cores {
				cmd.First = true
				events[k] = c.Apply(cmd, events[k][:0])
				for e := range events[k] {
					events[k][e].Instrument = nil // each core has its own
				}
			}
			if !slices.Equal(events[0], events[1]) {
				t.Fatalf("%+v made %+v, and %+v when it was read ahead", *cmd, events[0], events[1])
			}
		}
	}
	f := enginetest.NewFlow(3)
	var deep []engine.Command
	for i := range int64(40_000) {
		deep = append(deep, place(engine.Side(i%2), 1_000-900*(1-i%2)+i%90, 1+i%9))
	}
	apply(deep)
	var flow []engine.Command
	for i := range 20_000 {
		cmd := f.Next()
		cmd.First = true
		if i%3 == 0 || cmd.Kind == engine.CancelAll { // which might empty the book
			cmd.Kind, cmd.Order = engine.Cancel, engine.OrderID(f.R.Uint64N(50_000))
		}
		if i%50 == 0 {
			cmd.Pair = engine.PairID(f.R.Uint32N(3)) // mostly one that does not exist
		}
		flow = append(flow, cmd)
	}
	apply(flow)
	var states [2][]byte
	for i, c := range cores {
		if n := c.OpenOrders(0); n < 16<<10 {
			t.Fatalf("%d open orders are too few", n)
		}
		states[i] = c.EncodePair(nil, 0)
	}
	if !bytes.Equal(states[0], states[1]) {
		t.Fatal("the state depends on reading ahead")
	}
}
