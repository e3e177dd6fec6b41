package wal

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"tickhive/internal/vfs"
)

// LockName is the lock file in a log's directory.
const LockName = "LOCK"

const tempExt = ".tmp"

// Open opens the log in dir for writing, making both when they do not exist. A torn tail
// is cut (see Recovered). *CorruptError, *VersionError and *vfs.LockedError refuse.
// Everything that can be read afterwards is durable.
func Open(fsys vfs.FS, dir string, opts Options) (*Log, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("wal: make %s: %w", dir, err)
	}
	if err := fsys.SyncDir(path.Dir(dir)); err != nil {
		return nil, fmt.Errorf("wal: sync of %s: %w", path.Dir(dir), err)
	}
	l := &Log{fsys: fsys, dir: dir, opts: opts}
	if !opts.NoLock {
		lock, err := fsys.Lock(path.Join(dir, LockName), vfs.Self())
		if err != nil {
			return nil, fmt.Errorf("wal: %s is in use: %w", dir, err)
		}
		l.lock = lock
	}
	if err := l.recover(); err != nil {
		_ = l.Fail(err)
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Log) recover() error {
	if err := l.removeTemps(); err != nil {
		return err
	}
	chain, err := loadChain(l.fsys, l.dir, l.opts)
	if err != nil {
		return err
	}
	if len(chain) == 0 {
		return l.startFresh(1, 1)
	}
	k, err := l.verifyFrom(chain)
	if err != nil {
		return err
	}
	r, err := newReader(l.fsys, chain[k:], 0, math.MaxUint64)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
	}
	return l.resume(chain, k, r)
}

// removeTemps removes what an interrupted snapshot left.
func (l *Log) removeTemps() error {
	names, err := l.fsys.List(l.dir)
	if err != nil {
		return fmt.Errorf("wal: list %s: %w", l.dir, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, tempExt) {
			if err := l.fsys.Remove(path.Join(l.dir, name)); err != nil {
				return fmt.Errorf("wal: remove %s: %w", name, err)
			}
		}
	}
	return nil
}

// verifyFrom returns the first segment that Open must verify. Everything before it was durable when a later
// record was written, so damage there is no torn tail; a Reader reports it.
func (l *Log) verifyFrom(chain []segment) (int, error) {
	for k := len(chain) - 1; k > 0; k-- {
		if chain[k].reason != "" {
			continue
		}
		r, err := newReader(l.fsys, chain[k:k+1], 0, math.MaxUint64)
		if err != nil {
			return 0, err
		}
		for err == nil && r.durable+1 < chain[k].first {
			_, err = r.Next()
		}
		known := r.durable+1 >= chain[k].first
		r.Close()
		if known {
			return k, nil
		}
	}
	return 0, nil
}

// resume cuts the torn tail that r found and makes the segment in which it began the active one.
func (l *Log) resume(chain []segment, k int, r *Reader) error {
	last := k + r.i
	l.info = OpenInfo{FirstSeq: chain[0].first, TornTail: r.torn, TornFile: chain[last].path, TornAt: r.off}
	if chain[last].reason != "" {
		// Only the first segment of a log can end in this way: its header was not durable yet.
		l.info.TornAt, last = 0, -1
	}
	for j := len(chain) - 1; j > last; j-- {
		if err := l.fsys.Remove(chain[j].path); err != nil {
			return fmt.Errorf("wal: remove torn segment: %w", err)
		}
	}
	if last < 0 {
		return l.startFresh(1, 1)
	}
	for j := range chain[:last+1] {
		seg := chain[j]
		kept := &openSegment{num: seg.num, path: seg.path, first: seg.first, seed: seg.seed, bytes: seg.size}
		kept.filled.Store(seg.size)
		l.segments = append(l.segments, kept)
	}
	if err := l.makeDurable(chain[:last+1], k, r); err != nil {
		return err
	}
	l.active = l.segments[last]
	l.off.Store(r.off)
	l.setLast(r.want - 1)
	return nil
}

// makeDurable cuts and opens the active segment, and makes the verified records durable, because after the end
// of a process some may be in the page cache only. A sync alone is not enough: after a failed sync the system
// considers the pages clean and never writes them. makeDurable therefore writes again every range that no later
// record proves to be durable.
func (l *Log) makeDurable(chain []segment, k int, r *Reader) error {
	from, off, err := l.vouchedTo(chain, k, r)
	if err != nil {
		return err
	}
	for j := min(k, from); j < len(l.segments); j++ {
		seg := l.segments[j]
		f, err := l.fsys.OpenRW(seg.path)
		if err != nil {
			return fmt.Errorf("wal: open segment: %w", err)
		}
		active := j == len(l.segments)-1
		if active && r.torn > 0 {
			if err = f.Truncate(r.off); err == nil {
				seg.filled.Store(r.off)
			}
		}
		if err == nil && j >= from {
			err = rewrite(f, off, seg.filled.Load())
			off = 0
		}
		if err == nil {
			err = f.Sync()
		}
		if err == nil && !active {
			err = f.Close()
		}
		if err != nil {
			return errors.Join(fmt.Errorf("wal: make %s durable: %w", seg.path, err), f.Close())
		}
		if active {
			seg.file = f
		}
	}
	if err := l.fsys.SyncDir(l.dir); err != nil {
		return fmt.Errorf("wal: sync of %s: %w", l.dir, err)
	}
	return nil
}

// vouchedTo returns the position of the first record that no later record proves to be durable.
func (l *Log) vouchedTo(chain []segment, k int, r *Reader) (seg int, off int64, err error) {
	last := k + r.i
	if r.durable+1 >= r.want && r.off > headerBytes {
		return last, r.off, nil
	}
	if r.durable+1 >= r.want {
		return last, 0, nil
	}
	if r.durable+1 <= chain[k].first {
		return k, 0, nil
	}
	v, err := newReader(l.fsys, chain, r.durable+1, r.want-1)
	if err != nil {
		return 0, 0, err
	}
	defer v.Close()
	rec, err := v.Next()
	if err != nil {
		return 0, 0, err
	}
	if rec.Offset == headerBytes {
		return v.i, 0, nil
	}
	return v.i, rec.Offset, nil
}

// rewrite writes the same bytes of a range of the file again.
func rewrite(f vfs.File, from, to int64) error {
	buf := make([]byte, min(readBuffer, max(to-from, 0)))
	for from < to {
		b := buf[:min(int64(len(buf)), to-from)]
		if n, err := f.ReadAt(b, from); err != nil && n < len(b) {
			return err
		}
		if _, err := f.WriteAt(b, from); err != nil {
			return err
		}
		from += int64(len(b))
	}
	return nil
}

// startFresh makes the first segment.
func (l *Log) startFresh(num, first uint64) error {
	seg, err := l.createSegment(num, first)
	if err != nil {
		return err
	}
	l.segments = slices.Clip(append(l.segments, seg))
	l.active = seg
	l.off.Store(headerBytes)
	if err := seg.file.Sync(); err != nil {
		return fmt.Errorf("wal: sync of %s: %w", seg.path, err)
	}
	if err := l.fsys.SyncDir(l.dir); err != nil {
		return fmt.Errorf("wal: sync of %s: %w", l.dir, err)
	}
	l.info.FirstSeq = first
	l.setLast(first - 1)
	return nil
}

func (l *Log) setLast(seq uint64) {
	l.lastSeq = seq
	l.info.LastSeq = seq
	l.written.Store(seq)
	l.durable.Store(seq)
}
