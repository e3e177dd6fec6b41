package wal

import (
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// A snapshot that the store does not want is intact: the one before is used, and both stay.
func TestAnUnwantedSnapshotIsPassedOver(t *testing.T) {
	fsys := vfstest.NewMem()
	for seq := range uint64(3) {
		must(t, writeBody(fsys, seq+1, 10))
	}
	unwanted := uint64(3)
	load := func(meta SnapshotMeta, r io.Reader) error {
		if meta.Seq >= unwanted {
			return ErrUnwanted
		}
		return discard(r)
	}
	found, err := LoadNewest(fsys, testDir, Options{}, load)
	must(t, err)
	if !found.OK || found.Meta.Seq != 2 || len(found.Kept) != 1 || len(found.Damaged) > 0 {
		t.Errorf("%+v", found)
	}
	must(t, found.SetAside(fsys, testDir))
	unwanted = 2
	if found, err = LoadNewest(fsys, testDir, Options{}, load); err != nil || found.OK || len(found.Damaged) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
	if names, _ := fsys.List(testDir); len(names) != 2 {
		t.Errorf("files %q", names)
	}
}

// A snapshot counts only under its own number.
func TestASnapshotUnderAnotherNameIsDamaged(t *testing.T) {
	fsys := vfstest.NewMem()
	must(t, writeBody(fsys, 1, 10))
	must(t, writeBody(fsys, 2, 10))
	must(t, fsys.Rename(path.Join(testDir, SnapshotName(2)), path.Join(testDir, SnapshotName(3))))
	found, err := loadBody(fsys, 10)
	if err != nil || found.Meta.Seq != 1 || len(found.Damaged) != 1 ||
		!strings.Contains(found.Damaged[0], "header has another sequence than the name") {
		t.Errorf("%+v, %v", found, err)
	}
}

// A store that does not read its snapshot to the end still notices damage in it.
func TestDamageBehindWhatAStoreReadsIsFound(t *testing.T) {
	fsys := vfstest.NewMem()
	const n = 2*chunkBytes + 100
	must(t, writeBody(fsys, 1, n))
	name := path.Join(testDir, SnapshotName(1))
	some := func(_ SnapshotMeta, r io.Reader) error {
		_, err := io.ReadFull(r, make([]byte, 10))
		return err
	}
	if found, err := LoadNewest(fsys, testDir, Options{}, some); err != nil || !found.OK {
		t.Fatalf("%+v, %v", found, err)
	}
	fsys.Flip(name, int64(len(fsys.Content(name)))-50, 0)
	if found, err := LoadNewest(fsys, testDir, Options{}, some); err != nil || found.OK || len(found.Damaged) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// A damaged chunk is named with its place in the file.
func TestDamageOfASnapshotIsNamed(t *testing.T) {
	whole := vfstest.NewMem()
	must(t, writeBody(whole, 1, chunkBytes+10))
	name := path.Join(testDir, SnapshotName(1))
	first := int64(headerBytes + chunkHead)
	second := first + chunkHead + int64(le.Uint32(whole.Content(name)[first:]))
	end := second + chunkHead + int64(le.Uint32(whole.Content(name)[second:]))
	size := int64(len(whole.Content(name)))
	cut := func(at int64) func([]byte) []byte { return func(b []byte) []byte { return b[:at] } }
	set := func(at int64, length uint32) func([]byte) []byte {
		return func(b []byte) []byte { le.PutUint32(b[at:], length); return b }
	}
	for what, c := range map[string]struct {
		change func([]byte) []byte
		off    int64
		want   string
	}{
		"cut in a chunk's head": {cut(second + 7), second, "snapshot is cut short"},
		"cut behind it":         {cut(second + 8), second, "snapshot is cut short"},
		"cut in a chunk":        {cut(second + 17), second, "snapshot is cut short"},
		"cut behind a chunk":    {cut(end), end, "snapshot is cut short"},
		"cut in the end":        {cut(size - 1), end, "snapshot is cut short"},
		"no length":             {set(second, 0), second, "chunk length is impossible"},
		"a length over a chunk": {set(second, maxStored+1), second, "chunk length is impossible"},
		"another length":        {set(second, 9), second, "chunk checksum differs"},
		"a chunk": {func(b []byte) []byte {
			b[second+chunkHead] ^= 1
			return b
		}, second, "chunk checksum differs"},
		"bytes behind": {func(b []byte) []byte {
			return append(b, 0)
		}, end, "body has another length than its end says"},
	} {
		fsys := whole.Kill()
		fsys.Put(name, c.change(fsys.Content(name)))
		_, err := loadSnapshotFile(fsys, name, 1, &Options{RecordVersion: 1}, func(_ SnapshotMeta, r io.Reader) error {
			return discard(r)
		}, false)
		var damaged *CorruptError
		if !errors.As(err, &damaged) || damaged.Offset != c.off || damaged.Reason != c.want || damaged.Seq != 1 {
			t.Errorf("%s: %v, want %q at %d", what, err, c.want, c.off)
		}
	}
	// An end that claims another length, sealed as the format says.
	var file bytes.Buffer
	w := newChunkWriter(&bufferFile{&file}, 5)
	_, err := w.Write([]byte("body"))
	must(t, err)
	w.body++
	must(t, w.end())
	fsys := vfstest.NewMem()
	fsys.Put(name, file.Bytes())
	f, err := fsys.Open(name)
	must(t, err)
	if err := discard(&chunkReader{f: f, name: name, seq: 1, crc: 5}); err == nil || !strings.Contains(err.Error(),
		"another length") {
		t.Errorf("%v", err)
	}
}

type bufferFile struct{ *bytes.Buffer }

func (f *bufferFile) WriteAt(p []byte, _ int64) (int, error) { return f.Write(p) }
func (f *bufferFile) ReadAt([]byte, int64) (int, error)      { return 0, io.EOF }
func (f *bufferFile) Preallocate(int64, int64) error         { return nil }
func (f *bufferFile) Truncate(int64) error                   { return nil }
func (f *bufferFile) Sync() error                            { return nil }
func (f *bufferFile) Size() (int64, error)                   { return int64(f.Len()), nil }
func (f *bufferFile) Close() error                           { return nil }

// A snapshot of another exchange in the directory refuses the start. With AcceptLoss it is set aside.
func TestAForeignSnapshotRefusesTheStart(t *testing.T) {
	disk, opts := usedDisk(t)
	name := path.Join(testDir, SnapshotName(28))
	other := opts
	other.Identity.History = ID{9}
	must(t, disk.Rename(name, name+tempExt))
	foreign := vfstest.NewMem()
	must(t, WriteSnapshot(foreign, testDir, other, SnapshotMeta{Seq: 28, Chain: 1}, writeText("theirs")))
	disk.Put(name, foreign.Content(name))
	var damaged *CorruptError
	if _, err := Open(disk, testDir, opts); !errors.As(err, &damaged) || !damaged.Foreign || damaged.File != name {
		t.Fatalf("%v", err)
	}
	if _, err := LoadNewest(disk, testDir, opts, func(SnapshotMeta, io.Reader) error { return nil }); err != nil {
		t.Fatal(err)
	}
	opts.AcceptLoss = true
	l := mustOpen(t, disk, opts)
	if paths := disk.Paths(); slices.Contains(paths, name) || !slices.Contains(paths, name+unusedExt) {
		t.Errorf("it was not set aside: %q", paths)
	}
	must(t, l.Close())
}

// A damaged snapshot is no reason to refuse a start: its store falls back to the one before.
func TestADamagedSnapshotDoesNotRefuseTheStart(t *testing.T) {
	disk, opts := usedDisk(t)
	disk.Flip(path.Join(testDir, SnapshotName(28)), 20, 0)
	l := mustOpen(t, disk, opts)
	if f := FiguresOf(l); f.SnapshotBytes != 0 || f.SnapshotNs != 0 {
		t.Errorf("size and time of a damaged snapshot: %+v", f)
	}
	must(t, l.Close())
}

// Without a segment the log goes on behind its newest snapshot if the loss is accepted.
func TestALogWithoutASegmentGoesOnBehindItsSnapshot(t *testing.T) {
	disk, opts := usedDisk(t)
	for num := range uint64(4) {
		disk.Lose(path.Join(testDir, segmentName(num+1)))
	}
	newest := disk.Content(path.Join(testDir, SnapshotName(28)))
	var damaged *CorruptError
	if _, err := Open(disk, testDir, opts); !errors.As(err, &damaged) || damaged.To != 28 || damaged.Seq != 1 {
		t.Fatalf("%v", err)
	}
	opts.Known = &Known{Position: Position{Seq: 30, Chain: 1}}
	if _, err := Open(disk, testDir, opts); !errors.As(err, &damaged) || damaged.To != 30 || damaged.Seq != 1 {
		t.Fatalf("%v", err)
	}
	var lost Loss
	opts.AcceptLoss, opts.Lost = true, func(l Loss) error { lost = l; return nil }
	l := mustOpen(t, disk, opts)
	if l.LastSeq() != 28 || l.Position().Chain != le.Uint64(newest[96:]) ||
		lost.Seq != 28 || lost.To != 30 || lost.Damage == nil {
		t.Errorf("the log goes on behind %+v, loss %+v", l.Position(), lost)
	}
	appendN(t, l, 2)
	must(t, l.Close())
	opts.Known = nil
	checkContent(t, disk, opts, 29, 30)
	found, err := LoadNewest(disk, testDir, opts, func(_ SnapshotMeta, r io.Reader) error { return discard(r) })
	if err != nil || found.Meta.Seq != 28 {
		t.Errorf("%+v, %v", found, err)
	}
}

// A log knows its newest snapshot, through a start, and also when an older one is written later.
func TestTheNewestSnapshotOfALog(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, Options{})
	appendN(t, l, 9)
	must(t, l.Sync())
	for _, c := range []struct{ seq, want uint64 }{{0, 0}, {5, 5}, {8, 8}, {6, 8}} {
		if c.seq > 0 {
			must(t, l.WriteSnapshot(SnapshotMeta{Seq: c.seq}, writeText("x")))
		}
		if n := NewestSnapshot(l); n != c.want {
			t.Errorf("after %d the newest is %d, want %d", c.seq, n, c.want)
		}
	}
	must(t, l.Close())
	l = mustOpen(t, fsys, Options{})
	if n := NewestSnapshot(l); n != 8 {
		t.Errorf("after a start the newest is %d", n)
	}
	must(t, l.Close())
}

// The names of a snapshot and of the segments are made durable by one sync: when it fails, the log stops.
func TestASnapshotWhoseNameIsNotDurableStopsTheLog(t *testing.T) {
	fsys, failed := vfstest.NewMem(), 0
	l := mustOpen(t, fsys, Options{Failed: func() { failed++ }})
	appendN(t, l, 2)
	must(t, l.Sync())
	write := func() error { return l.WriteSnapshot(SnapshotMeta{Seq: 2}, writeText("x")) }
	fsys.FailNext(vfstest.OpSync, vfstest.Fault{Err: syscall.EIO})
	if err := write(); !errors.Is(err, syscall.EIO) || l.Stopped() != nil || NewestSnapshot(l) != 0 {
		t.Errorf("its file is not durable: %v, the log: %v", err, l.Stopped())
	}
	fsys.FailNext(vfstest.OpSyncDir, vfstest.Fault{Err: syscall.EIO})
	if err := write(); !errors.Is(err, ErrStopped) || !errors.Is(l.Stopped(), syscall.EIO) || failed != 1 {
		t.Errorf("its name is not durable: %v, the log: %v, Failed ran %d times", err, l.Stopped(), failed)
	}
	if f := FiguresOf(l); f.SnapshotFailures != 1 || total(f.Snapshots) != 0 {
		t.Errorf("%+v", f)
	}
	must(t, l.Close())
}

// Of three snapshots, which a power cut may leave, two are kept. What only Check finds out about another one: it
// belongs to another history.
func TestAThirdSnapshot(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, Options{})
	appendN(t, l, 3)
	must(t, l.Sync())
	oldest := ""
	for seq := uint64(1); seq <= 3; seq++ {
		must(t, l.WriteSnapshot(SnapshotMeta{Seq: seq}, writeText("x")))
		if seq == 1 {
			oldest = string(fsys.Content(path.Join(testDir, SnapshotName(1))))
		}
	}
	if f := FiguresOf(l); f.Snapshots.SumNs > uint64(time.Hour) || f.Syncs.SumNs > uint64(time.Hour) {
		t.Errorf("%+v", f)
	}
	must(t, l.Close())
	fsys.Put(path.Join(testDir, SnapshotName(1)), []byte(oldest))
	load := func(_ SnapshotMeta, r io.Reader) error { return discard(r) }
	found, err := LoadNewest(fsys, testDir, Options{}, load)
	if err != nil || len(found.Kept) != 2 || found.Kept[0].Seq != 3 || found.Kept[1].Seq != 2 {
		t.Errorf("%+v, %v", found, err)
	}
	must(t, WriteSnapshot(fsys, testDir, Options{}, SnapshotMeta{Seq: 3, Chain: 77}, writeText("x")))
	if got := onlyDamaged(t, checked(t, fsys, Options{}), SnapshotName(3)); !got.Foreign || got.Seq != 3 {
		t.Errorf("%v", got)
	}
	if found, err = LoadNewest(fsys, testDir, Options{}, load); err != nil || len(found.bad) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	must(t, found.SetAside(fsys, testDir))
	for seed := range uint64(10) {
		if _, err := fsys.Crash(seed).Open(path.Join(testDir, SnapshotName(3)+damagedExt)); err != nil {
			t.Errorf("it is not durable that the snapshot was set aside: %v", err)
		}
	}
}

// A newest snapshot that cannot be read has no size and no time in the figures, and the start goes on.
func TestTheFiguresOfASnapshotThatCannotBeRead(t *testing.T) {
	disk, opts := usedDisk(t)
	without := 0
	for n := 1; ; n++ {
		b := &brittle{FS: disk.Kill(), left: n}
		l, err := Open(b, testDir, opts)
		if b.failed == "" {
			must(t, l.Close())
			break
		}
		if err != nil {
			continue
		}
		f := FiguresOf(l)
		unread := strings.HasSuffix(b.failed, SnapshotName(28)) && !strings.HasPrefix(b.failed, "close")
		if (f.SnapshotBytes == 0) != unread || (f.SnapshotNs == 0) != unread {
			t.Errorf("%q failed: %+v", b.failed, f)
		}
		if unread {
			without++
		}
		b.left = 0
		must(t, l.Close())
	}
	if without != 3 {
		t.Errorf("%d calls of the figures failed", without)
	}
}
