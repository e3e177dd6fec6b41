package wal

import (
	"errors"
	"path"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// FuzzSegment gives any bytes as a segment: it is refused, or every later
// reading returns the same records, also after others are appended.
func FuzzSegment(f *testing.F) {
	fsys, _ := buildSmallLog(f)
	name := path.Join(testDir, segmentName(1))
	whole := fsys.Content(name)
	f.Add(whole)
	f.Add(whole[:len(whole)-5])
	f.Add([]byte{})
	f.Add(make([]byte, 200))
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys := vfstest.NewMem()
		file, err := fsys.Create(name)
		must(t, err)
		_, err = file.WriteAt(data, 0)
		must(t, err)
		before, first, _, rerr := readAll(fsys, small())
		l, err := Open(fsys, testDir, small())
		var corrupt *CorruptError
		var version *VersionError
		if err != nil {
			if !errors.As(err, &corrupt) && !errors.As(err, &version) {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		if rerr != nil {
			t.Fatalf("opened what the reader refuses: %v", rerr)
		}
		last, err := l.Append([][]byte{[]byte("behind")})
		must(t, err)
		must(t, l.Close())
		seqs, payloads, torn, err := readAll(fsys, small())
		if err != nil || torn != 0 || len(seqs) != len(before)+1 || seqs[len(seqs)-1] != last {
			t.Fatalf("%d records, then %d, torn %d: %v", len(before), len(seqs), torn, err)
		}
		for i := range before {
			if seqs[i] != before[i] || string(payloads[i]) != string(first[i]) {
				t.Fatalf("record %d changed", i)
			}
		}
	})
}

// FuzzFrame: a frame gives back what was sealed, and nothing once a bit of it, its directory, log,
// segment or predecessor has changed.
func FuzzFrame(f *testing.F) {
	f.Add([]byte("payload"), uint64(7), uint64(3), uint64(1), uint(20))
	f.Fuzz(func(t *testing.T, payload []byte, seq, chain, segment uint64, bit uint) {
		if len(payload) == 0 || len(payload) > 1<<16 || seq == 0 {
			return
		}
		dir := ID{1, 2, 3}
		seed := seedOf(dir, "engine", segment)
		b := make([]byte, FrameBytes(len(payload)))
		copy(b[frameHead:], payload)
		sum := sealFrame(b, len(payload), seq, chain, seed)
		got, ok := parseFrame(b, seed)
		if !ok || got.seq != seq || string(got.payload) != string(payload) || got.chain != sum {
			t.Fatalf("%+v %v", got, ok)
		}
		before := string(b)
		if !got.continues(b, chain) || got.continues(b, chain+1) || string(b) != before {
			t.Fatal("it follows another record, or not its own predecessor")
		}
		for _, other := range []uint32{
			seedOf(dir, "engine", segment+1), seedOf(dir, "hive", segment), seedOf(ID{1}, "engine", segment),
		} {
			if _, ok := parseFrame(b, other); ok {
				t.Fatal("verifies elsewhere")
			}
		}
		bit %= uint(len(b) * 8)
		b[bit/8] ^= 1 << (bit % 8)
		if _, ok := parseFrame(b, seed); ok {
			t.Fatalf("verifies with bit %d flipped", bit)
		}
	})
}
