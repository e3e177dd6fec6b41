package wal

import (
	"errors"
	"fmt"
	"io"
	"path"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// threeSegments returns a closed log of three segments with two records each, and the first record of the second
// segment. Texts of equal length give equal sizes.
func threeSegments(t *testing.T, text string, begin int) *vfstest.Mem {
	t.Helper()
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, Options{PreallocBytes: -1})
	for i := range 3 {
		n := 2
		if i == 0 {
			n = begin
		}
		for k := range n {
			_, err := l.Append([][]byte{fmt.Appendf(nil, "%s %d %d", text, i, k)})
			must(t, err)
		}
		if i < 2 {
			must(t, l.Rotate())
		}
	}
	must(t, l.Close())
	return fsys
}

// What does not fit together between two segments is named, with the file to blame.
func TestAReaderNamesTheDamageBetweenSegments(t *testing.T) {
	whole := threeSegments(t, "ours", 2)
	first, second := path.Join(testDir, segmentName(1)), path.Join(testDir, segmentName(2))
	size := int64(FrameBytes(len("ours 0 0")))
	swap := func(with *vfstest.Mem) func(*vfstest.Mem) {
		return func(fsys *vfstest.Mem) { fsys.Put(second, with.Content(second)) }
	}
	for what, c := range map[string]struct {
		change func(fsys *vfstest.Mem)
		want   CorruptError
	}{
		"a missing segment": {func(fsys *vfstest.Mem) { fsys.Lose(second) }, CorruptError{
			File: second, Seq: 3, Reason: "the segment is missing",
		}},
		"an unreadable header": {func(fsys *vfstest.Mem) { fsys.Flip(second, 20, 0) }, CorruptError{
			File: second, Seq: 3, Reason: "header checksum differs",
		}},
		"a missing record": {func(fsys *vfstest.Mem) { fsys.Cut(first, firstFrame+size) }, CorruptError{
			File: first, Offset: firstFrame + size, Seq: 2,
			Reason: "the segment ends here, and 000002.wal begins at record 3",
		}},
		"another history": {swap(threeSegments(t, "them", 2)), CorruptError{
			File: second, Seq: 3, Reason: "the segment begins at record 3 of another history",
		}},
		"a segment that begins before": {swap(threeSegments(t, "ours", 1)), CorruptError{
			File: second, Seq: 3, Reason: "the segment begins at record 2 of another history",
		}},
		"a segment of another number": {func(fsys *vfstest.Mem) {
			fsys.Put(second, fsys.Content(path.Join(testDir, segmentName(3))))
		}, CorruptError{File: second, Seq: 3, Reason: "header is that of segment 3"}},
		"more bytes in the header's sector": {func(fsys *vfstest.Mem) {
			fsys.Flip(second, headerBytes, 0)
		}, CorruptError{
			File: second, Seq: 3, Reason: "the rest of the header's sector is not zero",
		}},
		"the last byte of that": {func(fsys *vfstest.Mem) { fsys.Flip(second, vfs.SectorBytes-1, 0) }, CorruptError{
			File: second, Seq: 3, Reason: "the rest of the header's sector is not zero",
		}},
	} {
		fsys := whole.Kill()
		c.change(fsys)
		_, _, _, err := readAll(fsys, Options{})
		var damaged *CorruptError
		if !errors.As(err, &damaged) || damaged.To < 6 {
			t.Fatalf("%s: %v", what, err)
		}
		c.want.To = damaged.To
		if *damaged != c.want {
			t.Errorf("%s: %+v, want %+v", what, damaged, c.want)
		}
	}
}

// A reader of a log without a file is at its end.
func TestAReaderOfNoLog(t *testing.T) {
	r, err := OpenReader(vfstest.NewMem(), testDir, Options{}, 0)
	must(t, err)
	defer r.Close()
	if _, err := r.Next(); !errors.Is(err, io.EOF) || r.NextSeq() != 1 || r.Position().Seq != 0 {
		t.Errorf("%v, the next record is %d", err, r.NextSeq())
	}
}

