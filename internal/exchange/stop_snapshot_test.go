package exchange_test

import (
	"strings"
	"sync"
	"testing"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/exchange/exchangetest"
	"tickhive/internal/vfs"
	"tickhive/marketdata/replica"
)

// heldSnapshots is a file system on which the first snapshot blocks until it is released.
type heldSnapshots struct {
	vfs.FS
	once           sync.Once
	begun, release chan struct{}
}

func (h *heldSnapshots) Create(name string) (vfs.File, error) {
	if strings.HasSuffix(name, ".snap.tmp") {
		h.once.Do(func() {
			close(h.begun)
			<-h.release
		})
	}
	return h.FS.Create(name)
}

// A stop waits for the snapshot under way and keeps everything open that the snapshot needs.
// Nothing is reported, and the next start has the same market.
func TestAStopWithinASnapshotIsInOrder(t *testing.T) {
	held := &heldSnapshots{FS: vfs.OS{}, begun: make(chan struct{}), release: make(chan struct{})}
	o := exchangetest.Options(t.TempDir())
	o.Journal.SnapshotBytes, o.Journal.FS = 4096, held
	o.Pairs = []*engine.Instrument{{Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 8}}
	x := exchangetest.Start(t, o)
	b := sequencer.Batch{}
	for i := range int64(200) {
		b.Commands = append(b.Commands, engine.Command{
			Kind: engine.Place, Side: engine.Side(i % 2),
			Price: 1_000_000 + i%3, Amount: 1000 + i,
		})
	}
	if err := x.Submit(&b); err != nil {
		t.Fatal(err)
	}
	<-held.begun
	var want replica.StateHash
	if err := x.Loop().Query(func() { want = replica.Hash(x.Core(), x.Feed()) }); err != nil {
		t.Fatal(err)
	}
	go func(waits <-chan struct{}) { // the stop is waiting for the snapshot
		<-waits
		close(held.release)
	}(x.Stopping())
	x.Stop()
	if said := x.Log.Trouble(); len(said) > 0 {
		t.Errorf("said:\n%s", said)
	}
	if x.Covered() == 0 {
		t.Error("the snapshot was not written")
	}

	o.Journal.FS = vfs.OS{}
	next := exchangetest.Start(t, o)
	if got := replica.Hash(next.Core(), next.Feed()); got.Hash != want.Hash || got.Seq != want.Seq {
		t.Errorf("the next start has %v, the one before %v", got, want)
	}
	if n := next.Incidents(); n != 0 {
		t.Errorf("the next start reports %d incidents", n)
	}
	next.Stop()
	if said := next.Log.Trouble(); len(said) > 0 {
		t.Errorf("the next start said:\n%s", said)
	}
}
