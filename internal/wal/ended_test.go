package wal

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// Full segments are sealed from the oldest on, up to one that waits for a sync or is not followed by a durable one.
func TestWhichSegmentsAreSealed(t *testing.T) {
	for name, c := range map[string]struct {
		unsynced []int // indexes of segments
		unnamed  int   // index of a segment
		sealed   int
	}{
		"all": {nil, 0, 2}, "the active one waits": {[]int{2}, 0, 2}, "the second waits": {[]int{1}, 0, 1},
		"both wait": {[]int{0, 1}, 0, 0}, "the second and the active one wait": {[]int{1, 2}, 0, 1},
		"the active one is not named": {nil, 2, 1}, "the second is not named": {nil, 1, 0},
	} {
		disk := vfstest.NewMem()
		opts := small()
		opts.PreallocBytes = -1
		l := mustOpen(t, disk, opts)
		appendN(t, l, 1)
		must(t, l.Rotate())
		appendN(t, l, 1)
		must(t, l.Rotate())
		appendN(t, l, 1)
		segs := slices.Clone(l.segments)
		l.unsynced = nil
		for i, seg := range segs {
			seg.named = c.unnamed == 0 || c.unnamed != i
			seg.synced = seg.gen
		}
		for _, i := range c.unsynced {
			l.unsynced = append(l.unsynced, segs[i])
		}
		must(t, l.sealSynced())
		for i, seg := range segs[:2] {
			if sealed := seg.file == nil; sealed != (i < c.sealed) || sealed != (seg.flags == slotFollowed|slotSealed) {
				t.Errorf("%s: segment %d is sealed: %v", name, i, sealed)
			}
		}
		if len(l.full) != 2-c.sealed {
			t.Errorf("%s: %d full segments", name, len(l.full))
		}
	}
}

// A segment is sealed in the slot behind a durable one: a slot that was not synced is synced first.
func TestTheOrderInWhichASegmentIsSealed(t *testing.T) {
	for _, synced := range []bool{true, false} {
		disk := vfstest.NewMem()
		opts := small()
		opts.PreallocBytes = -1
		l := mustOpen(t, disk, opts)
		appendN(t, l, 1)
		must(t, l.Rotate())
		seg := l.full[0]
		if seg.synced = 0; synced {
			seg.synced = seg.gen
		}
		slot := seg.slot
		var ops []string
		disk.After(func(op vfstest.Op) { ops = append(ops, op.Kind.String()) })
		must(t, l.seal(seg))
		disk.After(nil)
		want := []string{"write", "sync"}
		if !synced {
			want = []string{"sync", "write", "sync"}
		}
		if !slices.Equal(ops, want) || seg.slot == slot || seg.file != nil {
			t.Errorf("%v, want %v; slot %d", ops, want, seg.slot)
		}
	}
}

// After the end of a log every call says so and waits for nothing, also the end itself.
func TestALogThatHasEnded(t *testing.T) {
	for _, failed := range []bool{false, true} {
		disk := vfstest.NewMem()
		l := mustOpen(t, disk, small())
		appendN(t, l, 1)
		if failed {
			must(t, l.Sync())
			must(t, l.Rotate())
			appendN(t, l, 1)
			disk.Before(func(op vfstest.Op) vfstest.Fault {
				if op.Kind == vfstest.OpSync {
					return vfstest.Fault{Err: syscall.EIO}
				}
				return vfstest.Fault{}
			})
			if err := l.Sync(); !errors.Is(err, ErrStopped) {
				t.Errorf("%v", err)
			}
			if !l.slotMu.TryLock() {
				t.Fatal("a sync that failed holds the slots")
			}
			l.slotMu.Unlock()
		}
		must(t, l.Close())
		for range 2 {
			must(t, l.Close())
			if _, err := l.Append([][]byte{[]byte("x")}); err == nil {
				t.Error("appended")
			}
			if l.Sync() == nil || l.Rotate() == nil || l.DropBefore(1<<40) == nil && failed || l.Room() ||
				len(l.Segments()) == 0 {
				t.Error("a log that has ended goes on")
			}
		}
	}
}

// A drop of segments ends with the error of its sync.
func TestADropReportsItsSync(t *testing.T) {
	disk := vfstest.NewMem()
	l := mustOpen(t, disk, small())
	appendN(t, l, 1)
	must(t, l.Rotate())
	appendN(t, l, 1)
	disk.Before(func(op vfstest.Op) vfstest.Fault {
		if op.Kind == vfstest.OpSync {
			return vfstest.Fault{Err: syscall.EIO}
		}
		return vfstest.Fault{}
	})
	if err := l.DropBefore(2); !errors.Is(err, syscall.EIO) || len(l.Segments()) != 2 {
		t.Errorf("%v, %d segments", err, len(l.Segments()))
	}
}

// Zeros are written ahead when less than half a step of them is left, and a sync with something to do is one.
func TestWhenZerosAreWrittenAhead(t *testing.T) {
	l := mustOpen(t, vfstest.NewMem(), Options{SegmentBytes: 1 << 20, PreallocBytes: 1200})
	for left, want := range map[int64]int64{599: 599 + 1200, 600: 600, 0: 1200, 1500: 1500} {
		l.filledAt = l.bytes.Load()
		l.active.filled.Store(l.off.Load() + left)
		l.fillAhead()
		if got := l.active.filled.Load() - l.off.Load(); got != want {
			t.Errorf("%d bytes are left: %d afterwards, want %d", left, got, want)
		}
	}
	before := FiguresOf(l).Syncs
	must(t, l.Sync())
	if FiguresOf(l).Syncs != before {
		t.Error("a sync without anything to do is counted")
	}
	appendN(t, l, 1)
	must(t, l.Sync())
	if FiguresOf(l).Syncs == before {
		t.Error("a sync is not counted")
	}
	must(t, l.Close())
	o := Options{Name: strings.Repeat("n", nameBytes+4)}
	must(t, o.validateFor(testDir))
	if o.Name != strings.Repeat("n", nameBytes) {
		t.Errorf("name %q", o.Name)
	}
}

// A loss reaches up to the last record that was there, whether or not a slot tells of it.
func TestHowFarALossReaches(t *testing.T) {
	for _, c := range []struct{ written, found, to uint64 }{{9, 7, 9}, {7, 9, 9}, {8, 8, 8}} {
		var got Loss
		l := &opening{Log: &Log{opts: Options{AcceptLoss: true, Lost: func(l Loss) error { got = l; return nil }}}}
		l.found.Position = Position{Seq: c.found, Chain: 5}
		l.end.written, l.found.damage = c.written, &CorruptError{}
		must(t, l.judge())
		if got.To != c.to || got.Seq != c.found || got.Chain != 5 || l.info.Lost != c.to {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// A log and a reader close each file once, and a log does not release the lock of the next holder.
func TestWhatIsClosedIsClosedOnce(t *testing.T) {
	disk := vfstest.NewMem()
	b := &brittle{FS: disk}
	first := mustOpen(t, b, small())
	appendN(t, first, 1)
	must(t, first.Close())
	next := mustOpen(t, disk, small())
	for range 2 {
		must(t, first.Close())
		if b.open != 0 {
			t.Errorf("%d files are open", b.open)
		}
	}
	var locked *vfs.LockedError
	if _, err := Open(disk, testDir, small()); !errors.As(err, &locked) {
		t.Errorf("the lock was released: %v", err)
	}
	must(t, next.Close())
	r, err := OpenReader(b, testDir, small(), 0)
	must(t, err)
	for range 2 {
		must(t, r.Close())
		if b.open != 0 {
			t.Errorf("%d files are open", b.open)
		}
	}
}
