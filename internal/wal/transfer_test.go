package wal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// notThere is the error of a file that is gone.
var notThere = &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}

const download = "down/got.snap"

var (
	theirs = Identity{History: ID{7}, Directory: ID{8}}
	ours   = Identity{History: ID{7}, Directory: ID{9}}
)

// noise is a body of which one chunk can be compressed and one cannot.
func noise() string {
	r := rand.New(rand.NewPCG(1, 2))
	b := bytes.Repeat([]byte("the same "), chunkBytes/9+100)
	for range chunkBytes {
		b = append(b, byte(r.Uint32()))
	}
	return string(b)
}

// downloaded returns a disk with a log that has a snapshot at record 9, and a download of it.
func downloaded(t *testing.T, body string) (*vfstest.Mem, Options) {
	t.Helper()
	disk, opts := vfstest.NewMem(), small()
	opts.Identity = theirs
	l := mustOpen(t, disk, opts)
	appendN(t, l, 9)
	must(t, l.Sync())
	must(t, l.WriteSnapshot(SnapshotMeta{Seq: 9, Head: []byte(`{"version":"1"}`)}, writeText(body)))
	f, meta, size, err := l.ReadNewest()
	must(t, err)
	if meta.Seq != 9 || meta.Chain != l.Position().Chain || string(meta.Head) != `{"version":"1"}` {
		t.Fatalf("%+v", meta)
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		t.Fatal(err)
	}
	must(t, f.Close())
	must(t, l.Close())
	disk.Put(download, b)
	opts.Name = "log"
	return disk, opts
}

func (s *SnapshotFile) text(t *testing.T) string {
	t.Helper()
	b, err := io.ReadAll(s.Body())
	must(t, err)
	return string(b)
}

// A download has identity, position, head and body of the snapshot, also when its log is another one, and it is
// smaller than the body.
func TestASnapshotOutsideOfALog(t *testing.T) {
	body := noise()
	disk, opts := downloaded(t, body)
	opts.Identity = Identity{}
	s, err := OpenSnapshotFile(disk, download, opts)
	must(t, err)
	defer s.Close()
	if s.Identity != theirs || s.Meta.Seq != 9 || string(s.Meta.Head) != `{"version":"1"}` ||
		s.Bytes > int64(len(body))*2/3 {
		t.Errorf("%+v, body %d bytes", s, len(body))
	}
	must(t, s.Verify())
	if s.text(t) != body {
		t.Error("another body")
	}
	opts.Identity = ours
	var damaged *CorruptError
	if _, err := OpenSnapshotFile(disk, download, opts); !errors.As(err, &damaged) || !damaged.Foreign {
		t.Errorf("another directory: %v", err)
	}
	opts.Identity, opts.Name = Identity{}, "other"
	if _, err := OpenSnapshotFile(disk, download, opts); !errors.As(err, &damaged) || !damaged.Foreign {
		t.Errorf("another log: %v", err)
	}
	opts.Name, opts.RecordVersion = "log", 9
	var version *VersionError
	if _, err := OpenSnapshotFile(disk, download, opts); !errors.As(err, &version) {
		t.Errorf("another version of the records: %v", err)
	}
}

// Each flipped bit, each cut and each byte too many of a snapshot is noticed.
func TestNoDamagedByteOfADownloadIsSilent(t *testing.T) {
	body := strings.Repeat("some text of a state ", 20)
	disk, opts := downloaded(t, body)
	opts.Identity = theirs
	good := slices.Clone(disk.Content(download))
	check := func(what string, at int, b []byte) {
		t.Helper()
		disk.Put(download, b)
		s, err := OpenSnapshotFile(disk, download, opts)
		if err == nil {
			err = errors.Join(s.Verify(), s.Close())
		}
		if err == nil {
			t.Errorf("%s at %d of %d is not noticed", what, at, len(good))
		}
	}
	for i := range good {
		for bit := range 8 {
			b := slices.Clone(good)
			b[i] ^= 1 << bit
			check("a bit", i, b)
		}
		check("a cut", i, slices.Clone(good[:i]))
	}
	check("a byte too many", len(good), append(slices.Clone(good), 0))
}

