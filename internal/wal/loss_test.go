package wal

import (
	"io"
	"path"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// Damage in records that were durable long ago is found by readers. A start that accepts the loss ends the log before
// it, so that the readers meet it no more, unless no recovery reads there.
func TestAnAcceptedLossEndsBeforeDamageInTheMiddle(t *testing.T) {
	fsys, opts := vfstest.NewMem(), small()
	opts.Boot, opts.Identity = bootA, Identity{History: ID{7}, Directory: ID{8}}
	l := mustOpen(t, fsys, opts)
	begin := map[uint64]uint64{} // first record by segment
	for l.active.num < 6 {
		begin[l.active.num] = l.active.first
		appendN(t, l, 1)
		must(t, l.Sync())
	}
	last := l.LastSeq()
	must(t, l.Close())
	e := &ends{t: t, fsys: fsys, opts: opts}
	for num := range begin {
		disk := fsys.Kill()
		disk.Flip(path.Join(testDir, segmentName(num)), firstFrame+frameHead, 0)
		if _, _, _, err := readAll(disk, opts); err == nil {
			t.Fatalf("segment %d: readers do not find the damage", num)
		}
		accept := opts
		accept.AcceptLoss = true
		got, loss, damage := e.start(disk, accept)
		if damage != nil || loss == nil || got != begin[num]-1 || loss.Seq != got || loss.To != last ||
			loss.Damage == nil {
			t.Errorf("segment %d: ends at %d of %d, %+v, %v", num, got, last, loss, damage)
		}
	}
	// Behind two snapshots no recovery needs the records.
	l = mustOpen(t, fsys, opts)
	for range SnapshotsKept {
		appendN(t, l, 1)
		must(t, l.WriteSnapshot(SnapshotMeta{Seq: l.LastSeq()}, func(io.Writer) error { return nil }))
	}
	last = l.LastSeq()
	must(t, l.Close())
	disk := fsys.Kill()
	disk.Flip(path.Join(testDir, segmentName(2)), firstFrame+frameHead, 0)
	opts.AcceptLoss = true
	l = mustOpen(t, disk, opts)
	defer l.Close()
	if l.LastSeq() != last || l.Recovered().Lost != 0 {
		t.Errorf("the log ends at %d, want %d", l.LastSeq(), last)
	}
}

// Damage in the middle of a segment has records behind it. After an accepted loss the log goes on in their place, and
// nothing of them is left behind its new end.
func TestAnAcceptedLossLeavesNothingBehindTheEnd(t *testing.T) {
	fsys, opts := vfstest.NewMem(), small()
	opts.SegmentBytes = 1 << 16
	l := mustOpen(t, fsys, opts)
	appendN(t, l, 20)
	must(t, l.Close())
	fsys.Flip(path.Join(testDir, segmentName(1)), firstFrame+frameHead, 0)
	opts.AcceptLoss = true
	l = mustOpen(t, fsys, opts)
	if l.LastSeq() != 0 || l.Recovered().Lost != 20 {
		t.Fatalf("the log ends at %d, lost %d", l.LastSeq(), l.Recovered().Lost)
	}
	if _, err := l.Append([][]byte{make([]byte, 13)}); err != nil {
		t.Fatal(err)
	}
	got, _, torn, err := readAll(fsys.Kill(), opts)
	if err != nil || len(got) != 1 || torn != 0 {
		t.Errorf("%d records, %d bytes behind them, %v", len(got), torn, err)
	}
	must(t, l.Close())
}
