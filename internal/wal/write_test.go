package wal

import (
	"errors"
	"io"
	"path"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// shortWrites is a file system whose writes of records report success and write less.
type shortWrites struct{ vfs.FS }

func (s shortWrites) Create(name string) (vfs.File, error) {
	f, err := s.FS.Create(name)
	return shortFile{f}, err
}

type shortFile struct{ vfs.File }

func (f shortFile) WriteAt(p []byte, off int64) (int, error) {
	if off >= firstFrame && len(p) > 100 {
		return f.File.WriteAt(p[:len(p)-1], off)
	}
	return f.File.WriteAt(p, off)
}

// A write that reports success and is short is one that failed.
func TestAShortWriteIsRefused(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, shortWrites{fsys}, Options{PreallocBytes: -1})
	_, err := l.Append([][]byte{[]byte("short")})
	must(t, err)
	if last, err := l.Append([][]byte{make([]byte, 100)}); !errors.Is(err, ErrUnavailable) ||
		!errors.Is(err, io.ErrShortWrite) || last != 1 {
		t.Fatalf("%d, %v", last, err)
	}
	_, err = l.Append([][]byte{[]byte("also short")})
	must(t, err)
	must(t, l.Close())
	if seqs, _, torn, err := readAll(fsys, Options{}); err != nil || torn != 0 || len(seqs) != 2 {
		t.Errorf("%v, %d bytes are torn, %v", seqs, torn, err)
	}
}

// The slot is written after the records of a batch. A write of it that fails twice, or cannot be taken back, leaves a
// slot that a start may not be able to read: the log stops, and the batch has an unknown outcome.
func TestAFailedWriteOfTheSlotAfterABatch(t *testing.T) {
	for n, c := range []struct {
		fails       int // writes of the slot that fail in a row
		unavailable bool
	}{{1, true}, {2, true}, {3, false}, {4, false}} {
		fsys, failed := vfstest.NewMem(), 0
		opts := Options{PreallocBytes: -1, Failed: func() { failed++ }}
		l := mustOpen(t, fsys, opts)
		appendN(t, l, 2)
		left := 0
		fsys.Before(func(op vfstest.Op) vfstest.Fault {
			if op.Kind == vfstest.OpWrite && op.Off < firstFrame && left > 0 {
				left--
				return vfstest.Fault{Err: syscall.EIO}
			}
			return vfstest.Fault{}
		})
		left = c.fails
		last, err := l.Append([][]byte{payloadOf(3, 0)})
		if errors.Is(err, ErrUnavailable) != c.unavailable || errors.Is(err, ErrOutcomeUnknown) == c.unavailable ||
			!errors.Is(err, syscall.EIO) || last != 2 {
			t.Errorf("%d: %d, %v", n, last, err)
		}
		if (l.Stopped() == nil) != c.unavailable || (failed == 0) != c.unavailable {
			t.Errorf("%d: the log is stopped by %v, Failed ran %d times", n, l.Stopped(), failed)
		}
		left = 0
		if c.unavailable {
			appendN(t, l, 1)
		}
		must(t, l.Close())
		if c.unavailable {
			checkContent(t, fsys, Options{}, 1, 3)
		}
	}
}

// The first cause of a stop stays the one that is reported.
func TestAStoppedLogReportsItsFirstCause(t *testing.T) {
	calls := 0
	l := mustOpen(t, vfstest.NewMem(), Options{Failed: func() { calls++ }})
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		if err := l.Fail(cause); !errors.Is(err, ErrStopped) || !errors.Is(err, syscall.EIO) ||
			errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%v", err)
		}
	}
	if calls != 1 {
		t.Errorf("Failed ran %d times", calls)
	}
	if l.Room() {
		t.Error("a stopped log has room")
	}
	must(t, l.Close())
	other := mustOpen(t, vfstest.NewMem(), Options{})
	inner := other.Fail(ErrStopped)
	if inner.Error() != ErrStopped.Error() {
		t.Errorf("an ErrStopped is wrapped once more: %v", inner)
	}
	must(t, other.Close())
}

// A log that was closed ends there: one that has more now was changed by somebody else.
func TestAClosedLogThatHasMoreIsDamaged(t *testing.T) {
	e := newEnds(t)
	chains := []Position{{Chain: chainStart(e.opts.Identity.History, "log", 0)}}
	r, err := e.log.Reader(0)
	must(t, err)
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			break
		}
		chains = append(chains, r.Position())
	}
	must(t, e.log.Close())
	for _, at := range chains {
		opts := e.opts
		opts.Known = &Known{Position: at}
		if _, _, damage := e.start(e.fsys.Kill(), opts); damage != nil {
			t.Errorf("it reached at least %d: %v", at.Seq, damage)
		}
		opts.Known.Last = true
		_, _, damage := e.start(e.fsys.Kill(), opts)
		if (damage != nil) != (at.Seq < 6) || damage != nil && (damage.Seq != at.Seq+1 || damage.Foreign) {
			t.Errorf("it ended at %d: %v", at.Seq, damage)
		}
		opts.Known.Chain++
		opts.Known.Last = false
		if _, _, damage := e.start(e.fsys.Kill(), opts); damage == nil || !damage.Foreign || damage.Seq != at.Seq {
			t.Errorf("another record %d: %v", at.Seq, damage)
		}
	}
}

