package main

import (
	"errors"
	"sync"
	"sync/atomic"

	"tickhive/internal/vfs"
)

// bulkFS is the file system of stores that live a history before anybody is let in:
// between begin and end a sync waits for end, because nothing of it is acknowledged and a
// start that is cut short begins anew. Any goroutine may use it; a nil one does nothing.
type bulkFS struct {
	vfs.FS
	bulk atomic.Bool
	mu   sync.Mutex
	open map[*bulkFile]struct{}
}

func newBulkFS() *bulkFS { return &bulkFS{FS: vfs.OS{}, open: map[*bulkFile]struct{}{}} }

// begin lets syncs wait.
func (b *bulkFS) begin() {
	if b != nil {
		b.bulk.Store(true)
	}
}

// end makes durable what waited; from then on a sync is one.
func (b *bulkFS) end() error {
	if b == nil {
		return nil
	}
	b.bulk.Store(false)
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for f := range b.open {
		errs = append(errs, f.settle())
	}
	return errors.Join(errs...)
}

// Create is of vfs.FS.
func (b *bulkFS) Create(name string) (vfs.File, error) { return b.hold(b.FS.Create(name)) }

// OpenRW is of vfs.FS.
func (b *bulkFS) OpenRW(name string) (vfs.File, error) { return b.hold(b.FS.OpenRW(name)) }

func (b *bulkFS) hold(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	held := &bulkFile{File: f, fs: b}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[held] = struct{}{}
	return held, nil
}

// bulkFile is a file whose sync may wait.
type bulkFile struct {
	vfs.File
	fs    *bulkFS
	waits atomic.Bool
}

// Sync is of vfs.File.
func (f *bulkFile) Sync() error {
	if f.fs.bulk.Load() {
		f.waits.Store(true)
		return nil
	}
	return f.File.Sync()
}

// settle is the sync that waited.
func (f *bulkFile) settle() error {
	if f.waits.Swap(false) {
		return f.File.Sync()
	}
	return nil
}

// Close is of vfs.File; what waits is settled first.
func (f *bulkFile) Close() error {
	f.fs.mu.Lock()
	delete(f.fs.open, f)
	f.fs.mu.Unlock()
	return errors.Join(f.settle(), f.File.Close())
}
