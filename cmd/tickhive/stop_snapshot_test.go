package main

import (
	"context"
	"strings"
	"sync"
	"testing"

	"tickhive/engine"
	"tickhive/engine/sequencer"
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
	dir := t.TempDir()
	hash := func(x *exchange) (h replica.StateHash) {
		if err := x.gate.Query(func() { h = replica.Hash(x.core, x.feed) }); err != nil {
			t.Fatal(err)
		}
		return h
	}

	held := &heldSnapshots{FS: vfs.OS{}, begun: make(chan struct{}), release: make(chan struct{})}
	x, _, log := openInside(t, dir, held, "journal.snapshot_bytes=4096")
	b := sequencer.Batch{}
	for i := range int64(200) {
		b.Commands = append(b.Commands, engine.Command{Kind: engine.Place, Side: engine.Side(i % 2), Price: 1_000_000 + i%3, Amount: 1000 + i})
	}
	if err := x.gate.Submit(&b); err != nil {
		t.Fatal(err)
	}
	<-held.begun
	want := hash(x)
	go func(waits <-chan struct{}) { // the stop is waiting for the snapshot
		<-waits
		close(held.release)
	}(x.market.stop)
	x.stop(context.Background())
	if said := log.String(); strings.Contains(said, "level=ERROR") || strings.Contains(said, "incident=") {
		t.Errorf("said:\n%s", said)
	}
	if covered := x.market.keeper.Covered(); covered == 0 {
		t.Error("the snapshot was not written")
	}

	next, _, log := openInside(t, dir, vfs.OS{}, "journal.snapshot_bytes=4096")
	if got := hash(next); got.Hash != want.Hash || got.Seq != want.Seq {
		t.Errorf("the next start has %v, the one before %v", got, want)
	}
	if list := next.recentIncidents(); len(list) != 0 {
		t.Errorf("the next start reports %v", list)
	}
	next.stop(context.Background())
	if said := log.String(); strings.Contains(said, "level=ERROR") || strings.Contains(said, "incident=") {
		t.Errorf("the next start said:\n%s", said)
	}
}
