package wal

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/tickhive/tickhive/internal/vfs"
)

// FormatVersion is the version of the segment format written and read here.
const FormatVersion = 3

// MaxRecord is the largest payload in bytes: four times the largest request body, far below the range of the
// length field.
const MaxRecord = 16 << 20

const (
	segmentMagic = "TICKWAL\n"
	prefixBytes  = 64  // of a header: the same members in every format version
	headerBytes  = 128 // of a segment and of a snapshot
	firstFrame   = 3 * vfs.SectorBytes
	frameHead    = 24
	frameAlign   = 8
	writerBytes  = 20
	nameBytes    = 16

	// SegmentExt is the extension of a segment file.
	SegmentExt = ".wal"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var le = binary.LittleEndian

// header begins a segment or a snapshot; FORMAT.md draws it.
type header struct {
	version   uint32
	record    uint32
	segment   uint64
	first     uint64
	createdNs int64
	writer    string
	Identity
	chain uint64 // of a segment: before its first record
	name  string // of the log
}

func (h *header) encode(magic string) []byte {
	dst := append([]byte(nil), magic...)
	dst = le.AppendUint32(dst, h.version)
	dst = le.AppendUint32(dst, h.record)
	dst = le.AppendUint64(dst, h.segment)
	dst = le.AppendUint64(dst, h.first)
	dst = le.AppendUint64(dst, uint64(h.createdNs))
	dst = appendPadded(dst, h.writer, writerBytes)
	dst = le.AppendUint32(dst, crc32.Checksum(dst, castagnoli))
	dst = append(dst, h.History[:]...)
	dst = append(dst, h.Directory[:]...)
	dst = le.AppendUint64(dst, h.chain)
	dst = appendPadded(dst, h.name, nameBytes)
	dst = le.AppendUint32(dst, 0)
	return le.AppendUint32(dst, crc32.Checksum(dst, castagnoli))
}

func appendPadded(dst []byte, text string, n int) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, n)...)
	copy(dst[at:], text)
	return dst
}

// parseHeader reads a header. A reason that is not empty says why the header is refused. The magic, the two versions,
// the writer and the first checksum have the same place in every format version. When the version is another one,
// parseHeader reads these alone, for the message of the refusal.
func parseHeader(magic string, version uint32, b []byte) (h header, reason string) {
	switch {
	case len(b) < prefixBytes:
		return h, "header is cut short"
	case string(b[:8]) != magic:
		return h, "header has no magic"
	case le.Uint32(b[60:]) != crc32.Checksum(b[:60], castagnoli):
		return h, "header checksum differs"
	}
	h = header{
		version: le.Uint32(b[8:]), record: le.Uint32(b[12:]), segment: le.Uint64(b[16:]), first: le.Uint64(b[24:]),
		createdNs: int64(le.Uint64(b[32:])), writer: strings.TrimRight(string(b[40:60]), "\x00"),
	}
	switch {
	case h.version != version:
		return h, ""
	case len(b) < headerBytes:
		return h, "header is cut short"
	case le.Uint32(b[124:]) != crc32.Checksum(b[:124], castagnoli):
		return h, "header checksum differs"
	}
	h.History, h.Directory = ID(b[64:80]), ID(b[80:96])
	h.chain, h.name = le.Uint64(b[96:]), strings.TrimRight(string(b[104:120]), "\x00")
	return h, ""
}

// seedOf is the checksum state that makes a frame or a slot belong to its directory, log and segment:
// one of another file never verifies.
func seedOf(directory ID, name string, segment uint64) uint32 {
	return crc32.Checksum(le.AppendUint64(append(directory[:], name...), segment), castagnoli)
}

// chainStart returns the chain before the record after seq, when no record before it is in the log.
func chainStart(history ID, name string, seq uint64) uint64 {
	return xxhash.Sum64(le.AppendUint64(append(history[:], name...), seq))
}

// FrameBytes returns the number of bytes in the file that a payload of n bytes takes.
func FrameBytes(n int) int { return frameHead + (n+frameAlign-1)&^(frameAlign-1) }

// sealFrame completes the frame that begins at b[0] with its head left open and n bytes of payload
// behind it; b ends with the payload's padding. chain is the chain before the record; sealFrame
// returns the chain with it.
func sealFrame(b []byte, n int, seq, chain uint64, seed uint32) uint64 {
	le.PutUint32(b[4:], uint32(n))
	le.PutUint64(b[8:], chain)
	le.PutUint64(b[16:], seq)
	chain = xxhash.Sum64(b[8 : frameHead+n])
	le.PutUint64(b[8:], chain)
	le.PutUint32(b, crc32.Update(seed, castagnoli, b[4:]))
	return chain
}

// frame is a verified frame.
type frame struct {
	seq     uint64
	chain   uint64 // with this record
	payload []byte
	size    int // bytes in the file
}