// A chunk that claims to be larger than a chunk is refused, whatever its checksum says.
func TestAChunkThatGrowsIsRefused(t *testing.T) {
	disk := vfstest.NewMem()
	f, err := disk.Create("s")
	must(t, err)
	w := newChunkWriter(f, 5)
	w.buf = w.zip.EncodeAll(make([]byte, 64<<20), make([]byte, chunkHead))
	must(t, w.seal(uint32(len(w.buf)-chunkHead)))
	r := &chunkReader{f: f, name: "s", crc: 5}
	var damaged *CorruptError
	if err := discard(r); !errors.As(err, &damaged) || damaged.Reason != "chunk cannot be decompressed" {
		t.Errorf("%v", err)
	}
	if cap(r.memory) != chunkBytes {
		t.Errorf("the reader took %d bytes", cap(r.memory))
	}
}

func TestAHeadThatIsTooLargeIsRefused(t *testing.T) {
	disk := vfstest.NewMem()
	meta := SnapshotMeta{Seq: 1, Chain: 1, Head: make([]byte, MaxSnapshotHead)}
	must(t, WriteSnapshot(disk, testDir, Options{Identity: ours}, meta, writeText("x")))
	meta.Head = append(meta.Head, 0)
	if err := WriteSnapshot(disk, testDir, Options{Identity: ours}, meta, writeText("x")); err == nil {
		t.Error("a head of 1 MiB and a byte is written")
	}
}

// adopt opens the download and adopts it, as a restore does.
func adopt(fsys vfs.FS, opts Options) error {
	from := opts
	from.Identity = Identity{}
	s, err := OpenSnapshotFile(fsys, download, from)
	if err != nil {
		return err
	}
	opts.Identity = ours
	return errors.Join(Adopt(fsys, testDir, opts, s, []byte("new head")), s.Close())
}

// checkAdopted fails unless the directory has the snapshot alone, and a log that goes on behind it.
func checkAdopted(t *testing.T, disk *vfstest.Mem, opts Options, body string) {
	t.Helper()
	opts.Identity = ours
	l := mustOpen(t, disk, opts)
	metas, err := l.Snapshots()
	must(t, err)
	if l.LastSeq() != 9 || len(metas) != 1 || metas[0].Seq != 9 || string(metas[0].Head) != "new head" ||
		metas[0].Chain != l.Position().Chain {
		t.Fatalf("the log ends at %d, snapshots %+v", l.LastSeq(), metas)
	}
	appendN(t, l, 3)
	must(t, l.Close())
	found, err := LoadNewest(disk, testDir, opts, func(_ SnapshotMeta, r io.Reader) error {
		b, err := io.ReadAll(r)
		if err == nil && string(b) != body {
			t.Error("another body")
		}
		return err
	})
	if err != nil || !found.OK || len(found.Damaged) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
	checkContent(t, disk, opts, 10, 12)
}

// A log that begins with an adopted snapshot has its chain: its next records continue the log that it was taken of.
func TestAdopt(t *testing.T) {
	body := noise()
	disk, opts := downloaded(t, body)
	for _, name := range disk.Paths() {
		if strings.HasPrefix(name, testDir) {
			disk.Lose(name)
		}
	}
	must(t, adopt(disk, opts))
	checkAdopted(t, disk, opts, body)
	if err := adopt(disk, opts); err == nil || !strings.Contains(err.Error(), "empty directory") {
		t.Errorf("a directory with a log: %v", err)
	}
	opts.Identity = ours
	checkContent(t, disk, opts, 10, 12)
	opts.Identity = theirs
	s, err := OpenSnapshotFile(disk, download, opts)
	must(t, err)
	defer s.Close()
	opts.Identity = Identity{History: ID{1}, Directory: ID{2}}
	var damaged *CorruptError
	if err := Adopt(disk, "d/other", opts, s, nil); !errors.As(err, &damaged) || !damaged.Foreign {
		t.Errorf("another exchange: %v", err)
	}
}

