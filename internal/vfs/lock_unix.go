//go:build unix

package vfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// lockOS uses flock: it belongs to the open file, so the kernel gives it back however
// the process ends, and a second Lock in the same process is refused as well.
func lockOS(name string, owner Owner) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		text, _ := io.ReadAll(io.LimitReader(f, 4096))
		f.Close()
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
	return f, nil
}
