package wal

import (
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// checked runs Check and returns the files by name.
func checked(t *testing.T, fsys vfs.FS, opts Options) map[string]Checked {
	t.Helper()
	files, err := Check(fsys, testDir, opts, discard)
	must(t, err)
	by := map[string]Checked{}
	for _, f := range files {
		by[path.Base(f.File)] = f
	}
	return by
}

// onlyDamaged fails unless one file is damaged, as the error says, and returns its damage.
func onlyDamaged(t *testing.T, files map[string]Checked, name string) *CorruptError {
	t.Helper()
	var damaged *CorruptError
	for other, f := range files {
		if (f.Err != nil) != (other == name) {
			t.Errorf("%s: %v, only %s is damaged", other, f.Err, name)
		}
	}
	if !errors.As(files[name].Err, &damaged) {
		t.Fatalf("%s: %v", name, files[name].Err)
	}
	return damaged
}

func TestCheckReportsASlotThatIsDamaged(t *testing.T) {
	disk, opts := usedDisk(t)
	must(t, mustOpen(t, disk, opts).Close())
	for _, num := range []uint64{1, 2, 4} {
		for i := range 2 {
			damaged := disk.Kill()
			name := segmentName(num)
			damaged.Flip(path.Join(testDir, name), slotOffset(i)+9, 4)
			got := onlyDamaged(t, checked(t, damaged, opts), name)
			if got.Offset != slotOffset(i) || !strings.Contains(got.Reason, "one of the two slots") {
				t.Errorf("segment %d, slot %d: %v", num, i, got)
			}
			// A damaged record in the same file comes first.
			damaged.Flip(path.Join(testDir, name), firstFrame+frameHead, 0)
			if got := onlyDamaged(t, checked(t, damaged, opts), name); got.Offset != firstFrame {
				t.Errorf("segment %d, slot %d and a record: %v", num, i, got)
			}
		}
	}
}

// A log that was open once has a slot; without one nothing says where it ends.
func TestCheckReportsALogWithoutAnEnd(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, Options{PreallocBytes: -1})
	appendN(t, l, 2)
	must(t, l.Close())
	name := path.Join(testDir, segmentName(1))
	b := fsys.Content(name)
	clear(b[slotOffset(0):firstFrame])
	fsys.Put(name, b)
	got := onlyDamaged(t, checked(t, fsys, Options{}), segmentName(1))
	if got.Offset != slotOffset(0) || got.Reason != "no slot says where the log ends" {
		t.Errorf("%v", got)
	}
	b[firstFrame+frameHead] ^= 1
	fsys.Put(name, b)
	if got := onlyDamaged(t, checked(t, fsys, Options{}), segmentName(1)); got.Offset != firstFrame &&
		got.Offset != slotOffset(0) {
		t.Errorf("a damaged record too: %v", got)
	}
}

// The records of each file, and the bytes that the next start cuts off.
func TestCheckReportsWhatIsInAFile(t *testing.T) {
	disk, opts := usedDisk(t)
	files, err := Check(disk, testDir, opts, discard)
	must(t, err)
	var names []string
	next := uint64(1)
	for _, f := range files {
		name := path.Base(f.File)
		names = append(names, name)
		if path.Ext(name) != SegmentExt {
			continue
		}
		if f.First != next || f.Last < f.First {
			t.Errorf("%+v, want records from %d on", f, next)
		}
		next = f.Last + 1
		if want := map[bool]int64{true: int64(len("part of a frame"))}[name == segmentName(4)]; f.Torn != want {
			t.Errorf("%s: %d bytes are torn, want %d", name, f.Torn, want)
		}
	}
	want := []string{"000001.wal", "000002.wal", "000003.wal", "000004.wal", SnapshotName(26), SnapshotName(28)}
	if !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	l := mustOpen(t, disk, opts)
	defer l.Close()
	files, err = CheckOpen(l, disk, discard)
	must(t, err)
	for i, f := range files {
		if path.Base(f.File) != want[i] {
			t.Errorf("open: file %d is %s, want %s", i, f.File, want[i])
		}
	}
}

