package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tickhive/accounts"
	"tickhive/internal/datadir"
	"tickhive/internal/exchange"
	"tickhive/internal/machine"
	"tickhive/internal/machine/keeper"
	"tickhive/internal/seal"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// discard reads a snapshot without decoding it.
func discard(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

// decoded returns a function that reads a whole snapshot and decodes it.
func decoded[S any](decode func(body []byte) (S, error)) func(io.Reader) error {
	return func(r io.Reader) error {
		body, err := io.ReadAll(r)
		if err == nil {
			_, err = decode(body)
		}
		return err
	}
}

// dataLog describes a log of a data directory.
type dataLog struct {
	Name    string
	Options wal.Options // with the version of its records

	decode func(io.Reader) error // of a snapshot
}

// dataLogs lists the logs of a data directory. The market's snapshots need no decoder here: a replay checks them.
var dataLogs = []dataLog{
	{"engine", exchange.EngineLogOptions(), discard},
	{"accounts", wal.Options{RecordVersion: accounts.RecordVersion}, decoded(func(b []byte) (*accounts.State, error) {
		if _, sealed := seal.KeyOf(b); sealed {
			return nil, nil // its checksum verifies; what is in it only the exchange can open
		}
		return accounts.DecodeSnapshot(b, accounts.Options{Random: rand.Reader})
	})},
}

// checkFiles reads every segment and snapshot of the logs in a data directory, or of the single log that dir
// is. It returns the files with paths relative to dir.
func checkFiles(dir string) ([]wal.Checked, error) {
	var all []wal.Checked
	base, alone := filepath.Split(filepath.Clean(dir))
	meta, err := datadir.ReadMeta(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	known := &meta
	if err != nil {
		known = nil
	}
	for i := range dataLogs {
		log := &dataLogs[i]
		path := filepath.Join(dir, log.Name)
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			if alone != log.Name {
				continue
			}
			path = filepath.Join(base, alone)
		}
		files, err := log.Check(vfs.OS{}, path, known)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// Check reads every segment and snapshot of the log at path; meta is nil when the directory has none.
func (log *dataLog) Check(fsys vfs.FS, path string, meta *datadir.Meta) (files []wal.Checked, err error) {
	o := log.Options
	o.Boot = datadir.MachineBoot()
	if meta != nil {
		if o, err = meta.LogOptions(log.Name, o); err != nil {
			return nil, err
		}
	}
	files, err = wal.Check(fsys, path, o, log.decode)
	for i := range files {
		files[i].File = filepath.Join(log.Name, filepath.Base(files[i].File))
	}
	return files, err
}

// verifyFiles checks the files of a store's log. If one is damaged, it prints a line for each file and returns
// the first damage.
func verifyFiles(out io.Writer, dir string) ([]wal.Checked, error) {
	files, err := checkFiles(dir)
	if err != nil {
		return nil, err
	}
	err = damageOf(files)
	if err != nil {
		printFiles(out, files)
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

// oldestSnapshot returns the position of the market's oldest snapshot, 0 without one.
func oldestSnapshot(files []wal.Checked) uint64 {
	for _, f := range files {
		if filepath.Dir(f.File) == "engine" && filepath.Ext(f.File) != wal.SegmentExt {
			return f.Last
		}
	}
	return 0
}

// snapshotHashes returns the state hashes of the market's snapshots by position. It omits the snapshot at
// position begun, from which the replay starts.
func snapshotHashes(log keeper.LogDir, o machine.Options, files []wal.Checked,
	begun uint64,
) (map[uint64]string, error) {
	hashes := map[uint64]string{}
	for _, f := range files {
		if filepath.Dir(f.File) != "engine" || filepath.Ext(f.File) == wal.SegmentExt || f.Last == begun {
			continue
		}
		r, _, err := keeper.Load(o, log, f.Last)
		if err != nil {
			return nil, err
		}
		if r.Pos == f.Last {
			hashes[r.Pos] = machine.HashMarket(r.Core, r.Feed).Hash
		}
	}
	return hashes, nil
}

// compareHash compares the replayed market with the snapshot at the same position.
func compareHash(log keeper.LogDir, r *machine.State, hashes map[uint64]string) error {
	want, kept := hashes[r.Pos]
	if !kept {
		return nil
	}
	if got := machine.HashMarket(r.Core, r.Feed).Hash; got != want {
		return &wal.CorruptError{
			File: filepath.Join(log.Dir, wal.SnapshotName(r.Pos)), Seq: r.Pos,
			Reason: fmt.Sprintf("its state hash is %s, the replay of the records before it gives %s", want, got),
		}
	}
	return nil
}
