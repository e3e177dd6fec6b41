package wal1

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path"
	"strconv"
	"strings"

	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// version is the version of the formats that this package reads.
const version = 1

const (
	segmentMagic  = "TICKWAL\n"
	snapshotMagic = "TICKSNP\n"
	headerBytes   = 64
	frameHead     = 16
	frameAlign    = 8
	lengthBits    = 26 // of the length word; the six above are the lag class
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var le = binary.LittleEndian

// header is the first 64 bytes of a segment or a snapshot.
type header struct {
	version uint32
	record  uint32
	segment uint64 // of a snapshot: the last record of another log that it reflects
	first   uint64 // of a snapshot: its record
	writer  string
}

// parseHeader reads a header; the reason says what is wrong with it.
func parseHeader(magic string, b []byte) (h header, reason string) {
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
		writer: strings.TrimRight(string(b[40:60]), "\x00"),
	}, ""
}

// check refuses another version.
func (h *header) check(what, file string, record uint32) error {
	switch {
	case h.version != version:
		return &wal.VersionError{File: file, What: what, Got: h.version, Want: version, Writer: h.writer}
	case h.record != record:
		return &wal.VersionError{File: file, What: "record format", Got: h.record, Want: record, Writer: h.writer}
	}
	return nil
}

// seedOf is the checksum state that makes a frame belong to its segment: a frame of
// another segment, or of a reused file, never verifies.
func seedOf(segment uint64) uint32 {
	var b [8]byte
	le.PutUint64(b[:], segment)
	return crc32.Checksum(b[:], castagnoli)
}

// frameBytes returns the bytes of the file that a payload of n bytes takes.
func frameBytes(n int) int { return frameHead + (n+frameAlign-1)&^(frameAlign-1) }

// durableBefore returns the record up to which the log was durable, at least, when seq was written:
// the class is the distance, rounded up to a power of two.
func durableBefore(seq uint64, class uint32) uint64 {
	if class >= 64 || seq < 1<<class {
		return 0
	}
	return seq - 1<<class
}

// frame is a frame that verified.
type frame struct {
	seq     uint64
	durable uint64 // at least this sequence was durable when it was written
	payload []byte
	size    int // bytes in the file
}

// frameSize reads the length word of a frame head: the frame's size in the file, or a
// reason. A head of zeros has size 0: nothing was written here.
func frameSize(b []byte) (size int, reason string) {
	n := le.Uint32(b[4:]) & (1<<lengthBits - 1)
	switch {
	case n == 0 && vfs.AllZero(b[:frameHead]):
		return 0, ""
	case n == 0:
		return 0, "record length is 0"
	case n > wal.MaxRecord:
		return 0, fmt.Sprintf("record length %d is over %d", n, wal.MaxRecord)
	}
	return frameBytes(int(n)), ""
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

func segmentName(n uint64) string { return fmt.Sprintf("%06d%s", n, wal.SegmentExt) }

func parseSegmentName(name string) (uint64, bool) {
	if path.Ext(name) != wal.SegmentExt {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(name, wal.SegmentExt), 10, 64)
	return n, err == nil && segmentName(n) == name
}
