package wal

import (
	"io"
	"path"
	"testing"

	"tickhive/internal/vfs"
)

// put writes a copy's files to another disk.
func put(t *testing.T, files []CopyFile) *vfs.Mem {
	t.Helper()
	disk := vfs.NewMem()
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
		l := mustOpen(t, vfs.NewMem(), small())
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
