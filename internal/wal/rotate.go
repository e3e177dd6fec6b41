package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/tickhive/tickhive/internal/vfs"
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
// in use. It does nothing while the active one is empty: every segment but the last holds a record.
// Owner only.
func (l *Log) Rotate() error {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if err := l.Stopped(); err != nil {
		return err
	}
	if l.off.Load() == firstFrame {
		return nil
	}
	seg, err := l.createSegment(l.active.num+1, l.lastSeq+1, l.chain)
	if err != nil {
		return err
	}
	if err := l.noteFollowed(); err != nil {
		seg.file.Close()
		_ = l.fsys.Remove(seg.path)
		return err
	}
	l.activate(seg)
	return nil
}

// EndSegment makes the next batch begin a new segment, so that no later record keeps the present ones from being
// dropped. Any goroutine.
func (l *Log) EndSegment() { l.ends.Store(true) }

// noteFollowed records in the active segment's slot that another segment follows. After an error it restores the slot,
// or stops the log if that fails too.
func (l *Log) noteFollowed() error {
	l.slotMu.Lock()
	defer l.slotMu.Unlock()
	l.active.flags = slotFollowed
	err := l.writeSlot(l.active)
	if err == nil {
		l.markUnsynced()
		return nil
	}
	l.active.flags = 0
	if again := l.writeSlot(l.active); again != nil {
		return l.Fail(errors.Join(err, again))
	}
	return Unavailable("begin a segment", err)
}

// activate makes seg the active segment, in one step for those who fill it and for those who
// read the list.
func (l *Log) activate(seg *openSegment) {
	l.fillMu.Lock()
	defer l.fillMu.Unlock()
	l.slotMu.Lock()
	defer l.slotMu.Unlock()
	l.listMu.Lock()
	defer l.listMu.Unlock()
	l.active.bytes = l.off.Load()
	l.full = append(l.full, l.active)
	l.active = seg
	l.off.Store(firstFrame)
	l.segments = append(l.segments, seg)
	seg.waits.Store(true)
	l.unsynced = append(l.unsynced, seg)
	l.dirDirty = true
}

// createSegment makes the file with its header and a slot. What a failure leaves behind holds no
// record: the next attempt empties it, and a start removes it.
func (l *Log) createSegment(num, first, chain uint64) (*openSegment, error) {
	seg := &openSegment{
		num: num, path: path.Join(l.dir, segmentName(num)), first: first, chain: chain,
		seed: seedOf(l.opts.Identity.Directory, l.opts.Name, num), bytes: firstFrame,
	}
	seg.filled.Store(firstFrame)
	f, err := l.fsys.Create(seg.path)
	if err != nil {
		return nil, Unavailable("create segment", err)
	}
	h := header{
		version: FormatVersion, record: l.opts.RecordVersion, segment: num, first: first,
		createdNs: l.opts.Clock.NowNs(), writer: l.opts.Writer,
		Identity: l.opts.Identity, chain: chain, name: l.opts.Name,
	}
	seg.file = f
	// Whole sectors, with the other slot empty.
	_, err = f.WriteAt(append(h.encode(segmentMagic), make([]byte, firstFrame-headerBytes)...), 0)
	if err == nil {
		l.slotMu.Lock()
		err = l.writeSlot(seg)
		l.slotMu.Unlock()
	}
	if err != nil {
		f.Close()
		_ = l.fsys.Remove(seg.path)
		return nil, Unavailable("write header of "+seg.path, err)
	}
	return seg, nil
}

// DropBefore deletes the segments that hold only records below seq; the active one always stays. Any goroutine. It
// syncs the log first, so that the remaining segment is durable and the others are closed before it deletes them.
func (l *Log) DropBefore(seq uint64) error {
	l.listMu.Lock()
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

// droppable returns the number of segments that end below seq and are not kept (KeepFrom). Needs listMu.
func (l *Log) droppable(seq uint64) (n int) {
	if l.keepFrom != nil {
		seq = min(seq, *l.keepFrom)
	}
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
			n += seg.Bytes - firstFrame
		}
	}
	return n
}

// Reader returns a Reader of the records written so far, from sequence from on (0: from the
// oldest); it does not read records appended later. Any goroutine.
func (l *Log) Reader(from uint64) (*Reader, error) {
	segs, last := list(l)
	return newReader(l.fsys, segs, from, last, last)
}

