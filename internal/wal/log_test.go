package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

func TestSequencesGoOnOverSegmentsAndRestarts(t *testing.T) {
	fsys := vfstest.NewMem()
	for round := range 5 {
		l := mustOpen(t, fsys, small())
		if got := l.Recovered(); got.LastSeq != uint64(round*40) || got.TornTail != 0 {
			t.Fatalf("round %d: recovered %+v", round, got)
		}
		for i := range 10 {
			appendN(t, l, 4)
			if i%3 == 0 {
				must(t, l.Sync())
			}
		}
		if l.LastSeq() != uint64(round+1)*40 {
			t.Fatalf("last %d", l.LastSeq())
		}
		must(t, l.Close())
	}
	names, _ := fsys.List(testDir)
	if len(names) < 5 {
		t.Fatalf("no rotation: %v", names)
	}
	checkContent(t, fsys, small(), 1, 200)
}

func TestReaderStartsAnywhereAndStopsAtWhatWasWritten(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, small())
	for range 20 {
		appendN(t, l, 3)
	}
	for from := uint64(1); from <= 60; from++ {
		last := l.LastSeq()
		r, err := l.Reader(from)
		must(t, err)
		appendN(t, l, 1) // behind the reader's end
		for want := from; want <= last; want++ {
			rec, err := r.Next()
			must(t, err)
			if rec.Seq != want || !bytes.Equal(rec.Payload, payloadOf(want, 0)) {
				t.Fatalf("from %d: record %d is %d", from, want, rec.Seq)
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("from %d: %v", from, err)
		}
		must(t, r.Close())
	}
}

func TestDropBeforeKeepsWhatComesAfter(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, small())
	for range 40 {
		appendN(t, l, 2)
	}
	before := len(l.Segments())
	must(t, l.DropBefore(20))
	if first := l.Segments()[0].FirstSeq; first > 20 || first == 1 {
		t.Fatalf("first %d after dropping what is before 20", first)
	}
	must(t, l.DropBefore(60))
	segs := l.Segments()
	if segs[0].FirstSeq > 60 || segs[0].LastSeq < 60 || len(segs) >= before {
		t.Fatalf("first segment %+v", segs[0])
	}
	if _, err := l.Reader(1); !errors.Is(err, ErrTruncated) {
		t.Fatalf("reading what is gone: %v", err)
	}
	must(t, l.DropBefore(1<<60))
	if n := len(l.Segments()); n != 1 {
		t.Fatalf("%d segments, the active one stays", n)
	}
	first := l.Segments()[0].FirstSeq
	must(t, l.Close())
	checkContent(t, fsys, small(), first, 80)
	if since := segs[len(segs)-1].LastSeq; since != 80 {
		t.Fatalf("last %d", since)
	}
}

// EndSegment makes the next batch begin a segment, once, so that what was written before can be dropped.
func TestASegmentEndsBeforeItIsFull(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, Options{})
	l.EndSegment()
	appendN(t, l, 3)
	if n := len(l.Segments()); n != 1 {
		t.Fatalf("%d segments: an empty one ended", n)
	}
	l.EndSegment()
	appendN(t, l, 2)
	appendN(t, l, 2)
	must(t, l.DropBefore(4))
	if segs := l.Segments(); len(segs) != 1 || segs[0].FirstSeq != 4 || segs[0].LastSeq != 7 {
		t.Fatalf("%+v", segs)
	}
	must(t, l.Close())
}

// Two that let go of the same records at the same time let go of nothing else.
func TestDropsAtTheSameTimeKeepWhatComesAfter(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, small())
	for range 40 {
		appendN(t, l, 2)
	}
	var once sync.Once
	second := make(chan error, 1)
	fsys.Before(func(op vfstest.Op) vfstest.Fault {
		if op.Kind == vfstest.OpSync {
			once.Do(func() { // the first has counted: so does the second, most likely, before the first goes on
				begun := make(chan struct{})
				go func() {
					close(begun)
					second <- l.DropBefore(20)
				}()
				<-begun
				for range 1000 {
					runtime.Gosched()
				}
			})
		}
		return vfstest.Fault{}
	})
	must(t, l.DropBefore(20))
	must(t, <-second)
	if first := l.Segments()[0].FirstSeq; first > 20 || first == 1 {
		t.Fatalf("first %d after dropping what is before 20", first)
	}
	must(t, l.Close())
}

func TestRotatingAnEmptySegmentDoesNothing(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, small())
	must(t, l.Rotate())
	appendN(t, l, 1)
	for range 3 {
		must(t, l.Rotate())
	}
	if segs := l.Segments(); len(segs) != 2 || segs[1].FirstSeq != 2 || segs[1].LastSeq != 1 {
		t.Fatalf("%+v", segs)
	}
}

func TestBytesSinceCountsWholeSegments(t *testing.T) {
	l := mustOpen(t, vfstest.NewMem(), small())
	for range 30 {
		appendN(t, l, 2)
	}
	for _, seg := range l.Segments() {
		within, after := l.BytesSince(seg.FirstSeq-1), l.BytesSince(seg.LastSeq)
		if within-after != seg.Bytes-firstFrame {
			t.Fatalf("%+v: %d, then %d", seg, within, after)
		}
	}
	if n := l.BytesSince(0); n != l.BytesWritten() {
		t.Fatalf("%d, written %d", n, l.BytesWritten())
	}
	if n := l.BytesSince(l.LastSeq()); n != 0 {
		t.Fatalf("%d after the last", n)
	}
}

