package vfs

import (
	"os"
	"syscall"
)

// dataSync calls fdatasync, which syncs data and size but not the times. It repeats the call only after EINTR:
// after any other error the pages may be marked clean although they were not written.
func dataSync(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var serr error
	err = conn.Control(func(fd uintptr) {
		for {
			if serr = syscall.Fdatasync(int(fd)); serr != syscall.EINTR {
				return
			}
		}
	})
	if err == nil {
		err = serr
	}
	if err != nil {
		return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
	}
	return nil
}

// Map implements Mapper.
func (f osFile) Map(off, n int64) (b []byte, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var merr error
	err = conn.Control(func(fd uintptr) {
		b, merr = syscall.Mmap(int(fd), off, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	})
	if err == nil && merr != nil {
		err = &os.PathError{Op: "mmap", Path: f.Name(), Err: merr}
	}
	return b, err
}

// Unmap implements Mapper.
func (f osFile) Unmap(b []byte) error { return syscall.Munmap(b) }
