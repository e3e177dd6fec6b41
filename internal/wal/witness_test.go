package wal

import (
	"errors"
	"fmt"
	"io"
	"path"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// A write that failed is cut off, and the cut is synced: the system may have written the bytes of
// the batch to the disk already, and a power cut must not bring them back.
func TestTheCutAfterAFailedWriteIsSynced(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, small())
	appendN(t, l, 1)
	must(t, l.Sync())
	fsys.FailNext(vfstest.OpWrite, vfstest.Fault{Err: vfstest.ErrInjected, Keep: 64})
	var ops []vfstest.OpKind
	fsys.After(func(op vfstest.Op) {
		if op.Path == path.Join(testDir, segmentName(1)) {
			ops = append(ops, op.Kind)
		}
	})
	if _, err := l.Append([][]byte{payloadOf(2, 0)}); !errors.Is(err, ErrUnavailable) {
		t.Fatal(err)
	}
	n := len(ops)
	if n < 2 || ops[n-2] != vfstest.OpTruncate || ops[n-1] != vfstest.OpSync {
		t.Fatalf("operations after the failed write: %v, want truncate and sync at the end", ops)
	}
	fsys.After(nil)
	appendN(t, l, 1)
	must(t, l.Close())
	checkContent(t, fsys, small(), 1, 2)
}

// overwrite writes b at off of the log's first segment, durably.
func overwrite(t *testing.T, fsys *vfstest.Mem, off int64, b []byte) {
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
		fsys := vfstest.NewMem()
		l := mustOpen(t, fsys, Options{PreallocBytes: -1})
		chain := uint64(0)
		for range 3 {
			before := l.Position().Chain
			_, err := l.Append([][]byte{payload})
			must(t, err)
			must(t, l.Sync())
			if l.LastSeq() == 2 {
				chain = before
			}
		}
		must(t, l.Close())
		frame := make([]byte, FrameBytes(len(payload)))
		copy(frame[frameHead:], payload)
		sealFrame(frame, len(payload), seq, chain, seedOf(ID{}, "log", 1))
		overwrite(t, fsys, firstFrame+int64(len(frame)), frame)
		var damaged *CorruptError
		if _, err := Open(fsys, testDir, Options{}); !errors.As(err, &damaged) || damaged.Seq != 2 ||
			damaged.Reason != fmt.Sprintf("record has sequence %d", seq) {
			t.Errorf("sequence %d in the place of 2: %v", seq, err)
		}
		if seqs, _, _, err := readAll(fsys, Options{}); !errors.As(err, &damaged) || len(seqs) != 1 {
			t.Errorf("sequence %d in the place of 2: read %v, %v", seq, seqs, err)
		}
	}
}

// A frame that verifies and whose predecessor is another record is damage.
func TestAFrameOfAnotherHistoryIsDamage(t *testing.T) {
	logs := [2]*vfstest.Mem{}
	for i := range logs {
		logs[i] = vfstest.NewMem()
		l := mustOpen(t, logs[i], Options{PreallocBytes: -1})
		for k := range 3 {
			text := fmt.Sprintf("record %d", k)
			if k == 0 {
				text = fmt.Sprintf("begun %d ", i)
			}
			_, err := l.Append([][]byte{[]byte(text)})
			must(t, err)
			must(t, l.Sync())
		}
		must(t, l.Close())
	}
	size := int64(FrameBytes(len("record 1")))
	other := logs[1].Content(path.Join(testDir, segmentName(1)))
	overwrite(t, logs[0], firstFrame+size, other[firstFrame+size:firstFrame+2*size])
	var damaged *CorruptError
	if _, err := Open(logs[0], testDir, Options{}); !errors.As(err, &damaged) || damaged.Seq != 2 ||
		damaged.Reason != "record does not follow the one before it" {
		t.Fatal(err)
	}
}

// Bytes behind the end of a snapshot are damage.
func TestBytesBehindTheEndOfASnapshotAreRefused(t *testing.T) {
	for _, more := range []int{1, 8, chunkHead + 8} {
		fsys := vfstest.NewMem()
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
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, small())
	for range 40 {
		appendN(t, l, 1)
		must(t, l.Sync())
	}
	must(t, l.Close())
	snapshot := func(seq uint64) {
		t.Helper()
		must(t, WriteSnapshot(fsys, testDir, small(), SnapshotMeta{Seq: seq}, func(io.Writer) error { return nil }))
	}
	snapshot(20)
	snapshot(40)
	check := func(fsys *vfstest.Mem) []Checked {
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
	must(t, writeBody(fsys, 41, 100)) // with any chain
	files := check(fsys)
	if last := files[len(files)-1]; last.Err == nil {
		t.Errorf("a snapshot ahead of the log: %+v", last)
	}
}

func discard(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}
