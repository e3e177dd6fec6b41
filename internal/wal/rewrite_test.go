package wal

import (
	"errors"
	"io"
	"path"
	"testing"

	"tickhive/internal/vfs/vfstest"
)

// A log that is written once more has the same sequences, segments and snapshots with the other contents, and goes on.
func TestARewrittenLogIsTheSameLog(t *testing.T) {
	disk := vfstest.NewMem()
	l := mustOpen(t, disk, small())
	for range 60 {
		appendN(t, l, 2)
		if l.LastSeq() == 40 || l.LastSeq() == 90 {
			must(t, l.Sync())
			must(t, l.WriteSnapshot(SnapshotMeta{Seq: l.LastSeq(), Reflects: 7}, func(w io.Writer) error {
				_, err := w.Write([]byte("body"))
				return err
			}))
		}
	}
	must(t, l.DropBefore(41))
	must(t, l.Rotate()) // an empty segment at the end
	segments := l.Segments()
	must(t, l.Close())
	if segments[0].FirstSeq == 1 || len(segments) < 5 {
		t.Fatalf("the log is too simple: %+v", segments)
	}

	longer := func(b []byte) ([]byte, error) { return append([]byte("new "), b...), nil }
	next := vfstest.NewMem()
	at, err := Rewrite(disk, next, testDir, small(), longer, longer)
	must(t, err)
	opts := small()
	opts.Known = &Known{Position: at, Last: true}
	var bodies []string
	checked, err := Check(next, testDir, opts, func(r io.Reader) error {
		b, err := io.ReadAll(r)
		bodies = append(bodies, string(b))
		return err
	})
	must(t, err)
	for i, f := range checked[:len(segments)] {
		s := segments[i]
		if f.Err != nil || f.Torn > 0 || f.File != s.Path || f.First != s.FirstSeq || f.Last != s.LastSeq {
			t.Errorf("%+v, want %+v", f, s)
		}
	}
	names := []string{path.Base(checked[len(segments)].File), path.Base(checked[len(segments)+1].File)}
	if len(checked) != len(segments)+2 || names[0] != SnapshotName(40) || names[1] != SnapshotName(90) ||
		len(bodies) != 2 || bodies[0] != "new body" || bodies[1] != "new body" {
		t.Errorf("files %+v, bodies %q", checked, bodies)
	}
	seqs, payloads, torn, err := readAll(next, small())
	must(t, err)
	if torn != 0 || len(seqs) == 0 || seqs[0] != segments[0].FirstSeq || seqs[len(seqs)-1] != 120 {
		t.Errorf("torn %d, records %v", torn, seqs)
	}
	for i, seq := range seqs {
		if want := "new " + string(payloadOf(seq, 0)); string(payloads[i]) != want {
			t.Fatalf("record %d is %q, want %q", seq, payloads[i], want)
		}
	}
	again := mustOpen(t, next, opts)
	appendN(t, again, 1)
	if got := again.LastSeq(); got != 121 {
		t.Errorf("the next record is %d", got)
	}
	must(t, again.Close())
}

// A damaged log, one without a segment, and contents that are refused end Rewrite.
func TestARefusedLogIsNotRewritten(t *testing.T) {
	same := func(b []byte) ([]byte, error) { return append([]byte(nil), b...), nil }
	rewrite := func(disk *vfstest.Mem, record, snapshot func([]byte) ([]byte, error)) error {
		_, err := Rewrite(disk, vfstest.NewMem(), testDir, small(), record, snapshot)
		return err
	}
	disk := vfstest.NewMem()
	var damaged *CorruptError
	if err := rewrite(disk, same, same); !errors.As(err, &damaged) {
		t.Errorf("no segment: %v", err)
	}
	l := mustOpen(t, disk, small())
	appendN(t, l, 3)
	must(t, l.Sync())
	must(t, l.WriteSnapshot(SnapshotMeta{Seq: 3}, func(w io.Writer) error {
		_, err := w.Write([]byte("body"))
		return err
	}))
	must(t, l.Close())
	refuse := func([]byte) ([]byte, error) { return nil, io.ErrUnexpectedEOF }
	if err := rewrite(disk, refuse, same); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a refused record: %v", err)
	}
	if err := rewrite(disk, same, refuse); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a refused snapshot: %v", err)
	}
	must(t, rewrite(disk, same, same))
	disk.Flip(path.Join(testDir, segmentName(1)), firstFrame+30, 3)
	if err := rewrite(disk, same, same); !errors.As(err, &damaged) {
		t.Errorf("a damaged record: %v", err)
	}
}
