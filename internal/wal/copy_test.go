package wal

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"testing"

	"tickhive/internal/vfs/vfstest"
)

// put writes a copy's files to another disk.
func put(t *testing.T, files []CopyFile) *vfstest.Mem {
	t.Helper()
	disk := vfstest.NewMem()
	must(t, disk.MkdirAll(testDir))
	for _, f := range files {
		r, err := f.Open()
		must(t, err)
		b, err := io.ReadAll(r)
		must(t, err)
		must(t, r.Close())
		if int64(len(b)) != f.Size {
			t.Errorf("%s has %d bytes, %d were announced", f.Name, len(b), f.Size)
		}
		disk.Put(path.Join(testDir, f.Name), b)
	}
	return disk
}

// A copy is a closed log that ends where Mark was called, whatever the log does before and afterwards.
func TestACopyIsAClosedLog(t *testing.T) {
	for _, records := range []int{0, 1, 3, 40, 200} {
		l := mustOpen(t, vfstest.NewMem(), small())
		snapshot := func() {
			t.Helper()
			must(t, l.Sync())
			must(t, l.WriteSnapshot(SnapshotMeta{Seq: l.LastSeq()}, func(io.Writer) error { return nil }))
		}
		grow := func(n int) {
			t.Helper()
			for range n {
				appendN(t, l, 1)
			}
		}
		grow(records)
		if records > 0 {
			snapshot()
		}
		c, err := BeginCopy(l)
		must(t, err)
		grow(records)
		c.Mark()
		last := l.LastSeq()
		grow(100)
		snapshot()
		snapshot()
		must(t, l.DropBefore(l.LastSeq()))
		must(t, c.Sync())
		files, at, err := c.Files()
		must(t, err)
		disk := put(t, files)
		must(t, c.Close())
		if at.Seq != last {
			t.Errorf("%d records: the copy ends at %d, want %d", records, at.Seq, last)
		}
		opts := small()
		opts.Known = &Known{Position: at, Last: true}
		checked, err := Check(disk, testDir, opts, func(r io.Reader) error { return nil })
		must(t, err)
		snapshots := 0
		for _, f := range checked {
			if f.Err != nil || f.Torn > 0 {
				t.Errorf("%d records: %+v", records, f)
			}
			if path.Ext(f.File) == SnapshotExt {
				snapshots++
			}
		}
		if want := min(records, 1); snapshots != want {
			t.Errorf("%d records: %d snapshots in the copy, want %d", records, snapshots, want)
		}
		if again := mustOpen(t, disk, opts); again.LastSeq() != last || again.Recovered().Lost > 0 ||
			again.Recovered().TornTail > 0 {
			t.Errorf("%d records: the copy opens with %+v", records, again.Recovered())
		}
		checkContent(t, disk, small(), 1, last)

		// After the copy the log drops what it kept for it.
		must(t, l.DropBefore(l.LastSeq()))
		if n := len(l.Segments()); n != 1 {
			t.Errorf("%d records: %d segments are left", records, n)
		}
		must(t, l.Close())
	}
}

// notThere is the error of a file that is gone.
var notThere = &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}

// A log that replaces a snapshot while it is listed is listed again, three times at most.
func TestACopyListsSnapshotsAgain(t *testing.T) {
	disk, opts := usedDisk(t)
	fsys := &vanishing{FS: disk, err: notThere}
	l := mustOpen(t, fsys, opts)
	defer l.Close()
	for _, c := range []struct{ gone, opens int }{{0, 2}, {1, 3}, {2, 4}, {3, 3}, {4, 3}} {
		fsys.left, fsys.opens = c.gone, 0
		copied, err := BeginCopy(l)
		if fsys.opens != c.opens || (err == nil) != (c.gone < 3) || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("gone %d times: %d opens, %v", c.gone, fsys.opens, err)
		}
		if err != nil {
			continue
		}
		copied.Mark()
		files, _, err := copied.Files()
		must(t, err)
		var names []string
		for _, f := range files[4:] {
			names = append(names, f.Name)
		}
		if !slices.Equal(names, []string{SnapshotName(28), SnapshotName(26)}) {
			t.Errorf("gone %d times: snapshots %q", c.gone, names)
		}
		must(t, copied.Close())
		if fsys.open != 0 {
			t.Errorf("gone %d times: %d files are open", c.gone, fsys.open)
		}
	}
	fsys.left, fsys.opens, fsys.err = 1, 0, io.ErrUnexpectedEOF
	if _, err := BeginCopy(l); !errors.Is(err, io.ErrUnexpectedEOF) || fsys.opens != 1 {
		t.Errorf("another error: %v, %d opens", err, fsys.opens)
	}
}

