package wal

import (
	"fmt"
	"path"
)

// SegmentInfo describes one file of an open log.
type SegmentInfo struct {
	Number   uint64
	Path     string
	FirstSeq uint64
	LastSeq  uint64 // FirstSeq-1 when it holds no record
	Bytes    int64  // up to the end of its last record
}

// Rotate begins a new segment, durable with the next Sync; on an error the old one stays
// in use. It does nothing while the active one is empty: a record vouches for all records
// before it, which covers a segment's header only when the segment has one. Owner only.
func (l *Log) Rotate() error {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if err := l.Stopped(); err != nil {
		return err
	}
	if l.off.Load() == headerBytes {
		return nil
	}
	seg, err := l.createSegment(l.active.num+1, l.lastSeq+1)
	if err != nil {
		return err
	}
	l.activate(seg)
	return nil
}

// activate makes seg the active segment, in one step for those who fill it and for those who
// read the list.
func (l *Log) activate(seg *openSegment) {
	l.fillMu.Lock()
	defer l.fillMu.Unlock()
	l.listMu.Lock()
	defer l.listMu.Unlock()
	l.active.bytes = l.off.Load()
	l.full = append(l.full, l.active)
	l.active = seg
	l.off.Store(headerBytes)
	l.segments = append(l.segments, seg)
	seg.waits.Store(true)
	l.unsynced = append(l.unsynced, seg)
	l.dirDirty = true
}

// createSegment makes the file with its header. What a failure leaves behind holds no
// record: the next attempt empties it, and a start removes it.
func (l *Log) createSegment(num, first uint64) (*openSegment, error) {
	seg := &openSegment{
		num: num, path: path.Join(l.dir, segmentName(num)), first: first,
		seed: seedOf(num), bytes: headerBytes,
	}
	seg.filled.Store(headerBytes)
	f, err := l.fsys.Create(seg.path)
	if err != nil {
		return nil, Unavailable("create segment", err)
	}
	h := header{
		version: FormatVersion, record: l.opts.RecordVersion, segment: num, first: first,
		createdNs: l.opts.Clock.NowNs(), writer: l.opts.Writer,
	}
	if _, err := f.WriteAt(h.append(nil), 0); err != nil {
		f.Close()
		_ = l.fsys.Remove(seg.path)
		return nil, Unavailable("write header of "+seg.path, err)
	}
	seg.file = f
	return seg, nil
}

// Retain retains the records from the sequence that from returns on: another store's snapshot
// may still need them (see Store.RetainFrom). Any goroutine; DropBefore calls
// from.
func (l *Log) Retain(from func() uint64) {
	l.listMu.Lock()
	defer l.listMu.Unlock()
	l.retain = append(l.retain, from)
}

// DropBefore deletes the segments that hold only records below seq and below every
// retained sequence; the active one always stays. Any goroutine. It syncs the log first, so
// that the remaining segment is durable and the others are closed before it deletes them.
func (l *Log) DropBefore(seq uint64) error {
	l.listMu.Lock()
	for _, from := range l.retain {
		seq = min(seq, from())
	}
	n := l.droppable(seq)
	l.listMu.Unlock()
	if n == 0 {
		return nil
	}
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	// Counted again, now that no other deletion runs, and before the sync: what fills up
	// during it is not closed yet.
	l.listMu.Lock()
	n = l.droppable(seq)
	l.listMu.Unlock()
	if err := l.sync(); err != nil {
		return err
	}
	for ; n > 0; n-- {
		l.listMu.Lock()
		seg := l.segments[0]
		l.listMu.Unlock()
		if err := l.fsys.Remove(seg.path); err != nil {
			return fmt.Errorf("wal: remove segment: %w", err)
		}
		// One by one, oldest first: a cut between two leaves no hole.
		if err := l.fsys.SyncDir(l.dir); err != nil {
			return l.Fail(fmt.Errorf("sync of %s: %w", l.dir, err))
		}
		l.listMu.Lock()
		l.segments = l.segments[1:]
		l.listMu.Unlock()
	}
	return nil
}

// droppable returns the number of segments that end below seq. Needs listMu.
func (l *Log) droppable(seq uint64) (n int) {
	for n+1 < len(l.segments) && l.segments[n+1].first <= seq {
		n++
	}
	return n
}

// Segments lists the files, oldest first. Any goroutine.
func (l *Log) Segments() []SegmentInfo {
	l.listMu.Lock()
	defer l.listMu.Unlock()
	infos := make([]SegmentInfo, len(l.segments))
	for i, seg := range l.segments {
		infos[i] = SegmentInfo{
			Number: seg.num, Path: seg.path, FirstSeq: seg.first, LastSeq: l.written.Load(), Bytes: seg.bytes,
		}
		if i+1 < len(l.segments) {
			infos[i].LastSeq = l.segments[i+1].first - 1
		} else {
			infos[i].Bytes = l.off.Load()
		}
	}
	return infos
}

// BytesSince returns an upper bound of the bytes of log that hold the records after seq: it
// counts the segment in which seq lies as a whole. Any goroutine.
func (l *Log) BytesSince(seq uint64) (n int64) {
	for _, seg := range l.Segments() {
		if seg.LastSeq > seq {
			n += seg.Bytes - headerBytes
		}
	}
	return n
}

// Reader returns a Reader of the records written so far, from sequence from on (0: from the
// oldest); it does not read records appended later. Any goroutine.
func (l *Log) Reader(from uint64) (*Reader, error) {
	last := l.written.Load()
	l.listMu.Lock()
	chain := make([]segment, len(l.segments))
	for i, seg := range l.segments {
		chain[i] = segment{num: seg.num, path: seg.path, first: seg.first, seed: seg.seed, size: seg.bytes}
	}
	chain[len(chain)-1].size = l.off.Load()
	l.listMu.Unlock()
	return newReader(l.fsys, chain, from, last)
}
