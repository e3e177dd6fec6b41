package vfs

import "encoding/binary"

// LostSector reports whether a sector of the damaged bytes, which begin at file offset start, reads as zeros,
// so that a power cut explains the damage. The bytes begin with a record and no record begins with zeros, so
// the rest of the first sector counts as one too. follows reports that a valid record comes right after the
// bytes; the sector in which that record begins is then not lost.
func LostSector(damaged []byte, start int64, follows bool) bool {
	if follows {
		inSector := (start + int64(len(damaged))) % SectorBytes
		damaged = damaged[:max(int64(len(damaged))-inSector, 0)]
	}
	for len(damaged) > 0 {
		n := min(SectorBytes-int(start%SectorBytes), len(damaged))
		if AllZero(damaged[:n]) {
			return true
		}
		damaged, start = damaged[n:], start+int64(n)
	}
	return false
}

// AllZero reports whether b has only zeros.
func AllZero(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