// Extend lets a Reader of the open log l, which has returned io.EOF, go on up to the record to, at most the last one
// written.
//
// Errors: ErrTruncated when the Reader's place was deleted.
func (r *Reader) Extend(l *Log, to uint64) error {
	if r.err != nil && !errors.Is(r.err, io.EOF) {
		return r.err
	}
	segs, last := list(l)
	at := slices.IndexFunc(segs, func(s segment) bool { return s.num == r.segs[r.i].num })
	if at < 0 {
		return fmt.Errorf("%w: the segment of record %d", ErrTruncated, r.want)
	}
	size, err := r.f.Size()
	if err != nil {
		return fmt.Errorf("wal: %s: size: %w", segs[at].path, err)
	}
	// What the buffer has behind the old end was read before it was written.
	r.segs, r.i, r.size, r.buf, r.bufOff, r.err = segs, at, size, nil, r.off, nil
	r.limit = min(to, last)
	r.must = r.limit
	return nil
}

// list returns the segments and the last record written. Records behind it may be in them. Any goroutine.
func list(l *Log) (segs []segment, last uint64) {
	last = l.written.Load()
	l.listMu.Lock()
	defer l.listMu.Unlock()
	segs = make([]segment, len(l.segments))
	for i, seg := range l.segments {
		segs[i] = segment{
			num: seg.num, path: seg.path, first: seg.first, chain: seg.chain, seed: seg.seed, size: seg.bytes,
		}
	}
	segs[len(segs)-1].size = l.off.Load()
	return segs, last
}

// segment is one file of the log.
type segment struct {
	num    uint64
	path   string
	size   int64 // when listed
	first  uint64
	chain  uint64 // before first
	reason string // why the header cannot be used, "" when it can
	seed   uint32
	used   bool // a record was once begun in it
	slots  slots
}

// loadSegments lists the segments in dir and reads their headers and slots. It sets opts' Identity
// from the first header if it is not given. It judges nothing but versions and identities, because a
// power cut changes neither.
func loadSegments(fsys vfs.FS, dir string, opts *Options) ([]segment, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, fmt.Errorf("wal: list %s: %w", dir, err)
	}
	var segs []segment
	for _, name := range names {
		if num, ok := parseSegmentName(name); ok {
			segs = append(segs, segment{num: num, path: path.Join(dir, name)})
		}
	}
	slices.SortFunc(segs, func(a, b segment) int { return cmp.Compare(a.num, b.num) })
	for i := range segs {
		if err := segs[i].load(fsys, opts); err != nil {
			return nil, err
		}
	}
	return segs, nil
}

func (s *segment) load(fsys vfs.FS, opts *Options) error {
	f, err := fsys.Open(s.path)
	if err != nil {
		return fmt.Errorf("wal: open segment: %w", err)
	}
	defer f.Close()
	if s.size, err = f.Size(); err != nil {
		return fmt.Errorf("wal: %s: size: %w", s.path, err)
	}
	var buf [firstFrame + frameHead]byte
	n, err := f.ReadAt(buf[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("wal: %s: read header: %w", s.path, err)
	}
	s.used = n > firstFrame && !vfs.AllZero(buf[firstFrame:n])
	h, reason := parseHeader(segmentMagic, FormatVersion, buf[:min(n, headerBytes)])
	if reason == "" && h.version == FormatVersion && !vfs.AllZero(buf[min(n, headerBytes):min(n, int(slotOffset(0)))]) {
		reason = "the rest of the header's sector is not zero"
	}
	if err := s.take(&h, reason, opts); err != nil {
		return err
	}
	s.seed = seedOf(opts.Identity.Directory, opts.Name, s.num)
	if s.slots, err = readSlots(f, s.seed); err != nil {
		return fmt.Errorf("wal: %s: read: %w", s.path, err)
	}
	return nil
}

// take judges the header.
func (s *segment) take(h *header, reason string, opts *Options) error {
	if reason != "" {
		s.reason = reason
		return nil
	}
	if err := h.agrees("log format", s.path, FormatVersion, opts); err != nil {
		return err
	}
	if h.segment != s.num {
		s.reason = fmt.Sprintf("header is that of segment %d", h.segment)
		return nil
	}
	s.first, s.chain = h.first, h.chain
	return nil
}
