//go:build unix

package vfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// osLock holds the locks of a lock file and of its directory.
type osLock struct{ file, dir *os.File }

// Close releases both locks. A process that this one has just forked has the files open until it runs its own
// program, so closing them here would not release the locks.
func (l osLock) Close() error {
	_ = flock(l.file, syscall.LOCK_UN) // the directory may have no lock, and the end of the files is enough otherwise
	_ = flock(l.dir, syscall.LOCK_UN)
	return errors.Join(l.file.Close(), l.dir.Close())
}

// lockOS locks the file and its directory with flock. A lock belongs to the open file, so the
// kernel releases it however the process ends, and a second Lock in the same process is refused as
// well. The directory's lock refuses a process that made the file again after it was removed.
func lockOS(name string, owner Owner) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	l := osLock{f, dir}
	err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		// Some network file systems lock files only; there the file's lock has to do.
		if err = flock(dir, syscall.LOCK_EX|syscall.LOCK_NB); err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			err = nil
		}
	}
	if err != nil {
		text, _ := io.ReadAll(io.LimitReader(f, 4096))
		_ = l.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &LockedError{Path: name, Owner: parseOwner(text)}
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	// The text only informs the next one who is refused; a full disk must not keep the
	// holder from starting.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt(owner.text(), 0)
	}
	return l, nil
}

func flock(f *os.File, how int) error { return syscall.Flock(int(f.Fd()), how) }
