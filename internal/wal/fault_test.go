package wal

import (
	"errors"
	"path"
	"slices"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

func TestFullDiskRefusesAndRecoversWithoutAGap(t *testing.T) {
	for _, prealloc := range []int64{-1, 256, 4096} {
		fsys := vfstest.NewMem()
		l := mustOpen(t, fsys, Options{SegmentBytes: 2 << 10, PreallocBytes: prealloc})
		appendN(t, l, 3)
		must(t, l.Sync())
		refused, fills := 0, 0
		for seed := range 40 {
			fsys.SetCapacity(fsys.Used() + int64(seed*37))
			for {
				seq := l.LastSeq() + 1
				last, err := l.Append([][]byte{payloadOf(seq, 0), payloadOf(seq+1, 0), payloadOf(seq+2, 0)})
				if err != nil {
					if !errors.Is(err, ErrUnavailable) || !errors.Is(err, syscall.ENOSPC) || last != seq-1 {
						t.Fatalf("full disk: %d, %v", last, err)
					}
					refused++
					break
				}
			}
			must(t, l.Sync()) // what was written can be made durable on a full disk
			killed := fsys.Kill()
			checkContent(t, killed, small(), 1, l.LastSeq())
			fills++
		}
		fsys.SetCapacity(0)
		appendN(t, l, 3)
		last := l.LastSeq()
		must(t, l.Close())
		checkContent(t, fsys, small(), 1, last)
		t.Logf("prealloc %d: %d times full, %d batches refused, %d records whole", prealloc, fills, refused, last)
	}
}

func TestAfterAFailedSyncNothingIsTakenAnyMore(t *testing.T) {
	for _, kind := range []vfstest.OpKind{vfstest.OpSync, vfstest.OpSyncDir} {
		fsys := vfstest.NewMem()
		opts, failed := small(), 0
		opts.Failed = func() { failed++ }
		l := mustOpen(t, fsys, opts)
		appendN(t, l, 2)
		must(t, l.Sync())
		must(t, l.Rotate())
		appendN(t, l, 2)
		fsys.Before(vfstest.FailNthKind(kind, fsys.Count(kind)+1, vfstest.Fault{Err: syscall.EIO}))
		if err := l.Sync(); !errors.Is(err, ErrStopped) || !errors.Is(err, syscall.EIO) {
			t.Fatalf("%s: %v", kind, err)
		}
		if failed != 1 {
			t.Errorf("%s: Failed ran %d times", kind, failed)
		}
		fsys.Before(nil)
		syncs := fsys.Count(vfstest.OpSync)
		for range 3 {
			if err := l.Sync(); !errors.Is(err, ErrStopped) || !errors.Is(err, syscall.EIO) {
				t.Fatalf("%s, second sync: %v", kind, err)
			}
			if _, err := l.Append([][]byte{[]byte("x")}); !errors.Is(err, ErrStopped) {
				t.Fatalf("%s, append: %v", kind, err)
			}
			if err := l.Rotate(); !errors.Is(err, ErrStopped) {
				t.Fatalf("%s, rotate: %v", kind, err)
			}
		}
		if fsys.Count(vfstest.OpSync) != syncs {
			t.Fatalf("%s: a failed sync was tried again", kind)
		}
		if l.DurableSeq() != 2 {
			t.Fatalf("%s: durable %d", kind, l.DurableSeq())
		}
		must(t, l.Close())
	}
}

// A write that failed and could not be cut off again may be found by the next start; what
// comes after it was never written. A write that was cut off is only refused.
func TestTheOutcomeOfAWriteThatCannotBeCutOffIsUnknown(t *testing.T) {
	for _, c := range []struct {
		name    string
		kinds   []vfstest.OpKind // that fail after the write
		unknown bool
	}{
		{"cut off", nil, false},
		{"cut fails", []vfstest.OpKind{vfstest.OpTruncate}, true},
		{"sync of the cut fails", []vfstest.OpKind{vfstest.OpSync}, true},
	} {
		fsys := vfstest.NewMem()
		l := mustOpen(t, fsys, small())
		appendN(t, l, 2)
		must(t, l.Sync())
		fsys.Before(func(op vfstest.Op) vfstest.Fault {
			if op.Kind == vfstest.OpWrite || slices.Contains(c.kinds, op.Kind) {
				return vfstest.Fault{Err: syscall.EIO}
			}
			return vfstest.Fault{}
		})
		_, err := l.Append([][]byte{[]byte("x")})
		if errors.Is(err, ErrOutcomeUnknown) != c.unknown || errors.Is(err, ErrStopped) != c.unknown ||
			errors.Is(err, ErrUnavailable) == c.unknown {
			t.Errorf("%s: %v", c.name, err)
		}
		fsys.Before(nil)
		_, err = l.Append([][]byte{[]byte("x")})
		if c.unknown && (!errors.Is(err, ErrStopped) || errors.Is(err, ErrOutcomeUnknown)) || !c.unknown && err != nil {
			t.Errorf("%s, the next: %v", c.name, err)
		}
		must(t, l.Close())
	}
}

// The last sync is one like the others: when it fails, nothing is cut, written or synced after it.
func TestAFailedSyncAtTheEndIsNotTriedAgain(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, small())
	appendN(t, l, 2)
	fsys.FailNext(vfstest.OpSync, vfstest.Fault{Err: syscall.EIO})
	syncs, cuts := fsys.Count(vfstest.OpSync), fsys.Count(vfstest.OpTruncate)
	if err := l.Close(); !errors.Is(err, ErrStopped) || !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	if fsys.Count(vfstest.OpSync) != syncs+1 || fsys.Count(vfstest.OpTruncate) != cuts {
		t.Fatalf("%d syncs, %d cuts", fsys.Count(vfstest.OpSync)-syncs, fsys.Count(vfstest.OpTruncate)-cuts)
	}
	if err := l.Sync(); !errors.Is(err, ErrStopped) {
		t.Fatalf("a sync after it: %v", err)
	}
}