func TestCheckOfLogsWithoutRecords(t *testing.T) {
	fsys := vfstest.NewMem()
	if files := checked(t, fsys, Options{}); len(files) != 0 {
		t.Errorf("no file: %+v", files)
	}
	must(t, writeBody(fsys, 1, 10))
	if got := onlyDamaged(t, checked(t, fsys, Options{}), SnapshotName(1)); got.Seq != 1 ||
		!strings.Contains(got.Reason, "the log ends at record 0, before the snapshot") {
		t.Errorf("a snapshot without a log: %v", got)
	}
	fsys = vfstest.NewMem()
	must(t, mustOpen(t, fsys, Options{}).Close())
	name := segmentName(1)
	if f := checked(t, fsys, Options{})[name]; f.First != 1 || f.Last != 0 || f.Err != nil || f.Torn != 0 {
		t.Errorf("a new log: %+v", f)
	}
	l := mustOpen(t, fsys, Options{})
	appendN(t, l, 1)
	must(t, l.Close())
	fsys.Flip(path.Join(testDir, name), 20, 0)
	if f := checked(t, fsys, Options{})[name]; f.First != 0 || f.Last != 0 || f.Err == nil {
		t.Errorf("an unreadable header: %+v", f)
	}
}

// A snapshot ahead of the log is damage of the snapshot when the last segment is whole. What else is wrong with the
// snapshot comes first.
func TestCheckOfASnapshotAheadOfItsLog(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, small())
	for l.active.num < 3 {
		appendN(t, l, 1)
	}
	appendN(t, l, 1)
	ahead := l.LastSeq() + 1
	must(t, l.Close())
	must(t, WriteSnapshot(fsys, testDir, small(), SnapshotMeta{Seq: ahead, Chain: 1}, writeText("ahead")))
	name := SnapshotName(ahead)
	if got := onlyDamaged(t, checked(t, fsys, small()), name); !strings.Contains(got.Reason, "before the snapshot") ||
		got.Seq != ahead {
		t.Errorf("%v", got)
	}
	broken := fsys.Kill()
	broken.Flip(path.Join(testDir, name), headerBytes+chunkHead, 0)
	if got := onlyDamaged(t, checked(t, broken, small()), name); got.Reason != "chunk checksum differs" {
		t.Errorf("with a damaged chunk: %v", got)
	}
	for num := uint64(1); num <= 3; num++ {
		broken := fsys.Kill()
		broken.Flip(path.Join(testDir, segmentName(num)), firstFrame+frameHead, 0)
		files := checked(t, broken, small())
		if files[segmentName(num)].Err == nil || (files[name].Err == nil) != (num == 3) {
			t.Errorf("segment %d is damaged: %v; %v", num, files[segmentName(num)].Err, files[name].Err)
		}
	}
}

// A file of another version ends a check, because no part of it is judged.
func TestCheckRefusesASnapshotOfAnotherVersion(t *testing.T) {
	fsys, opts := vfstest.NewMem(), Options{Identity: Identity{History: ID{7}, Directory: ID{8}}}
	l := mustOpen(t, fsys, opts)
	appendN(t, l, 2)
	later := opts
	later.RecordVersion = 2
	must(t, WriteSnapshot(fsys, testDir, later, SnapshotMeta{Seq: 2, Chain: 5}, writeText("")))
	var version *VersionError
	if files, err := Check(fsys, testDir, opts, discard); !errors.As(err, &version) || files != nil {
		t.Errorf("%+v, %v", files, err)
	}
	if files, err := CheckOpen(l, fsys, discard); !errors.As(err, &version) || files != nil {
		t.Errorf("open: %+v, %v", files, err)
	}
}

// vanishing loses a file when it is opened, as a running log does that replaces a snapshot.
type vanishing struct {
	vfs.FS
	left  int // times
	err   error
	opens int
	open  int
}

func (v *vanishing) Open(name string) (vfs.File, error) {
	if path.Ext(name) == SnapshotExt {
		if v.opens++; v.left > 0 {
			v.left--
			return nil, v.err
		}
	}
	f, err := v.FS.Open(name)
	if err == nil {
		v.open++
	}
	return &vanishingFile{f, v}, err
}

type vanishingFile struct {
	vfs.File
	v *vanishing
}

func (f *vanishingFile) Close() error {
	f.v.open--
	return f.File.Close()
}

func TestCheckPassesOverASnapshotThatWasReplaced(t *testing.T) {
	disk, opts := usedDisk(t)
	fsys := &vanishing{FS: disk, left: 1, err: &CorruptError{Cause: io.EOF}}
	files := checked(t, fsys, opts)
	if files[SnapshotName(26)].Err == nil || len(files) != 6 {
		t.Errorf("a snapshot that cannot be opened: %+v", files)
	}
	fsys.left, fsys.err = 1, notThere
	if files := checked(t, fsys, opts); len(files) != 5 || files[SnapshotName(28)].File == "" {
		t.Errorf("a snapshot that is gone: %+v", files)
	}
}
