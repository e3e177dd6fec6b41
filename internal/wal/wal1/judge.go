package wal1

import (
	"fmt"

	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// maxSeqAhead limits the sequence numbers that the search after a damaged record considers plausible, so that
// it computes few checksums in vain.
const maxSeqAhead = 1 << 40

// verdict classifies the bytes behind the last good record.
type verdict struct {
	torn  int64             // bytes written behind it, when a power cut explains them
	wrong *wal.CorruptError // else
}

// judge decides whether a power cut explains that no valid record with sequence want is at offset off of
// segment i (want 0: the sequence is unknown). It examines all bytes from there to the end of the log.
//
// If no valid record follows, the bytes are a torn tail. If one follows, there are two cases. Either the
// bad record was never synced: a power cut keeps any subset of unsynced sectors, so an earlier record may
// be lost while a later one survives. Or the record was synced and is damaged. Two facts distinguish the
// cases. First, every record states up to which sequence the log was durable when it was written. Second,
// a sector that a power cut lost reads as zeros, because segments are written over zeros, whereas a
// flipped bit or byte does not make a sector of zeros.
func judge(fsys vfs.FS, chain []segment, i int, off int64, want uint64, reason string) (verdict, error) {
	var v verdict
	follows, lost := false, false
	at := wal.CorruptError{File: chain[i].path, Offset: off, Seq: want}
	// The records of segment i end in order and the header after them is bad.
	header := i+1 < len(chain) && chain[i+1].reason != "" && off > 0
	if header {
		at.File, at.Offset = chain[i+1].path, 0
	}
	for j := i; j < len(chain); j++ {
		start := int64(0)
		if j == i {
			start = off
		}
		data, err := readFrom(fsys, chain[j].path, start)
		if err != nil {
			return v, err
		}
		v.torn += int64(written(data))
		firstGood := -1
		scanFrames(data, chain[j].seed, want, func(pos int, f frame) bool {
			follows = true
			if firstGood < 0 {
				firstGood = pos
			}
			if f.durable >= want {
				at.Reason = fmt.Sprintf("%s; record %d behind it says that this one was durable", reason, f.seq)
				v.wrong = &at
			}
			return v.wrong == nil
		})
		if v.wrong != nil {
			return v, nil
		}
		switch {
		case header && j == i+1:
			lost = len(data) < headerBytes || vfs.AllZero(data[:min(len(data), vfs.SectorBytes)])
		case header || j > i:
		case firstGood < 0:
			lost = endLost(data) || vfs.LostSector(data, start, false)
		default:
			lost = vfs.LostSector(data[:firstGood], start, true)
		}
	}
	if follows && !lost {
		at.Reason = reason + "; valid records follow it and no sector is missing"
		v.wrong = &at
	}
	return v, nil
}

// endLost reports whether the file ends before its last record: its size was not durable yet when later
// segments were.
func endLost(rest []byte) bool {
	if len(rest) < frameHead {
		return true
	}
	size, reason := frameSize(rest)
	return reason == "" && size > len(rest)
}

// scanFrames calls yield for every frame in data that verifies and has at least sequence want, until yield
// returns false.
func scanFrames(data []byte, seed uint32, want uint64, yield func(at int, f frame) bool) {
	for at := 0; at+frameHead <= len(data); {
		size, reason := frameSize(data[at:])
		if seq := le.Uint64(data[at+8:]); reason != "" || size == 0 || at+size > len(data) ||
			seq < want || (want > 0 && seq-want > maxSeqAhead) {
			at += frameAlign
			continue
		}
		f, ok := parseFrame(data[at:at+size], seed)
		if !ok {
			at += frameAlign
			continue
		}
		if !yield(at, f) {
			return
		}
		at += size
	}
}

// written returns the length of data without the zeros at its end.
func written(data []byte) int {
	n := len(data)
	for n > 0 && data[n-1] == 0 {
		n--
	}
	return n
}

// readFrom reads a file from off to its end.
func readFrom(fsys vfs.FS, name string, off int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("wal: open segment: %w", err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("wal: %s: size: %w", name, err)
	}
	if size <= off {
		return nil, nil
	}
	data := make([]byte, size-off)
	if n, err := f.ReadAt(data, off); err != nil && n < len(data) {
		return nil, fmt.Errorf("wal: %s: read at %d: %w", name, off, err)
	}
	return data, nil
}
