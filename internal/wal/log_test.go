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
	"sync/atomic"
	"testing"

	"tickhive/internal/vfs"
)

func TestSequencesGoOnOverSegmentsAndRestarts(t *testing.T) {
	fsys := vfs.NewMem()
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
	fsys := vfs.NewMem()
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

func TestDropBeforeKeepsWhatIsRetained(t *testing.T) {
	fsys := vfs.NewMem()
	l := mustOpen(t, fsys, small())
	for range 40 {
		appendN(t, l, 2)
	}
	from := uint64(20)
	l.Retain(func() uint64 { return from })
	before := len(l.Segments())
	must(t, l.DropBefore(60))
	if first := l.FirstSeq(); first > 20 || first == 1 {
		t.Fatalf("first %d after retaining 20", first)
	}
	from = 1 << 60
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
	first := l.FirstSeq()
	must(t, l.Close())
	checkContent(t, fsys, small(), first, 80)
	if since := segs[len(segs)-1].LastSeq; since != 80 {
		t.Fatalf("last %d", since)
	}
}

// Two that let go of the same records at the same time let go of nothing else.
func TestDropsAtTheSameTimeKeepWhatComesAfter(t *testing.T) {
	fsys := vfs.NewMem()
	l := mustOpen(t, fsys, small())
	for range 40 {
		appendN(t, l, 2)
	}
	counting := make(chan struct{}, 2)
	l.Retain(func() uint64 {
		counting <- struct{}{}
		return 1 << 60
	})
	var once sync.Once
	second := make(chan error, 1)
	fsys.Before(func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpSync {
			once.Do(func() { // the first has counted: so does the second, before the first goes on
				go func() { second <- l.DropBefore(20) }()
				<-counting
				<-counting
				l.Segments() // waits for the end of the count
			})
		}
		return vfs.Fault{}
	})
	must(t, l.DropBefore(20))
	must(t, <-second)
	if first := l.FirstSeq(); first > 20 || first == 1 {
		t.Fatalf("first %d after dropping what is before 20", first)
	}
	must(t, l.Close())
}

