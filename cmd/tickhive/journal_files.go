package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// discard reads a snapshot without decoding it.
func discard(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

// checkFiles reads every segment and snapshot of the log in a data directory, or of the log that dir is. It returns the
// files with paths relative to the data directory. A replay checks what is in the snapshots.
func checkFiles(dir string) ([]wal.Checked, error) {
	path, err := engineDir(dir)
	if err != nil {
		return nil, err
	}
	meta, err := datadir.ReadMeta(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return checkLog(vfs.OS{}, path, nil)
	}
	if err != nil {
		return nil, err
	}
	return checkLog(vfs.OS{}, path, &meta)
}

// checkLog reads every segment and snapshot of the log at path; meta is nil when the directory has none.
func checkLog(fsys vfs.FS, path string, meta *datadir.Meta) (files []wal.Checked, err error) {
	o := exchange.EngineLogOptions()
	if meta != nil {
		if o, err = meta.LogOptions(o); err != nil {
			return nil, err
		}
	}
	files, err = wal.Check(fsys, path, o, discard)
	for i := range files {
		files[i].File = filepath.Join(datadir.LogName, filepath.Base(files[i].File))
	}
	return files, err
}

// damageOf returns an error with the first damage and its remedy, nil if there is none.
func damageOf(files []wal.Checked) error {
	for i := range files {
		if err := files[i].Err; err != nil {
			return exchange.ExplainDamage(err)
		}
	}
	return nil
}

// fileText describes the result of checking a file.
func fileText(f *wal.Checked) string {
	switch {
	case f.Err != nil:
		return "damaged: " + f.Err.Error()
	case f.Torn > 0:
		return fmt.Sprintf("records %d to %d, a torn tail of %d bytes: the next start cuts it off", f.First, f.Last,
			f.Torn)
	case filepath.Ext(f.File) != wal.SegmentExt:
		return fmt.Sprintf("snapshot of record %d", f.Last)
	case f.Last < f.First:
		return "no record"
	}
	return fmt.Sprintf("records %d to %d", f.First, f.Last)
}

// printFiles prints one line for each file.
func printFiles(out io.Writer, files []wal.Checked) {
	for i := range files {
		fmt.Fprintf(out, "%-44s %s\n", files[i].File, fileText(&files[i]))
	}
}

// fileTexts returns the result of checking each file, by path.
func fileTexts(files []wal.Checked) map[string]string {
	texts := map[string]string{}
	for i := range files {
		texts[files[i].File] = fileText(&files[i])
	}
	return texts
}

// oldestSnapshot returns the position of the oldest snapshot, 0 without one.
func oldestSnapshot(files []wal.Checked) uint64 {
	for _, f := range files {
		if filepath.Ext(f.File) != wal.SegmentExt {
			return f.Last
		}
	}
	return 0
}

// snapshotHashes returns the state hashes of the snapshots by position. It omits the snapshot at position begun, from
// which the replay starts.
func snapshotHashes(log keeper.LogDir, o machine.Options, files []wal.Checked,
	begun uint64,
) (map[uint64]machine.StateHash, error) {
	hashes := map[uint64]machine.StateHash{}
	for _, f := range files {
		if filepath.Ext(f.File) == wal.SegmentExt || f.Last == begun {
			continue
		}
		r, _, err := keeper.Load(o, log, f.Last)
		if err != nil {
			return nil, err
		}
		if r.Pos == f.Last {
			hashes[r.Pos] = r.Hash()
		}
	}
	return hashes, nil
}

// compareHash compares the replayed state with the snapshot at the same position.
func compareHash(log keeper.LogDir, r *machine.State, hashes map[uint64]machine.StateHash) error {
	want, kept := hashes[r.Pos]
	if !kept {
		return nil
	}
	got := r.Hash()
	for i, part := range want.Parts() {
		if was := got.Parts()[i]; was != part {
			return &wal.CorruptError{
				File: filepath.Join(log.Dir, wal.SnapshotName(r.Pos)), Seq: r.Pos,
				Reason: fmt.Sprintf("its state hash of %s is %s, the replay of the records before it gives %s",
					part.Name, part.Hash, was.Hash),
			}
		}
	}
	return nil
}
