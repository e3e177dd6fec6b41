package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/internal/vfs"
)

// LockName is the lock file in a log's directory.
const LockName = "LOCK"

const tempExt = ".tmp"

// Open opens the log in dir for writing, making both when they do not exist. Records that a power cut
// took, and the rest of a write that was never acknowledged, are cut off (see Recovered). Records that
// are missing without one refuse, unless opts.AcceptLoss. *CorruptError, *VersionError and
// *vfs.LockedError refuse. Everything that can be read afterwards is durable.
func Open(fsys vfs.FS, dir string, opts Options) (*Log, error) {
	if err := opts.validateFor(dir); err != nil {
		return nil, err
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("wal: make %s: %w", dir, err)
	}
	if err := fsys.SyncDir(path.Dir(dir)); err != nil {
		return nil, fmt.Errorf("wal: sync of %s: %w", path.Dir(dir), err)
	}
	l := &Log{fsys: fsys, dir: dir, opts: opts}
	l.opts.Failed = nil // until it is open: other errors end it too
	if !opts.NoLock {
		lock, err := fsys.Lock(path.Join(dir, LockName), vfs.Self())
		if err != nil {
			return nil, fmt.Errorf("wal: %s is in use: %w", dir, err)
		}
		l.lock = lock
	}
	if err := (&opening{Log: l, failed: opts.Failed}).run(); err != nil {
		_ = l.Fail(err)
		return nil, errors.Join(err, l.Close())
	}
	l.opts.Failed = opts.Failed
	opts.Ended(l.Position())
	return l, nil
}

// Create makes a log in a directory without one. Its first record comes behind a position; with Chain 0 the chain
// begins there.
func Create(fsys vfs.FS, dir string, opts Options, behind Position) (*Log, error) {
	if err := opts.validateFor(dir); err != nil {
		return nil, err
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("wal: make %s: %w", dir, err)
	}
	l := &Log{fsys: fsys, dir: dir, opts: opts}
	if behind.Chain == 0 {
		behind.Chain = chainStart(opts.Identity.History, opts.Name, behind.Seq)
	}
	l.setLast(behind)
	l.opts.Failed = nil // until it is made
	if err := l.startFresh(); err != nil {
		_ = l.Fail(err)
		return nil, errors.Join(err, l.Close())
	}
	l.opts.Failed = opts.Failed
	return l, nil
}

// opening is a log whose end is being found.
type opening struct {
	*Log
	failed func() // Options.Failed
	segs   []segment
	end    ending
	found  readEnd
}

func (l *opening) run() (err error) {
	if err := l.removeTemps(); err != nil {
		return err
	}
	if l.segs, err = loadSegments(l.fsys, l.dir, &l.opts); err != nil {
		return err
	}
	l.end = endOf(l.segs, &l.opts)
	l.Log.end.gen = l.end.gen
	if err := l.read(); err != nil {
		return err
	}
	if err := l.readSnapshots(); err != nil {
		return err
	}
	if err := l.judge(); err != nil {
		return err
	}
	return l.resume()
}

// readEnd holds the findings of a start.
type readEnd struct {
	Position               // after the last record that verifies
	seg      int           // its segment, -1: there is none whose header was ever durable
	off      int64         // behind it
	torn     int64         // bytes behind that
	again    place         // of the first record that is not known to be durable
	begin    int           // the first segment behind which none is missing
	damage   *CorruptError // why a sound log does not end here; nil: it may
	ahead    []string      // snapshots that the log does not reach
}

// place is the beginning of a record: of the file, when it is the first in it.
type place struct {
	seg int
	off int64
}

