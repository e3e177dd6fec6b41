package wal

import (
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// A start that accepts a loss reads what a recovery from the older of the two retained snapshots reads: damage before
// it stays, damage behind it ends the log. A third snapshot, which a power cut may leave, does not count.
func TestAnAcceptedLossReadsBehindTheOlderSnapshot(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, Options{PreallocBytes: -1})
	for range 8 { // segments of one record
		appendN(t, l, 1)
		must(t, l.Sync())
		must(t, l.Rotate())
	}
	third := SnapshotName(2)
	for _, seq := range []uint64{2, 4, 6} {
		must(t, l.WriteSnapshot(SnapshotMeta{Seq: seq}, writeText("x")))
		if seq == 2 {
			third = string(fsys.Content(path.Join(testDir, third)))
		}
	}
	must(t, l.Close())
	for snapshots, needed := range map[string]uint64{"": 1, "46": 5, "246": 5} {
		for seq := uint64(1); seq <= 8; seq++ {
			disk := fsys.Kill()
			if strings.Contains(snapshots, "2") {
				disk.Put(path.Join(testDir, SnapshotName(2)), []byte(third))
			}
			if snapshots == "" {
				disk.Lose(path.Join(testDir, SnapshotName(4)))
				disk.Lose(path.Join(testDir, SnapshotName(6)))
			}
			disk.Flip(path.Join(testDir, segmentName(seq)), firstFrame+frameHead, 0)
			l := mustOpen(t, disk, Options{AcceptLoss: true})
			want := uint64(8)
			if seq >= needed {
				want = seq - 1
			}
			if l.LastSeq() != want {
				t.Errorf("snapshots %q, record %d is damaged: the log ends at %d, want %d", snapshots, seq,
					l.LastSeq(), want)
			}
			must(t, l.Close())
		}
	}
}

// A new log makes its directory, and reports no failure before it is open.
func TestANewLogMakesItsDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	l, err := Create(vfs.OS{}, dir, Options{}, Position{Seq: 3})
	must(t, err)
	must(t, l.Close())
	for _, open := range []func(vfs.FS, Options) (*Log, error){
		func(fsys vfs.FS, opts Options) (*Log, error) { return Open(fsys, testDir, opts) },
		func(fsys vfs.FS, opts Options) (*Log, error) { return Create(fsys, testDir, opts, Position{}) },
	} {
		fsys, failed := vfstest.NewMem(), 0
		opts := Options{Failed: func() { failed++ }}
		fsys.Before(vfstest.FailNthKind(vfstest.OpSync, 1, vfstest.Fault{Err: syscall.EIO}))
		if _, err := open(fsys, opts); !errors.Is(err, syscall.EIO) || failed != 0 {
			t.Errorf("%v, Failed ran %d times", err, failed)
		}
		l, err := open(fsys, opts)
		must(t, err)
		appendN(t, l, 1)
		fsys.FailNext(vfstest.OpSync, vfstest.Fault{Err: syscall.EIO})
		if err := l.Sync(); !errors.Is(err, ErrStopped) || failed != 1 {
			t.Errorf("%v, Failed ran %d times", err, failed)
		}
		must(t, l.Close())
	}
}

// A start makes the name of the log's directory durable, and tells where the log ends.
func TestAStartMakesTheNameOfItsDirectoryDurable(t *testing.T) {
	fsys := vfstest.NewMem()
	var synced []string
	var ended []Position
	fsys.After(func(op vfstest.Op) {
		if op.Kind == vfstest.OpSyncDir {
			synced = append(synced, op.Path)
		}
	})
	l := mustOpen(t, fsys, Options{Ended: func(at Position) { ended = append(ended, at) }})
	if !slices.Equal(synced, []string{path.Dir(testDir), testDir}) {
		t.Errorf("durable names in %q", synced)
	}
	appendN(t, l, 2)
	must(t, l.Close())
	if len(ended) != 2 || ended[0].Seq != 0 || ended[1] != l.Position() {
		t.Errorf("it ended at %+v, now %+v", ended, l.Position())
	}
}

