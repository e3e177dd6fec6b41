package wal

import (
	"errors"
	"fmt"
)

// Sync makes everything written before the call durable: the data of every segment
// written since its last sync, and the directory when a segment was added. Any
// goroutine; the owner may go on appending meanwhile. An error stops the log for good.
func (l *Log) Sync() error {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	return l.sync()
}

// sync needs syncMu.
func (l *Log) sync() error {
	if err := l.Stopped(); err != nil {
		return err
	}
	target := l.written.Load()
	l.listMu.Lock()
	dirty, dir := l.unsynced, l.dirDirty
	l.unsynced, l.dirDirty = nil, false
	for _, seg := range dirty {
		seg.waits.Store(false)
	}
	l.listMu.Unlock()
	for _, seg := range dirty {
		if err := seg.file.Sync(); err != nil {
			return l.Fail(fmt.Errorf("sync of %s: %w", seg.path, err))
		}
	}
	if dir {
		if err := l.fsys.SyncDir(l.dir); err != nil {
			return l.Fail(fmt.Errorf("sync of %s: %w", l.dir, err))
		}
	}
	l.durable.Store(target)
	l.closeSynced()
	l.fillAhead()
	return nil
}

// closeSynced closes the files of full segments that hold nothing unsynced. The owner no
// longer writes to them, so a segment that waits for no sync was covered by one that has ended,
// maybe while it was active. Needs syncMu: no sync is in flight.
func (l *Log) closeSynced() {
	l.listMu.Lock()
	n := 0
	for n < len(l.full) && (len(l.unsynced) == 0 || l.full[n].num < l.unsynced[0].num) {
		n++
	}
	synced := l.full[:n]
	l.full = l.full[n:]
	l.listMu.Unlock()
	for _, seg := range synced {
		seg.file.Close()
		seg.file = nil
	}
}

// Close syncs, cuts the zeros behind the last record, closes the files and releases the
// lock. Any goroutine: it waits for the write and the sync under way, and later calls get
// ErrClosed. It cuts no record that Write has accepted.
func (l *Log) Close() error {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	var errs []error
	if l.Stopped() == nil {
		err := l.sync()
		if err == nil {
			err = l.trim()
		}
		errs = append(errs, err)
	}
	// Before the files are closed, so that the next holder of one of the locks finds the log closed.
	closed := fmt.Errorf("%w", ErrClosed)
	l.stop.CompareAndSwap(nil, &closed)
	l.fillMu.Lock()
	defer l.fillMu.Unlock()
	l.listMu.Lock()
	defer l.listMu.Unlock()
	for _, seg := range l.segments {
		if seg.file != nil {
			errs = append(errs, seg.file.Close())
			seg.file = nil
		}
	}
	if l.lock != nil {
		errs = append(errs, l.lock.Close())
		l.lock = nil
	}
	return errors.Join(errs...)
}

// trim cuts off the preallocated rest of the active segment.
func (l *Log) trim() error {
	l.fillMu.Lock()
	defer l.fillMu.Unlock()
	a, off := l.active, l.off.Load()
	if a.filled.Load() == off {
		return nil
	}
	if err := a.file.Truncate(off); err != nil {
		return fmt.Errorf("wal: %s: trim: %w", a.path, err)
	}
	a.filled.Store(off)
	if err := a.file.Sync(); err != nil {
		return fmt.Errorf("wal: %s: sync: %w", a.path, err)
	}
	return nil
}