// read reads the log from the first record on that is not known to be durable, and the segment that
// holds it. What comes before was durable: damage there is found by the readers.
func (l *opening) read() error {
	k, segs := 0, l.segs
	for i := range segs {
		if segs[i].reason == "" && segs[i].first <= l.end.synced+1 {
			k = i
		}
	}
	if len(segs) == 0 || segs[k].reason != "" {
		l.readNothing(k)
		return nil
	}
	found := &l.found
	for i := 1; i <= k; i++ {
		if segs[i].num != segs[i-1].num+1 {
			missing := path.Join(l.dir, segmentName(segs[i-1].num+1))
			found.begin, found.damage = i, &CorruptError{File: missing, Reason: "the segment is missing"}
		}
	}
	if l.opts.AcceptLoss {
		var err error
		if k, err = l.neededFrom(found.begin, k); err != nil {
			return err
		}
	}
	r, err := newReader(l.fsys, segs[k:], 0, math.MaxUint64, l.end.must)
	if err != nil {
		return err
	}
	defer r.Close()
	if segs[k].first == l.opts.knownSeq()+1 {
		found.damage = cmp.Or(found.damage, l.disagrees(r))
	}
	found.again.seg = -1
	for {
		rec, err := r.Next()
		if err == nil && rec.Seq == l.end.synced+1 {
			found.again = place{k + r.i, rec.Offset}
		}
		if err == nil && rec.Seq == l.opts.knownSeq() {
			found.damage = cmp.Or(found.damage, l.disagrees(r))
		}
		if errors.As(err, &found.damage) || errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	found.Position, found.seg, found.off, found.torn = r.Position(), k+r.i, r.off, r.torn
	if known := l.opts.Known; known != nil && known.Last && found.Seq > known.Seq && found.damage == nil {
		found.damage = &CorruptError{
			File: segs[found.seg].path, Offset: found.off, Seq: known.Seq + 1,
			Reason: fmt.Sprintf("the log ended at record %d when it was closed and has more now", known.Seq),
		}
	}
	if found.again.seg < 0 {
		found.again = place{found.seg, found.off}
	}
	if found.again.off == firstFrame {
		found.again.off = 0
	}
	return nil
}

// readNothing is read for a log without a segment whose header was ever durable.
func (l *opening) readNothing(k int) {
	l.found = readEnd{seg: -1, Position: Position{Chain: chainStart(l.opts.Identity.History, l.opts.Name, 0)}}
	switch {
	case len(l.segs) > 0 && l.end.must > 0:
		l.found.damage = &CorruptError{File: l.segs[k].path, To: l.end.must, Reason: l.segs[k].reason}
	case len(l.segs) == 0 && l.opts.Known != nil:
		l.found.damage = &CorruptError{
			File: path.Join(l.dir, segmentName(1)), Seq: 1, To: l.end.must, Reason: "the log has no file",
		}
	}
}

// removeTemps removes what an interrupted snapshot left.
func (l *opening) removeTemps() error {
	names, err := l.fsys.List(l.dir)
	if err != nil {
		return fmt.Errorf("wal: list %s: %w", l.dir, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, tempExt) {
			if err := l.fsys.Remove(path.Join(l.dir, name)); err != nil {
				return fmt.Errorf("wal: remove %s: %w", name, err)
			}
		}
	}
	return nil
}

// disagrees compares the record at which the caller knows the chain.
func (l *opening) disagrees(r *Reader) *CorruptError {
	if r.chain == l.opts.Known.Chain {
		return nil
	}
	return &CorruptError{
		File: r.segs[r.i].path, Offset: r.off, Seq: l.opts.Known.Seq, Foreign: true,
		Reason: fmt.Sprintf("the log has another history up to record %d than the directory", l.opts.Known.Seq),
	}
}

// resume cuts off everything behind the last record and makes its segment the active one. The slots
// say first that the log ends there: a start that is cut short meanwhile finds the loss again, or
// nothing of it.
func (l *opening) resume() error {
	found, segs := &l.found, l.segs
	for _, name := range found.ahead {
		if err := l.fsys.Rename(name, name+unusedExt); err != nil {
			return fmt.Errorf("wal: set a snapshot aside: %w", err)
		}
	}
	for j := range segs[:found.begin] {
		if err := l.fsys.Remove(segs[j].path); err != nil {
			return fmt.Errorf("wal: remove a segment in front of a missing one: %w", err)
		}
	}
	segs, found.seg = segs[found.begin:], found.seg-found.begin
	l.segs = segs
	found.again.seg -= found.begin
	for j := range segs[:found.seg+1] {
		seg := &segs[j]
		kept := &openSegment{
			num: seg.num, path: seg.path, first: seg.first, chain: seg.chain, seed: seg.seed, slot: seg.slots.at,
			bytes: seg.size, named: true,
		}
		kept.filled.Store(seg.size)
		l.segments = append(l.segments, kept)
	}
	if found.seg >= 0 {
		l.info.TornFile = segs[found.seg].path
	}
	l.setLast(found.Position)
	l.Log.end.synced = min(l.end.synced, found.Seq)
	if found.seg >= 0 && l.info.Lost > 0 {
		if err := l.noteLoss(); err != nil {
			return err
		}
	}
	for j := len(segs) - 1; j > found.seg; j-- {
		if err := l.fsys.Remove(segs[j].path); err != nil {
			return fmt.Errorf("wal: remove torn segment: %w", err)
		}
	}
	if found.seg < 0 {
		return l.startFresh()
	}
	l.info.FirstSeq = segs[0].first
	if err := l.makeDurable(); err != nil {
		return err
	}
	l.off.Store(found.off)
	l.durable.Store(found.Seq)
	return l.writeBothSlots(l.active, 0)
}

// makeDurable cuts and opens the active segment and makes durable all that was verified:
// after the end of a process some of it may still be in memory only. A sync alone would
// not do: after a failed sync the system considers the pages clean, shows them to readers and
// never writes them. So makeDurable writes every range again that is not known to be durable. A
// failed sync stops the log, because the system may forget what the process before has shown.
func (l *opening) makeDurable() error {
	found := &l.found
	l.active = l.segments[len(l.segments)-1]
	var unsealed []*openSegment
	for j, seg := range l.segments {
		sealed := l.segs[j].slots.valid && l.segs[j].slots.flags&slotSealed != 0
		if seg != l.active && sealed && j < found.again.seg {
			continue
		}
		f, err := l.fsys.OpenRW(seg.path)
		if err != nil {
			return fmt.Errorf("wal: open segment: %w", err)
		}
		if seg == l.active && (found.torn > 0 || found.damage != nil) {
			if err = f.Truncate(found.off); err == nil {
				seg.filled.Store(found.off)
			}
		}
		if err == nil && j >= found.again.seg {
			err = rewrite(f, found.again.off, seg.filled.Load())
			found.again.off = 0
		}
		if err == nil {
			if err = f.Sync(); err != nil {
				err = l.lostSync(err)
			}
		}
		if err != nil {
			return errors.Join(fmt.Errorf("wal: make %s durable: %w", seg.path, err), f.Close())
		}
		if seg.file = f; seg != l.active {
			unsealed = append(unsealed, seg)
		}
	}
	if err := l.fsys.SyncDir(l.dir); err != nil {
		return fmt.Errorf("wal: sync of %s: %w", l.dir, l.lostSync(err))
	}
	l.Log.end.synced = found.Seq
	for _, seg := range unsealed {
		if err := l.seal(seg); err != nil {
			return err
		}
	}
	return nil
}

// rewrite writes the range of the file again unchanged.
func rewrite(f vfs.File, from, to int64) error {
	buf := make([]byte, min(readBuffer, max(to-from, 0)))
	for from < to {
		b := buf[:min(int64(len(buf)), to-from)]
		if n, err := f.ReadAt(b, from); err != nil && n < len(b) {
			return err
		}
		if _, err := f.WriteAt(b, from); err != nil {
			return err
		}
		from += int64(len(b))
	}
	return nil
}

// lostSync stops the log after a failed sync of files that existed before this start.
func (l *opening) lostSync(cause error) error {
	l.opts.Failed = l.failed
	return l.Fail(cause)
}

// startFresh makes the first segment of the log, which begins behind its last record.
func (l *Log) startFresh() error {
	seg, err := l.createSegment(1, l.lastSeq+1, l.chain)
	if err != nil {
		return err
	}
	l.segments = slices.Clip(append(l.segments, seg))
	l.active = seg
	l.off.Store(firstFrame)
	if err := seg.file.Sync(); err != nil {
		return fmt.Errorf("wal: sync of %s: %w", seg.path, err)
	}
	if err := l.fsys.SyncDir(l.dir); err != nil {
		return fmt.Errorf("wal: sync of %s: %w", l.dir, err)
	}
	l.info.FirstSeq, seg.named = l.lastSeq+1, true
	l.end.synced = l.lastSeq
	l.durable.Store(l.lastSeq)
	return nil
}

func (l *Log) setLast(at Position) {
	l.lastSeq, l.chain = at.Seq, at.Chain
	l.info.LastSeq = at.Seq
	l.end.written = at.Seq
	l.written.Store(at.Seq)
}

// neededFrom returns the segment, from begin to k, with the first record behind the older snapshot: recoveries
// read from there on. With AcceptLoss the log ends before damage there too, or every recovery would refuse it again.
func (l *opening) neededFrom(begin, k int) (int, error) {
	seqs, err := snapshotSeqs(l.fsys, l.dir)
	if err != nil {
		return 0, err
	}
	older := uint64(0)
	if n := min(len(seqs), SnapshotsKept); n > 0 {
		older = seqs[n-1]
	}
	for i := k; i > begin; i-- {
		if l.segs[i].reason == "" && l.segs[i].first <= older+1 {
			return i, nil
		}
	}
	for l.segs[begin].reason != "" { // that of k is readable
		begin++
	}
	return begin, nil
}

// judge refuses a log that lost records, or reports the loss when it is accepted.
func (l *opening) judge() error {
	found, end := &l.found, &l.end
	damage := cmp.Or(end.damage, found.damage)
	l.info.TornTail, l.info.TornAt = found.torn, found.off
	if damage == nil && found.Seq >= end.written {
		return nil
	}
	if damage != nil && !l.opts.AcceptLoss {
		return damage
	}
	loss := Loss{Position: found.Position, To: max(end.written, found.Seq), Damage: damage}
	l.info.Lost = loss.To
	if l.opts.Lost == nil {
		return nil
	}
	return l.opts.Lost(loss)
}

// noteLoss ends the log in the slots of its last segment, and of the earlier ones that tell of lost records: the last
// slot of a segment is written when the next one has begun.
func (l *opening) noteLoss() error {
	for j, seg := range l.segments {
		was, flags := &l.segs[j].slots, uint32(0)
		if j+1 < len(l.segments) {
			if flags = was.flags; !was.valid || max(was.synced, was.written) <= l.lastSeq {
				continue
			}
		}
		f, err := l.fsys.OpenRW(seg.path)
		if err != nil {
			return fmt.Errorf("wal: open segment: %w", err)
		}
		seg.file = f
		if err = f.Sync(); err == nil {
			err = l.writeBothSlots(seg, flags)
		}
		seg.file = nil
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
