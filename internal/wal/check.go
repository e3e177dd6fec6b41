package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"

	"tickhive/internal/vfs"
)

// Checked describes a file of a log that Check has read.
type Checked struct {
	File  string // path
	First uint64 // first record of a segment; 0 for a snapshot
	Last  uint64 // last record of a segment, First-1 without one; the record of a snapshot
	Torn  int64  // bytes that the next start cuts off
	Err   error  // the damage, nil for none
}

// Check reads every byte of every segment and snapshot in dir, in this order, oldest first, and continues after
// damage. decode gets the body of each snapshot after its checksum was verified. Check changes nothing. It
// returns an error only when a file cannot be read, or as a *VersionError.
func Check(fsys vfs.FS, dir string, opts Options, decode func(io.Reader) error) ([]Checked, error) {
	if err := opts.validateFor(dir); err != nil {
		return nil, err
	}
	// list snapshots first: a running process writes a snapshot only after its log
	seqs, err := snapshotSeqs(fsys, dir)
	if err != nil {
		return nil, err
	}
	slices.Reverse(seqs)
	segs, err := loadSegments(fsys, dir, &opts)
	if err != nil {
		return nil, err
	}
	end := endOf(segs, &opts)
	var files []Checked
	for at := 0; at < len(segs); {
		checked, err := checkFrom(fsys, segs[at:], math.MaxUint64, end.must)
		if err != nil {
			return nil, err
		}
		files = append(files, checked...)
		at += len(checked)
	}
	for i := range files {
		var slot *CorruptError
		if off := segs[i].slots.damaged; off != 0 {
			slot = &CorruptError{
				File: segs[i].path, Offset: off, Reason: "one of the two slots that say where the log ends is damaged",
			}
		} else if end.damage != nil && end.damage.File == segs[i].path {
			slot = end.damage
		}
		if slot != nil && files[i].Err == nil {
			files[i].Err = slot
		}
	}
	return checkSnapshots(fsys, dir, &opts, segs, files, seqs, decode)
}

// CheckOpen is Check for an open log, up to the records that were written before the call: they have to be there
// whole. It reads through fsys, which may be slower than the log's own. Any goroutine may call it. The
// error is fs.ErrNotExist if the log dropped a segment meanwhile.
func CheckOpen(l *Log, fsys vfs.FS, decode func(io.Reader) error) ([]Checked, error) {
	seqs, err := snapshotSeqs(fsys, l.dir) // first, as in Check
	if err != nil {
		return nil, err
	}
	slices.Reverse(seqs)
	r, err := l.Reader(0)
	if err != nil {
		return nil, err
	}
	segs, last := r.segs, r.limit
	if err := r.Close(); err != nil {
		return nil, err
	}
	var files []Checked
	for at := 0; at < len(segs); {
		checked, err := checkFrom(fsys, segs[at:], last, last)
		if err != nil {
			return nil, err
		}
		files = append(files, checked...)
		at += len(checked)
	}
	return checkSnapshots(fsys, l.dir, &l.opts, segs, files, seqs, decode)
}

// checkSnapshots appends the snapshots of seqs to the files of a log.
func checkSnapshots(
	fsys vfs.FS, dir string, opts *Options, segs []segment, files []Checked, seqs []uint64,
	decode func(io.Reader) error,
) ([]Checked, error) {
	last, whole := uint64(0), true
	if n := len(files); n > 0 {
		last, whole = files[n-1].Last, files[n-1].Err == nil
	}
	for _, seq := range seqs {
		f, err := checkSnapshot(fsys, dir, opts, segs, seq, decode)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a running process has replaced it by a newer one
		}
		if err != nil {
			return nil, err
		}
		if f.Err == nil && seq > last && whole {
			reason := fmt.Sprintf("the log ends at record %d, before the snapshot", last)
			f.Err = &CorruptError{File: f.File, Seq: seq, Reason: reason}
		}
		files = append(files, f)
	}
	return files, nil
}

// checkFrom reads segments up to the first damaged one, and returns those that it has read.
func checkFrom(fsys vfs.FS, segs []segment, limit, must uint64) ([]Checked, error) {
	r, err := newReader(fsys, segs, 0, limit, must)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	files := make([]Checked, len(segs))
	for i, seg := range segs {
		files[i] = Checked{File: seg.path, First: seg.first, Last: max(seg.first, 1) - 1}
	}
	for {
		rec, err := r.Next()
		var damaged *CorruptError
		switch {
		case err == nil:
			files[r.i].Last = rec.Seq
		case errors.Is(err, io.EOF):
			files[r.i].Torn = r.torn
			return files, nil
		case errors.As(err, &damaged):
			at := r.i
			if at+1 < len(segs) && damaged.File == segs[at+1].path {
				at++ // its header
			}
			files[at].Err = damaged
			return files[:at+1], nil
		default:
			return nil, err
		}
	}
}

// checkSnapshot reads one snapshot.
func checkSnapshot(
	fsys vfs.FS, dir string, opts *Options, segs []segment, seq uint64, decode func(io.Reader) error,
) (Checked, error) {
	f := Checked{File: path.Join(dir, SnapshotName(seq)), Last: seq}
	load := func(_ SnapshotMeta, r io.Reader) error { return decode(r) }
	_, err := loadSnapshotFile(fsys, f.File, seq, opts, onChain(fsys, segs, f.File, load), false)
	var version *VersionError
	if errors.As(err, &version) || errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	f.Err = err
	return f, nil
}
