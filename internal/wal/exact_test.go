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

// backwards is a file system that lists its files in no order.
type backwards struct{ vfs.FS }

func (b backwards) List(dir string) ([]string, error) {
	names, err := b.FS.List(dir)
	slices.Reverse(names)
	return names, err
}

// Segments and snapshots have an order, whichever order a directory has.
func TestTheOrderOfFiles(t *testing.T) {
	disk, opts := vfstest.NewMem(), small()
	opts.Identity = Identity{History: ID{7}, Directory: ID{8}}
	l := mustOpen(t, disk, opts)
	for range 3 {
		appendN(t, l, 1)
		must(t, l.Sync())
		must(t, l.WriteSnapshot(SnapshotMeta{Seq: l.LastSeq()}, writeText("x")))
		must(t, l.Rotate())
	}
	must(t, l.Close())
	must(t, opts.validateFor(testDir))
	segs, err := loadSegments(backwards{disk}, testDir, &opts)
	must(t, err)
	for i, seg := range segs {
		if seg.num != uint64(i+1) {
			t.Errorf("segment %d is at place %d", seg.num, i)
		}
	}
	for _, fsys := range []vfs.FS{disk, backwards{disk}} {
		if seqs, err := snapshotSeqs(fsys, testDir); err != nil || !slices.Equal(seqs, []uint64{3, 2}) {
			t.Errorf("snapshots %v, %v", seqs, err)
		}
	}
	// The chain after each record, also with a last segment whose header cannot be read.
	var chains []uint64
	r, err := newReader(disk, segs, 0, 1<<40, 0)
	must(t, err)
	for {
		if _, err := r.Next(); err != nil {
			break
		}
		chains = append(chains, r.Position().Chain)
	}
	must(t, r.Close())
	segs[len(segs)-1].reason, segs[len(segs)-1].first = "torn", 0
	for i, want := range chains {
		if got, err := chainAt(disk, segs, uint64(i+1)); err != nil || got != want {
			t.Errorf("after record %d: %d, %v, want %d", i+1, got, err, want)
		}
	}
	if len(chains) != 3 {
		t.Errorf("%d records", len(chains))
	}
	meta, bare := SnapshotMeta{Seq: 2, Chain: 77}, Options{RecordVersion: 1, Name: "log"}
	must(t, meta.place(disk, testDir, &bare))
	if meta.Chain != 77 || bare.Identity != opts.Identity {
		t.Errorf("%+v, %+v", meta, bare.Identity)
	}
	meta.Chain = 0
	must(t, meta.place(disk, testDir, &bare))
	if meta.Chain != chains[1] {
		t.Errorf("chain %d, want %d", meta.Chain, chains[1])
	}
}

// A reader of a segment without a header names it; what is behind it counts as torn, from its first byte.
func TestAReaderOfASegmentWithoutAHeader(t *testing.T) {
	disk := vfstest.NewMem()
	opts := small()
	l := mustOpen(t, disk, opts)
	appendN(t, l, 2)
	must(t, l.Rotate())
	appendN(t, l, 1)
	must(t, l.Close())
	must(t, opts.validateFor(testDir))
	second := path.Join(testDir, segmentName(2))
	torn := disk.Kill()
	torn.Flip(second, 3, 0)
	segs, err := loadSegments(torn, testDir, &opts)
	must(t, err)
	r, err := newReader(torn, segs, 0, 1<<40, 0)
	must(t, err)
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, io.EOF) || r.TornTail() != int64(len(strings.TrimRight(string(torn.Content(second)), "\x00"))) {
		t.Errorf("%v, %d bytes are torn", err, r.TornTail())
	}
	must(t, r.Close())
	if err := r.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	first := disk.Kill()
	first.Flip(path.Join(testDir, segmentName(1)), 3, 0)
	_, _, _, err = readAll(first, small())
	var damage *CorruptError
	if !errors.As(err, &damage) || damage.Reason != "header has no magic" || damage.Offset != 0 || damage.Seq != 0 {
		t.Errorf("%+v, %v", damage, err)
	}
	// A segment that begins with a record that was there before is one of another history.
	segs, err = loadSegments(disk, testDir, &opts)
	must(t, err)
	segs[1].first--
	r, err = newReader(disk, segs, 0, 1<<40, 3)
	must(t, err)
	for err == nil {
		_, err = r.Next()
	}
	if !errors.As(err, &damage) || damage.Reason != "the segment begins at record 2 of another history" {
		t.Errorf("%v", err)
	}
	must(t, r.Close())
}

