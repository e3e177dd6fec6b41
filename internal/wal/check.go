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
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	// list snapshots first: a running process writes a snapshot only after its log
	seqs, err := snapshotSeqs(fsys, dir)
	if err != nil {
		return nil, err
	}
	slices.Reverse(seqs)
	chain, err := loadChain(fsys, dir, opts)
	var missing *CorruptError
	if errors.As(err, &missing) {
		return []Checked{{File: missing.File, Err: missing}}, nil
	}
	if err != nil {
		return nil, err
	}
	return checkAll(fsys, dir, opts, chain, math.MaxUint64, seqs, decode)
}

// Check is the function Check for an open log, up to the records that were written before the call: they have to
// be there whole. It reads through fsys, which may be slower than the log's own. Any goroutine may call it. The
// error is fs.ErrNotExist if the log dropped a segment meanwhile.
func (l *Log) Check(fsys vfs.FS, decode func(io.Reader) error) ([]Checked, error) {
	seqs, err := snapshotSeqs(fsys, l.dir) // first, as in the function Check
	if err != nil {
		return nil, err
	}
	slices.Reverse(seqs)
	r, err := l.Reader(0)
	if err != nil {
		return nil, err
	}
	chain, last := r.chain, r.limit
	if err := r.Close(); err != nil {
		return nil, err
	}
	for i := range chain {
		first := chain[i].first
		if err := chain[i].load(fsys, l.opts); err != nil {
			return nil, err
		}
		if chain[i].reason == "" && chain[i].first != first {
			chain[i].reason = fmt.Sprintf("header says that it begins at %d, not %d", chain[i].first, first)
		}
		chain[i].first = first
	}
	files, err := checkAll(fsys, l.dir, l.opts, chain, last, seqs, decode)
	if err != nil || len(files) == 0 {
		return files, err
	}
	// For a start, a torn tail. Here every record was written whole.
	for i := range files[:len(chain)] {
		f := &files[i]
		if end := i+1 == len(chain); f.Err == nil && (f.Torn > 0 || end && f.Last < last && whole(files[:i])) {
			reason := fmt.Sprintf("records from %d on cannot be read", f.Last+1)
			f.Err = &CorruptError{File: f.File, Seq: f.Last + 1, Reason: reason}
		}
	}
	return files, nil
}

// whole reports whether no file is damaged.
func whole(files []Checked) bool {
	return !slices.ContainsFunc(files, func(f Checked) bool { return f.Err != nil })
}

// checkAll checks the segments of a chain up to record limit and the snapshots of seqs.
func checkAll(
	fsys vfs.FS, dir string, opts Options, chain []segment, limit uint64, seqs []uint64, decode func(io.Reader) error,
) ([]Checked, error) {
	var files []Checked
	for at := 0; at < len(chain); {
		checked, err := checkFrom(fsys, chain[at:], limit)
		if err != nil {
			return nil, err
		}
		files = append(files, checked...)
		at += len(checked)
	}
	last, whole := uint64(0), true
	for _, f := range files {
		last, whole = f.Last, whole && f.Err == nil
	}
	for _, seq := range seqs {
		f, err := checkSnapshot(fsys, dir, opts, seq, decode)
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
func checkFrom(fsys vfs.FS, chain []segment, limit uint64) ([]Checked, error) {
	r, err := newReader(fsys, chain, 0, limit)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	files := make([]Checked, len(chain))
	for i, seg := range chain {
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
			if at+1 < len(chain) && damaged.File == chain[at+1].path {
				at++ // the end of the file's header
			}
			files[at].Err = damaged
			return files[:at+1], nil
		default:
			return nil, err
		}
	}
}

// checkSnapshot reads one snapshot.
func checkSnapshot(fsys vfs.FS, dir string, opts Options, seq uint64, decode func(io.Reader) error) (Checked, error) {
	f := Checked{File: path.Join(dir, SnapshotName(seq)), Last: seq}
	load := func(_ SnapshotMeta, r io.Reader) error { return decode(r) }
	_, err := loadSnapshotFile(fsys, f.File, seq, opts, load, false)
	var version *VersionError
	if errors.As(err, &version) || errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	f.Err = err
	return f, nil
}
