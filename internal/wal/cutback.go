package wal

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/tickhive/tickhive/internal/vfs"
)

// CutBack ends the log in a directory that no process uses at a position. First the directory aside gets a durable copy
// of every file with something behind the position, whole: segments and snapshots. If there is none, the directory is
// not made. A CutBack that was cut short is repeated, with the same directory aside or another
// one; two cuts do not share one.
//
// Errors: ErrTruncated when the log does not go back to the position, or has no snapshot from which a start could reach
// it; *CorruptError when it does not reach it, or has another history there. Nothing has changed then.
func CutBack(fsys vfs.FS, dir string, o Options, at Position, aside string) (err error) {
	if err := o.validateFor(dir); err != nil {
		return err
	}
	l := &Log{fsys: fsys, dir: dir, opts: o}
	l.opts.Failed = nil
	if !o.NoLock {
		if l.lock, err = fsys.Lock(path.Join(dir, LockName), vfs.Self()); err != nil {
			return fmt.Errorf("wal: %s is in use: %w", dir, err)
		}
	}
	c := &cutting{opening: opening{Log: l}, at: at, aside: aside}
	if err := c.run(); err != nil {
		_ = l.Fail(err)
		return errors.Join(err, l.Close())
	}
	return l.Close()
}

// cutting is a log that is being cut back.
type cutting struct {
	opening
	at        Position
	aside     string
	snapshots []uint64 // behind the position
}

func (c *cutting) run() (err error) {
	if err := c.removeTemps(); err != nil {
		return err
	}
	if c.segs, err = loadSegments(c.fsys, c.dir, &c.opts); err != nil {
		return err
	}
	if err := c.find(); err != nil {
		return err
	}
	if err := c.findSnapshots(); err != nil {
		return err
	}
	if err := c.copyAside(); err != nil {
		return err
	}
	if err := c.removeSnapshots(); err != nil {
		return err
	}
	return c.resume()
}

// find reads the log up to the position.
func (c *cutting) find() error {
	k := -1
	for i := range c.segs {
		if c.segs[i].reason == "" && c.segs[i].first <= max(c.at.Seq, 1) {
			k = i
		}
	}
	if k < 0 && len(c.segs) > 0 && c.segs[0].reason == "" && c.segs[0].first == c.at.Seq+1 {
		k = 0 // all records go
	}
	if k < 0 {
		return fmt.Errorf("%w: the log in %s does not go back to record %d", ErrTruncated, c.dir, c.at.Seq)
	}
	r, err := newReader(c.fsys, c.segs[k:k+1], 0, c.at.Seq, c.at.Seq)
	if err != nil {
		return err
	}
	defer r.Close()
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	if r.Position() != c.at {
		return &CorruptError{
			File: c.segs[k].path, Offset: r.off, Seq: c.at.Seq, Foreign: true,
			Reason: fmt.Sprintf("the log has another history up to record %d than the position to cut back to",
				c.at.Seq),
		}
	}
	c.end = endOf(c.segs, &c.opts)
	c.Log.end.gen = c.end.gen
	c.found = readEnd{Position: c.at, seg: k, off: r.off, again: place{k, 0}, damage: &CorruptError{}}
	c.info.Lost = max(c.end.written, c.at.Seq+1) // the slots tell of more
	return nil
}

// findSnapshots finds the snapshots behind the position, and one from which a start reaches it.
func (c *cutting) findSnapshots() error {
	seqs, err := snapshotSeqs(c.fsys, c.dir)
	if err != nil {
		return err
	}
	reached := c.segs[0].first <= 1
	for _, seq := range seqs {
		switch {
		case seq > c.at.Seq:
			c.snapshots = append(c.snapshots, seq)
		case seq+1 >= c.segs[0].first:
			reached = true
		}
	}
	if !reached {
		return fmt.Errorf("%w: the log in %s has no snapshot at or before record %d, so no start could reach it",
			ErrTruncated, c.dir, c.at.Seq)
	}
	if len(seqs) > len(c.snapshots) {
		c.Log.end.snapshot = seqs[len(c.snapshots)]
	}
	return nil
}

// copyAside makes durable copies of the files with something behind the position.
func (c *cutting) copyAside() error {
	var names []string
	for i := c.found.seg; i < len(c.segs); i++ {
		off := c.found.off
		if i > c.found.seg {
			off = 0
		}
		rest, err := readFrom(c.fsys, c.segs[i].path, off)
		if err != nil {
			return err
		}
		if !vfs.AllZero(rest) {
			names = append(names, path.Base(c.segs[i].path))
		}
	}
	for _, seq := range c.snapshots {
		names = append(names, SnapshotName(seq))
	}
	if len(names) == 0 {
		return nil
	}
	if err := c.fsys.MkdirAll(c.aside); err != nil {
		return fmt.Errorf("wal: make %s: %w", c.aside, err)
	}
	if err := c.fsys.SyncDir(path.Dir(c.aside)); err != nil {
		return fmt.Errorf("wal: sync of %s: %w", path.Dir(c.aside), err)
	}
	there, err := c.fsys.List(c.aside)
	if err != nil {
		return fmt.Errorf("wal: list %s: %w", c.aside, err)
	}
	for _, name := range names {
		// What is there is from a CutBack that was cut short, when the log was whole.
		if slices.Contains(there, name) {
			continue
		}
		to := path.Join(c.aside, name)
		if err := copyFile(c.fsys, path.Join(c.dir, name), to+tempExt); err != nil {
			return err
		}
		if err := c.fsys.Rename(to+tempExt, to); err != nil {
			return fmt.Errorf("wal: rename %s: %w", to+tempExt, err)
		}
	}
	if err := c.fsys.SyncDir(c.aside); err != nil {
		return fmt.Errorf("wal: sync of %s: %w", c.aside, err)
	}
	return nil
}

// removeSnapshots removes the snapshots behind the position.
func (c *cutting) removeSnapshots() error {
	for _, seq := range c.snapshots {
		if err := c.fsys.Remove(path.Join(c.dir, SnapshotName(seq))); err != nil {
			return fmt.Errorf("wal: remove a snapshot that was copied aside: %w", err)
		}
	}
	return nil
}

// copyFile makes a copy of a file, whose content is durable then.
func copyFile(fsys vfs.FS, from, to string) error {
	src, err := fsys.Open(from)
	if err != nil {
		return fmt.Errorf("wal: open %s: %w", from, err)
	}
	defer src.Close()
	size, err := src.Size()
	if err != nil {
		return fmt.Errorf("wal: %s: size: %w", from, err)
	}
	dst, err := fsys.Create(to)
	if err != nil {
		return fmt.Errorf("wal: create %s: %w", to, err)
	}
	defer dst.Close()
	buf := make([]byte, min(readBuffer, max(size, 1)))
	for off := int64(0); off < size; {
		b := buf[:min(int64(len(buf)), size-off)]
		if n, err := src.ReadAt(b, off); err != nil && n < len(b) {
			return fmt.Errorf("wal: %s: read at %d: %w", from, off, err)
		}
		if _, err := dst.WriteAt(b, off); err != nil {
			return fmt.Errorf("wal: %s: write at %d: %w", to, off, err)
		}
		off += int64(len(b))
	}
	if err := dst.Sync(); err != nil {
		return fmt.Errorf("wal: sync of %s: %w", to, err)
	}
	return nil
}
