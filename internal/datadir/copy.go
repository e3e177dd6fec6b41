package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// copyTries limits the copies of a directory in which files come and go.
const copyTries = 1000

// CopyInUse copies the directory of a running exchange into the empty directory to, as the end of the process would
// leave it now. No request may be under way. Snapshots go on, so a copy counts when the names stayed the same.
func CopyInUse(to, dir string) error {
	for range copyTries {
		before, err := names(dir)
		if err != nil {
			return err
		}
		err = os.CopyFS(to, os.DirFS(dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		after, nameErr := names(dir)
		if nameErr != nil {
			return nameErr
		}
		if err == nil && slices.Equal(before, after) {
			return nil
		}
		if err := Clear(to); err != nil {
			return err
		}
	}
	return fmt.Errorf("the names in %s changed during %d copies", dir, copyTries)
}

// Clear removes everything that a directory contains.
func Clear(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// names returns the paths of the files in a directory.
func names(dir string) (paths []string, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if paths = append(paths, path); errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		return err
	})
	return paths, err
}