// After a cut at any operation of Adopt, the directory has no snapshot, and Adopt can be repeated, or it has all of it.
func TestAdoptIsAllOrNothing(t *testing.T) {
	body := strings.Repeat("body", 100)
	whole, opts := downloaded(t, body)
	for _, name := range whole.Paths() {
		if strings.HasPrefix(name, testDir) {
			whole.Lose(name)
		}
	}
	base := whole.Kill()
	cutEach(t, base, func(fsys vfs.FS) error { return adopt(fsys, opts) }, func(t *testing.T, disk *vfstest.Mem) {
		names, _ := disk.List(testDir)
		if !slices.Contains(names, SnapshotName(9)) {
			must(t, adopt(disk, opts))
		}
		checkAdopted(t, disk, opts, body)
	})
}

// cutEach runs do on copies of a disk, cuts the power at each operation, and checks what is left.
func cutEach(t *testing.T, base *vfstest.Mem, do func(fsys vfs.FS) error, check func(t *testing.T, disk *vfstest.Mem)) {
	t.Helper()
	for n := 1; ; n++ {
		disk, cut := base.Kill(), errors.New("cut")
		count := 0
		disk.Before(func(vfstest.Op) vfstest.Fault {
			if count++; count >= n {
				return vfstest.Fault{Err: cut}
			}
			return vfstest.Fault{}
		})
		err := do(disk)
		disk.Before(nil)
		if count < n {
			must(t, err)
			check(t, disk.Kill())
			break
		}
		for seed := range uint64(4) {
			check(t, disk.Crash(seed))
		}
		if t.Failed() {
			t.Fatalf("cut at operation %d: %v", n, err)
		}
	}
}

// The newest snapshot can be read while the log replaces it.
func TestTheNewestSnapshotStaysReadable(t *testing.T) {
	disk, opts := usedDisk(t)
	l := mustOpen(t, disk, opts)
	defer l.Close()
	f, meta, size, err := l.ReadNewest()
	must(t, err)
	defer f.Close()
	before := make([]byte, size)
	if n, err := f.ReadAt(before, 0); n < len(before) {
		t.Fatal(err)
	}
	for range 3 {
		appendN(t, l, 1)
		must(t, l.Sync())
		must(t, l.WriteSnapshot(SnapshotMeta{Seq: l.LastSeq()}, writeText("later")))
	}
	after := make([]byte, size)
	if n, err := f.ReadAt(after, 0); n < len(after) || !bytes.Equal(before, after) || meta.Seq != 28 {
		t.Errorf("%v, %+v", err, meta)
	}
	metas, err := l.Snapshots()
	if err != nil || len(metas) != 2 || metas[0].Seq != l.LastSeq() || metas[1].Seq != l.LastSeq()-1 {
		t.Errorf("%+v, %v", metas, err)
	}
	fsys := &vanishing{FS: disk, err: notThere}
	l.fsys = fsys
	for gone := range 5 {
		fsys.left = gone
		if f, _, _, err := l.ReadNewest(); (err == nil) != (gone < 3) {
			t.Errorf("gone %d times: %v", gone, err)
		} else if err == nil {
			must(t, f.Close())
		}
		fsys.left = 0
	}
}

func TestALogWithoutASnapshotHasNone(t *testing.T) {
	l := mustOpen(t, vfstest.NewMem(), Options{})
	defer l.Close()
	f, _, _, err := l.ReadNewest()
	metas, also := l.Snapshots()
	if f != nil || err != nil || metas != nil || also != nil {
		t.Errorf("%v, %v, %+v, %v", f, err, metas, also)
	}
}

// KeepFrom keeps segments, also when it is called with a later record than the log has, and ends with a later call.
func TestKeepFrom(t *testing.T) {
	l := mustOpen(t, vfstest.NewMem(), small())
	defer l.Close()
	for len(l.Segments()) < 5 {
		appendN(t, l, 1)
	}
	must(t, l.Sync())
	segs := l.Segments()
	for _, c := range []struct {
		keep uint64
		want int // segments that are left
	}{{0, 5}, {segs[0].LastSeq, 5}, {segs[1].FirstSeq, 4}, {segs[2].LastSeq, 3}, {l.LastSeq() + 9, 1}} {
		l.KeepFrom(c.keep)
		must(t, l.DropBefore(l.LastSeq()+1))
		if n := len(l.Segments()); n != c.want {
			t.Errorf("kept from %d: %d segments, want %d", c.keep, n, c.want)
		}
	}
}
