package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

func bodyOf(seq uint64, n int) []byte {
	rnd := rand.New(rand.NewPCG(seq, 7))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	return b
}

func writeBody(fsys vfs.FS, seq uint64, n int) error {
	meta := SnapshotMeta{Seq: seq, Chain: seq}
	return WriteSnapshot(fsys, testDir, Options{}, meta, func(w io.Writer) error {
		body := bodyOf(seq, n)
		for len(body) > 0 { // in uneven pieces
			k := min(len(body), 7000)
			if _, err := w.Write(body[:k]); err != nil {
				return err
			}
			body = body[k:]
		}
		return nil
	})
}

// loadBody loads the newest snapshot and checks that it is one that was written.
func loadBody(fsys vfs.FS, n int) (Loaded, error) {
	return LoadNewest(fsys, testDir, Options{}, func(meta SnapshotMeta, r io.Reader) error {
		got, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, bodyOf(meta.Seq, n)) {
			return fmt.Errorf("silently wrong: %+v", meta)
		}
		return nil
	})
}

func TestTwoNewestSnapshotsAreKept(t *testing.T) {
	for _, n := range []int{0, 1, 1000, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3*chunkBytes + 5} {
		fsys := vfstest.NewMem()
		if found, err := loadBody(fsys, n); err != nil || found.OK {
			t.Fatalf("nothing there: %+v, %v", found, err)
		}
		for seq := uint64(10); seq < 50; seq += 10 {
			must(t, writeBody(fsys, seq, n))
		}
		found, err := loadBody(fsys, n)
		if err != nil || found.Meta.Seq != 40 || len(found.Kept) != 2 || found.Kept[1].Seq != 30 ||
			found.Damaged != nil {
			t.Fatalf("%d bytes: %+v, %v", n, found, err)
		}
		names, _ := fsys.List(testDir)
		if len(names) != SnapshotsKept {
			t.Fatalf("kept %v", names)
		}
	}
}

func TestDamagedSnapshotFallsBackToTheOneBefore(t *testing.T) {
	fsys := vfstest.NewMem()
	const n = 300
	must(t, writeBody(fsys, 1, n))
	must(t, writeBody(fsys, 2, n))
	newest, older := path.Join(testDir, SnapshotName(2)), path.Join(testDir, SnapshotName(1))
	size := len(fsys.Content(newest))
	flips, cuts := 0, 0
	check := func(damaged *vfstest.Mem, what string) {
		found, err := loadBody(damaged, n)
		if err != nil || !found.OK || found.Meta.Seq != 1 || len(found.Damaged) != 1 ||
			strings.Contains(found.Damaged[0], "silently") {
			t.Fatalf("%s: %+v, %v", what, found, err)
		}
	}
	for off := range size {
		for bit := range uint(8) {
			damaged := fsys.Kill()
			damaged.Flip(newest, int64(off), bit)
			check(damaged, fmt.Sprintf("byte %d bit %d", off, bit))
			flips++
		}
		damaged := fsys.Kill()
		damaged.Cut(newest, int64(off))
		check(damaged, fmt.Sprintf("cut at %d", off))
		cuts++
	}
	both := fsys.Kill()
	both.Flip(newest, 100, 0)
	both.Flip(older, 100, 0)
	if found, err := loadBody(both, n); err != nil || found.OK || len(found.Damaged) != 2 {
		t.Fatalf("both damaged: %+v, %v", found, err)
	}
	t.Logf("%d flips and %d truncations found, each fell back to the snapshot before", flips, cuts)
}

func TestSetAsideSnapshotIsNotTakenForOneOfTheTwo(t *testing.T) {
	fsys := vfstest.NewMem()
	for seq := range uint64(2) {
		must(t, writeBody(fsys, seq+1, 10))
	}
	fsys.Flip(path.Join(testDir, SnapshotName(2)), 70, 3)
	found, err := loadBody(fsys, 10)
	must(t, err)
	must(t, found.SetAside(fsys, testDir))
	must(t, writeBody(fsys, 3, 10))
	found, err = loadBody(fsys, 10)
	if err != nil || len(found.Kept) != 2 || found.Kept[1].Seq != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
}

// A snapshot that cannot be read for once is passed over and stays: its content may be the only sound one left.
func TestASnapshotThatCannotBeReadStays(t *testing.T) {
	fsys := vfstest.NewMem()
	for seq := range uint64(2) {
		must(t, writeBody(fsys, seq+1, 10))
	}
	fsys.Inject(vfstest.Injection{Class: vfstest.ReadError, Path: path.Join(testDir, SnapshotName(2)), Count: 1})
	found, err := loadBody(fsys, 10)
	must(t, err)
	if found.Meta.Seq != 1 || len(found.Damaged) != 1 {
		t.Fatalf("the unreadable snapshot was not passed over: %+v", found)
	}
	must(t, found.SetAside(fsys, testDir))
	if found, err = loadBody(fsys, 10); err != nil || found.Meta.Seq != 2 || len(found.Damaged) != 0 {
		t.Fatalf("%+v, %v", found, err)
	}
}