// What a start, a snapshot or a new segment leaves behind after a failure is removed.
func TestNothingIsLeftBehind(t *testing.T) {
	paths := func(fsys *vfstest.Mem) string {
		names, err := fsys.List(testDir)
		must(t, err)
		return strings.Join(names, " ")
	}
	disk, opts := usedDisk(t)
	opts.NoLock = true
	l := mustOpen(t, disk, opts)
	const want = "000001.wal 000002.wal 000003.wal 000004.wal 00000000000000000026.snap 00000000000000000028.snap"
	names := strings.Fields(want)
	slices.Sort(names)
	after := strings.Join(names, " ")
	if got := paths(disk); got != after {
		t.Errorf("after a start: %s", got)
	}
	fails := func(io.Writer) error { return errCall }
	if err := l.WriteSnapshot(SnapshotMeta{Seq: 29}, fails); !errors.Is(err, errCall) {
		t.Errorf("%v", err)
	}
	if got := paths(disk); got != after {
		t.Errorf("after a failed snapshot: %s", got)
	}
	for n := 1; n <= 3; n++ { // header, slot of the new segment, slot of the one before
		writes := disk.Count(vfstest.OpWrite)
		disk.Before(func(op vfstest.Op) vfstest.Fault {
			if op.Kind == vfstest.OpWrite && (op.KindN == writes+n || op.KindN == writes+n+1 && n == 2) {
				return vfstest.Fault{Err: syscall.ENOSPC}
			}
			return vfstest.Fault{}
		})
		if err := l.Rotate(); !errors.Is(err, ErrUnavailable) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("write %d fails: %v", n, err)
		}
		disk.Before(nil)
		if got := paths(disk); got != after {
			t.Errorf("after a segment that could not be begun: %s", got)
		}
	}
	appendN(t, l, 1)
	must(t, l.Rotate())
	must(t, l.Close())
	disk.Lose(path.Join(testDir, segmentName(2)))
	opts.AcceptLoss = true
	must(t, mustOpen(t, disk, opts).Close())
	if got := paths(disk); strings.HasPrefix(got, segmentName(1)) || strings.Contains(got, " "+segmentName(1)) {
		t.Errorf("in front of a missing segment: %s", got)
	}
}

// The errors of a start name the file, also one that is not there.
func TestAStartNamesTheFile(t *testing.T) {
	var damaged *CorruptError
	first := path.Join(testDir, segmentName(1))
	known := Options{Known: &Known{Position: Position{Seq: 6}}}
	if _, err := Open(vfstest.NewMem(), testDir, known); !errors.As(err, &damaged) || damaged.File != first {
		t.Errorf("no file: %v", err)
	}
	e := newEnds(t)
	disk := e.fsys.Kill()
	disk.Put(first, disk.Content(first)[:100])
	e.opts.Known = &Known{Position: Position{Chain: chainStart(e.opts.Identity.History, e.opts.Name, 0)}}
	if _, err := Open(disk, testDir, e.opts); !errors.As(err, &damaged) || damaged.Offset != 0 ||
		damaged.Reason != "header is cut short" {
		t.Errorf("a header that is cut short: %v", err)
	}
	l := mustOpen(t, vfstest.NewMem(), small())
	for l.active.num < 4 {
		appendN(t, l, 1)
	}
	must(t, l.Sync())
	begin := l.segments[2].first
	must(t, l.DropBefore(begin))
	want := fmt.Sprintf("1 is wanted, the oldest kept is %d, in 000003.wal", begin)
	if _, err := l.Reader(1); !errors.Is(err, ErrTruncated) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	must(t, l.Close())
}

// atEnd is a file system whose reads up to the end of a file return io.EOF with the last byte.
type atEnd struct{ vfs.FS }

func (f atEnd) Open(name string) (vfs.File, error) {
	file, err := f.FS.Open(name)
	return atEndFile{file}, err
}

func (f atEnd) OpenRW(name string) (vfs.File, error) {
	file, err := f.FS.OpenRW(name)
	return atEndFile{file}, err
}

type atEndFile struct{ vfs.File }

func (f atEndFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	if size, _ := f.Size(); err == nil && off+int64(n) == size {
		err = io.EOF
	}
	return n, err
}

func TestReadsThatEndWithTheFile(t *testing.T) {
	torn, opts := usedDisk(t)
	unsynced, unsyncedOpts := unsyncedDisk(t)
	for _, c := range []struct {
		disk *vfstest.Mem
		opts Options
	}{{torn, opts}, {unsynced, unsyncedOpts}} {
		want, _, wantTorn, err := readAll(c.disk, c.opts)
		must(t, err)
		got, _, gotTorn, err := readAll(atEnd{c.disk}, c.opts)
		if err != nil || len(got) != len(want) || gotTorn != wantTorn {
			t.Errorf("%d records of %d, %d bytes of %d are torn, %v", len(got), len(want), gotTorn, wantTorn, err)
		}
		l, err := Open(atEnd{c.disk.Kill()}, testDir, c.opts)
		must(t, err)
		if l.LastSeq() != want[len(want)-1] {
			t.Errorf("the log ends at %d", l.LastSeq())
		}
		must(t, l.Close())
		if _, err := LoadNewest(atEnd{c.disk}, testDir, c.opts, func(_ SnapshotMeta, r io.Reader) error {
			return discard(r)
		}); err != nil {
			t.Error(err)
		}
	}
}

