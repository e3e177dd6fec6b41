package vfs

import (
	"io"
	"os"
	"path/filepath"
	"sort"
)

const (
	fileMode = 0o600
	dirMode  = 0o700
)

// OS is the machine's file system. The zero value is ready.
type OS struct{}

// Create makes an empty file, 0600.
func (OS) Create(name string) (File, error) {
	return openOS(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

// Open opens a file read only.
func (OS) Open(name string) (File, error) { return openOS(name, os.O_RDONLY) }

// OpenRW opens an existing file for reading and writing.
func (OS) OpenRW(name string) (File, error) { return openOS(name, os.O_RDWR) }

func openOS(name string, flags int) (File, error) {
	f, err := os.OpenFile(name, flags, fileMode)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Rename gives a file a new name.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove deletes a file.
func (OS) Remove(name string) error { return os.Remove(name) }

// List returns the sorted names of the files in dir.
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	sort.Strings(names)
	return names, nil
}

// Dirs returns the names of the directories in dir.
func (OS) Dirs(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// MkdirAll makes dir and its parents, 0700. The parent's directory is synced by the
// caller who needs the name to survive a power cut.
func (OS) MkdirAll(dir string) error { return os.MkdirAll(dir, dirMode) }

// SyncDir makes the names in dir durable.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// Lock takes an advisory lock on the file and writes the owner into it.
func (OS) Lock(name string, owner Owner) (io.Closer, error) { return lockOS(name, owner) }

type osFile struct{ *os.File }

// zeros holds the bytes that Preallocate writes; it is never modified.
var zeros [1 << 18]byte

func (f osFile) Preallocate(off, n int64) error {
	for n > 0 {
		k, err := f.WriteAt(zeros[:min(n, int64(len(zeros)))], off)
		off, n = off+int64(k), n-int64(k)
		if err != nil {
			return err
		}
	}
	return nil
}

func (f osFile) Sync() error { return dataSync(f.File) }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
