package datadir

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tickhive/internal/seal"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// sealedStore is the store whose log has the secrets.
const sealedStore = "accounts"

// Reseal seals the secrets of an idle directory with another key, plain ones too. It writes the log of the accounts
// once more beside the old one (newExt), reads both and compares them. Then meta.json names the new key, and from
// this moment the new files are the log: put gives them their names, or the next Open does. o are the options
// of the log, from and to the keys before and afterwards.
func Reseal(d *Dir, o wal.Options, from, to *seal.Key) error {
	o, err := d.meta.LogOptions(sealedStore, o)
	if err != nil {
		return err
	}
	next, dir := beside{d.fsys}, d.Sub(sealedStore)
	again := func(purpose string) func([]byte) ([]byte, error) {
		return func(b []byte) ([]byte, error) {
			plain, err := from.Open(b, purpose)
			if err != nil {
				return nil, err
			}
			return to.Seal(nil, plain, purpose), nil
		}
	}
	at, err := wal.Rewrite(d.fsys, next, dir, o, again(seal.Record), again(seal.Snapshot))
	if err == nil {
		err = sameAccounts(d, o, at, from, to)
	}
	if err != nil {
		return errors.Join(err, resealing{d}.drop())
	}
	if err := d.change(func(m *Meta) {
		m.SealedWith, m.Resealing = to.ID(), true
		m.note(sealedStore, at)
	}); err != nil {
		return err
	}
	return resealing{d}.put()
}

// sameAccounts checks that the old and the new log of the accounts hold the same, and that all of the new one is
// sealed with its key.
func sameAccounts(d *Dir, o wal.Options, at wal.Position, from, to *seal.Key) error {
	next, dir, now := beside{d.fsys}, d.Sub(sealedStore), o
	now.Known = &wal.Known{Position: at, Last: true}
	old, err := wal.OpenReader(d.fsys, dir, o, 0)
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }()
	resealed, err := wal.OpenReader(next, dir, now, 0)
	if err != nil {
		return err
	}
	defer func() { _ = resealed.Close() }()
	for {
		a, err := old.Next()
		b, err2 := resealed.Next()
		if errors.Is(err, io.EOF) && errors.Is(err2, io.EOF) {
			break
		}
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if err := sameContent(a.Payload, b.Payload, seal.Record, from, to); err != nil || a.Seq != b.Seq {
			return fmt.Errorf("data directory: record %d was not sealed again correctly: %w", a.Seq, err)
		}
	}
	before, err := snapshotsOf(d.fsys, dir, o, from)
	if err != nil {
		return err
	}
	after, err := snapshotsOf(next, dir, now, to)
	if err == nil && !slices.Equal(before, after) {
		err = errors.New("data directory: the snapshots were not sealed again correctly")
	}
	return err
}

// sameContent compares a message with the one that replaces it.
func sameContent(old, resealed []byte, purpose string, from, to *seal.Key) error {
	a, err := from.Open(old, purpose)
	if err != nil {
		return err
	}
	b, err := to.Open(resealed, purpose)
	if err != nil {
		return err
	}
	if id, sealed := seal.KeyOf(resealed); !sealed || id != to.ID() || !bytes.Equal(a, b) {
		return errors.New("it differs")
	}
	return nil
}

// snapshotsOf verifies the files of a log and returns the hashes of its snapshots' contents, oldest first.
func snapshotsOf(fsys vfs.FS, dir string, o wal.Options, key *seal.Key) (sums [][sha256.Size]byte, err error) {
	files, err := wal.Check(fsys, dir, o, func(r io.Reader) error {
		body, err := io.ReadAll(r)
		if err == nil {
			body, err = key.Open(body, seal.Snapshot)
		}
		sums = append(sums, sha256.Sum256(body))
		return err
	})
	for i := range files {
		err = errors.Join(err, files[i].Err)
	}
	return sums, err
}

// resealing is a change of the key under way in a directory.
type resealing struct{ *Dir }

// end ends a change of the key that was cut short: it completes one that meta.json names, and takes back
// another one.
func (d resealing) end() error {
	if d.meta.Resealing {
		return d.put()
	}
	return d.drop()
}

// put gives the new files the names of the old ones, which they replace.
func (d resealing) put() error {
	err := d.each(func(name string) error { return d.fsys.Rename(name+newExt, name) })
	if err != nil {
		return err
	}
	return d.change(func(m *Meta) { m.Resealing = false })
}

// drop removes the new files.
func (d resealing) drop() error {
	return d.each(func(name string) error { return d.fsys.Remove(name + newExt) })
}

// each calls f with the path of each new file, without newExt, and makes the changes of names durable.
func (d resealing) each(f func(name string) error) error {
	dir := d.Sub(sealedStore)
	names, err := beside{d.fsys}.List(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		return nil
	}
	for _, name := range names {
		if err == nil {
			err = f(filepath.Join(dir, name))
		}
	}
	if err == nil {
		err = d.fsys.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// settled refuses a directory in which a change of the sealing key was begun and not completed.
func (m *Meta) settled(path string) error {
	if m.Resealing {
		return fmt.Errorf("data directory: the change of the key of %s was cut short: start it once with "+
			"`tickhive serve`, which completes it", path)
	}
	return nil
}

// NotResealed returns the files of a directory, by path, that Reseal leaves: copies that no start reads. They may have
// secrets that are plain or sealed with a former key.
func NotResealed(d *Dir) (files []string, err error) {
	names, err := d.fsys.List(d.Sub(sealedStore))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	for _, name := range names {
		ext := filepath.Ext(name)
		if ext != wal.SegmentExt && ext != wal.SnapshotExt && name != wal.LockName {
			files = append(files, d.Sub(filepath.Join(sealedStore, name)))
		}
	}
	return files, nil
}

// newExt ends the names of the files that replace others.
const newExt = ".new"

// beside shows the files of a file system whose names end with newExt, without that ending.
type beside struct{ vfs.FS }

// Create makes a new file.
func (b beside) Create(name string) (vfs.File, error) { return b.FS.Create(name + newExt) }

// Open opens a new file.
func (b beside) Open(name string) (vfs.File, error) { return b.FS.Open(name + newExt) }

// OpenRW opens a new file for writing.
func (b beside) OpenRW(name string) (vfs.File, error) { return b.FS.OpenRW(name + newExt) }

// Rename renames a new file.
func (b beside) Rename(from, to string) error { return b.FS.Rename(from+newExt, to+newExt) }

// Remove removes a new file.
func (b beside) Remove(name string) error { return b.FS.Remove(name + newExt) }

// List returns the names of the new files.
func (b beside) List(dir string) (names []string, err error) {
	all, err := b.FS.List(dir)
	for _, name := range all {
		if name, is := strings.CutSuffix(name, newExt); is {
			names = append(names, name)
		}
	}
	return names, err
}