// frameSize reads the length word in the head of a frame. It returns the frame's size in the file, or the
// reason why the word is invalid. A head of zeros has size 0: no frame was written here.
func frameSize(b []byte) (size int, reason string) {
	n := le.Uint32(b[4:])
	switch {
	case n == 0 && vfs.AllZero(b[:frameHead]):
		return 0, ""
	case n == 0:
		return 0, "record length is 0"
	case n > MaxRecord:
		return 0, fmt.Sprintf("record length %d is over %d", n, MaxRecord)
	}
	return FrameBytes(int(n)), ""
}

// parseFrame verifies the frame that is exactly b.
func parseFrame(b []byte, seed uint32) (f frame, ok bool) {
	if le.Uint32(b) != crc32.Update(seed, castagnoli, b[4:]) {
		return f, false
	}
	return frame{
		seq: le.Uint64(b[16:]), chain: le.Uint64(b[8:]), payload: b[frameHead : frameHead+le.Uint32(b[4:])],
		size: len(b),
	}, true
}

// continues reports whether the frame in b, which verifies, is the next one of a chain. It writes to
// b and restores it.
func (f *frame) continues(b []byte, chain uint64) bool {
	le.PutUint64(b[8:], chain)
	sum := xxhash.Sum64(b[8 : frameHead+len(f.payload)])
	le.PutUint64(b[8:], f.chain)
	return sum == f.chain
}

func segmentName(n uint64) string { return fmt.Sprintf("%06d%s", n, SegmentExt) }

func parseSegmentName(name string) (uint64, bool) {
	n, _ := strconv.ParseUint(strings.TrimSuffix(name, SegmentExt), 10, 64)
	return n, segmentName(n) == name
}

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
	last := len(segs) - 1
	for last > 0 && segs[last].reason != "" {
		last--
	}
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
			if i >= last { // no later segment can be read, which would say more
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

// ID is a random identity of 16 bytes; the zero ID is unknown.
type ID [16]byte

// NewID returns a random identity.
func NewID(random io.Reader) (id ID, err error) {
	if _, err = io.ReadFull(random, id[:]); err != nil {
		return ID{}, fmt.Errorf("wal: random identity: %w", err)
	}
	return id, nil
}

// String returns the identity in 32 hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != len(id) {
		return fmt.Errorf("wal: identity %q is not %d hexadecimal digits", text, 2*len(id))
	}
	copy(id[:], raw)
	return nil
}

// Identity says what a log belongs to.
type Identity struct {
	History   ID // of the exchange: its copies and replicas have it too
	Directory ID // of the data directory: its files verify nowhere else
}

// Position is a place in a log: a sequence, and the checksum chain over every record up to it.
type Position struct {
	Seq   uint64
	Chain uint64
}

// Begins returns the position before the first record of a log.
func Begins(history ID, name string) Position { return Position{Chain: chainStart(history, name, 0)} }

// Next returns the position behind the record that follows.
func (p Position) Next(payload []byte) Position {
	p.Seq++
	d := xxhash.New()
	var head [16]byte
	le.PutUint64(head[:], p.Chain)
	le.PutUint64(head[8:], p.Seq)
	_, _ = d.Write(head[:]) // never fails
	_, _ = d.Write(payload)
	p.Chain = d.Sum64()
	return p
}

// Known is the knowledge of a log's end outside the log. A log that does not agree with it is damaged.
type Known struct {
	Position
	Last bool // the log ended at Seq; otherwise it reached at least there
}

// knownSeq returns the record that the caller knows, or one that no log has.
func (o *Options) knownSeq() uint64 {
	if o.Known == nil {
		return math.MaxUint64 - 1
	}
	return o.Known.Seq
}

// Loss describes records that a log once held.
type Loss struct {
	Position        // after the last record that is left
	To       uint64 // the last record that is known to be missing
	// Damage says where they are missing. It is nil when a power cut explains the loss: none of the
	// records was known to be durable.
	Damage *CorruptError
}

// agrees refuses a header of another version, and one that does not belong to the log. Without an
// identity the log adopts the header's.
func (h *header) agrees(what, file string, version uint32, opts *Options) error {
	switch {
	case h.version != version:
		return &VersionError{File: file, What: what, Got: h.version, Want: version, Writer: h.writer}
	case h.record != opts.RecordVersion:
		return &VersionError{
			File: file, What: "record format", Got: h.record, Want: opts.RecordVersion, Writer: h.writer,
		}
	}
	if opts.Identity == (Identity{}) {
		opts.Identity, opts.Name = h.Identity, h.name
	}
	switch {
	case h.name != opts.Name:
		return foreign(file, fmt.Sprintf("the log %q, not to %q", h.name, opts.Name))
	case h.History != opts.Identity.History:
		return foreign(file, fmt.Sprintf("history %s, not to %s", h.History, opts.Identity.History))
	case h.Directory != opts.Identity.Directory:
		return foreign(file, fmt.Sprintf("data directory %s, not to %s", h.Directory, opts.Identity.Directory))
	}
	return nil
}

func foreign(file, to string) error {
	return &CorruptError{File: file, Foreign: true, Reason: "the file belongs to " + to}
}
