package vfs

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Bulk is the file system of stores that simulate a history before clients are admitted. Between Begin and
// End it defers every sync to End. This is safe, because nothing of the history is acknowledged, and a start
// that is interrupted begins again. Any goroutine may use it. Begin and End do nothing on a nil Bulk.
type Bulk struct {
	FS
	bulk atomic.Bool
	mu   sync.Mutex
	open map[*bulkFile]struct{}
}

// NewBulk returns a file system that defers nothing until Begin.
func NewBulk(fs FS) *Bulk { return &Bulk{FS: fs, open: map[*bulkFile]struct{}{}} }

// Begin defers syncs from now on.
func (b *Bulk) Begin() {
	if b != nil {
		b.bulk.Store(true)
	}
}

// End runs the deferred syncs; later syncs run at once.
func (b *Bulk) End() error {
	if b == nil {
		return nil
	}
	b.bulk.Store(false)
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for f := range b.open {
		errs = append(errs, f.syncDeferred())
	}
	return errors.Join(errs...)
}

// Create implements FS.
func (b *Bulk) Create(name string) (File, error) { return b.track(b.FS.Create(name)) }

// OpenRW implements FS.
func (b *Bulk) OpenRW(name string) (File, error) { return b.track(b.FS.OpenRW(name)) }

func (b *Bulk) track(f File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	held := &bulkFile{File: f, fs: b}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[held] = struct{}{}
	return held, nil
}

// bulkFile is a file whose sync may be deferred.
type bulkFile struct {
	File
	fs       *Bulk
	deferred atomic.Bool
}

// Sync implements File.
func (f *bulkFile) Sync() error {
	if f.fs.bulk.Load() {
		f.deferred.Store(true)
		return nil
	}
	return f.File.Sync()
}

// syncDeferred runs a deferred sync.
func (f *bulkFile) syncDeferred() error {
	if f.deferred.Swap(false) {
		return f.File.Sync()
	}
	return nil
}

// Close implements File. It runs a deferred sync first.
func (f *bulkFile) Close() error {
	f.fs.mu.Lock()
	delete(f.fs.open, f)
	f.fs.mu.Unlock()
	return errors.Join(f.syncDeferred(), f.File.Close())
}
