package exchange

import (
	"errors"
	"testing"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
)

// A standby whose last message does not verify does not know whether it has what the writer has acknowledged: for it
// the writer is never silent, and it does not campaign.
func TestAStandbyThatIsUnsureDoesNotTakeOver(t *testing.T) {
	y := &Following{restored: &restored{base: &base{}}, reader: stream.NewReader(stream.State{Seq: 7}, node.Rules, nil)}
	y.read.Store(7)
	y.heardNs.Store(1)
	if seq, at := y.heard(); seq != 7 || at != 1 {
		t.Errorf("heard %d at %d", seq, at)
	}
	if _, _, err := y.reader.Next(8, []byte("no message")); err != nil {
		t.Fatal(err)
	}
	y.read.Store(8)
	before := clock.MachineNs()
	if seq, at := y.heard(); seq != 8 || at < before {
		t.Errorf("heard %d at %d, and it is %d", seq, at, before)
	}
	if h, err := y.campaign(t.Context()); h != nil || !errors.Is(err, jet.ErrFenced) {
		t.Errorf("it campaigns: %v, %v", h, err)
	}
}