func TestSnapshotOfAnotherVersionIsRefused(t *testing.T) {
	fsys := vfstest.NewMem()
	must(t, writeBody(fsys, 1, 10))
	later := Options{RecordVersion: 2, Writer: "TickHive 2"}
	must(t, WriteSnapshot(fsys, testDir, later, SnapshotMeta{Seq: 2, Chain: 2}, func(io.Writer) error { return nil }))
	var version *VersionError
	if _, err := loadBody(fsys, 10); !errors.As(err, &version) || version.Got != 2 || version.Writer != "TickHive 2" {
		t.Fatalf("%v", err)
	}
}

func TestSnapshotsOfOtherFormatsAreRefusedByName(t *testing.T) {
	for format, age := range map[uint32]string{
		SnapshotVersion - 1: "snapshot format version 4, written by OtherHive 9, an older program",
		SnapshotVersion + 1: "snapshot format version 6, written by OtherHive 9, a newer program",
	} {
		fsys := vfstest.NewMem()
		h := header{version: format, record: 1, segment: 1, first: 1, writer: "OtherHive 9"}
		fsys.Put(path.Join(testDir, SnapshotName(1)), h.encode(snapshotMagic))
		var version *VersionError
		if _, err := loadBody(fsys, 10); !errors.As(err, &version) || !strings.Contains(err.Error(), age) {
			t.Errorf("format %d: %v", format, err)
		}
	}
}

func TestSnapshotIsOldOrNewAfterACutAtEveryOperation(t *testing.T) {
	const n = 2000
	for _, fail := range []bool{false, true} {
		runs := 0
		for op := 1; ; op++ {
			fsys := vfstest.NewMem()
			must(t, writeBody(fsys, 1, n))
			start := fsys.Operations()
			var after []*vfstest.Mem
			if fail {
				fsys.Before(vfstest.FailNth(start+op, vfstest.ErrInjected))
			} else {
				fsys.After(func(o vfstest.Op) {
					if o.N == start+op {
						for sub := range uint64(8) {
							after = append(after, fsys.Crash(uint64(op)<<8|sub))
						}
					}
				})
			}
			err := writeBody(fsys, 2, n)
			if fsys.Operations() < start+op {
				break
			}
			after = append(after, fsys.Kill(), fsys.Crash(uint64(op)))
			for i, m := range after {
				found, lerr := loadBody(m, n)
				if lerr != nil || !found.OK || len(found.Damaged) > 0 {
					t.Fatalf("operation %d, subset %d: %+v, %v", op, i, found, lerr)
				}
				if last := i == len(after)-1; last && err == nil && found.Meta.Seq != 2 {
					t.Fatalf("operation %d: a snapshot said to be written is gone after a cut", op)
				}
				runs++
			}
		}
		t.Logf("failing operation %v: %d cuts, each left the old or the new snapshot", fail, runs)
	}
}

// The figures of a log count its syncs and snapshots, and a start finds size and time of the newest snapshot.
func TestFiguresOfALog(t *testing.T) {
	fsys := vfstest.NewMem()
	now := clock.NewManual(5_000)
	l := mustOpen(t, fsys, Options{Clock: now})
	before := FiguresOf(l)
	if before.SnapshotNs != 0 || before.SnapshotBytes != 0 {
		t.Errorf("without a snapshot: %+v", before)
	}
	for range 3 {
		appendN(t, l, 1)
		if err := errors.Join(l.Sync(), l.Sync()); err != nil { // the second has nothing to sync
			t.Fatal(err)
		}
	}
	take := func(failed error) error {
		return l.WriteSnapshot(SnapshotMeta{Seq: 3}, func(w io.Writer) error {
			_, err := w.Write(make([]byte, 1000))
			return errors.Join(err, failed)
		})
	}
	if err := take(io.ErrUnexpectedEOF); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
	if f := FiguresOf(l); f.SnapshotFailures != 1 || f.Snapshots != before.Snapshots || f.SnapshotNs != 0 {
		t.Errorf("after a failure: %+v", f)
	}
	now.Set(9_000)
	if err := take(nil); err != nil {
		t.Fatal(err)
	}
	f := FiguresOf(l)
	if n := total(f.Syncs) - total(before.Syncs); n != 3 || total(f.Snapshots) != 1 || f.SnapshotFailures != 1 {
		t.Errorf("%d syncs; %+v", n, f)
	}
	if f.SnapshotNs != 9_000 || f.SnapshotBytes <= headerBytes || f.SnapshotBytes > 500 {
		t.Errorf("the newest snapshot: %+v", f)
	}
	must(t, l.Close())
	now.Set(20_000)
	l = mustOpen(t, fsys, Options{Clock: now})
	defer l.Close()
	if again := FiguresOf(l); again.SnapshotNs != 9_000 || again.SnapshotBytes != f.SnapshotBytes {
		t.Errorf("after a start: %+v, want %+v", again, f)
	}
}

func total(c clock.Counts) (n uint64) {
	for _, b := range c.Buckets {
		n += b
	}
	return n
}