// The second of two snapshots vanishes: what was opened before is closed and not listed twice.
func TestACopyForgetsWhatItListedBefore(t *testing.T) {
	disk, opts := usedDisk(t)
	b := &brittle{FS: disk}
	l := mustOpen(t, b, opts)
	defer l.Close()
	before := b.open
	b.left, b.err = 4, notThere // list, open, size, open
	c, err := BeginCopy(l)
	must(t, err)
	if b.failed != "open "+SnapshotName(26) {
		t.Fatalf("%q failed", b.failed)
	}
	c.Mark()
	files, _, err := c.Files()
	must(t, err)
	if len(files) != 6 || b.open != before+2 {
		t.Errorf("%d files in the copy, %d open", len(files), b.open-before)
	}
	b.left, b.err, b.failed = 1, nil, ""
	if err := c.Close(); !errors.Is(err, errCall) || b.open != before {
		t.Errorf("closing fails: %v, %d files are open", err, b.open-before)
	}
	// The file cannot be closed.
	b.left, b.failed = 4, ""
	b.err = notThere
	b.also = 5
	if _, err := BeginCopy(l); !errors.Is(err, errCall) || b.open != before {
		t.Errorf("closing before the second try fails: %v, %d files are open", err, b.open-before)
	}
}

// A copy leaves out a segment that was begun behind its place, and records that were written behind it; its slots say
// that it was closed there.
func TestTheEndOfACopy(t *testing.T) {
	disk, opts := usedDisk(t)
	l := mustOpen(t, disk, opts)
	defer l.Close()
	must(t, opts.validateFor(testDir))
	last := l.LastSeq()
	for _, rotate := range []bool{false, true} {
		if rotate {
			must(t, l.Rotate())
		}
		for _, behind := range []uint64{0, 1} {
			c, err := BeginCopy(l)
			must(t, err)
			c.Mark()
			c.last -= behind // as if they had been written between the two looks of Mark
			must(t, c.Sync())
			if l.DurableSeq() != last {
				t.Errorf("durable is %d of %d", l.DurableSeq(), last)
			}
			files, at, err := c.Files()
			must(t, err)
			copied := put(t, files)
			must(t, c.Close())
			if at.Seq != last-behind || len(files) != 6 {
				t.Errorf("the copy ends at %d, want %d; %d files", at.Seq, last-behind, len(files))
			}
			checkContent(t, copied, opts, 1, at.Seq)
			segs, err := loadSegments(copied, testDir, &opts)
			must(t, err)
			for i, seg := range segs {
				end, flags := at.Seq, uint32(slotClosed)
				if i+1 < len(segs) {
					end, flags = segs[i+1].first-1, slotFollowed|slotSealed
				}
				if s := seg.slots; !s.valid || s.synced != end || s.written != end || s.flags != flags {
					t.Errorf("the slot of segment %d: %+v, want an end at %d, flags %d", seg.num, s, end, flags)
				}
			}
			again := mustOpen(t, copied, opts)
			appendN(t, again, 2)
			killed := copied.Kill()
			killed.Cut(again.active.path, again.off.Load()-1)
			var damaged *CorruptError
			if _, err := Open(killed, testDir, opts); !errors.As(err, &damaged) || damaged.Seq != again.LastSeq() {
				t.Errorf("a record that was written behind the copy is missing: %v", err)
			}
			must(t, again.Close())
		}
		appendN(t, l, 1)
		last = l.LastSeq()
	}
}
