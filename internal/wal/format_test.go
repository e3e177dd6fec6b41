package wal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// drawn builds bytes in the order of a drawing of FORMAT.md.
type drawn []byte

func (d *drawn) text(s string, n int) {
	*d = append(*d, append([]byte(s), make([]byte, n-len(s))...)...)
}
func (d *drawn) u32(v uint32) { *d = binary.LittleEndian.AppendUint32(*d, v) }
func (d *drawn) u64(v uint64) { *d = binary.LittleEndian.AppendUint64(*d, v) }
func (d *drawn) sum(from int, of ...byte) {
	sum := crc32.Checksum(of, crc32.MakeTable(crc32.Castagnoli))
	d.u32(crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), (*d)[from:]))
}

// The files of a log are those that FORMAT.md draws.
func TestTheFilesAreThoseOfTheFormat(t *testing.T) {
	history, directory := "history 16 bytes", "directory 16 byt"
	opts := Options{
		PreallocBytes: -1, Identity: Identity{History: ID([]byte(history)), Directory: ID([]byte(directory))},
		Boot: ID([]byte("boot of 16 bytes")), Writer: "TickHive test", RecordVersion: 3, Clock: clock.NewManual(77),
	}
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, opts)
	_, err := l.Append([][]byte{[]byte("one"), []byte("and eight"), []byte("it's 8 B")})
	must(t, err)
	must(t, l.Sync())
	must(t, l.WriteSnapshot(SnapshotMeta{Seq: 3, Head: []byte("head")}, writeText("the body")))
	must(t, l.Rotate())
	must(t, l.Close())

	chainTo := func(chain, seq uint64, payload string) uint64 {
		var d drawn
		d.u64(chain)
		d.u64(seq)
		return xxhash.Sum64(append(d, payload...))
	}
	var start drawn
	start.text(history+"log", 19)
	start.u64(0)
	chain0 := xxhash.Sum64(start)
	chain1 := chainTo(chain0, 1, "one")
	chain2 := chainTo(chain1, 2, "and eight")
	chain3 := chainTo(chain2, 3, "it's 8 B")

	header := func(magic string, version, record uint32, segment, first, chain uint64) (h drawn) {
		h.text(magic, 8)
		h.u32(version)
		h.u32(record)
		h.u64(segment)
		h.u64(first)
		h.u64(77)
		h.text("TickHive test", 20)
		h.sum(0)
		h.text(history, 16)
		h.text(directory, 16)
		h.u64(chain)
		h.text("log", 16)
		h.u32(0)
		h.sum(0)
		return h
	}
	seed := func(segment uint64) (d drawn) {
		d.text(directory+"log", 19)
		d.u64(segment)
		return d
	}
	frame := func(seq, chain uint64, payload string, pad int) (f drawn) {
		f.u32(uint32(len(payload)))
		f.u64(chain)
		f.u64(seq)
		f.text(payload, len(payload)+pad)
		var sum drawn
		sum = append(sum, f...)
		sum.sum(0, seed(1)...)
		return append(sum[len(f):], f...)
	}
	first := header("TICKWAL\n", 3, 3, 1, 1, chain0)
	got := fsys.Content(path.Join(testDir, "000001.wal"))
	frames := slices.Concat(
		frame(1, chain1, "one", 5), frame(2, chain2, "and eight", 7), frame(3, chain3, "it's 8 B", 0),
	)
	if !slices.Equal(got[:128], first) || !vfs.AllZero(got[128:512]) {
		t.Errorf("header\n%x, want\n%x", got[:512], first)
	}
	if !slices.Equal(got[1536:], frames) {
		t.Errorf("frames\n%x, want\n%x", got[1536:], frames)
	}
	slot := func(b []byte, segment, synced, written, snapshot uint64, flags uint32) {
		t.Helper()
		var d drawn
		d.text("TICKEND\n", 8)
		d.u64(binary.LittleEndian.Uint64(b[8:])) // the generation
		d.u64(synced)
		d.u64(written)
		d.u64(snapshot)
		d.u32(flags)
		d.text("boot of 16 bytes", 16)
		d.sum(0, seed(segment)...)
		if !slices.Equal(b[:64], d) || !vfs.AllZero(b[64:512]) {
			t.Errorf("slot\n%x, want\n%x", b, d)
		}
	}
	sealed := got[512:1024]
	if other := got[1024:1536]; binary.LittleEndian.Uint64(other[8:]) > binary.LittleEndian.Uint64(sealed[8:]) {
		sealed = other
	}
	slot(sealed, 1, 3, 3, 3, 1|2)
	got = fsys.Content(path.Join(testDir, "000002.wal"))
	if second := header("TICKWAL\n", 3, 3, 2, 4, chain3); !slices.Equal(got[:128], second) || len(got) != 1536 {
		t.Errorf("header of the second segment\n%x, want\n%x", got, second)
	}
	slot(got[512:1024], 2, 3, 3, 3, 4)
	slot(got[1024:], 2, 3, 3, 3, 4)

	snap := header("TICKSNP\n", 5, 3, 0, 3, chain3)
	sum := binary.LittleEndian.Uint32(snap[124:])
	section := func(length uint32, data drawn) {
		var d drawn
		d.u32(length)
		sum = crc32.Update(crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), d), crc32.MakeTable(crc32.Castagnoli),
			data)
		d.u32(sum)
		snap = append(snap, append(d, data...)...)
	}
	section(4, drawn("head"))
	// A frame of zstd: magic, no checksum, a window of 1 KiB, one last raw block of 8 bytes.
	section(17, append(drawn("\x28\xb5\x2f\xfd\x00\x00\x41\x00\x00"), "the body"...))
	var size drawn
	size.u64(8)
	section(0xFFFFFFFF, size)
	if got := fsys.Content(path.Join(testDir, "00000000000000000003.snap")); !slices.Equal(got, snap) {
		t.Errorf("snapshot\n%x, want\n%x", got, snap)
	}
}