// A record that is larger than the buffer is read; so is a part of a file, and of a snapshot.
func TestReadsOfAnySize(t *testing.T) {
	disk := vfstest.NewMem()
	l := mustOpen(t, disk, Options{PreallocBytes: -1})
	sizes := []int{1, readBuffer - 300, readBuffer + 1, 5, 3 * readBuffer, 7}
	for i, n := range sizes {
		_, err := l.Append([][]byte{append(make([]byte, n-1), byte(i+1))})
		must(t, err)
	}
	must(t, l.Close())
	_, payloads, _, err := readAll(disk, Options{})
	must(t, err)
	for i, p := range payloads {
		if len(p) != sizes[i] || p[len(p)-1] != byte(i+1) {
			t.Errorf("record %d has %d bytes, the last is %d", i+1, len(p), p[len(p)-1])
		}
	}
	content := []byte(strings.Repeat("0123456789", 40_000))
	disk.Put("f", content)
	var writes [][2]int64
	disk.After(func(op vfstest.Op) {
		if op.Kind == vfstest.OpWrite {
			writes = append(writes, [2]int64{op.Off, op.Len})
		}
	})
	f, err := disk.OpenRW("f")
	must(t, err)
	must(t, rewrite(f, 1000, 300_000))
	must(t, rewrite(f, 300_000, 300_000))
	if want := [][2]int64{{1000, readBuffer}, {1000 + readBuffer, 299_000 - readBuffer}}; !slices.Equal(writes, want) {
		t.Errorf("writes %v, want %v", writes, want)
	}
	if string(disk.Content("f")) != string(content) {
		t.Error("another content")
	}
	must(t, f.Close())
	for reason, body := range map[string][]byte{
		"snapshot is cut short": nil, "chunk length is impossible": make([]byte, chunkHead),
	} {
		disk.Put("s", body)
		f, err := disk.Open("s")
		must(t, err)
		_, err = (&chunkReader{f: f, name: "s", seq: 1}).Read(make([]byte, 10))
		var damage *CorruptError
		if !errors.As(err, &damage) || damage.Reason != reason {
			t.Errorf("%v, want %s", err, reason)
		}
		if _, err = (&chunkReader{f: f, name: "s", seq: 1, off: 500}).Read(make([]byte, 10)); !errors.As(err,
			&damage) ||
			damage.Reason != "snapshot is cut short" {
			t.Errorf("behind the end of the file: %v", err)
		}
		must(t, f.Close())
	}
	w := &chunkWriter{f: nil, buf: make([]byte, chunkHead)}
	if n, err := w.Write(make([]byte, 100)); n != 100 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	// A snapshot that is shorter than its header is damaged, and has no figures.
	disk = vfstest.NewMem()
	l = mustOpen(t, disk, small())
	appendN(t, l, 1)
	must(t, l.WriteSnapshot(SnapshotMeta{Seq: 1}, writeText("x")))
	must(t, l.Close())
	name := path.Join(testDir, SnapshotName(1))
	later := header{version: SnapshotVersion + 1, record: 1, segment: 1, first: 1, createdNs: 5}
	disk.Put("later", later.encode(snapshotMagic)[:100])
	var none figures
	none.noteSnapshot(disk, "later")
	if none.snapshotBytes.Load() != 0 || none.snapshotNs.Load() != 0 {
		t.Errorf("%d bytes at %d", none.snapshotBytes.Load(), none.snapshotNs.Load())
	}
	disk.Cut(name, 100)
	loaded, err := LoadNewest(disk, testDir, small(), func(SnapshotMeta, io.Reader) error { return nil })
	if err != nil || loaded.OK || len(loaded.Damaged) != 1 ||
		!strings.Contains(loaded.Damaged[0], "header is cut short") {
		t.Errorf("%+v, %v", loaded, err)
	}
	disk.Lose(name) // without a receiver of the news
	l = mustOpen(t, disk, small())
	must(t, l.Close())
}