func TestRecordsOfNoAndTooManyBytesAreRefused(t *testing.T) {
	l := mustOpen(t, vfstest.NewMem(), Options{})
	for _, n := range []int{0, MaxRecord + 1} {
		if _, err := l.Append([][]byte{[]byte("a"), make([]byte, n)}); !errors.Is(err, ErrTooLarge) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	last, err := l.Append([][]byte{make([]byte, MaxRecord)})
	if err != nil || last != 1 {
		t.Fatalf("%d bytes: %d, %v", MaxRecord, last, err)
	}
}

func TestSecondHolderIsToldWhoHoldsTheLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	for _, fsys := range []vfs.FS{vfstest.NewMem(), vfs.OS{}} {
		l, err := Open(fsys, dir, Options{})
		must(t, err)
		_, err = Open(fsys, dir, Options{})
		var locked *vfs.LockedError
		if !errors.As(err, &locked) || locked.Owner.PID != os.Getpid() ||
			!strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
			t.Fatalf("second open: %v", err)
		}
		must(t, l.Close())
		l, err = Open(fsys, dir, Options{})
		must(t, err)
		must(t, l.Close())
	}
}

func TestOtherVersionsAreRefusedByName(t *testing.T) {
	for _, c := range []struct {
		version, record uint32
		want            string
	}{
		{2, 1, "log format version 2, written by OtherHive 9, an older program"},
		{4, 1, "log format version 4, written by OtherHive 9, a newer program"},
		{3, 7, "record format version 7, written by OtherHive 9, a newer program"},
	} {
		fsys := vfstest.NewMem()
		f, err := fsys.Create(path.Join(testDir, segmentName(1)))
		must(t, err)
		h := header{version: c.version, record: c.record, segment: 1, first: 1, writer: "OtherHive 9"}
		_, err = f.WriteAt(h.encode(segmentMagic), 0)
		must(t, err)
		_, err = Open(fsys, testDir, Options{})
		var version *VersionError
		if !errors.As(err, &version) || !strings.Contains(err.Error(), c.want) {
			t.Fatalf("%v", err)
		}
		if string(fsys.Content(path.Join(testDir, segmentName(1)))) != string(h.encode(segmentMagic)) {
			t.Fatal("a refused file was changed")
		}
	}
}

func TestMissingSegmentIsDamage(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, small())
	for range 30 {
		appendN(t, l, 2)
	}
	must(t, l.Close())
	must(t, fsys.Remove(path.Join(testDir, segmentName(3))))
	_, err := Open(fsys, testDir, small())
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || !strings.HasSuffix(corrupt.File, segmentName(3)) {
		t.Fatalf("%v", err)
	}
}

func TestAppendingAllocatesNothing(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(vfs.OS{}, dir, Options{})
	must(t, err)
	payload := payloadOf(1, 0)
	batch := func() {
		l.Begin()
		for range 16 {
			l.Add(func(dst []byte) []byte { return append(dst, payload...) })
		}
		if _, err := l.Write(); err != nil {
			t.Fatal(err)
		}
	}
	batch()
	if n := testing.AllocsPerRun(1000, batch); n != 0 {
		t.Fatalf("%v allocations per batch", n)
	}
	must(t, l.Close())
}

func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "log")
	l, err := Open(vfs.OS{}, dir, Options{})
	must(t, err)
	_, err = l.Append([][]byte{[]byte("x")})
	must(t, err)
	must(t, WriteSnapshot(vfs.OS{}, dir, Options{}, SnapshotMeta{Seq: 1}, func(w io.Writer) error { return nil }))
	must(t, l.Close())
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 3 {
		t.Fatalf("%v", entries)
	}
	for _, e := range entries {
		info, err := e.Info()
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Fatalf("%s is %v", e.Name(), info.Mode())
		}
	}
	info, err := os.Stat(dir)
	must(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Fatalf("directory is %v", info.Mode())
	}
}

// A Reader that has reached its end goes on with what was written since, over the end of its segment, and never beyond
// the record that it was extended to. A log takes no record above its own limit, and goes on.
func TestReaderGoesOn(t *testing.T) {
	fsys := vfstest.NewMem()
	l, err := Open(fsys, "log", Options{SegmentBytes: minSegmentBytes, MaxRecord: 100})
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Reader(1)
	if err != nil {
		t.Fatal(err)
	}
	read := uint64(0)
	for last := uint64(0); last < 60; {
		n := 1 + last%4
		for range n {
			last++
			if _, err := l.Append([][]byte{fmt.Appendf(nil, "record %d", last)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, to := range []uint64{last - 1, last, last + 5} {
			if err := r.Extend(l, to); err != nil {
				t.Fatal(err)
			}
			for {
				rec, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if read++; err != nil || rec.Seq != read || string(rec.Payload) != fmt.Sprintf("record %d", read) {
					t.Fatalf("after %d: record %d %q, %v", read-1, rec.Seq, rec.Payload, err)
				}
			}
			if want := min(to, last); read != want {
				t.Fatalf("read up to %d, extended to %d of %d", read, to, last)
			}
		}
	}
	if n := len(l.Segments()); n < 3 {
		t.Errorf("%d segments", n)
	}
	if last, err := l.Append([][]byte{make([]byte, 101)}); !errors.Is(err, ErrTooLarge) || last != read {
		t.Errorf("a record of 101 bytes: at %d, %v", last, err)
	}
	if last, err := l.Append([][]byte{make([]byte, 100)}); err != nil || last != read+1 {
		t.Errorf("a record of 100 bytes: at %d, %v", last, err)
	}
}
