package wal

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path"

	"tickhive/internal/vfs"
)

// rewriteBytes of records are written at a time.
const rewriteBytes = 1 << 20

// endlessSegment is a segment size that Rewrite never reaches: it begins segments where the old log did.
const endlessSegment = 1 << 50

// Rewrite reads the closed log of dir in fsys and writes it to dir in to, with other contents: record and snapshot
// return the new bytes of a record and of a snapshot. Both file systems may be one if to gives other names to the
// files. Sequences, segments and the names of the files stay; the checksum chain is another one from the oldest record
// on. Rewrite returns the end of the new log, which is then durable and closed. After an error a part of it is in to.
func Rewrite(
	fsys, to vfs.FS, dir string, opts Options, record, snapshot func([]byte) ([]byte, error),
) (at Position, err error) {
	if err := opts.validateFor(dir); err != nil {
		return at, err
	}
	segs, err := loadSegments(fsys, dir, &opts)
	if err != nil {
		return at, err
	}
	if len(segs) == 0 || segs[0].reason != "" {
		return at, &CorruptError{File: path.Join(dir, segmentName(1)), Reason: "the log has no readable segment"}
	}
	seqs, err := snapshotSeqs(fsys, dir)
	if err != nil {
		return at, err
	}
	opts.SegmentBytes, opts.PreallocBytes, opts.Failed = endlessSegment, 0, nil
	l := rewriting{&Log{fsys: to, dir: dir, opts: opts}, fsys}
	l.setLast(Position{Seq: segs[0].first - 1, Chain: segs[0].chain})
	if err = l.startFresh(segs[0].num); err == nil {
		err = l.takeRecords(segs, record)
	}
	for _, seq := range seqs {
		if err == nil {
			err = l.takeSnapshot(seq, snapshot)
		}
	}
	if err != nil {
		_ = l.Fail(err) // so that Close writes nothing more
	}
	return l.Position(), errors.Join(err, l.Close())
}

// rewriting is the new log.
type rewriting struct {
	*Log
	from vfs.FS // has the old one
}

// takeRecords appends the records of segs, as record returns them.
func (l rewriting) takeRecords(segs []segment, record func([]byte) ([]byte, error)) error {
	r, err := newReader(l.from, segs, 0, math.MaxUint64, endOf(segs, &l.opts).must)
	if err != nil {
		return err
	}
	defer r.Close()
	var batch [][]byte
	bytes := 0
	flush := func() error {
		_, err := l.Append(batch)
		batch, bytes = batch[:0], 0
		return err
	}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) && r.i+1 < len(segs) {
			err = &CorruptError{File: segs[r.i+1].path, Reason: "the log ends before this segment"}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if done := err != nil; done || segs[r.i].num != l.active.num || bytes > rewriteBytes {
			if err := flush(); err != nil {
				return err
			}
			if segs[r.i].num != l.active.num {
				if err := l.Rotate(); err != nil {
					return err
				}
			}
			if done {
				return l.Sync()
			}
		}
		payload, err := record(rec.Payload)
		if err != nil {
			return fmt.Errorf("%s: record %d: %w", rec.File, rec.Seq, err)
		}
		batch, bytes = append(batch, payload), bytes+len(payload)
	}
}

// takeSnapshot writes the snapshot of record seq, as snapshot returns it.
func (l rewriting) takeSnapshot(seq uint64, snapshot func([]byte) ([]byte, error)) error {
	var body []byte
	load := func(_ SnapshotMeta, r io.Reader) (err error) {
		if body, err = io.ReadAll(r); err == nil {
			body, err = snapshot(body)
		}
		return err
	}
	meta, err := loadSnapshotFile(l.from, path.Join(l.dir, SnapshotName(seq)), seq, &l.opts, load, false)
	if err != nil {
		return err
	}
	meta.Chain = 0 // of the new log
	return l.WriteSnapshot(meta, func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	})
}
