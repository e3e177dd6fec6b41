package sequencer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
)

// pairOff returns a cancel and a new order that are together. They are found in the journal by name.
func pairOff(p engine.PairID, name string) []engine.Command {
	order := limitOrder(engine.Sell, 100, 1)
	order.Account, order.Client = 1, &engine.ClientID{Text: "together " + name, Hash: [2]uint64{uint64(len(name)), 1}}
	cancel := engine.Command{
		Kind: engine.Cancel, Order: engine.MakeOrderID(p, 1), Client: &engine.ClientID{Text: "together " + name},
	}
	cancel.Pair, order.Pair = p, p
	return []engine.Command{cancel, order}
}

// checkTogether checks that the journal has n cancels that are together with an order: each begins a slice, in which
// its order is the next and the last command, and both take effect.
func checkTogether(t *testing.T, opts engine.Options, records [][]byte, n int) (unfinished int) {
	t.Helper()
	core := engine.NewCore(opts)
	cmds := make([]engine.Command, len(records)+1)
	for i, r := range records {
		if err := engine.DecodeCommand(r, &cmds[i]); err != nil {
			t.Fatal(err)
		}
	}
	cmds[len(records)].First = true
	found := 0
	for i := range records {
		c := &cmds[i]
		void := core.Void(c)
		busy := len(core.AppendUnfinished(nil)) > 0
		core.Apply(c, nil)
		if c.Kind != engine.Cancel || c.Client == nil || !strings.HasPrefix(c.Client.Text, "together ") {
			continue
		}
		found++
		if busy {
			unfinished++
		}
		next := &cmds[i+1]
		if next.Kind != engine.Place || next.Client == nil || next.Client.Text != c.Client.Text {
			t.Fatalf("record %d: behind the cancel %q comes another command", i+2, c.Client.Text)
		}
		if void || core.Void(next) || !c.First || next.First || !cmds[i+2].First {
			t.Fatalf("record %d: %q is no slice of its own", i+1, c.Client.Text)
		}
	}
	if found != n {
		t.Errorf("%d batches are together in the journal, %d were submitted", found, n)
	}
	return unfinished
}

// name returns the name of the i-th batch of a submitter.
func name(submitter uint64, i int) string { return fmt.Sprintf("%d of %d", i, submitter) }

// Batches that are together have their slices alone. An unfinished command goes on between two of them.
func TestBatchesThatAreTogetherDoNotStarveParts(t *testing.T) {
	s := newSlicing(t, sequencer.SyncOff, 1)
	for !s.loop.Step().Worked {
	}
	rest := make([]engine.Command, 60)
	for i := range rest {
		rest[i] = limitOrder(engine.Sell, 100, 1)
		rest[i].Account = engine.AccountID(1 + i%4)
	}
	s.offer(rest)
	s.offer([]engine.Command{limitOrder(engine.Buy, 100, 60)})
	for !s.core.Unfinished(0) {
		s.loop.Step()
	}
	batches := 0
	for ; s.core.Unfinished(0) && batches < 200; batches++ {
		s.offerBatch(&sequencer.Batch{Commands: pairOff(1, name(0, batches)), Together: true})
		s.loop.Step()
	}
	if batches < 2 || s.core.Unfinished(0) {
		t.Errorf("%d batches came before the command has ended", batches)
	}
	s.end()
	checkTogether(t, s.opts, s.rawRecords(), batches)
}
