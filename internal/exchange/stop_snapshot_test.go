package exchange_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/vfs"
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
	o.Pairs = []*engine.Instrument{{Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 5}}
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
	var want machine.MarketHash
	if err := x.Loop().Query(func() { want = machine.HashMarket(x.Core(), x.Feed()) }); err != nil {
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
	if got := machine.HashMarket(next.Core(), next.Feed()); got.Hash != want.Hash || got.Seq != want.Seq {
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

// renames is a file system that calls fn after the first rename to a name with that end.
type renames struct {
	vfs.FS
	end  string
	once *sync.Once
	fn   func()
}

func (r renames) Rename(from, to string) error {
	err := r.FS.Rename(from, to)
	if err == nil && strings.HasSuffix(to, r.end) {
		r.once.Do(r.fn)
	}
	return err
}

// A start uses the newest snapshot even when the process ended right after it was written.
func TestAStartUsesASnapshotThatWasJustWritten(t *testing.T) {
	written, release := make(chan struct{}), make(chan struct{})
	o := exchangetest.Options(t.TempDir())
	o.Journal.SnapshotBytes = 4096
	o.Journal.FS = renames{vfs.OS{}, ".snap", new(sync.Once), func() {
		close(written)
		<-release
	}}
	o.Pairs = []*engine.Instrument{{Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 5}}
	x := exchangetest.Start(t, o)
	x.Call("POST", "/users", `{"nickname":"ada"}`)
	var b sequencer.Batch
	for i := range int64(200) {
		b.Commands = append(b.Commands, engine.Command{Kind: engine.Place, Price: 1_000_000 - i, Amount: 1000})
	}
	if err := x.Submit(&b); err != nil {
		t.Fatal(err)
	}
	<-written
	dir := x.Kill()
	close(release)
	x.Stop()

	o.Dir, o.Journal.FS = dir, nil
	next := exchangetest.Start(t, o)
	defer next.Stop()
	if n := next.Covered(); n < 200 {
		t.Errorf("the start began with the snapshot of record %d", n)
	}
	if n, users := next.Core().OpenOrders(0), next.Accounts().Shown().UserCount(); n != 200 || users != 1 {
		t.Errorf("%d open orders, %d users", n, users)
	}
}
