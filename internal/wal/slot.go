package wal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"tickhive/internal/vfs"
)

const (
	slotMagic = "TICKEND\n"
	slotBytes = 64
)

// Flags of a slot.
const (
	slotFollowed = 1 << iota // a later segment was made
	slotSealed               // and it is durable
	slotClosed               // the log was closed here
)

// slot says where a log ends; FORMAT.md draws it. A segment has two, each in its own sector. The one
// that is written now was not synced since it was written first; the other one is durable.
type slot struct {
	gen      uint64 // number of the write, over all segments
	synced   uint64 // the log was durable up to here
	written  uint64 // it was written up to here
	snapshot uint64 // the newest snapshot, 0 for none
	flags    uint32
	boot     ID // of the machine, when this was written
}

func slotOffset(i int) int64 { return int64(1+i) * vfs.SectorBytes }

func (s *slot) put(b *[vfs.SectorBytes]byte, seed uint32) {
	copy(b[:], slotMagic)
	le.PutUint64(b[8:], s.gen)
	le.PutUint64(b[16:], s.synced)
	le.PutUint64(b[24:], s.written)
	le.PutUint64(b[32:], s.snapshot)
	le.PutUint32(b[40:], s.flags)
	copy(b[44:], s.boot[:])
	le.PutUint32(b[60:], crc32.Update(seed, castagnoli, b[:60]))
}

// parseSlot reads a sector with a slot.
func parseSlot(b []byte, seed uint32) (s slot, ok bool) {
	if len(b) < slotBytes || string(b[:8]) != slotMagic || !vfs.AllZero(b[slotBytes:]) ||
		le.Uint32(b[60:]) != crc32.Update(seed, castagnoli, b[:60]) {
		return s, false
	}
	s = slot{
		gen: le.Uint64(b[8:]), synced: le.Uint64(b[16:]), written: le.Uint64(b[24:]), snapshot: le.Uint64(b[32:]),
		flags: le.Uint32(b[40:]), boot: ID(b[44:60]),
	}
	return s, true
}

// slots holds what the two slots of a segment say.
type slots struct {
	slot          // the newer one that verifies
	valid   bool  // one does
	at      int   // its number
	damaged int64 // offset of one that does not verify and was written, 0 for none
}

func readSlots(f vfs.File, seed uint32) (s slots, err error) {
	for i := range 2 {
		var b [vfs.SectorBytes]byte
		n, err := f.ReadAt(b[:], slotOffset(i))
		if err != nil && !errors.Is(err, io.EOF) {
			return s, err
		}
		got, ok := parseSlot(b[:n], seed)
		switch {
		case ok && (!s.valid || got.gen > s.gen):
			s.slot, s.valid, s.at = got, true, i
		case !ok && !vfs.AllZero(b[:n]):
			s.damaged = slotOffset(i)
		}
	}
	return s, nil
}

// ending is the knowledge of a log's end before its records are read.
type ending struct {
	synced   uint64 // durable up to here
	must     uint64 // every start of a sound disk finds the log up to here
	written  uint64 // it was once written up to here
	snapshot uint64 // the newest snapshot
	gen      uint64 // of the newest slot
	damage   *CorruptError
}

// endOf returns what the slots of a log and the caller know about its end. boot is the machine's boot:
// since it began no power cut took anything. A log that the caller knows was open once, so its oldest segment has
// a slot.
func endOf(segs []segment, opts *Options) (e ending) {
	k := opts.Known
	if k != nil {
		e = ending{synced: k.Seq, must: k.Seq, written: k.Seq}
	}
	owed := uint64(0) // the number of the segment that must exist: the one before says so
	for i := range segs {
		s := &segs[i].slots
		same := s.valid && s.boot == opts.Boot && opts.Boot != (ID{})
		settled := s.valid && s.flags&(slotSealed|slotClosed) != 0
		switch {
		case s.damaged != 0 && same && !settled:
			e.damage = &CorruptError{
				File: segs[i].path, Offset: s.damaged, Reason: "the slot that says where the log ends is damaged",
			}
		case !s.valid && (owed == segs[i].num || i == 0 && (segs[i].used || k != nil)):
			e.damage = &CorruptError{
				File: segs[i].path, Offset: slotOffset(0), Reason: "no slot says where the log ends",
			}
			if segs[i].reason != "" {
				e.damage.Offset, e.damage.Reason = 0, segs[i].reason
			}
		}
		if !s.valid {
			continue
		}
		e.synced, e.written = max(e.synced, s.synced), max(e.written, s.written)
		e.snapshot, e.gen = max(e.snapshot, s.snapshot), max(e.gen, s.gen)
		e.must = max(e.must, s.synced)
		if same {
			e.must = max(e.must, s.written)
		}
		if s.flags&slotSealed != 0 || same && s.flags&slotFollowed != 0 {
			owed = segs[i].num + 1
			if i+1 == len(segs) || segs[i+1].reason != "" {
				e.must, e.written = max(e.must, s.written+1), max(e.written, s.written+1)
			}
		}
	}
	return e
}

// writeSlot writes the current knowledge of the log's end into a segment. Needs slotMu.
func (l *Log) writeSlot(seg *openSegment) error {
	l.end.gen++
	s := slot{
		gen: l.end.gen, synced: l.end.synced, written: l.end.written, snapshot: l.end.snapshot,
		flags: seg.flags, boot: l.opts.Boot,
	}
	s.put(&l.slotBuf, seg.seed)
	if _, err := seg.file.WriteAt(l.slotBuf[:], slotOffset(seg.slot)); err != nil {
		// The file may hold a part of the slot now. A start refuses a slot that does not verify, so the slot is written
		// again.
		_, again := seg.file.WriteAt(l.slotBuf[:], slotOffset(seg.slot))
		return fmt.Errorf("%s: write the slot: %w", seg.path, errors.Join(err, again))
	}
	seg.gen = l.end.gen
	return nil
}

// turnSlot makes the segment's other slot the one to be written next. The current slot must be durable, because a power
// cut may tear the slot that is being written.
func (s *openSegment) turnSlot() { s.slot = 1 - s.slot }

// syncSlot makes the current slot durable. Needs slotMu.
func (s *openSegment) syncSlot() error {
	if s.synced == s.gen {
		return nil
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("sync of %s: %w", s.path, err)
	}
	s.synced = s.gen
	return nil
}