func TestRotatingAnEmptySegmentDoesNothing(t *testing.T) {
	fsys := vfs.NewMem()
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
	l := mustOpen(t, vfs.NewMem(), small())
	for range 30 {
		appendN(t, l, 2)
	}
	for _, seg := range l.Segments() {
		within, after := l.BytesSince(seg.FirstSeq-1), l.BytesSince(seg.LastSeq)
		if within-after != seg.Bytes-headerBytes {
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
	l := mustOpen(t, vfs.NewMem(), Options{})
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
	for _, fsys := range []vfs.FS{vfs.NewMem(), vfs.OS{}} {
		l, err := Open(fsys, dir, Options{})
		must(t, err)
		_, err = Open(fsys, dir, Options{})
		var locked *vfs.LockedError
		if !errors.As(err, &locked) || locked.Owner.PID != os.Getpid() || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
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
		{0, 1, "log format version 0, written by OtherHive 9, an older program"},
		{2, 1, "log format version 2, written by OtherHive 9, a newer program"},
		{1, 7, "record format version 7, written by OtherHive 9, a newer program"},
	} {
		fsys := vfs.NewMem()
		f, err := fsys.Create(path.Join(testDir, segmentName(1)))
		must(t, err)
		h := header{version: c.version, record: c.record, segment: 1, first: 1, writer: "OtherHive 9"}
		_, err = f.WriteAt(h.append(nil), 0)
		must(t, err)
		_, err = Open(fsys, testDir, Options{})
		var version *VersionError
		if !errors.As(err, &version) || !strings.Contains(err.Error(), c.want) {
			t.Fatalf("%v", err)
		}
		if string(fsys.Content(path.Join(testDir, segmentName(1)))) != string(h.append(nil)) {
			t.Fatal("a refused file was changed")
		}
	}
}

func TestMissingSegmentIsDamage(t *testing.T) {
	fsys := vfs.NewMem()
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

func TestSyncRunsBesideTheOwner(t *testing.T) {
	fsys := vfs.NewMem()
	l := mustOpen(t, fsys, small())
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for {
			select {
			case <-stop:
				return
			default:
			}
			before := l.LastSeq()
			if err := l.Sync(); err != nil || l.DurableSeq() < before {
				t.Errorf("durable %d of %d: %v", l.DurableSeq(), before, err)
				return
			}
			if before > 50 {
				if err := l.DropBefore(before - 50); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for range 2000 {
		appendN(t, l, 2)
	}
	close(stop)
	wg.Wait()
	first := l.FirstSeq()
	must(t, l.Close())
	checkContent(t, fsys, small(), first, 4000)
}

// Whoever reads beside the owner, also while it begins a segment, sees the list with the
// sizes that belong to it: everything written before is in it and can be read.
func TestReadingRunsBesideTheOwner(t *testing.T) {
	l := mustOpen(t, vfs.NewMem(), small())
	appendN(t, l, 1)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for end := false; !end; {
			select {
			case <-done:
				end = true
			default:
			}
			bytes, last := l.BytesWritten(), l.LastSeq()
			if n := l.BytesSince(0); n < bytes {
				t.Errorf("%d bytes in the list, %d were written", n, bytes)
				return
			}
			if err := readTail(l, last); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range scale(500) {
		appendN(t, l, 5)
	}
	close(done)
	wg.Wait()
	must(t, l.Close())
}

// readTail reads the last 20 records up to last, and those that came meanwhile.
func readTail(l *Log, last uint64) error {
	r, err := l.Reader(max(last, 20) - 19)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		_, err := r.Next()
		if errors.Is(err, io.EOF) && r.NextSeq() > last {
			return nil
		}
		if err != nil {
			return fmt.Errorf("record %d of %d: %w", r.NextSeq(), last, err)
		}
	}
}

// After a sync the file of the active segment is the only one open, however many segments
// are kept, and whether a segment was still active at its last sync (one batch a sync) or
// not. What is removed was closed before.
func TestOnlyTheActiveSegmentStaysOpenAfterASync(t *testing.T) {
	for _, batches := range []int{1, 7} {
		fsys := newOpenFiles(vfs.NewMem())
		l := mustOpen(t, fsys, small())
		for i := range 100 {
			for range batches {
				appendN(t, l, 3)
			}
			must(t, l.Sync())
			if n := fsys.count(); n != 1 {
				t.Fatalf("%d files open after sync %d with %d segments", n, i, len(l.Segments()))
			}
		}
		for range 5 {
			appendN(t, l, 3)
		}
		must(t, l.DropBefore(l.LastSeq()))
		if n := fsys.count(); n != 1 || fsys.wrong != "" {
			t.Fatalf("%d files open after the drop, %q was open when it was removed", n, fsys.wrong)
		}
		appendN(t, l, 3)
		must(t, l.Close())
		if n := fsys.count(); n != 0 {
			t.Fatalf("%d files open after the end", n)
		}
	}
}

// A log that is closed while others use it refuses what comes later, and holds every record
// that it took before.
func TestCloseBesideTheOwnerRefusesAndLosesNothing(t *testing.T) {
	for round := range scale(100) {
		fsys := newOpenFiles(vfs.NewMem())
		l := mustOpen(t, fsys, small())
		var wg sync.WaitGroup
		begun := make(chan struct{}, 2)
		taken := uint64(0)
		wg.Go(func() {
			for {
				last, err := l.Append([][]byte{payloadOf(taken+1, 0)})
				if err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Errorf("append: %v", err)
					}
					break
				}
				if taken = last; taken == uint64(round%30) {
					begun <- struct{}{}
				}
			}
			if err := l.Rotate(); !errors.Is(err, ErrClosed) {
				t.Errorf("rotate: %v", err)
			}
		})
		wg.Go(func() {
			begun <- struct{}{}
			for {
				l.Room()
				if err := errors.Join(l.Sync(), l.DropBefore(1)); err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Errorf("sync: %v", err)
					}
					return
				}
			}
		})
		<-begun
		if round%30 > 0 {
			<-begun
		}
		must(t, l.Close())
		wg.Wait()
		if l.LastSeq() != taken || l.DurableSeq() != taken || fsys.count() != 0 || l.Room() {
			t.Fatalf("round %d: %d taken, last %d, durable %d, %d files open", round, taken, l.LastSeq(), l.DurableSeq(), fsys.count())
		}
		must(t, l.Close())
		checkContent(t, fsys, small(), 1, taken)
	}
}

// What a sync beside the owner says is durable is there after a power cut at that moment.
func TestWhatASyncBesideTheOwnerCoversSurvivesAPowerCut(t *testing.T) {
	fsys := vfs.NewMem()
	l := mustOpen(t, fsys, small())
	const ahead = 20 // keeps the log small: it is copied for every cut
	fsys.After(func(op vfs.Op) {
		// The owner writes between a sync and what follows from it.
		for last := l.LastSeq(); op.Kind == vfs.OpSync && l.LastSeq() == last && last < l.DurableSeq()+ahead; {
			runtime.Gosched()
		}
	})
	var ended atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer ended.Store(true)
		for seed := range uint64(scale(150)) {
			if err := l.Sync(); err != nil {
				t.Error(err)
				return
			}
			durable := l.DurableSeq()
			seqs, _, _, err := readAll(fsys.Crash(seed), small())
			if err != nil || uint64(len(seqs)) < durable {
				t.Errorf("cut %d: %d records, %d were durable: %v", seed, len(seqs), durable, err)
				return
			}
		}
	})
	for !ended.Load() {
		if l.LastSeq() < l.DurableSeq()+ahead {
			appendN(t, l, 1)
		} else {
			runtime.Gosched()
		}
	}
	wg.Wait()
	fsys.After(nil)
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
