package datadir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"tickhive/internal/vfs"
)

// A directory of the old format is converted in three steps. meta.json names the current one, so a
// start that is cut short goes on with it, and an older program refuses the directory from the first
// step on.
const (
	convertCopy  = "copy"  // the old files are copied to beforeDir
	convertWrite = "write" // the logs are written from the copies
)

// beforeDir holds the files of the old format.
var beforeDir = fmt.Sprintf("before-%d", oldFormat)

// copyBytes are copied at a time.
const copyBytes = 1 << 20

// converted refuses a directory that a start has to convert first.
func (m *Meta) converted(path string) error {
	if m.Format == format && m.Converting == "" {
		return nil
	}
	return fmt.Errorf("data directory: %s has format %d: start it once with `tickhive serve`, which converts it to "+
		"format %d and keeps the old files in %s", path, oldFormat, format, filepath.Join(path, beforeDir))
}

// settled refuses a directory that a start has to convert, or to which a change of the key is under way.
func (m *Meta) settled(path string) error {
	if m.Resealing {
		return fmt.Errorf("data directory: the change of the key of %s was cut short: start it once with "+
			"`tickhive serve`, which completes it", path)
	}
	return m.converted(path)
}

// conversion copies the files of the old format.
type conversion struct{ *Dir }

// begin keeps the old meta.json and sets the first step.
func (d conversion) begin() error {
	if err := d.fsys.MkdirAll(d.Sub(beforeDir)); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if err := d.copyFile("meta.json"); err != nil {
		return err
	}
	if err := d.fsys.SyncDir(d.path); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	d.meta.Format, d.meta.Converting = format, convertCopy
	return nil
}

// Convert ends the conversion of a directory of the old format. convert writes the log of a store from
// the directory old into the empty directory dir. It reports whether there was anything to convert.
func (d *Dir) Convert(convert func(name, old, dir string) error) (bool, error) {
	if d.meta.Converting == "" {
		return false, nil
	}
	if d.meta.Converting == convertCopy {
		if err := (conversion{d}).copyOld(); err != nil {
			return true, err
		}
		if err := d.change(func(m *Meta) { m.Converting = convertWrite }); err != nil {
			return true, err
		}
	}
	for _, name := range storeDirs {
		if err := d.removeFiles(d.Sub(name), nil); err != nil {
			return true, err
		}
		old := d.Sub(filepath.Join(beforeDir, name))
		names, err := d.fsys.List(old)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
			continue
		}
		if err == nil {
			err = convert(name, old, d.Sub(name))
		}
		if err != nil {
			return true, fmt.Errorf("data directory: convert %s: %w", old, err)
		}
	}
	return true, d.change(func(m *Meta) { m.Converting = "" })
}

// copyOld durably copies every file of the directory to beforeDir.
func (d conversion) copyOld() error {
	for _, store := range append([]string{""}, storeDirs...) {
		names, err := d.fsys.List(d.Sub(store))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
		if err := d.fsys.MkdirAll(d.Sub(filepath.Join(beforeDir, store))); err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
		for _, name := range names {
			if store == "" && name != "CLOCK" && name != "NONCES" {
				continue
			}
			if err := d.copyFile(filepath.Join(store, name)); err != nil {
				return err
			}
		}
	}
	if err := d.fsys.SyncDir(d.Sub(beforeDir)); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// copyFile durably copies a file of the directory to beforeDir.
func (d conversion) copyFile(name string) error {
	from, err := d.fsys.Open(d.Sub(name))
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	to := d.Sub(filepath.Join(beforeDir, name))
	f, err := d.fsys.Create(to + tempExt)
	if err != nil {
		return errors.Join(fmt.Errorf("data directory: %w", err), from.Close())
	}
	err = copyContent(f, from)
	return errors.Join(putInPlace(d.fsys, filepath.Dir(to), to, f, err), from.Close())
}

func copyContent(to, from vfs.File) error {
	buf := make([]byte, copyBytes)
	for off := int64(0); ; {
		n, err := from.ReadAt(buf, off)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 {
			return nil
		}
		if _, err := to.WriteAt(buf[:n], off); err != nil {
			return err
		}
		off += int64(n)
	}
}
