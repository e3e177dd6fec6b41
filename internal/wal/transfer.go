package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/tickhive/tickhive/internal/vfs"
)

// SnapshotFile is an open snapshot. One goroutine uses it.
type SnapshotFile struct {
	Identity Identity // of the log that it was taken of
	Meta     SnapshotMeta
	Bytes    int64 // size of the file

	name  string
	file  vfs.File
	begin int64  // of the chunks
	crc   uint32 // of everything before them
}

// OpenSnapshotFile opens a snapshot outside of a log: a download. o says which version the records must have, to which
// log it must belong, and, unless it is zero, which identity it must have. It verifies the header and the head; Verify
// and Body verify the rest.
//
// Errors: *VersionError, *CorruptError.
func OpenSnapshotFile(fsys vfs.FS, name string, o Options) (*SnapshotFile, error) {
	if err := o.validateFor(path.Dir(name)); err != nil {
		return nil, err
	}
	log := o.Name
	s, err := openSnapshot(fsys, name, &o)
	if err == nil && o.Name != log {
		return nil, errors.Join(foreign(name, fmt.Sprintf("the log %q, not to %q", o.Name, log)), s.Close())
	}
	return s, err
}

// Verify reads every byte of the file and verifies it.
func (s *SnapshotFile) Verify() error {
	_, err := io.Copy(io.Discard, s.Body())
	return err
}

// Body returns a reader of the body, from its begin. It gives out verified bytes alone, and io.EOF when every byte of
// the file was verified; before it fails with *CorruptError.
func (s *SnapshotFile) Body() io.Reader {
	return &chunkReader{f: s.file, name: s.name, off: s.begin, crc: s.crc, seq: s.Meta.Seq}
}

// Close closes the file.
func (s *SnapshotFile) Close() error { return s.file.Close() }

// Adopt makes in an empty or absent directory a log that begins behind a snapshot of another directory and has it as
// its newest snapshot, under the directory's identity in o and with another head. What an Adopt that was cut short has
// left is no hindrance; until Adopt has returned without an error the directory has no snapshot, or all of it.
func Adopt(fsys vfs.FS, dir string, o Options, from *SnapshotFile, head []byte) error {
	if err := o.validateFor(dir); err != nil {
		return err
	}
	if o.Identity.History != from.Identity.History {
		return foreign(from.name, fmt.Sprintf("history %s, not to %s", from.Identity.History, o.Identity.History))
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return fmt.Errorf("wal: make %s: %w", dir, err)
	}
	if err := fsys.SyncDir(path.Dir(dir)); err != nil {
		return fmt.Errorf("wal: sync of %s: %w", path.Dir(dir), err)
	}
	if err := clearAdopted(fsys, dir); err != nil {
		return err
	}
	l, err := Create(fsys, dir, o, Position{Seq: from.Meta.Seq, Chain: from.Meta.Chain})
	if err != nil {
		return err
	}
	meta := SnapshotMeta{Seq: from.Meta.Seq, Chain: from.Meta.Chain, Head: head}
	err = l.WriteSnapshot(meta, func(w io.Writer) error {
		_, err := io.Copy(w, from.Body())
		return err
	})
	return errors.Join(err, l.Close())
}

// clearAdopted removes what a cut Adopt has left in a directory: a part of a snapshot and a segment without a record.
// It refuses any other file of a log.
func clearAdopted(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return fmt.Errorf("wal: list %s: %w", dir, err)
	}
	var left []string
	for _, name := range names {
		num, segment := parseSegmentName(name)
		switch {
		case strings.HasSuffix(name, SnapshotExt+tempExt):
		case segment && num == 1:
			rest, err := readFrom(fsys, path.Join(dir, name), firstFrame)
			if err != nil {
				return err
			}
			if !vfs.AllZero(rest) {
				return fmt.Errorf("wal: %s holds a log: a snapshot is adopted by an empty directory only", dir)
			}
		case segment, strings.HasSuffix(name, SnapshotExt):
			return fmt.Errorf("wal: %s holds a log: a snapshot is adopted by an empty directory only", dir)
		default:
			continue
		}
		left = append(left, name)
	}
	for _, name := range left {
		if err := fsys.Remove(path.Join(dir, name)); err != nil {
			return fmt.Errorf("wal: remove %s: %w", name, err)
		}
	}
	if len(left) == 0 {
		return nil
	}
	if err := fsys.SyncDir(dir); err != nil {
		return fmt.Errorf("wal: sync of %s: %w", dir, err)
	}
	return nil
}

// replacedTries is the number of times that a snapshot is opened which the log replaces meanwhile.
const replacedTries = 3

// ReadNewest opens the newest snapshot of the log for a transfer. The file stays readable when the log replaces it;
// the caller closes it. nil: there is none. Any goroutine.
func (l *Log) ReadNewest() (f vfs.File, meta SnapshotMeta, size int64, err error) {
	for range replacedTries {
		var seqs []uint64
		if seqs, err = snapshotSeqs(l.fsys, l.dir); err != nil || len(seqs) == 0 {
			return nil, meta, 0, err
		}
		opts := l.opts
		var s *SnapshotFile
		if s, err = openSnapshot(l.fsys, path.Join(l.dir, SnapshotName(seqs[0])), &opts); err == nil {
			return s.file, s.Meta, s.Bytes, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return nil, meta, 0, err
}

// Snapshots returns position and head of the retained snapshots, the newest first. Any goroutine.
func (l *Log) Snapshots() (metas []SnapshotMeta, err error) {
	for range replacedTries {
		if metas, err = l.snapshots(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return metas, err
}

func (l *Log) snapshots() (metas []SnapshotMeta, err error) {
	seqs, err := snapshotSeqs(l.fsys, l.dir)
	for i := 0; i < min(len(seqs), SnapshotsKept) && err == nil; i++ {
		var meta SnapshotMeta
		opts := l.opts
		if meta, err = loadSnapshotFile(l.fsys, path.Join(l.dir, SnapshotName(seqs[i])), seqs[i], &opts, nil,
			true); err == nil {
			metas = append(metas, meta)
		}
	}
	return metas, err
}

// KeepFrom makes the log keep every segment with a record at or behind pos, whatever DropBefore is asked for; 0 keeps
// all. Before the first call nothing is kept. Any goroutine.
func (l *Log) KeepFrom(pos uint64) {
	l.listMu.Lock()
	l.keepFrom = &pos
	l.listMu.Unlock()
}
