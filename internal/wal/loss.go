package wal

import (
	"cmp"
	"errors"
	"fmt"
)

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