// A log whose only header is unreadable lost what its slots tell of.
func TestALogWithoutAReadableHeader(t *testing.T) {
	e := newEnds(t)
	must(t, e.log.Close())
	name := path.Join(testDir, segmentName(1))
	e.fsys.Flip(name, 20, 0)
	last, _, damage := e.start(e.fsys.Kill(), e.opts)
	if damage == nil || damage.To != 6 || damage.File != name || damage.Reason != "header checksum differs" {
		t.Fatalf("ends at %d, %v", last, damage)
	}
	e.opts.AcceptLoss = true
	last, loss, damage := e.start(e.fsys.Kill(), e.opts)
	if damage != nil || last != 0 || loss == nil || loss.To != 6 || loss.Damage == nil {
		t.Errorf("ends at %d, %+v, %v", last, loss, damage)
	}
}

// With an accepted loss a log goes on although its first segments are unreadable, if the later ones have what
// recoveries read.
func TestAnAcceptedLossOfTheFirstHeaders(t *testing.T) {
	for bad := uint64(1); bad <= 2; bad++ {
		fsys := threeSegments(t, "ours", 2)
		for num := uint64(1); num <= bad; num++ {
			fsys.Flip(path.Join(testDir, segmentName(num)), 20, 0)
		}
		l, err := Open(fsys, testDir, Options{AcceptLoss: true})
		must(t, err)
		r, err := l.Reader(5)
		must(t, err)
		if records, err := readOn(r); err != nil || len(records) != 2 || l.LastSeq() != 6 {
			t.Errorf("%d headers: %q, %v", bad, records, err)
		}
		must(t, errors.Join(r.Close(), l.Close()))
	}
}

// A segment takes SegmentBytes of records; the batch after that begins the next one.
func TestASegmentIsFull(t *testing.T) {
	l := mustOpen(t, vfstest.NewMem(), Options{SegmentBytes: 256, PreallocBytes: -1})
	for n := range 24 {
		_, err := l.Append([][]byte{make([]byte, 8)}) // frames of 32 bytes
		must(t, err)
		if got, want := len(l.Segments()), n/8+1; got != want {
			t.Fatalf("%d records: %d segments, want %d", n+1, got, want)
		}
	}
	must(t, l.Close())
}

func TestAnEmptyBatchWritesNothing(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, Options{})
	appendN(t, l, 2)
	before := fsys.Operations()
	if last, err := l.Append(nil); last != 2 || err != nil || fsys.Operations() != before {
		t.Errorf("%d, %v, %d operations", last, err, fsys.Operations()-before)
	}
	must(t, l.Close())
}

// The buffer of a batch is used again, unless it is large.
func TestALargeBatchDoesNotStayInMemory(t *testing.T) {
	l := mustOpen(t, vfstest.NewMem(), Options{})
	for _, c := range []struct {
		size int
		kept bool
	}{{100, true}, {1 << 20, true}, {maxKeptBuffer + 1, false}, {100, true}} {
		_, err := l.Append([][]byte{make([]byte, c.size)})
		must(t, err)
		if n := cap(l.buf); (n > 0) != c.kept || n > maxKeptBuffer {
			t.Errorf("after a record of %d bytes the buffer has %d", c.size, n)
		}
	}
	must(t, l.Close())
}

// Files of other names are no segments and no snapshots.
func TestOtherFilesAreLeftAlone(t *testing.T) {
	fsys := vfstest.NewMem()
	names := []string{
		"2.wal", "0000002.wal", "+00002.wal", "000002.wal~", "18446744073709551616.wal", "x.wal", ".wal", "000002",
		"2.snap", "x.snap", "00000000000000000002", "18446744073709551616.snap", "README",
	}
	for _, name := range names {
		fsys.Put(path.Join(testDir, name), []byte("not of the log"))
	}
	l := mustOpen(t, fsys, Options{})
	appendN(t, l, 3)
	must(t, l.Sync())
	for _, seq := range []uint64{1, 2, 3} {
		must(t, l.WriteSnapshot(SnapshotMeta{Seq: seq}, writeText("x")))
	}
	must(t, l.Close())
	if files := checked(t, fsys, Options{}); len(files) != 3 {
		t.Errorf("%+v", files)
	}
	for _, name := range names {
		if got := string(fsys.Content(path.Join(testDir, name))); got != "not of the log" {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// After a write that a full disk refused, the log says whether there is room again, without a record.
func TestALogKnowsWhetherThereIsRoom(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, Options{PreallocBytes: 256})
	appendN(t, l, 2)
	if !l.Room() {
		t.Error("no room before the disk is full")
	}
	fsys.SetCapacity(fsys.Used())
	for full := false; !full; {
		_, err := l.Append([][]byte{[]byte("x")})
		full = errors.Is(err, ErrUnavailable)
	}
	last := l.LastSeq()
	for range 2 {
		if l.Room() {
			t.Error("room on a full disk")
		}
	}
	fsys.SetCapacity(0)
	if !l.Room() || l.LastSeq() != last {
		t.Errorf("no room on a disk with space; the log ends at %d, want %d", l.LastSeq(), last)
	}
	appendN(t, l, 1)
	must(t, l.Close())
}
