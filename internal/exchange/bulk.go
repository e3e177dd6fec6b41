package exchange

import (
	"errors"
	"sync"
	"sync/atomic"

	"tickhive/internal/vfs"
)

// bulkFS is the file system of stores that simulate a history before clients are admitted. Between begin and
// end it defers every sync to end. This is safe, because nothing of the history is acknowledged, and a start
// that is interrupted begins again. Any goroutine may use it. begin and end do nothing on a nil bulkFS.
type bulkFS struct {
	vfs.FS
	bulk atomic.Bool
	mu   sync.Mutex
	open map[*bulkFile]struct{}
}

func newBulkFS(fs vfs.FS) *bulkFS { return &bulkFS{FS: fs, open: map[*bulkFile]struct{}{}} }

// begin defers syncs from now on.
func (b *bulkFS) begin() {
	if b != nil {
		b.bulk.Store(true)
	}
}

// end runs the deferred syncs; later syncs run at once.
func (b *bulkFS) end() error {
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

// Create implements vfs.FS.
func (b *bulkFS) Create(name string) (vfs.File, error) { return b.track(b.FS.Create(name)) }

// OpenRW implements vfs.FS.
func (b *bulkFS) OpenRW(name string) (vfs.File, error) { return b.track(b.FS.OpenRW(name)) }

func (b *bulkFS) track(f vfs.File, err error) (vfs.File, error) {
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
	vfs.File
	fs       *bulkFS
	deferred atomic.Bool
}

// Sync implements vfs.File.
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

// Close implements vfs.File. It runs a deferred sync first.
func (f *bulkFile) Close() error {
	f.fs.mu.Lock()
	delete(f.fs.open, f)
	f.fs.mu.Unlock()
	return errors.Join(f.syncDeferred(), f.File.Close())
}