// What a failed sync has left unwritten must be durable once a start has read it: the
// system shows these pages as clean.
func TestAStartMakesDurableWhatAFailedSyncLeft(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, small())
	for range 10 {
		appendN(t, l, 4)
	}
	fsys.Before(vfstest.FailNthKind(vfstest.OpSync, fsys.Count(vfstest.OpSync)+2, vfstest.Fault{Err: syscall.EIO}))
	if err := l.Sync(); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	fsys.Before(nil)
	must(t, l.Close())
	l = mustOpen(t, fsys, small())
	if l.LastSeq() != 40 {
		t.Fatalf("last %d", l.LastSeq())
	}
	for seed := range uint64(20) {
		checkContent(t, fsys.Crash(seed), small(), 1, 40)
	}
}

// A failed sync of a new segment, after which the system may show it without its header, is no damage: nothing in
// the segment was acknowledged. What the system still shows is taken.
func TestAStartAfterAFailedSyncOfANewSegment(t *testing.T) {
	for class, want := range map[vfstest.Class]uint64{vfstest.SyncErrorOld: 4, vfstest.SyncError: 6} {
		fsys := vfstest.NewMem()
		opts := small()
		opts.Boot = bootA
		l := mustOpen(t, fsys, opts)
		appendN(t, l, 4)
		must(t, l.Sync())
		must(t, l.Rotate())
		appendN(t, l, 2)
		fsys.Inject(vfstest.Injection{Class: class, Path: path.Join(testDir, segmentName(2))})
		if err := l.Sync(); !errors.Is(err, ErrStopped) {
			t.Fatalf("%s: %v", class, err)
		}
		again, err := Open(fsys.Kill(), testDir, opts)
		if err != nil {
			t.Fatalf("%s: %v", class, err)
		}
		if again.LastSeq() != want {
			t.Errorf("%s: the log ends at %d, want %d", class, again.LastSeq(), want)
		}
		appendN(t, again, 2)
		must(t, again.Close())
	}
}

// A write of a slot that fails once, in the middle of the slot, leaves no slot that a start refuses.
func TestATornWriteOfASlot(t *testing.T) {
	opts := small()
	opts.Boot = bootA
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, opts)
	appendN(t, l, 4)
	must(t, l.Sync())
	killed := fsys.Kill()
	failed := 0
	for n := range 500 {
		disk := killed.Kill()
		disk.Inject(vfstest.Injection{
			Class: vfstest.WriteError, Path: path.Join(testDir, "*.wal"), After: n / 100, Seed: uint64(n),
		})
		l, err := Open(disk, testDir, opts)
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			failed++
		}
		if l, err = Open(disk.Kill(), testDir, opts); err != nil {
			t.Fatalf("after a failure of write %d: %v", n/100, err)
		}
		if l.LastSeq() != 4 {
			t.Errorf("after a failure of write %d the log ends at %d", n/100, l.LastSeq())
		}
		must(t, l.Close())
	}
	if failed == 0 {
		t.Error("no start failed")
	}
}
