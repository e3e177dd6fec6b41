package wal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tickhive/tickhive/internal/clock"
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
	l.slotMu.Lock()
	for _, seg := range dirty {
		seg.begun = seg.gen
	}
	l.slotMu.Unlock()
	beginNs := clock.MachineNs()
	for _, seg := range dirty {
		if err := seg.file.Sync(); err != nil {
			return l.Fail(errors.Join(fmt.Errorf("sync of %s: %w", seg.path, err), disown(l, seg)))
		}
	}
	if dir {
		if err := l.fsys.SyncDir(l.dir); err != nil {
			return l.Fail(fmt.Errorf("sync of %s: %w", l.dir, err))
		}
	}
	if len(dirty) > 0 || dir {
		l.figures.syncs.Observe(clock.MachineNs() - beginNs)
	}
	l.slotMu.Lock()
	l.end.synced = target
	for _, seg := range dirty {
		seg.named, seg.synced = true, seg.begun
	}
	l.slotMu.Unlock()
	if err := l.sealSynced(); err != nil {
		return l.Fail(err)
	}
	l.durable.Store(target)
	l.noteSynced(dirty)
	l.fillAhead()
	return nil
}

// disown takes back from the slot of the segment before seg that the log goes on behind it, unless seg was durable
// before. After a failed sync a system may show the old content of seg, which has no header, and a start would
// miss the segment although nothing in it was acknowledged.
func disown(l *Log, seg *openSegment) error {
	l.slotMu.Lock()
	defer l.slotMu.Unlock()
	l.listMu.Lock()
	full := l.full
	l.listMu.Unlock()
	at := slices.IndexFunc(full, func(s *openSegment) bool { return s.num+1 == seg.num })
	if seg.named || at < 0 {
		return nil
	}
	full[at].flags &^= slotFollowed
	l.end.written = seg.first - 1
	return l.writeSlot(full[at])
}

// noteSynced writes into the active segment's slot that the log is durable, if the sync was one of
// that segment. The slot that the sync has covered stays from now on, and the other one is written. A
// slot that was written again during the sync is not known to be durable, so it does not turn.
//
// A full disk may refuse the write. That is no reason to stop: the records are durable, the other slot
// is whole, and the next slot that is written says the same. Until then a start knows less: records
// that a power cut takes make an incident and a new epoch instead of a refusal.
func (l *Log) noteSynced(dirty []*openSegment) {
	l.slotMu.Lock()
	defer l.slotMu.Unlock()
	a := l.active
	if !slices.Contains(dirty, a) {
		return
	}
	if a.gen == a.synced {
		a.turnSlot()
	}
	_ = l.writeSlot(a)
}

// sealSynced ends the full segments whose records are all synced, once the segment behind each is durable. It marks the
// end in the segment's slot, syncs the segment and closes the file. Without the mark a start would not notice that
// later segments are missing. The owner no longer writes to a full segment, so a sync that has ended covers each
// segment that is not in unsynced, maybe since the time when the segment was active. Needs syncMu: no sync is in
// flight.
func (l *Log) sealSynced() error {
	l.listMu.Lock()
	behind := append(l.full[min(1, len(l.full)):len(l.full):len(l.full)], l.segments[len(l.segments)-1])
	n := 0
	for n < len(l.full) && (len(l.unsynced) == 0 || l.full[n].num < l.unsynced[0].num) && behind[n].named {
		n++
	}
	synced := l.full[:n]
	l.full = l.full[n:]
	l.listMu.Unlock()
	for _, seg := range synced {
		if err := l.seal(seg); err != nil {
			return err
		}
	}
	return nil
}

// seal ends a full segment in its slot and closes it.
func (l *Log) seal(seg *openSegment) error {
	l.slotMu.Lock()
	err := seg.syncSlot()
	if err == nil {
		seg.turnSlot()
		seg.flags = slotFollowed | slotSealed
		err = l.writeSlot(seg)
	}
	l.slotMu.Unlock()
	if err == nil {
		err = seg.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("wal: seal %s: %w", seg.path, err)
	}
	seg.file.Close()
	seg.file = nil
	return nil
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
		if err == nil {
			err = l.writeBothSlots(l.active, slotClosed)
		}
		if err == nil {
			l.opts.Ended(l.Position())
		} else {
			err = fmt.Errorf("%w: %w", ErrEndUnknown, err)
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
	return nil
}

// writeBothSlots durably writes the end of the log into both slots of a segment, one after the other. Everything
// in it must be durable.
func (l *Log) writeBothSlots(a *openSegment, flags uint32) error {
	l.slotMu.Lock()
	defer l.slotMu.Unlock()
	a.flags = flags
	err := a.syncSlot()
	for n := 0; n < 2 && err == nil; n++ {
		a.turnSlot()
		if err = l.writeSlot(a); err == nil {
			err = a.syncSlot()
		}
	}
	if err != nil {
		return fmt.Errorf("wal: the end of the log: %w", err)
	}
	return nil
}