// The progress of a reader begins with nothing, grows with each record, and ends with the bytes of all segments.
func TestTheProgressOfAReader(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, Options{SegmentBytes: 1 << 10, PreallocBytes: -1})
	for l.active.num < 4 {
		appendN(t, l, 1)
	}
	bytes := int64(0)
	for _, seg := range l.Segments() {
		bytes += seg.Bytes
	}
	check := func(r *Reader, err error, want int64) {
		t.Helper()
		must(t, err)
		before, total := r.Progress()
		for _, err := r.Next(); err == nil; _, err = r.Next() {
			done, _ := r.Progress()
			if done <= before {
				t.Fatalf("%d bytes after %d", done, before)
			}
			before = done
		}
		if before != want || total != want {
			t.Errorf("%d bytes of %d are read, want %d", before, total, want)
		}
		must(t, r.Close())
	}
	r, err := l.Reader(0)
	check(r, err, bytes)
	r, err = l.Reader(l.segments[1].first)
	check(r, err, bytes-l.segments[0].bytes)
	must(t, l.Close())
	r, err = OpenReader(fsys, testDir, Options{}, 0)
	check(r, err, bytes)
}

// A reader of an open log takes what was written for given: a record that is damaged, or gone, is no torn tail, also
// behind the record to which it was extended.
func TestAnExtendedReaderMissesWhatIsGone(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, Options{PreallocBytes: -1})
	appendN(t, l, 2)
	r, err := l.Reader(0)
	must(t, err)
	if rec, err := r.Next(); err != nil || rec.Seq != 1 {
		t.Fatalf("%d, %v", rec.Seq, err)
	}
	appendN(t, l, 2)
	must(t, r.Extend(l, 4)) // before its end
	for want := uint64(2); want <= 4; want++ {
		if rec, err := r.Next(); err != nil || rec.Seq != want {
			t.Fatalf("%d, %v, want %d", rec.Seq, err, want)
		}
	}
	end := l.off.Load()
	appendN(t, l, 2)
	fsys.Cut(l.active.path, end+3)
	must(t, r.Extend(l, 6))
	var damaged *CorruptError
	if rec, err := r.Next(); !errors.As(err, &damaged) || damaged.Seq != 5 || damaged.To != 6 {
		t.Errorf("record %d, %v", rec.Seq, err)
	}
	must(t, r.Close())
}

// A file that is cut while it is read ends with damage, not with a record of something else.
func TestAFileThatIsCutWhileItIsRead(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, Options{PreallocBytes: -1})
	const n = readBuffer - 1<<12
	for range 3 {
		_, err := l.Append([][]byte{make([]byte, n)})
		must(t, err)
	}
	must(t, l.Sync())
	r, err := OpenReader(fsys, testDir, Options{}, 0)
	must(t, err)
	_, err = r.Next()
	must(t, err)
	fsys.Cut(path.Join(testDir, segmentName(1)), firstFrame+int64(3*FrameBytes(n))-10)
	_, err = r.Next()
	must(t, err)
	var damaged *CorruptError
	if _, err := r.Next(); !errors.As(err, &damaged) || damaged.Reason != "record is cut short by the end of the file" {
		t.Errorf("%v", err)
	}
	must(t, r.Close())
}

// After a start each full segment says that it is sealed, also one that was not when the process ended, and the
// slots that a start writes are newer than those that it found.
func TestAStartSealsFullSegments(t *testing.T) {
	disk, opts := unsyncedDisk(t)
	must(t, opts.validateFor(testDir))
	before, err := loadSegments(disk, testDir, &opts)
	must(t, err)
	newest := endOf(before, &opts).gen
	l := mustOpen(t, disk, opts)
	last := l.LastSeq()
	must(t, l.Close())
	after, err := loadSegments(disk, testDir, &opts)
	must(t, err)
	for i, seg := range after {
		flags := uint32(slotFollowed | slotSealed)
		if i+1 == len(after) {
			flags = slotClosed
		}
		s := seg.slots
		if !s.valid || s.flags != flags || s.gen <= newest || s.synced != last || s.written != last {
			t.Errorf("segment %d: %+v, want flags %d and an end at %d, newer than %d", seg.num, s, flags, last, newest)
		}
	}
	opts.Boot = bootB
	for num := range len(after) {
		gone := disk.Kill()
		gone.Lose(path.Join(testDir, segmentName(uint64(num+1))))
		var damaged *CorruptError
		if _, err := Open(gone, testDir, opts); num > 0 && !errors.As(err, &damaged) {
			t.Errorf("segment %d is gone after a power cut: %v", num+1, err)
		}
	}
}
