package wal

import (
	"bytes"
	"errors"
	"io"
	"path"
	"testing"

	"tickhive/internal/vfs"
)

// A write that failed is cut off, and the cut is synced: the system may have written the bytes of
// the batch to the disk already, and a power cut must not bring them back.
func TestTheCutAfterAFailedWriteIsSynced(t *testing.T) {
	fsys := vfs.NewMem()
	l := mustOpen(t, fsys, small())
	appendN(t, l, 1)
	must(t, l.Sync())
	fsys.Before(vfs.FailNthKind(vfs.OpWrite, fsys.Count(vfs.OpWrite)+1, vfs.Fault{Err: vfs.ErrInjected, Keep: 64}))
	var ops []vfs.OpKind
	fsys.After(func(op vfs.Op) {
		if op.Path == path.Join(testDir, segmentName(1)) {
			ops = append(ops, op.Kind)
		}
	})
	if _, err := l.Append([][]byte{payloadOf(2, 0)}); !errors.Is(err, ErrUnavailable) {
		t.Fatal(err)
	}
	n := len(ops)
	if n < 2 || ops[n-2] != vfs.OpTruncate || ops[n-1] != vfs.OpSync {
		t.Fatalf("operations after the failed write: %v, want truncate and sync at the end", ops)
	}
	fsys.After(nil)
	appendN(t, l, 1)
	must(t, l.Close())
	checkContent(t, fsys, small(), 1, 2)
}

// overwrite writes b at off of the log's first segment, durably.
func overwrite(t *testing.T, fsys *vfs.Mem, off int64, b []byte) {
	t.Helper()
	f, err := fsys.OpenRW(path.Join(testDir, segmentName(1)))
	must(t, err)
	_, err = f.WriteAt(b, off)
	must(t, err)
	must(t, f.Sync())
	must(t, f.Close())
}

// A frame that verifies and has another sequence than its place is damage.
func TestAValidFrameOfAnotherSequenceIsDamage(t *testing.T) {
	payload := []byte("payload")
	for _, seq := range []uint64{1, 3, 7} {
		fsys := vfs.NewMem()
		l := mustOpen(t, fsys, Options{PreallocBytes: -1})
		for range 3 {
			_, err := l.Append([][]byte{payload})
			must(t, err)
			must(t, l.Sync())
		}
		must(t, l.Close())
		frame := make([]byte, FrameBytes(len(payload)))
		copy(frame[frameHead:], payload)
		sealFrame(frame, len(payload), seq, seq-1, seedOf(1))
		overwrite(t, fsys, headerBytes+int64(len(frame)), frame)
		var damaged *CorruptError
		if _, err := Open(fsys, testDir, Options{}); !errors.As(err, &damaged) || damaged.Seq != 2 {
			t.Errorf("sequence %d in the place of 2: %v", seq, err)
		}
		if seqs, _, _, err := readAll(fsys, Options{}); !errors.As(err, &damaged) || len(seqs) != 1 {
			t.Errorf("sequence %d in the place of 2: read %v, %v", seq, seqs, err)
		}
	}
}

// A record says up to where the log was durable when it was written, and this includes the last
// synced one: that one is damaged even if a whole sector of it reads as zeros.
func TestTheLastSyncedRecordIsVouchedFor(t *testing.T) {
	for _, synced := range []bool{true, false} {
		fsys := vfs.NewMem()
		l := mustOpen(t, fsys, Options{PreallocBytes: -1})
		_, err := l.Append([][]byte{bytes.Repeat([]byte{1}, 3000)})
		must(t, err)
		if synced {
			must(t, l.Sync())
		}
		_, err = l.Append([][]byte{[]byte("next")})
		must(t, err)
		must(t, l.Close())
		overwrite(t, fsys, 1024, make([]byte, vfs.SectorBytes))
		opened, err := Open(fsys, testDir, Options{})
		var damaged *CorruptError
		if synced && (!errors.As(err, &damaged) || damaged.Seq != 1) {
			t.Errorf("the damaged record was synced: %v", err)
		}
		if !synced && (err != nil || opened.LastSeq() != 0) {
			t.Errorf("the damaged record was not synced: %v", err)
		}
	}
}

// Bytes behind the end of a snapshot are damage.
func TestBytesBehindTheEndOfASnapshotAreRefused(t *testing.T) {
	for _, more := range []int{1, 8, chunkHead + 8} {
		fsys := vfs.NewMem()
		must(t, writeBody(fsys, 1, 100))
		must(t, writeBody(fsys, 2, 100))
		name := path.Join(testDir, SnapshotName(2))
		f, err := fsys.OpenRW(name)
		must(t, err)
		size, err := f.Size()
		must(t, err)
		_, err = f.WriteAt(make([]byte, more), size)
		must(t, err)
		found, err := loadBody(fsys, 100)
		if err != nil || found.Meta.Seq != 1 || len(found.Damaged) != 1 {
			t.Errorf("%d bytes: %v, %+v", more, err, found)
		}
	}
}

// Check reads every file, goes on behind damage, and compares the snapshots with the log's end.
func TestCheckReadsEveryFile(t *testing.T) {
	fsys := vfs.NewMem()
	l := mustOpen(t, fsys, small())
	for range 40 {
		appendN(t, l, 1)
		must(t, l.Sync())
	}
	must(t, l.Close())
	must(t, writeBody(fsys, 20, 100))
	must(t, writeBody(fsys, 40, 100))
	check := func(fsys *vfs.Mem) []Checked {
		t.Helper()
		files, err := Check(fsys, testDir, small(), discard)
		must(t, err)
		return files
	}
	whole := check(fsys)
	if len(whole) < 6 || whole[0].First != 1 || whole[len(whole)-1].Last != 40 {
		t.Fatalf("%+v", whole)
	}
	for i, f := range whole {
		if f.Err != nil || f.Torn > 0 {
			t.Fatalf("%+v", f)
		}
		damaged := fsys.Kill()
		damaged.Flip(f.File, 70, 3)
		files := check(damaged)
		if len(files) != len(whole) {
			t.Fatalf("%d files, want %d", len(files), len(whole))
		}
		for k, f := range files {
			if (f.Err != nil) != (k == i) {
				t.Errorf("%s is damaged; %s: %v", whole[i].File, f.File, f.Err)
			}
		}
	}
	must(t, writeBody(fsys, 41, 100))
	files := check(fsys)
	if last := files[len(files)-1]; last.Err == nil {
		t.Errorf("a snapshot ahead of the log: %+v", last)
	}
}

func discard(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}