// The header of format 1 had 64 bytes.
func TestAFileOfFormatOneIsRefusedByItsVersion(t *testing.T) {
	h := header{version: 1, record: 1, segment: 1, first: 1, writer: "OtherHive 9"}
	for _, size := range []int{prefixBytes, prefixBytes + 1, headerBytes} {
		fsys := vfstest.NewMem()
		fsys.Put(path.Join(testDir, segmentName(1)), h.encode(segmentMagic)[:size])
		var version *VersionError
		if _, err := Open(fsys, testDir, Options{}); !errors.As(err, &version) || version.Got != 1 {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// An error names what was found, and the record that the log is known to have reached, unless it is before the damage.
func TestTextsOfDamage(t *testing.T) {
	for to, want := range map[uint64]string{
		0: "wal: f: damaged at offset 3 (sequence 5): why", 4: "wal: f: damaged at offset 3 (sequence 5): why",
		5: "wal: f: damaged at offset 3 (sequence 5): why; the log reached record 5",
		6: "wal: f: damaged at offset 3 (sequence 5): why; the log reached record 6",
	} {
		err := &CorruptError{File: "f", Offset: 3, Seq: 5, To: to, Reason: "why", Cause: ErrTruncated}
		if err.Error() != want || !errors.Is(err, ErrTruncated) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if text := (&CorruptError{File: "f", Reason: "why"}).Error(); strings.Contains(text, "reached") {
		t.Errorf("nothing is known: %s", text)
	}
	if text := (&CorruptError{File: "f", Reason: "why", To: 1}).Error(); !strings.HasSuffix(text, "reached record 1") {
		t.Errorf("record 1 is known: %s", text)
	}
}

// What a reader finds at a damaged record is named.
func TestAReaderNamesTheDamage(t *testing.T) {
	whole := vfstest.NewMem()
	l := mustOpen(t, whole, Options{PreallocBytes: -1, SegmentBytes: 1 << 16})
	_, err := l.Append([][]byte{[]byte("first record"), []byte("second one"), []byte("third")})
	must(t, err)
	must(t, l.Close())
	name := path.Join(testDir, segmentName(1))
	second := firstFrame + FrameBytes(len("first record"))
	third := second + FrameBytes(len("second one"))
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:third+n] } }
	zero := func(n int) func([]byte) []byte {
		return func(b []byte) []byte { clear(b[second : second+n]); return b }
	}
	set := func(length uint32) func([]byte) []byte {
		return func(b []byte) []byte { le.PutUint32(b[second+4:], length); return b }
	}
	for what, c := range map[string]struct {
		change func(b []byte) []byte
		want   string
		off    int
	}{
		"no length":               {set(0), "record length is 0", second},
		"a length over the limit": {set(MaxRecord + 1), "record length 16777217 is over 16777216", second},
		"the largest length":      {set(MaxRecord), "record runs over the end of the file", second},
		"a byte": {func(b []byte) []byte {
			b[second+30] ^= 1
			return b
		}, "record checksum differs", second},
		"a head of zeros":     {zero(frameHead), "record head is zero and data follows", second},
		"a record of zeros":   {zero(third - second), "record head is zero and data follows", second},
		"cut within a head":   {cut(20), "record head is cut short by the end of the file", third},
		"cut within a record": {cut(frameHead + 7), "record runs over the end of the file", third},
		"cut behind a record": {cut(0), "the log ends here", third},
		"cut behind the zeros of a record": {func(b []byte) []byte {
			return append(b[:third], make([]byte, 9)...)
		}, "the log ends here", third},
	} {
		disk := whole.Kill()
		disk.Put(name, c.change(disk.Content(name)))
		_, _, _, err := readAll(disk, Options{})
		var damaged *CorruptError
		if !errors.As(err, &damaged) || damaged.Reason != c.want || damaged.Offset != int64(c.off) ||
			damaged.File != name {
			t.Errorf("%s: %v, want %q at %d", what, err, c.want, c.off)
		}
		if want := map[int]uint64{second: 2, third: 3}[c.off]; damaged != nil &&
			(damaged.Seq != want || damaged.To != 3) {
			t.Errorf("%s: sequence %d, the log reached %d", what, damaged.Seq, damaged.To)
		}
	}
}

// A record larger than the buffer of a reader is read whole, between others.
func TestTheLargestRecordIsRead(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, Options{PreallocBytes: -1})
	sizes := []int{100, MaxRecord, 8, readBuffer + 1, readBuffer - frameHead, readBuffer, 1}
	for i, n := range sizes {
		_, err := l.Append([][]byte{slices.Repeat([]byte{byte(i + 1)}, n)})
		must(t, err)
	}
	must(t, l.Close())
	seqs, payloads, torn, err := readAll(fsys, Options{})
	if err != nil || torn != 0 || len(seqs) != len(sizes) {
		t.Fatalf("%v, %d bytes behind them, %v", seqs, torn, err)
	}
	for i, p := range payloads {
		if len(p) != sizes[i] || p[0] != byte(i+1) || p[len(p)-1] != byte(i+1) {
			t.Errorf("record %d has %d bytes, want %d", i+1, len(p), sizes[i])
		}
	}
}
