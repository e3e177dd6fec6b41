package wal

import (
	"io"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// CheckOpen reads what was written, and only that: nothing is damaged while records are
// appended and segments dropped, and a record that was written and has changed since is, also at the end
// of the log, where a start would take it for a torn write.
func TestCheckOfAnOpenLog(t *testing.T) {
	discard := func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, small())
	defer l.Close()
	check := func() (damaged []Checked) {
		files, err := CheckOpen(l, fsys, discard)
		must(t, err)
		for _, f := range files {
			if f.Err != nil {
				damaged = append(damaged, f)
			}
		}
		return damaged
	}
	for range 20 {
		appendN(t, l, 7)
		if bad := check(); len(bad) > 0 {
			t.Fatalf("%d records: %v", l.LastSeq(), bad)
		}
	}
	must(t, l.Sync())
	must(t, l.DropBefore(l.LastSeq()/2))
	if bad := check(); len(bad) > 0 {
		t.Fatal(bad)
	}
	for i, seg := range l.Segments() {
		rd, err := l.Reader(0)
		must(t, err)
		last := Record{}
		for rec, err := rd.Next(); err == nil; rec, err = rd.Next() {
			if rec.File == seg.Path {
				last = rec
			}
		}
		must(t, rd.Close())
		if last.Seq == 0 {
			continue // a segment without a record yet
		}
		f, err := fsys.OpenRW(seg.Path)
		must(t, err)
		var b [1]byte
		_, err = f.ReadAt(b[:], last.Offset+4)
		must(t, err)
		for _, change := range []int{1, 0} {
			b[0] ^= 8
			_, err = f.WriteAt(b[:], last.Offset+4)
			must(t, err)
			if bad := check(); len(bad) != change || change == 1 && bad[0].File != seg.Path {
				t.Fatalf("segment %d, %d changed bytes: %v", i, change, bad)
			}
		}
		must(t, f.Close())
	}
}
