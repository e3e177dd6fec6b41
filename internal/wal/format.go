package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"path"
	"strconv"
	"strings"

	"tickhive/internal/vfs"
)

// FormatVersion is the version of the segment format written and read here.
const FormatVersion = 1

// MaxRecord is the largest payload in bytes: four times the largest request body, far below the range of the
// length field.
const MaxRecord = 16 << 20

const (
	segmentMagic = "TICKWAL\n"
	headerBytes  = 64
	frameHead    = 16
	frameAlign   = 8
	lengthBits   = 26 // the low bits of the length word hold the length, the upper six the lag class
	writerBytes  = 20

	// SegmentExt is the extension of a segment file.
	SegmentExt = ".wal"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var le = binary.LittleEndian

// header is the first 64 bytes of a segment; FORMAT.md draws it.
type header struct {
	version   uint32
	record    uint32
	segment   uint64
	first     uint64
	createdNs int64
	writer    string
}

func (h header) append(dst []byte) []byte { return h.appendAs(segmentMagic, dst) }

func (h header) appendAs(magic string, dst []byte) []byte {
	at := len(dst)
	dst = append(dst, magic...)
	dst = le.AppendUint32(dst, h.version)
	dst = le.AppendUint32(dst, h.record)
	dst = le.AppendUint64(dst, h.segment)
	dst = le.AppendUint64(dst, h.first)
	dst = le.AppendUint64(dst, uint64(h.createdNs))
	var w [writerBytes]byte
	copy(w[:], h.writer)
	dst = append(dst, w[:]...)
	return le.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli))
}

// parseHeader reads a header; reason says what is wrong with it. Magic, both versions, writer and checksum are
// at the same place in every format version.
func parseHeader(b []byte) (h header, reason string) { return parseHeaderAs(segmentMagic, b) }

func parseHeaderAs(magic string, b []byte) (h header, reason string) {
	switch {
	case len(b) < headerBytes:
		return h, "header is cut short"
	case string(b[:8]) != magic:
		return h, "header has no magic"
	case le.Uint32(b[60:]) != crc32.Checksum(b[:60], castagnoli):
		return h, "header checksum differs"
	}
	return header{
		version: le.Uint32(b[8:]), record: le.Uint32(b[12:]), segment: le.Uint64(b[16:]), first: le.Uint64(b[24:]),
		createdNs: int64(le.Uint64(b[32:])), writer: strings.TrimRight(string(b[40:60]), "\x00"),
	}, ""
}

// seedOf returns the initial state of the checksums in a segment. It differs between segments, so a frame of
// another segment, or of a reused file, never verifies.
func seedOf(segment uint64) uint32 {
	var b [8]byte
	le.PutUint64(b[:], segment)
	return crc32.Checksum(b[:], castagnoli)
}

// FrameBytes returns the number of bytes in the file that a payload of n bytes takes.
func FrameBytes(n int) int { return frameHead + (n+frameAlign-1)&^(frameAlign-1) }

// sealFrame completes the frame at the start of b: it writes the head in front of the n bytes of payload. b
// ends with the payload's padding.
func sealFrame(b []byte, n int, seq, durable uint64, seed uint32) {
	le.PutUint32(b[4:], uint32(n)|lagClass(seq, durable)<<lengthBits)
	le.PutUint64(b[8:], seq)
	le.PutUint32(b, crc32.Update(seed, castagnoli, b[4:]))
}

// lagClass encodes how many records behind the sync was when seq was written, rounded up to a power of two.
// durableBefore decodes it; because of the rounding it may return an older sequence, never a newer one.
func lagClass(seq, durable uint64) uint32 { return uint32(bits.Len64(seq - durable - 1)) }

func durableBefore(seq uint64, class uint32) uint64 {
	if class >= 64 || seq < 1<<class {
		return 0
	}
	return seq - 1<<class
}

// frame is a verified frame.
type frame struct {
	seq     uint64
	durable uint64 // this sequence, and perhaps later ones, was durable when the frame was written
	payload []byte
	size    int // bytes in the file
}

// frameSize reads the length word in the head of a frame. It returns the frame's size in the file, or the
// reason why the word is invalid. A head of zeros has size 0: no frame was written here.
func frameSize(b []byte) (size int, reason string) {
	n := le.Uint32(b[4:]) & (1<<lengthBits - 1)
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
	word, seq := le.Uint32(b[4:]), le.Uint64(b[8:])
	return frame{
		seq: seq, durable: durableBefore(seq, word>>lengthBits),
		payload: b[frameHead : frameHead+word&(1<<lengthBits-1)], size: len(b),
	}, true
}

func segmentName(n uint64) string { return fmt.Sprintf("%06d%s", n, SegmentExt) }

func parseSegmentName(name string) (uint64, bool) {
	if path.Ext(name) != SegmentExt {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(name, SegmentExt), 10, 64)
	return n, err == nil && segmentName(n) == name
}
