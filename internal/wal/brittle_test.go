package wal

import (
	"errors"
	"io"
	"io/fs"
	"path"

	"github.com/tickhive/tickhive/internal/vfs"
)

// errCall is the cause of the call that brittle fails.
var errCall = errors.New("this call fails")

// brittle is a file system of which one call fails, also one that vfstest.Mem cannot fail. It counts the open files.
type brittle struct {
	vfs.FS
	left   int    // calls up to the one that fails, 0: none
	also   int    // calls up to another one that fails, 0: none
	err    error  // of the first one, nil: errCall
	failed string // kind of the call that failed, and its path
	open   int
}

func (b *brittle) next(kind, name string) error {
	b.left, b.also = b.left-1, b.also-1
	if b.left != 0 && b.also != 0 {
		return nil
	}
	b.failed = kind + " " + path.Base(name)
	if b.left == 0 && b.err != nil {
		return b.err
	}
	return &fs.PathError{Op: kind, Path: name, Err: errCall}
}

func (b *brittle) opened(f vfs.File, name string, written bool, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	b.open++
	return &brittleFile{f, b, name, written}, nil
}

func (b *brittle) Create(name string) (vfs.File, error) {
	if err := b.next("create", name); err != nil {
		return nil, err
	}
	f, err := b.FS.Create(name)
	return b.opened(f, name, true, err)
}

func (b *brittle) Open(name string) (vfs.File, error) {
	if err := b.next("open", name); err != nil {
		return nil, err
	}
	f, err := b.FS.Open(name)
	return b.opened(f, name, false, err)
}

func (b *brittle) OpenRW(name string) (vfs.File, error) {
	if err := b.next("openrw", name); err != nil {
		return nil, err
	}
	f, err := b.FS.OpenRW(name)
	return b.opened(f, name, true, err)
}

func (b *brittle) Rename(from, to string) error {
	return unless(b.next("rename", from), func() error { return b.FS.Rename(from, to) })
}

func (b *brittle) Remove(name string) error {
	return unless(b.next("remove", name), func() error { return b.FS.Remove(name) })
}

func (b *brittle) MkdirAll(dir string) error {
	return unless(b.next("mkdir", dir), func() error { return b.FS.MkdirAll(dir) })
}

func (b *brittle) SyncDir(dir string) error {
	return unless(b.next("syncdir", dir), func() error { return b.FS.SyncDir(dir) })
}

func (b *brittle) List(dir string) (names []string, err error) {
	if err := b.next("list", dir); err != nil {
		return nil, err
	}
	return b.FS.List(dir)
}

func (b *brittle) Lock(name string, owner vfs.Owner) (io.Closer, error) {
	if err := b.next("lock", name); err != nil {
		return nil, err
	}
	lock, err := b.FS.Lock(name, owner)
	if err == nil {
		b.open++
	}
	return &brittleLock{lock, b, name}, err
}

type brittleLock struct {
	io.Closer
	b    *brittle
	name string
}

func (l *brittleLock) Close() error {
	l.b.open--
	return errors.Join(l.b.next("close", l.name), l.Closer.Close())
}

type brittleFile struct {
	vfs.File
	b       *brittle
	name    string
	written bool
}

func (f *brittleFile) ReadAt(p []byte, off int64) (n int, err error) {
	if err := f.b.next("read", f.name); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *brittleFile) WriteAt(p []byte, off int64) (n int, err error) {
	if err := f.b.next("write", f.name); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f *brittleFile) Preallocate(off, n int64) error {
	return unless(f.b.next("preallocate", f.name), func() error { return f.File.Preallocate(off, n) })
}

func (f *brittleFile) Truncate(size int64) error {
	return unless(f.b.next("truncate", f.name), func() error { return f.File.Truncate(size) })
}

func (f *brittleFile) Sync() error {
	return unless(f.b.next("sync", f.name), f.File.Sync)
}

func (f *brittleFile) Size() (int64, error) {
	if err := f.b.next("size", f.name); err != nil {
		return 0, err
	}
	return f.File.Size()
}

func (f *brittleFile) Close() error {
	kind := "close"
	if !f.written {
		kind = "close read"
	}
	f.b.open--
	return errors.Join(f.b.next(kind, f.name), f.File.Close())
}

func unless(err error, do func() error) error {
	if err != nil {
		return err
	}
	return do()
}
