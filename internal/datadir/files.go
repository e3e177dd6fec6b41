package datadir

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"syscall"

	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/vfs"
)

// DamagedError reports a file of the directory whose content is not what the program wrote.
type DamagedError struct {
	File   string // path
	Reason string
}

// Error returns the file, the reason and the remedy.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("data directory: %s is damaged: %s: restore the directory from a copy, "+
		"or start with another --data-dir", e.File, e.Reason)
}

// ExitCode returns the code with which the program ends.
func (*DamagedError) ExitCode() int { return cmdline.ExitDamaged }

// remediedError is the error with which a start ends, with what an operator can do.
type remediedError struct {
	error
	remedy string
}

// Error returns the error and the remedy.
func (e *remediedError) Error() string { return e.error.Error() + ": " + e.remedy }

// Unwrap returns the error without the remedy.
func (e *remediedError) Unwrap() error { return e.error }

// remedied adds the remedy to the error of a file that a start cannot do without.
func remedied(err error) error {
	remedy := "restore the directory from a copy, or start with another --data-dir"
	switch {
	case errors.As(err, new(*vfs.LockedError)):
		remedy = "stop that process, or start with another --data-dir"
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return Room(err)
	case errors.Is(err, syscall.EROFS):
		remedy = "make the file system writable, or start with another --data-dir"
	case errors.Is(err, fs.ErrPermission):
		remedy = "let the program's user read and write there, or start with another --data-dir"
	}
	return &remediedError{err, remedy}
}

// Room adds a remedy to the error of a start that failed because the disk or the quota is full. It returns any other
// error unchanged, also nil and an error that has a remedy already.
func Room(err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) || errors.As(err, new(*remediedError)) {
		return err
	}
	return &remediedError{err, "free some space and start again"}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the CRC-32C of b in 8 hexadecimal digits. The result is an array, so that it needs no
// allocation: each signed request computes one.
func checksum(b []byte) (sum [8]byte) {
	hex.AppendEncode(sum[:0], binary.BigEndian.AppendUint32(nil, crc32.Checksum(b, castagnoli)))
	return sum
}

// readFile returns the content of a file; found is false if there is none.
func readFile(fsys vfs.FS, name string) (content []byte, found bool, err error) {
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("data directory: %w", remedied(err))
	}
	size, err := f.Size()
	if err == nil {
		content = make([]byte, size)
		if _, err = f.ReadAt(content, 0); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, false, fmt.Errorf("data directory: %w", remedied(err))
	}
	return content, true, nil
}

// replaceFile durably replaces the content of a file. After a power cut the file has the old or the new
// content.
func replaceFile(fsys vfs.FS, dir, name string, content []byte) error {
	f, err := fsys.Create(name + tempExt)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	_, err = f.WriteAt(content, 0)
	return putInPlace(fsys, dir, name, f, err)
}

// putInPlace syncs the temporary file of name, unless writing it failed, closes it and renames it.
func putInPlace(fsys vfs.FS, dir, name string, f vfs.File, err error) error {
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = fsys.Rename(name+tempExt, name)
	}
	if err == nil {
		err = fsys.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

const tempExt = ".tmp"
