package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"tickhive/internal/vfs"
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
