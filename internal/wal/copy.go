package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"tickhive/internal/vfs"
)

// Copy reads the files of an open log up to one place, while the log goes on. Until Close the log drops no
// segment, and the snapshots stay readable. Owned by one goroutine.
//
// Invariants: the copy is a log that was closed at its place. Its snapshots were written before Mark was called.
type Copy struct {
	log   *Log
	snaps []CopyFile
	files []vfs.File // of snaps

	// Set by Mark.
	segs []segment
	last uint64
}

// CopyFile is a file of a copy.
type CopyFile struct {
	Name string // without the directory
	Size int64
	// Open returns the content. It is valid until the copy is closed.
	Open func() (io.ReadCloser, error)
}

// copyTries is the number of times that BeginCopy lists the snapshots, which the log replaces meanwhile.
const copyTries = 3

// BeginCopy opens the snapshots and makes the log keep its segments. Any goroutine.
func BeginCopy(l *Log) (*Copy, error) {
	keepSegments(l, 1)
	c := &Copy{log: l}
	err := c.openSnapshots()
	for i := 1; i < copyTries && errors.Is(err, fs.ErrNotExist); i++ {
		err = c.openSnapshots()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// keepSegments changes the number of copies for which the log keeps its segments. It waits for a deletion under way.
func keepSegments(l *Log, n int) {
	l.listMu.Lock()
	l.copies += n
	l.listMu.Unlock()
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
}

func (c *Copy) openSnapshots() error {
	if err := c.closeSnapshots(); err != nil {
		return err
	}
	seqs, err := snapshotSeqs(c.log.fsys, c.log.dir)
	if err != nil {
		return err
	}
	for _, seq := range seqs {
		f, err := c.log.fsys.Open(path.Join(c.log.dir, SnapshotName(seq)))
		if err != nil {
			return fmt.Errorf("wal: open snapshot: %w", err)
		}
		c.files = append(c.files, f)
		size, err := f.Size()
		if err != nil {
			return fmt.Errorf("wal: size of a snapshot: %w", err)
		}
		c.snaps = append(c.snaps, CopyFile{SnapshotName(seq), size, func() (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(f, 0, size)), nil
		}})
	}
	return nil
}

func (c *Copy) closeSnapshots() error {
	var errs []error
	for _, f := range c.files {
		errs = append(errs, f.Close())
	}
	c.files, c.snaps = nil, nil
	return errors.Join(errs...)
}

// Mark sets the place of the copy: the last record that is written.
func (c *Copy) Mark() { c.segs, c.last = list(c.log) }

// Close ends the copy: the log may drop segments again.
func (c *Copy) Close() error {
	keepSegments(c.log, -1)
	return c.closeSnapshots()
}

// Sync makes the log durable up to the place of the copy at least.
func (c *Copy) Sync() error { return c.log.Sync() }

// Files returns the files of the copy and its place. It reads and verifies the records of the last segment.
func (c *Copy) Files() (files []CopyFile, at Position, err error) {
	n := len(c.segs)
	for n > 1 && c.segs[n-1].first > c.last {
		n-- // begun after the last record
	}
	r, err := newReader(c.log.fsys, c.segs[n-1:n], 0, c.last, c.last)
	if err != nil {
		return nil, at, err
	}
	for err == nil {
		_, err = r.Next()
	}
	at = r.Position()
	c.segs[n-1].size = r.off
	if !errors.Is(err, io.EOF) {
		return nil, at, errors.Join(err, r.Close())
	}
	if err := r.Close(); err != nil {
		return nil, at, err
	}
	for i := range c.segs[:n] {
		end := slot{gen: uint64(i) + 1, flags: slotClosed}
		end.written = at.Seq
		if i+1 < n {
			end.written, end.flags = c.segs[i+1].first-1, slotFollowed|slotSealed
		}
		end.synced = end.written
		files = append(files, c.segment(&c.segs[i], end))
	}
	return append(files, c.snaps...), at, nil
}

// segment returns the copy of a segment: its header and records, and a slot that ends it.
func (c *Copy) segment(seg *segment, end slot) CopyFile {
	return CopyFile{path.Base(seg.path), seg.size, func() (io.ReadCloser, error) {
		f, err := c.log.fsys.Open(seg.path)
		if err != nil {
			return nil, fmt.Errorf("wal: open segment: %w", err)
		}
		var sectors [2 * vfs.SectorBytes]byte // the other slot was never written
		end.put((*[vfs.SectorBytes]byte)(sectors[:]), seg.seed)
		return copyReader{io.MultiReader(
			io.NewSectionReader(f, 0, slotOffset(0)), bytes.NewReader(sectors[:]),
			io.NewSectionReader(f, firstFrame, seg.size-firstFrame),
		), f}, nil
	}}
}

type copyReader struct {
	io.Reader
	io.Closer
}
