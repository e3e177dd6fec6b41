//go:build linux || darwin

package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// Room implements Roomer.
func (OS) Room(dir string) (free, total int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), nil
}