// The log is closed, and its zeros cut off, while somebody else reads it.
func TestAReaderOfALogThatIsClosedMeanwhile(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, Options{PreallocBytes: 2 * readBuffer})
	appendN(t, l, 3)
	must(t, l.Sync())
	r, err := OpenReader(fsys, testDir, Options{}, 2)
	must(t, err)
	if rec, err := r.Next(); err != nil || rec.Seq != 2 {
		t.Fatalf("record %d, %v", rec.Seq, err)
	}
	must(t, l.Close())
	if rec, err := r.Next(); err != nil || rec.Seq != 3 || r.NextSeq() != 4 {
		t.Fatalf("record %d, %v", rec.Seq, err)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) || r.TornTail() != 0 {
		t.Errorf("%v, %d bytes are torn", err, r.TornTail())
	}
	must(t, r.Close())
	if _, err := r.Next(); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed reader: %v", err)
	}
	must(t, r.Close())
}

// Garbage far behind zeros is found, whatever the size of the file.
func TestDataBehindTheEndOfALogIsFound(t *testing.T) {
	for _, off := range []int64{
		firstFrame + frameHead, firstFrame + 31, readBuffer, readBuffer + firstFrame, 3*readBuffer + 77,
	} {
		fsys := vfstest.NewMem()
		must(t, mustOpen(t, fsys, Options{}).Close())
		name := path.Join(testDir, segmentName(1))
		fsys.Put(name, append(fsys.Content(name)[:firstFrame:firstFrame], make([]byte, off-firstFrame)...))
		if _, _, torn, err := readAll(fsys, Options{}); err != nil || torn != 0 {
			t.Errorf("zeros: %d bytes are torn, %v", torn, err)
		}
		fsys.Put(name, append(fsys.Content(name), 7, 0))
		if _, _, torn, err := readAll(fsys, Options{}); err != nil || torn != off+1-firstFrame {
			t.Errorf("a byte at %d: %d bytes are torn, %v", off, torn, err)
		}
	}
}

// Only a reader at its end goes on, and only as long as its segment is there.
func TestAReaderDoesNotGoOnBehindAnError(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, small())
	appendN(t, l, 2)
	atEnd, err := l.Reader(0)
	must(t, err)
	_, err = readOn(atEnd)
	must(t, err)
	damaged, err := l.Reader(0)
	must(t, err)
	fsys.Flip(l.active.path, firstFrame+frameHead, 0)
	_, err = readOn(damaged)
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) {
		t.Fatal(err)
	}
	fsys.Flip(l.active.path, firstFrame+frameHead, 0)
	if err := damaged.Extend(l, 2); !errors.As(err, &corrupt) {
		t.Errorf("behind damage: %v", err)
	}
	for l.active.num < 3 {
		appendN(t, l, 1)
	}
	must(t, l.DropBefore(l.LastSeq()))
	if err := atEnd.Extend(l, l.LastSeq()); !errors.Is(err, ErrTruncated) {
		t.Errorf("its segment is gone: %v", err)
	}
	must(t, errors.Join(atEnd.Close(), damaged.Close(), l.Close()))
}

// A reader that begins behind a damaged segment does not need it: a start that has a snapshot of its records does not
// read it either.
func TestAReaderBeginsBehindADamagedSegment(t *testing.T) {
	second := path.Join(testDir, segmentName(2))
	for what, damage := range map[string]func(fsys *vfstest.Mem){
		"the header":                      func(fsys *vfstest.Mem) { fsys.Flip(second, 20, 0) },
		"the rest of the header's sector": func(fsys *vfstest.Mem) { fsys.Flip(second, headerBytes, 0) },
		"the first segment has it as well": func(fsys *vfstest.Mem) {
			fsys.Flip(path.Join(testDir, segmentName(1)), 20,
				0)
		},
	} {
		fsys := threeSegments(t, "ours", 2)
		damage(fsys)
		r, err := OpenReader(fsys, testDir, Options{}, 5)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for seq := uint64(5); seq <= 6; seq++ {
			if rec, err := r.Next(); err != nil || rec.Seq != seq {
				t.Errorf("%s: record %d: %+v, %v", what, seq, rec, err)
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: behind the end: %v", what, err)
		}
		must(t, r.Close())
	}
}
