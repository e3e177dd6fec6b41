package wal

import (
	"bytes"
	"path"
	"testing"

	"tickhive/internal/vfs"
)

// A flipped bit in the middle of a batch that no record vouches for is damage, also where payloads
// end in zeros: the sector in which the next record begins is there.
func TestZerosInAPayloadAreNoLostSector(t *testing.T) {
	fsys := vfs.NewMem()
	l := mustOpen(t, fsys, Options{PreallocBytes: -1})
	const records = 100
	var batch [][]byte
	for i := range records {
		batch = append(batch, append(bytes.Repeat([]byte{byte(i + 1)}, 20+i%7), make([]byte, 20)...))
	}
	_, err := l.Append(batch)
	must(t, err)
	segment := path.Join(testDir, segmentName(1))
	last := l.off.Load() - int64(FrameBytes(len(batch[records-1])))
	flips := 0
	for off := int64(headerBytes); off < last; off++ {
		for bit := range uint(8) {
			damaged := fsys.Kill()
			damaged.Flip(segment, off, bit)
			flips++
			if opened, err := Open(damaged, testDir, Options{PreallocBytes: -1}); err == nil {
				t.Fatalf("byte %d bit %d: started with %d of %d records", off, bit, opened.LastSeq(), records)
			}
		}
	}
	t.Logf("%d flips", flips)
}

// The rest of a sector in which an unsynced record begins may be lost while the next sector is there.
func TestTheRestOfASectorMayBeLost(t *testing.T) {
	fsys := vfs.NewMem()
	l := mustOpen(t, fsys, Options{PreallocBytes: -1})
	for range 5 { // frames at 64, 520, 976, 1432
		_, err := l.Append([][]byte{bytes.Repeat([]byte{1}, 440)})
		must(t, err)
	}
	segment := path.Join(testDir, segmentName(1))
	damaged := fsys.Kill()
	f, err := damaged.OpenRW(segment)
	must(t, err)
	_, err = f.WriteAt(make([]byte, 1024-520), 520)
	must(t, err)
	opened, err := Open(damaged, testDir, Options{PreallocBytes: -1})
	if err != nil || opened.LastSeq() != 1 {
		t.Fatalf("%v", err)
	}
}
